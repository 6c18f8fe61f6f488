"""Corrupted files: each gives a crowd or a SeqTruth error, never anything else."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning, SeqTruthError

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
SPLICES = (
    b"\0",
    b"\xff",
    b"\t",
    b"\n",
    b"\r",
    b'"',
    b"{",
    b"}",
    b"[",
    b",",
    b"null",
    b"NaN",
    b"1e999",
    b"-1",
    b"99999999999999999999",
    b"?",
    b"X-PER",
    b"# id = s1\n",
    b"\\ud800",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"-DOCSTART-",
    b"# token\n",
    b" ",
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


def corrupt(data: bytes, rng: np.random.Generator) -> bytes:
    """One to three random wounds."""
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(0, len(data) + 1))
        end = min(len(data), place + int(rng.integers(1, 20)))
        lines = data.split(b"\n")
        line = int(rng.integers(len(lines)))
        match rng.integers(8):
            case 0 if data:  # flip a bit
                at = min(place, len(data) - 1)
                data = data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
            case 1:
                data = data[:place] + data[end:]
            case 2:  # duplicate a line
                data = b"\n".join([*lines[:line], lines[line], *lines[line:]])
            case 3:
                data = data[:place]
            case 4:  # swap two columns
                for separator in (b"\t", b",", b" "):
                    cells = lines[line].split(separator)
                    if len(cells) > 1:
                        a, b = rng.choice(len(cells), 2, replace=False)
                        cells[a], cells[b] = cells[b], cells[a]
                        lines[line] = separator.join(cells)
                        break
                data = b"\n".join(lines)
            case 5:
                data = data[:place] + SPLICES[rng.integers(len(SPLICES))] + data[place:]
            case 6:  # lose a line
                data = b"\n".join(lines[:line] + lines[line + 1 :])
            case _:  # noise
                noise = rng.integers(0, 256, int(rng.integers(1, 6)), dtype=np.uint8).tobytes()
                data = data[:place] + noise + data[place:]
    return data


def test_corrupted_files_give_a_crowd_or_our_error(specimens: Path, tmp_path: Path) -> None:
    outcomes = {"crowd": 0, "error": 0}
    for number in range(N_CORRUPTIONS):
        rng = np.random.default_rng([20, number])
        name = SPECIMENS[number % len(SPECIMENS)]
        path = tmp_path / name
        if name == "folder":
            path.mkdir(exist_ok=True)
            wounded = ("ann.conll", "bob.conll")[int(rng.integers(2))]
            for file in (specimens / name).iterdir():
                data = file.read_bytes()
                (path / file.name).write_bytes(corrupt(data, rng) if file.name == wounded else data)
        else:
            path.write_bytes(corrupt((specimens / name).read_bytes(), rng))
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
