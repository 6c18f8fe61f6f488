"""Corrupted files: each gives a crowd or a SeqTruth error, never anything else."""

from __future__ import annotations

import warnings
from pathlib import Path
from random import Random

import pytest

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning, SeqTruthError
from tests.attack.mutators import mutated

N_CORRUPTIONS = 5_000
TEXTS = (
    '{"id": "s1", "doc": "d", "text": "Zoë Smith ran.\\r\\n Ok 😀", "annotations": {"ann": '
    '[{"start": 0, "end": 9, "label": "PER"}], "bob": [], "eve": null}}\n'
    '{"id": 2, "tokens": ["Ann", "\\u00e9"], "annotations": {"ann": ["B-PER", null]}}\n'
)
GOLD = "-DOCSTART- -X- O\n\nEU B-ORG\nrejects O\n\nPeter B-PER\nBlackburn I-PER\n"
SPECIMENS = (
    "a.conll",
    "gold.conll",
    "folder",
    "a.jsonl",
    "texts.jsonl",
    "a.csv",
    "a.tsv",
    "a.parquet",
    "spans.csv",
    "spans.parquet",
    "a.csv.gz",
)


@pytest.fixture(scope="module")
def specimens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small valid file in every format and shape."""
    folder = tmp_path_factory.mktemp("specimens")
    crowd = Crowd.of(
        {
            "ann": [["B-PER", "O", "O"], ["O", "B-LOC"], None],
            "bob": [["B-PER", "I-PER", None], None, None],
        },
        [["Zoë", "Smith", "ran"], ["in", "Ames"], ["Yes"]],
        ids=["s1", "s2", "s3"],
    )
    for name in ("a.conll", "a.jsonl", "a.csv", "a.tsv", "a.parquet", "a.csv.gz"):
        io.write(crowd, folder / name)
    io.write(crowd, folder / "folder", "conll-folder")
    (folder / "gold.conll").write_text(GOLD)
    (folder / "texts.jsonl").write_text(TEXTS)
    (folder / "one.jsonl").write_text(TEXTS.split("\n")[0])
    for name in ("spans.csv", "spans.parquet"):
        io.write(io.read(folder / "one.jsonl"), folder / name)
    return folder


def test_corrupted_files_give_a_crowd_or_our_error(specimens: Path, tmp_path: Path) -> None:
    outcomes = {"crowd": 0, "error": 0}
    for number in range(N_CORRUPTIONS):
        draw = Random(f"20, {number}")
        name = SPECIMENS[number % len(SPECIMENS)]
        path = tmp_path / name
        if name == "folder":
            path.mkdir(exist_ok=True)
            wounded = draw.choice(("ann.conll", "bob.conll"))
            for file in (specimens / name).iterdir():
                data = file.read_bytes()
                (path / file.name).write_bytes(
                    mutated(data, draw) if file.name == wounded else data
                )
        else:
            path.write_bytes(mutated((specimens / name).read_bytes(), draw))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", DataWarning)  # of what was left out
                crowd = io.read(path)
            assert isinstance(crowd, Crowd)
            outcomes["crowd"] += 1
        except SeqTruthError as error:
            assert name.split(".")[0] in str(error), f"corruption {number}: no file in {error}"
            outcomes["error"] += 1
        except Exception as error:
            pytest.fail(f"corruption {number} of {name}: {type(error).__name__}: {error}")
    assert min(outcomes.values()) > 500  # the corruptions are neither all fatal nor all harmless
