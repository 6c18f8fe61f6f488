"""Compiled splitting of CoNLL text against Python's own."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth import io
from seqtruth.errors import InputError
from seqtruth.io import chunks
from seqtruth.io.formats.conll import text
from seqtruth.io.formats.conll.cells import Room, count_cells, find_lines, read_cells
from seqtruth.io.text_batch import Texts

GAPS, TABS = b"\t \n", b"\t\n"
lines = st.lists(st.text("ab\t \r#", max_size=8), min_size=1, max_size=6)


def gaps(signs: bytes = GAPS) -> np.ndarray:
    gap = np.zeros(256, np.bool_)
    gap[list(signs)] = True
    return gap


@given(lines, st.sampled_from((GAPS, TABS)))
@settings(deadline=None)
def test_lines_and_cells(found: list[str], signs: bytes) -> None:
    data = "".join(line + "\n" for line in found).encode()
    buffer = np.frombuffer(data, np.uint8)
    starts, ends, filled = find_lines(buffer, Room())
    assert [data[a:b].decode() for a, b in zip(starts, ends, strict=True)] == found
    assert filled.tolist() == [bool(line.strip()) for line in found]
    rows = np.arange(len(found))
    bare = [line.removesuffix("\r") for line in found]
    if signs is GAPS:
        bare = [line.replace(" ", "\t") for line in bare]
    cells = [[cell for cell in line.split("\t") if cell] for line in bare]
    gap, room = gaps(signs), Room()
    counts = count_cells(buffer, starts, ends, rows, gap)
    assert counts.tolist() == [len(line) for line in cells]
    for width in {len(line) for line in cells} - {0}:
        mine = np.flatnonzero([len(line) == width for line in cells])
        found_cells = read_cells(buffer, (starts, ends, mine), gap, width, room)
        assert found_cells is not None
        wanted = [line for line in cells if len(line) == width]
        assert words(found_cells.tokens) == [line[0] for line in wanted]
        names = found_cells.names
        assert [[names[x] for x in row] for row in found_cells.codes.tolist()] == [
            line[1:] for line in wanted
        ]
        if len(mine) < len(cells):
            assert read_cells(buffer, (starts, ends, rows), gap, width, room) is None


def words(found: Texts) -> list[str]:
    parts = np.split(found.data, np.cumsum(found.sizes)[:-1])
    return [part.tobytes().decode() for part in parts]


@given(st.integers(1, 4), st.integers(1, 2000), st.integers(1, 3000), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_numbers_of_any_number_of_labels(
    n_columns: int, n_rows: int, n_labels: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    grid = rng.integers(0, n_labels, (n_rows, n_columns + 1))
    grid[n_rows // 2 :, 1:] = grid[n_rows // 2, 1:]  # what stands above, again and again
    data = "".join(" ".join(f"t{x}" for x in row) + "\n" for row in grid.tolist()).encode()
    buffer = np.frombuffer(data, np.uint8)
    starts, ends, _ = find_lines(buffer, Room())
    found = read_cells(buffer, (starts, ends, np.arange(n_rows)), gaps(), n_columns + 1, Room())
    assert found is not None
    codes, names = found.codes, found.names
    assert len(set(names)) == len(names)
    assert [[names[x] for x in row] for row in codes.tolist()] == [
        [f"t{x}" for x in row[1:]] for row in grid.tolist()
    ]


def test_a_file_in_many_blocks_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.conll"
    lines = ["# token\tann\tbob", "# scheme = iob2"]
    for number in range(40):
        lines += [f"# id = s{number}", f"w{number}\tB-{'XYZ'[number % 3]}\t?", "x\tO\tO", ""]
    path.write_text("\n".join([*lines, "last\tB-X\tO"]))
    whole = io.read(path).digest()
    for size in (1, 7, 64, 301):
        monkeypatch.setattr(text, "_BLOCK", size)
        monkeypatch.setattr(chunks, "CHUNK", size)
        assert io.read(path).digest() == whole
        (tmp_path / "b.conll").write_text("\n".join([*lines, "bad\tB-X"]))
        with pytest.raises(
            InputError, match=rf"b\.conll:{len(lines) + 1}: 2 columns where the header has 3"
        ):
            io.read(tmp_path / "b.conll")


def test_line_ends_of_old_macs(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    path.write_bytes(b"EU B-ORG\rrejects O\r\rYes O\r")
    crowd = io.read(path)
    assert (crowd.n_sentences, crowd.n_annotators, crowd.n_tokens) == (2, 1, 3)


def test_time_grows_with_the_file(tmp_path: Path) -> None:
    """Names and comments that took the square of their length."""
    began = time.perf_counter()
    names = "\t".join(f"a{number}" for number in range(60_000))
    (tmp_path / "a.conll").write_text(f"# token\t{names}\ta7\nx\tO\n")
    with pytest.raises(InputError, match="annotator 'a7' has two columns"):
        io.read(tmp_path / "a.conll")
    (tmp_path / "b.conll").write_text("# a" + " " * 200_000 + "b\nx O\n")
    with pytest.raises(InputError):
        io.read(tmp_path / "b.conll")
    keys = ", ".join(f'"k{number}": []' for number in range(60_000))
    (tmp_path / "c.jsonl").write_text('{"text": "a", "annotations": {' + keys + ', "k9": []}}\n')
    with pytest.raises(InputError, match="the key 'k9' stands twice"):
        io.read(tmp_path / "c.jsonl")
    assert time.perf_counter() - began < 20


@pytest.mark.parametrize(
    ("content", "annotators"),
    [
        ("EU NNP B-NP B-ORG\nrejects VBZ B-VP O\n", 1),
        ("Ada -X- _ B-PER\nmet -X- _ O\n", 1),
        ("EU B-ORG O\nrejects O ?\n", 2),
        ("EU NNP NN\nrejects VBZ VB\n", 2),
    ],
    ids=["CoNLL-2003", "Label Studio", "two annotators", "two annotators of plain tags"],
)
def test_columns_that_are_no_annotators(tmp_path: Path, content: str, annotators: int) -> None:
    path = tmp_path / "a.conll"
    path.write_text(content)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert io.read(path).n_annotators == annotators
    assert ["only the last column holds tags" in str(one.message) for one in told] == (
        [True] if annotators == 1 else []
    )
