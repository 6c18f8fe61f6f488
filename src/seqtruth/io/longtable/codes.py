"""Columns of a long table as numbers: each different text once, and a code for every row.

Columns that come as dictionaries (Parquet read that way, categoricals of frames) are never spelled
out row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.kernels.arrays import I32, I64, Bool
from seqtruth.kernels.native import call

TEXT = pa.large_string()
_DIGITS = r"^-?[0-9]{1,15}(\.0)?$"  # fifteen digits fit an int64; pandas makes 3 into 3.0


class CodedColumn(NamedTuple):
    """A column of text.

    Parameters
    ----------
    codes : int32[rows], place in ``names``; -1 where the field is empty.
    names : the different texts; some may be in no row.
    """

    codes: I32
    names: pa.Array


def text_codes(column: pa.Array) -> CodedColumn:
    """A column of anything that can be spelled; Arrow's errors come through."""
    if not pa.types.is_dictionary(column.type):
        try:
            column = column.dictionary_encode()
        except pa.ArrowNotImplementedError:  # such as the string views that Polars gives
            column = column.cast(TEXT).dictionary_encode()
    names = column.dictionary
    if pa.types.is_floating(names.type):
        names = pc.if_else(pc.is_nan(names), None, names)
    names = names.cast(TEXT)
    names.validate(full=True)
    indices = column.indices.cast(pa.int32())
    codes = np.asarray(indices.fill_null(-1) if indices.null_count else indices)
    if len(codes) and (codes.max() >= len(names) or codes.min() < -1):
        raise ValueError("a code is not in the dictionary")
    empty = np.asarray(pc.equal(names, "").fill_null(True))
    if empty.any():
        number = np.append(np.where(empty, -1, np.arange(len(names))), -1).astype(np.int32)
        codes = number[codes]
    return CodedColumn(codes, names)


class NotWhole(ValueError):
    """A number is not whole; holds its row and its text."""

    def __init__(self, row: int, text: str) -> None:
        super().__init__(text)
        self.row, self.text = row, text


def whole_numbers(column: pa.Array) -> tuple[I64, Bool]:
    """A column as whole numbers (-1 where empty), and which of them are given."""
    if pa.types.is_dictionary(column.type):
        values, given = whole_numbers(column.dictionary)
        coded = column.indices.cast(pa.int64())
        places = np.asarray(coded.fill_null(-1))
        return np.append(values, -1)[places], np.append(given, False)[places]
    if pa.types.is_integer(column.type):
        return _filled(column.cast(pa.int64()))
    if pa.types.is_floating(column.type):
        numbers = np.asarray(column.cast(pa.float64()).fill_null(np.nan))
        given = ~np.isnan(numbers)
        bad = given & ((np.trunc(numbers) != numbers) | (np.abs(numbers) >= 1e15))
        if bad.any():
            row = int(np.argmax(bad))
            raise NotWhole(row, column[row : row + 1].cast(TEXT)[0].as_py())
        return np.where(given, numbers, -1).astype(np.int64), given
    texts = column.cast(TEXT)
    texts.validate(full=True)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, TEXT), texts)
    good = pc.match_substring_regex(texts, _DIGITS).fill_null(True)
    if not pc.all(good).as_py():
        row = pc.index(good, False).as_py()
        raise NotWhole(row, texts[row].as_py())
    return _filled(pc.replace_substring_regex(texts, r"\.0$", "").cast(pa.int64()))


def _filled(column: pa.Array) -> tuple[I64, Bool]:
    if not column.null_count:
        return np.asarray(column), np.ones(len(column), np.bool_)
    return np.asarray(column.fill_null(-1)), np.asarray(column.is_valid())


class Numbering:
    """Gives names numbers, in the order in which they come; the same in every batch.

    Parameters
    ----------
    names : those that come first.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.names = pa.array(names, TEXT)
        self._last: tuple[pa.Array, I32] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def of(self, names: pa.Array) -> I32:
        """Numbers of these names; -1 for an empty one, and once more at the end, for code -1."""
        if self._last is not None and names.equals(self._last[0]):
            return self._last[1]
        found = pc.index_in(names, value_set=self.names)
        if found.null_count:
            new = names.filter(found.is_null()).unique()
            new = new.filter(pc.not_equal(new, ""))
            self.names = pa.concat_arrays([self.names, new])
            found = pc.index_in(names, value_set=self.names)
        numbers = np.append(np.asarray(found.fill_null(-1)), -1).astype(np.int32)
        self._last = names, numbers
        return numbers

    def recode(self, coded: CodedColumn) -> I32:
        """The column's codes as numbers."""
        numbers = self.of(coded.names)
        if np.array_equal(numbers[:-1], np.arange(len(numbers) - 1)):
            return coded.codes
        return numbers[coded.codes]

    def text(self, number: int) -> str:
        """The name that has this number."""
        return str(self.names[number].as_py())


def in_order_of_appearance(codes: I32, n: int) -> I32:
    """The different codes (below ``n``) other than -1, in the order in which they come."""
    found = np.empty(n, np.int32)
    return found[: call("in_order_of_appearance", codes, found)]
