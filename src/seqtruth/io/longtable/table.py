"""Long tables: one row per (task, annotator, token), or per (task, annotator, span).

Token level: ``task, worker, label`` and, for sequences, ``token_index`` (from 0) and ``token``.
Span level: ``task, worker, start, end, label`` and ``text`` (offsets count characters) or
``tokens`` (offsets count tokens). Both may have ``doc``. See ``docs/formats.md``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError, InputError, ParameterError
from seqtruth.io.longtable.ahead import ahead
from seqtruth.io.longtable.build import Coder, lay_out_rows, make_crowd
from seqtruth.io.longtable.runs import join
from seqtruth.io.longtable.sources import (
    Batches,
    TableSource,
    batches_of_parquet,
    load_delimited,
    load_frame,
    load_parquet,
    open_parquet,
    save_delimited,
    save_parquet,
)
from seqtruth.io.longtable.spans import read_span_rows, span_table
from seqtruth.io.longtable.write import save_tokens, token_table
from seqtruth.kernels.memory import give_back


def read_csv(
    path: Path, scheme: str | None = None, *, quoting: bool = True, safe_cells: bool = False
) -> Crowd:
    """Read a table with commas, semicolons or bars; ``quoting=False`` takes quotation marks as text."""
    return read_source(load_delimited(path, None, quoting, safe_cells), scheme)


def read_tsv(
    path: Path, scheme: str | None = None, *, quoting: bool = True, safe_cells: bool = False
) -> Crowd:
    """Read a tab-separated table; ``quoting=False`` takes quotation marks as plain text."""
    return read_source(load_delimited(path, "\t", quoting, safe_cells), scheme)


def read_parquet(path: Path, scheme: str | None = None) -> Crowd:
    """Read a Parquet table, in batches and column by column."""
    file = open_parquet(path)
    names = file.schema_arrow.names
    if "start" in names or "end" in names:
        return read_source(load_parquet(path, file), scheme)
    return read_token_rows(batches_of_parquet(path, file), scheme)


def read_frame(frame: Any, scheme: str | None = None) -> Crowd:
    """Read a pandas, Polars or Arrow table."""
    return read_source(load_frame(frame), scheme)


def read_source(source: TableSource, scheme: str | None) -> Crowd:
    """Read a table of either level."""
    if source.has("start") != source.has("end"):
        raise InputError("a table with spans needs both columns, start and end", where=source.name)
    if source.has("start"):
        return read_span_rows(source, scheme)
    return read_token_rows(source.batches(), scheme)


def read_token_rows(table: Batches, scheme: str | None) -> Crowd:
    """Read a table with one row per token; the next batch is fetched while one is numbered."""
    coder = Coder(table)
    coded, row = [], 0
    for batch in ahead(table.batches):
        coded.append(coder.runs(batch, row))
        row += batch.num_rows
    if len(coded) > 1:
        give_back()
    return make_crowd(coder, lay_out_rows(coder, join(coded)), scheme)


def write_table(
    crowd: Crowd,
    path: Path,
    kind: str,
    confidence: npt.NDArray[Any] | None = None,
    level: str | None = None,
    span_confidence: npt.NDArray[Any] | None = None,
    safe_cells: bool = False,
) -> None:
    """Write CSV, TSV or Parquet.

    Parameters
    ----------
    crowd, path, kind : what, where to, and ``csv``, ``tsv`` or ``parquet``.
    confidence : one number per token, for a column of its own.
    level : ``token`` or ``span``; by default spans where the corpus has texts and spans can say
        everything, else tokens.
    span_confidence : one number per token, that of the span it is in; ``confidence`` if not given.
    safe_cells : put an apostrophe before what a spreadsheet would run as a formula; not in Parquet.
    """
    if level not in (None, "token", "span"):
        raise ParameterError("level must be token or span", got=repr(level))
    texts = crowd.corpus.texts
    if level is None:
        spans_do = crowd.scheme.kind != "plain" and not (crowd.tags < 0).any()
        level = "span" if texts is not None and not texts.null_count and spans_do else "token"
    if not crowd.n_sentences:
        raise DataError("a crowd without sentences cannot be written as a table")
    of_span = confidence if span_confidence is None else span_confidence
    if level == "token" and kind == "parquet":
        save_tokens(crowd, path, confidence)
        return
    table = span_table(crowd, of_span) if level == "span" else _spelled(crowd, confidence)
    if kind == "parquet":
        save_parquet(table, path)
    else:
        save_delimited(table, path, "," if kind == "csv" else "\t", safe_cells)


def _spelled(crowd: Crowd, confidence: npt.NDArray[Any] | None) -> pa.Table:
    """The token table with text for codes, as lines need it."""
    if confidence is not None:
        confidence = np.asarray(confidence, np.float64)
    table = token_table(crowd, confidence)
    kinds = [
        (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(kinds))
