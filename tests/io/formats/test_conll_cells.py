"""Compiled splitting of CoNLL text against Python's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from seqtruth.io.formats.conll.cells import count_cells, find_cells, find_lines, number_cells, texts

GAPS = b"\t \n"
lines = st.lists(st.text("ab\t \r#", max_size=8), min_size=1, max_size=6)


def gaps() -> np.ndarray:
    gap = np.zeros(256, np.bool_)
    gap[list(GAPS)] = True
    return gap


@given(lines)
@settings(deadline=None)
def test_lines_and_cells(found: list[str]) -> None:
    data = "".join(line + "\n" for line in found).encode()
    buffer = np.frombuffer(data, np.uint8)
    starts, ends, filled = find_lines(buffer)
    assert [data[a:b].decode() for a, b in zip(starts, ends, strict=True)] == found
    assert filled.tolist() == [bool(line.strip()) for line in found]
    rows = np.arange(len(found))
    bare = [line.removesuffix("\r").replace("\t", " ").split(" ") for line in found]
    cells = [[cell for cell in line if cell] for line in bare]
    counts = count_cells(buffer, starts, ends, rows, gaps())
    assert counts.tolist() == [len(line) for line in cells]
    first, last = find_cells(buffer, starts, ends, rows, gaps(), int(counts.sum()))
    assert texts(buffer, first, last).to_pylist() == [cell for line in cells for cell in line]


@given(st.integers(1, 4), st.integers(1, 2000), st.integers(1, 3000), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_numbers_of_any_number_of_labels(
    n_columns: int, n_rows: int, n_labels: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    grid = rng.integers(0, n_labels, (n_rows, n_columns + 1))
    data = "".join(" ".join(f"t{x}" for x in row) + "\n" for row in grid.tolist()).encode()
    buffer = np.frombuffer(data, np.uint8)
    starts, ends, _ = find_lines(buffer)
    n_cells = grid.size
    first, last = find_cells(buffer, starts, ends, np.arange(n_rows), gaps(), n_cells)
    codes, firsts = number_cells(buffer, first, last, n_columns + 1)
    names = texts(buffer, first[firsts], last[firsts]).to_pylist()
    assert len(set(names)) == len(names)
    assert [[names[x] for x in row] for row in codes.tolist()] == [
        [f"t{x}" for x in row[1:]] for row in grid.tolist()
    ]
