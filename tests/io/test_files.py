"""Opening and leaving files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from seqtruth import io
from seqtruth.atomic import atomic_path
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, InputError, ParameterError
from seqtruth.io.files import read_text, write_chunks

CROWD = Crowd.of({"ann": [["B-PER", "O"]]}, [["Ann", "ran"]])


def test_a_failed_write_leaves_nothing_new_and_nothing_lost(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_path(target) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_a_failed_folder_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), atomic_path(tmp_path / "f") as temporary:
        temporary.mkdir()
        (temporary / "a").write_text("half")
        raise ZeroDivisionError
    assert os.listdir(tmp_path) == []


def test_a_write_follows_links_and_replaces(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    write_chunks(tmp_path / "link.txt", [b"new"])
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write; got No such file.*make the folder .*none"):
        io.write(CROWD, tmp_path / "none" / "a.conll")


def test_packed_files_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.jsonl.gz", "b.jsonl.gz"):
        io.write(CROWD, tmp_path / name)
    one, two = ((tmp_path / name).read_bytes() for name in ("a.jsonl.gz", "b.jsonl.gz"))
    assert one == two
    assert gzip.decompress(one).startswith(b'{"id": "0"')


def test_a_damaged_packed_file(tmp_path: Path) -> None:
    (tmp_path / "a.conll.gz").write_bytes(gzip.compress(b"a O\n" * 100)[:-9])
    with pytest.raises(InputError, match="the gzip file is damaged"):
        io.read(tmp_path / "a.conll.gz")


def test_byte_order_mark_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfa O\n")
    assert read_text(tmp_path / "a.txt") == b"a O\n"


def test_a_folder_with_content_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "other.txt").write_text("mine")
    with pytest.raises(InputError, match="the folder is there already; choose a new name"):
        io.write(CROWD, tmp_path, "conll-folder")
    assert os.listdir(tmp_path) == ["other.txt"]


def test_writing_needs_a_known_name(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"cannot tell the format from the name; got ending"):
        io.write(CROWD, tmp_path / "a.xyz")
    with pytest.raises(ParameterError, match=r"give format=, one of conll, "):
        io.write(CROWD, tmp_path / "a")


def test_a_folder_is_written_where_the_path_is_one(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for target in (tmp_path / "empty", f"{tmp_path}/new/", f"{tmp_path}/odd.jsonl/"):
        io.write(CROWD, target)
        assert os.listdir(target) == ["ann.conll"]
        assert io.read(target).digest() == CROWD.digest()
    with pytest.raises(InputError, match="the folder is there already"):
        io.write(CROWD, tmp_path)


@pytest.mark.parametrize(
    ("crowd", "what"),
    [
        (Crowd.of({"w": [["O"]]}, [["a\tb"]]), r"token 'a\\tb'"),
        (Crowd.of({"w": [["O"]]}, [[""]]), "token ''"),
        (Crowd.of({"w": [["O"]]}, [["-DOCSTART-"]]), "token '-DOCSTART-'"),
        (Crowd.of({"w": [["O"]]}, [["# id = 3"]]), "token '# id = 3'"),
        (Crowd.of({"w": [["a b"]]}, [["x"]]), "label 'a b'"),
        (Crowd.of({"w": [["?"]]}, [["x"]]), r"label '\?'"),
        (Crowd.of({"w\n": [["O"]]}, [["x"]]), r"annotator 'w\\n'"),
        (Crowd.of({"w": [["O"]]}, [["x"]], ids=[" x"]), "id ' x'"),
        (Crowd.of({"w": [[]]}, [[]]), "a crowd without tokens"),
    ],
)
def test_conll_refuses_what_it_cannot_hold(crowd: Crowd, what: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"^{what} cannot be written in CoNLL columns; write"):
        io.write(crowd, tmp_path / "a.conll")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_delimited_tables_refuse_line_ends(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"token 'a\\nb' holds a line end; write .jsonl"):
        io.write(Crowd.of({"w": [["O"]]}, [["a\nb"]]), tmp_path / name)


def test_confidence_must_fit(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"confidence must have 2 entries; got \(3,\)"):
        io.write(CROWD, tmp_path / "a.jsonl", confidence=[0.1, 0.2, 0.3])
    with pytest.raises(ParameterError, match="span_confidence must have 2 entries"):
        io.write(CROWD, tmp_path / "a.jsonl", span_confidence=[0.1])


@pytest.mark.parametrize("name", ["a.json", "a.conll", "a.csv", "a.jsonl"])
def test_what_unpacks_to_too_much_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever reads it, and the user may raise the limit."""
    contents = {
        "a.json": b'[{"tokens": ["a"], "tags": ["O"]}' + b" " * 100_000 + b"]",
        "a.conll": b"a O\n" + b"\n" * 100_000,
        "a.csv": b"task,worker,label\na,b,O" + b"\n" * 100_000,
        "a.jsonl": b'{"tokens": ["a"], "annotations": {"b": ["O"]}}' + b"\n" * 100_000,
    }
    path = tmp_path / f"{name}.gz"
    path.write_bytes(gzip.compress(contents[name]))
    assert io.read(path).n_sentences == 1
    monkeypatch.setenv("SEQTRUTH_MAX_UNPACKED", "50K")
    with pytest.raises(InputError, match=r"too large when unpacked.*SEQTRUTH_MAX_UNPACKED"):
        io.read(path)
