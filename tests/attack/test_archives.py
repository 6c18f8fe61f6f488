"""Whatever a saved file holds, it is read, or refused with a message; nothing is written outside arrays."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.errors import SeqTruthError
from tests.attack.archives import _array, _read, members, mutated, pack

#: Runs in a process of its own: what must not happen is a crash, which no test survives.
_OPEN = """
import sys, warnings
import seqtruth as st
from seqtruth.errors import SeqTruthError
warnings.simplefilter("ignore")
words = ["Ada", "Lovelace", "met", "Charles", "in", "London", "."]
for path in sys.argv[1:]:
    try:
        if path.endswith(".result"):
            found = st.Result.load(path)
            str(found), found.spans(), found.span_confidence()
        else:
            st.Tagger.load(path).tag(words)
        print("read")
    except SeqTruthError as error:
        print("refused", str(error).encode("unicode_escape").decode())
"""


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


def _opened(paths: list[Path]) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _OPEN, *map(str, paths)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.mark.parametrize("kind", ["result", "tagger"])
def test_changed_files_are_read_or_refused(
    saved: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    draw, whole = random.Random(7), members(saved[kind])
    paths = [pack(mutated(whole, draw), tmp_path / f"{n}.{kind}") for n in range(150)]
    said = _opened(paths)
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


def test_a_chain_for_more_labels_is_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    path = _with(saved["tagger"], "chain", np.zeros((102, 100), np.float32), tmp_path / "x.tagger")
    with pytest.raises(SeqTruthError, match="chain has shape"):
        st.Tagger.load(path)
