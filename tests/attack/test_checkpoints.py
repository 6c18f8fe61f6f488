"""Whatever a checkpoint holds, a run goes on from it, or refuses it by name."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from seqtruth.errors import InputError
from seqtruth.history import Step
from tests.attack.archives import _array, _read, members, mutated, pack
from tests.attack.opening import checkpointed, crowd

FILE = "checkpoint.seqtruth"
KINDS = sorted(checkpointed())


def first_round(kind: str, folder: Path) -> Path:
    """The checkpoint after the first round of a run."""
    kept = folder / f"{kind}.first"

    def keep(step: Step) -> None:
        if step.iteration == 1:
            shutil.copy(folder / FILE, kept)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checkpointed()[kind].fit(crowd(), checkpoint=folder, progress=keep)
    return kept


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {kind: first_round(kind, tmp_path_factory.mktemp(kind)) for kind in KINDS}


def test_changed_checkpoints_are_gone_on_from_or_refused(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    draw, lines = random.Random(18), []
    for kind in KINDS:
        whole = members(saved[kind])
        for number in range(12):
            folder = tmp_path / f"{kind}{number}"
            folder.mkdir()
            lines.append(f"{kind} {pack(mutated(whole, draw), folder / FILE)}")
    done = subprocess.run(
        [sys.executable, "-m", "tests.attack.opening"],
        input="\n".join(lines), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    said = done.stdout.splitlines()
    assert len(said) == len(lines)
    refused = [line for line in said if line.startswith("refused")]
    assert len(refused) > len(lines) // 3
    assert not [line for line in refused if str(tmp_path) not in line]


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_of_a_checkpoint_is_declared(
    saved: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    """Each array in turn is halved, then one is added that belongs nowhere: all are refused by name."""
    whole = members(saved[kind])
    names = [name.removesuffix(".npy") for name in whole if name.endswith(".npy")]
    assert names
    for name in names[:12]:
        array = _read(whole[f"{name}.npy"])
        short = array[: len(array) // 2] if len(array) > 1 else np.concatenate([array, array])
        pack(whole | {f"{name}.npy": _array(short)}, tmp_path / FILE)
        with pytest.raises(InputError, match="the checkpoint is damaged") as raised:
            checkpointed()[kind].fit(crowd(), checkpoint=tmp_path, resume=True)
        assert str(tmp_path) in str(raised.value)
    pack(whole | {"stranger.npy": _array(np.zeros(3))}, tmp_path / FILE)
    with pytest.raises(InputError, match="stranger does not belong here"):
        checkpointed()[kind].fit(crowd(), checkpoint=tmp_path, resume=True)


def test_a_resumed_run_writes_the_same_report(tmp_path: Path) -> None:
    """The parts of the objective came back in another order."""
    whole, again = tmp_path / "whole.html", tmp_path / "again.html"
    method = checkpointed()["aggslc"]
    method.fit(crowd(), checkpoint=tmp_path).report(whole)
    shutil.copy(first_round("aggslc", tmp_path), tmp_path / FILE)
    method.fit(crowd(), checkpoint=tmp_path, resume=True).report(again)
    assert whole.read_bytes() == again.read_bytes()


def test_confusions_of_fewer_annotators_are_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    """Was a segmentation fault."""
    whole = members(saved["bsc-seq"])
    few = _read(whole["confusion.npy"])[:4]
    pack(whole | {"confusion.npy": _array(few)}, tmp_path / FILE)
    with pytest.raises(InputError, match="confusion has shape"):
        checkpointed()["bsc-seq"].fit(crowd(), checkpoint=tmp_path, resume=True)
