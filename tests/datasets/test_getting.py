"""``seqtruth datasets`` from the first byte to the loaded crowd, against a server of our own."""

from __future__ import annotations

import gzip
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import seqtruth as st
from dataset_sources import Server, ner_sources, pico_sources, serving, write_sources
from seqtruth.cli import main
from seqtruth.datasets import places, prepare
from seqtruth.datasets.catalogue import RECIPES
from seqtruth.datasets.download import Patience
from seqtruth.datasets.verify import verify
from seqtruth.errors import DataWarning, InputError

QUICK = Patience(tries=1, timeout=5, pause=0)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.put("ner", ner_sources())
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of our own; no address but the test's own server is ever asked."""
    monkeypatch.delenv("SEQTRUTH_DATA", raising=False)
    monkeypatch.setenv("SEQTRUTH_CACHE", str(tmp_path / "cache"))
    for name, recipe in list(RECIPES.items()):
        bare = tuple(replace(source, urls=()) for source in recipe.sources)
        monkeypatch.setitem(RECIPES, name, replace(recipe, sources=bare))
    return tmp_path / "cache" / "datasets"


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def test_get_then_load(server: Server, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("datasets", "get", "ner", "--mirror", server.url) == 0
    said = capsys.readouterr()
    assert "Reuters" in said.err and "please cite: Rodrigues" in said.err and said.out == ""
    data = st.datasets.load("ner")
    assert data.crowd.n_sentences == 6 and data.crowd.n_annotators == 5
    assert data.splits["nguyen_val"].sum() == 2 and data.splits["aggslc_3466"].sum() == 3
    assert data.info["gold spans"] == 7 and data.info["per sentence"] == "2.80 (2-4)"
    asked = len(server.asked)
    assert run("datasets", "get", "ner", "--mirror", server.url, "--json") == 0  # nothing to do
    again = capsys.readouterr()
    assert "Reuters" not in again.err and json.loads(again.out)["folder"] == str(home / "ner")
    assert len(server.asked) == asked
    assert sorted(path.name for path in home.iterdir()) == ["ner", "raw"]


@pytest.mark.skipif(importlib.util.find_spec("spacy") is None, reason="spaCy is not installed")
def test_get_pico(server: Server) -> None:
    server.put("pico", pico_sources())
    assert run("datasets", "get", "pico", "--mirror", server.url, "-q") == 0
    data = st.datasets.load("pico", unlabelled=True)
    assert data.crowd.n_sentences == 18 and data.gold.covered.sum() == 9
    assert {name: int(mask.sum()) for name, mask in data.splits.items()} == {
        "acl17-test": 9, "train": 3, "dev": 3, "test": 3, "all": 9, "even": 3, "odd": 6
    }  # fmt: skip


def test_the_same_sources_give_the_same_bytes(server: Server, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run("datasets", "get", "ner", "--mirror", server.url, "--data-dir", tmp_path / name,
                   "-q") == 0  # fmt: skip
    for table in (tmp_path / "one" / "ner").glob("*.gz"):
        assert table.read_bytes() == (tmp_path / "two" / "ner" / table.name).read_bytes()


def test_a_dropped_connection_and_a_second_call(server: Server, home: Path) -> None:
    archive = server.files["/ner/crowd.archive"]
    server.drop_after, server.drops = len(archive) // 2, 1
    with pytest.raises(InputError, match=r"crowd\.archive cannot be fetched"):
        prepare.get("ner", mirror=server.url, patience=QUICK)
    assert not (home / "ner").exists()
    prepare.get("ner", mirror=server.url, patience=QUICK)
    assert server.asked[1] == ("/ner/crowd.archive", f"bytes={len(archive) // 2}-")
    assert st.datasets.load("ner").crowd.n_rows == 14


def test_what_cannot_be_had_is_said_and_left_out(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    del server.files["/ner/optsla-gold.txt"], server.files["/ner/conll2003.zip"]
    with pytest.warns(DataWarning, match="without (the split optsla_4515|CoNLL-2003)"):
        found = prepare.get("ner", mirror=server.url, patience=QUICK)
    assert len(found["notes"]) == 2 and "conll2003_task2_eval.tsv.gz" not in found["tables"]
    assert "optsla_4515" not in st.datasets.load("ner").splits


@pytest.mark.parametrize("file", ["aggslc-mv.txt", "optsla-gold.txt", "conll2003.zip"])
def test_what_is_something_else_is_left_out_too(server: Server, home: Path, file: str) -> None:
    server.files[f"/ner/{file}"] = b"<html>moved</html>"
    with pytest.warns(DataWarning, match="without"):
        found = prepare.get("ner", mirror=server.url, patience=QUICK)
    assert len(found["notes"]) == 1 and file not in found["sources"]
    kept = sorted(path.name for path in (home / "raw" / "ner").iterdir())
    assert file not in kept and "crowd.archive" in kept


def test_files_that_are_not_ours_are_not_replaced(server: Server, tmp_path: Path) -> None:
    (tmp_path / "ner").mkdir()
    (tmp_path / "ner" / "thesis.txt").write_text("years of work")
    for force in (False, True):
        with pytest.raises(InputError, match="not made by this command"):
            prepare.get("ner", tmp_path, mirror=server.url, force=force, patience=QUICK)
    assert (tmp_path / "ner" / "thesis.txt").exists() and not server.asked


def test_another_converter_converts_again(
    server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare.get("ner", mirror=server.url, patience=QUICK)
    asked = len(server.asked)
    monkeypatch.setattr(prepare, "CONVERTER", prepare.CONVERTER + 1)
    assert prepare.get("ner", patience=QUICK)["converter"] == prepare.CONVERTER
    assert len(server.asked) == asked


def test_no_source_at_all_is_exit_code_2(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("datasets", "get", "ner", "-q") == 2
    said = capsys.readouterr().err
    assert "error: crowd.archive cannot be fetched" in said and "--from" in said
    assert not (home / "ner").exists()


def test_sources_fetched_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_sources(tmp_path / "hand", ner_sources())
    assert run("datasets", "get", "ner", "--from", tmp_path / "hand", "--json", "-q") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sources"]["crowd.archive"]["url"].startswith("given as")
    assert found["notes"] == [] and found["converter"] == prepare.CONVERTER


def test_a_source_that_changes_is_not_taken_silently(server: Server, home: Path) -> None:
    prepare.get("ner", mirror=server.url, patience=QUICK)
    raw = home / "raw" / "ner" / "aggslc-gold.txt"
    raw.unlink()
    before = (home / "ner" / "splits.tsv.gz").read_bytes()
    server.files["/ner/aggslc-gold.txt"] += b"More O\n\n"
    with pytest.raises(InputError, match=r"not what was fetched first.*receipts\.json"):
        prepare.get("ner", mirror=server.url, force=True, patience=QUICK)
    assert not raw.exists()
    assert (home / "ner" / "splits.tsv.gz").read_bytes() == before


def test_a_source_damaged_on_disk_is_fetched_again(server: Server, home: Path) -> None:
    prepare.get("ner", mirror=server.url, patience=QUICK)
    raw = home / "raw" / "ner" / "crowd.archive"
    good = raw.read_bytes()
    raw.write_bytes(good[:100])
    prepare.get("ner", mirror=server.url, force=True, patience=QUICK)
    assert raw.read_bytes() == good


def test_a_failed_conversion_leaves_what_was_there(server: Server, home: Path) -> None:
    prepare.get("ner", mirror=server.url, patience=QUICK)
    before = sorted(path.name for path in (home / "ner").iterdir())
    (home / "raw" / "ner" / "receipts.json").unlink()
    server.files["/ner/crowd.archive"] = b"<html>moved</html>"
    with pytest.raises(InputError, match="the archive cannot be read"):
        prepare.get("ner", mirror=server.url, force=True, patience=QUICK)
    assert sorted(path.name for path in (home / "ner").iterdir()) == before
    server.files["/ner/crowd.archive"] = ner_sources()["crowd.archive"]
    prepare.get("ner", mirror=server.url, force=True, patience=QUICK)  # the page was not kept


def test_verify(server: Server, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare.get("ner", mirror=server.url, patience=QUICK)
    assert {check.status for check in verify("ner")} == {"ok"}
    assert not any(check.reference for check in verify("ner"))  # not the real data
    table = home / "ner" / "gold.tsv.gz"
    content = gzip.decompress(table.read_bytes())
    table.write_bytes(gzip.compress(content, 1))  # packed otherwise, the same
    assert {check.status for check in verify("ner")} == {"ok"}
    table.write_bytes(gzip.compress(content.replace(b"B-LOC", b"B-PER")))
    (home / "ner" / "splits.tsv.gz").unlink()
    (home / "ner" / "sentences.tsv.gz").write_bytes(b"\x1f\x8bdamaged")
    (home / "raw" / "ner" / "crowd.archive").write_bytes(b"")
    assert run("datasets", "verify", "ner", "--json") == 2
    said = capsys.readouterr()
    found = json.loads(said.out)
    status = {one["file"]: one["status"] for one in found["files"]}
    assert not found["ok"] and "get ner --force" in said.err
    assert status["gold.tsv.gz"] == "changed" and status["splits.tsv.gz"] == "missing"
    assert status["sentences.tsv.gz"] == "damaged" and status["raw/crowd.archive"] == "changed"
    assert run("datasets", "get", "ner", "--force", "--mirror", server.url, "-q") == 0
    assert run("datasets", "verify", "ner") == 0
    assert "annotations.tsv.gz" in capsys.readouterr().out


def test_verify_the_evaluation_data(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("ner", "pico"):
        assert run("datasets", "verify", name, "--data-dir", data_dir, "--json") == 0
        files = json.loads(capsys.readouterr().out)["files"]
        assert len(files) == 6 and all(one["reference"] for one in files)


def test_where_data_sets_are_looked_for(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="seqtruth datasets get ner"):
        st.datasets.load("ner")
    named, given = tmp_path / "named", tmp_path / "given"
    for root in (home, named, given):
        (root / "ner").mkdir(parents=True)
    assert places.find("ner") == home
    monkeypatch.setenv("SEQTRUTH_DATA", str(named))
    assert places.find("ner") == named and places.find("ner", given) == given
    assert places.find("pico") is None
    (named / "ner").rmdir()
    assert places.find("ner") == home
    with pytest.raises(InputError, match="get ner --data-dir"):
        st.datasets.load("ner", data_dir=named)


def test_the_cache_follows_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEQTRUTH_CACHE")
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setenv("LOCALAPPDATA", "/l")
    for platform, xdg, expected in (
        ("linux", "/x", "/x/seqtruth"),
        ("linux", "relative", "/h/.cache/seqtruth"),
        ("linux", "", "/h/.cache/seqtruth"),
        ("darwin", "/x", "/h/Library/Caches/seqtruth"),
        ("win32", "/x", "/l/seqtruth"),
    ):
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setenv("XDG_CACHE_HOME", xdg)
        assert str(places.cache_dir()) == expected


def test_list_and_info(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("datasets", "list", "--json") == 0
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert listed["demo"]["ready"] and not listed["ner"]["ready"]
    assert run("datasets", "info", "ner", "--json") == 0  # terms can be read before fetching
    facts = json.loads(capsys.readouterr().out)
    assert "Reuters" in facts["licence"] and "get ner" in facts["where"]
    prepare.get("ner", mirror=server.url, patience=QUICK)
    assert run("datasets", "list") == 0 and "get pico" in capsys.readouterr().out
    assert run("datasets", "info", "ner", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["sentences"] == 6 and facts["documents"] == 3 and facts["annotators"] == 5
    assert {"split": "no_crowd", "sentences": 1} in facts["splits"]
    assert run("datasets", "info", "demo") == 0 and "gold spans" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get", "demo"], "only ner, pico can be fetched"),
        (["get", "nonsense"], "'nonsense'"),
        (["verify", "ner"], "seqtruth datasets get ner"),
        (["info", "nonsense"], "data set must be one of"),
    ],
)
def test_wrong_use(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("datasets", *arguments) == 2
    assert message in capsys.readouterr().err


def test_a_manifest_that_is_not_ours(home: Path) -> None:
    (home / "ner").mkdir(parents=True)
    (home / "ner" / prepare.MANIFEST).write_text("{")
    with pytest.raises(InputError, match="the manifest cannot be read"):
        verify("ner")


def test_every_address_is_public_and_pinned_where_it_can_be() -> None:
    from seqtruth.datasets.catalogue import NER, PICO

    for recipe in (NER, PICO):
        for source in recipe.sources:
            assert all(url.startswith(("https://", "http://amilab.")) for url in source.urls)
            assert source.sha256 is None  # none is known; see the module's docstring
