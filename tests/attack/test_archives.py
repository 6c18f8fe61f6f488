"""Whatever a saved file holds, it is read, or refused with a message; nothing is written outside arrays."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth import archive
from seqtruth.errors import SeqTruthError
from tests.attack.archives import _array, _read, members, mutated, pack


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("saved")
    crowd = st.datasets.load("demo").crowd[:60]
    result = st.AggSLC(predictor=st.predictors.CRF(max_iter=5), max_iter=2).fit(crowd)
    assert result.tagger is not None
    paths = {"result": folder / "whole.result", "tagger": folder / "whole.tagger"}
    result.save(paths["result"])
    result.tagger.save(paths["tagger"])
    return paths


def _opened(kind: str, paths: list[Path]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.opening"], input="\n".join(f"{kind} {p}" for p in paths),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["result", "tagger"])
def test_changed_files_are_read_or_refused(
    saved: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    draw, whole = random.Random(7), members(saved[kind])
    paths = [pack(mutated(whole, draw), tmp_path / f"{n}.{kind}") for n in range(150)]
    said = _opened(kind, paths)
    assert len(said) == len(paths)
    refused = [line for line in said if line.startswith("refused")]
    assert len(refused) > 50  # the check has teeth
    nameless = [line for line in refused if str(tmp_path) not in line]
    assert not nameless  # every message names the file


def _with(path: Path, name: str, array: np.ndarray, target: Path) -> Path:
    return pack(members(path) | {f"{name}.npy": _array(array)}, target)


def test_tags_outside_the_labels_are_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    tags = _read(members(saved["result"])["tags.npy"]).astype(np.int64)
    tags[0] = 10**12
    path = _with(saved["result"], "tags", tags, tmp_path / "x.result")
    with pytest.raises(SeqTruthError, match="tags must be below"):
        st.Result.load(path)


def test_tags_of_another_width_are_the_same_tags(saved: dict[str, Path], tmp_path: Path) -> None:
    """A result whose tags take eight bytes each, as another program may write them."""
    tags = _read(members(saved["result"])["tags.npy"]).astype(np.int64)
    path = _with(saved["result"], "tags", tags, tmp_path / "x.result")
    assert str(st.Result.load(path)) == str(st.Result.load(saved["result"]))


def test_a_chain_for_more_labels_is_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    path = _with(saved["tagger"], "chain", np.zeros((102, 100), np.float32), tmp_path / "x.tagger")
    with pytest.raises(SeqTruthError, match="chain has shape"):
        st.Tagger.load(path)


def test_an_array_that_nobody_declared_is_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    for kind, open_it in (("result", st.Result.load), ("tagger", st.Tagger.load)):
        path = _with(saved[kind], "stranger", np.zeros(3), tmp_path / f"x.{kind}")
        with pytest.raises(SeqTruthError, match="stranger does not belong here"):
            open_it(path)


def _bomb(path: Path, kind: str, declared: int | None = None) -> Path:
    """A saved file whose one array unpacks to 300 MB out of 300 kB; its header may say less."""
    head = json.dumps({"format": f"seqtruth-{kind}", "version": 1}).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("meta.json", head, zipfile.ZIP_STORED)
        with file.open("tags.npy", "w") as member:
            for _ in range(300):
                member.write(bytes(1_000_000))
    if declared is not None:
        data = path.read_bytes()
        true, false = ((n).to_bytes(4, "little") for n in (300_000_000, declared))
        path.write_bytes(data.replace(true, false))
    return path


@pytest.mark.parametrize("kind", ["result", "tagger", "checkpoint"])
def test_a_bomb_is_refused_before_it_is_unpacked(kind: str, tmp_path: Path) -> None:
    path = _bomb(tmp_path / "bomb.seqtruth", kind)
    tracemalloc.start()
    with pytest.raises(SeqTruthError, match=r"too large when unpacked.*SEQTRUTH_MAX_RATIO"):
        archive.load(path, kind)
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()


def test_a_bomb_that_says_it_is_small_is_not_unpacked_further(tmp_path: Path) -> None:
    path = _bomb(tmp_path / "bomb.seqtruth", "result", declared=1000)
    tracemalloc.start()
    with pytest.raises(SeqTruthError, match="damaged"):
        archive.load(path, "result")
    assert tracemalloc.get_traced_memory()[1] < 50 << 20
    tracemalloc.stop()


def test_limits_are_the_users_to_change(
    saved: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQTRUTH_MAX_UNPACKED", "1K")
    with pytest.raises(SeqTruthError, match=r"raise SEQTRUTH_MAX_UNPACKED \(now 1K\)"):
        st.Result.load(saved["result"])
    monkeypatch.setenv("SEQTRUTH_MAX_UNPACKED", "1G")
    assert st.Result.load(saved["result"])
    monkeypatch.setenv("SEQTRUTH_MAX_MEMBERS", "3")
    with pytest.raises(SeqTruthError, match="SEQTRUTH_MAX_MEMBERS"):
        st.Result.load(saved["result"])
    monkeypatch.setenv("SEQTRUTH_MAX_MEMBERS", "many")
    with pytest.raises(SeqTruthError, match="must be a whole number"):
        st.Result.load(saved["result"])
