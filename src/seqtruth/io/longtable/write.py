"""Writing labels as a long table with one row per annotator and token, group by group."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.atomic import atomic_path
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataError
from seqtruth.io.assemble import offsets_of
from seqtruth.kernels.arrays import I32

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: Rows written together, as one row group of a Parquet file.
GROUP_ROWS = 1 << 20

Confidence = npt.NDArray[np.floating[Any]] | None


def token_table(crowd: Crowd, confidence: Confidence) -> pa.Table:
    """The whole table; columns of text are dictionaries."""
    tokens, documents = _with_tokens(crowd), _with_documents(crowd)
    groups = list(_groups(crowd, confidence, tokens, documents))
    return pa.concat_tables(groups) if groups else pa.table({})


def save_tokens(crowd: Crowd, path: Path, confidence: Confidence) -> None:
    """Write a Parquet table with one row per annotator and token."""
    with token_writer(path, _with_tokens(crowd), _with_documents(crowd)) as writer:
        writer.write(crowd, confidence)


@contextmanager
def token_writer(path: str | Path, tokens: bool, documents: bool) -> Iterator[TokenWriter]:
    """A Parquet file to be written crowd after crowd, whole or not at all."""
    with atomic_path(path) as temporary:
        writer = TokenWriter(temporary, tokens, documents)
        try:
            yield writer
        finally:
            writer.close()


class TokenWriter:
    """Appends crowds to one Parquet file.

    Parameters
    ----------
    path : the file.
    tokens, documents : whether it has the columns ``token`` and ``doc``.
    """

    def __init__(self, path: Path, tokens: bool, documents: bool) -> None:
        self._path, self._tokens, self._documents = path, tokens, documents
        self._file: pq.ParquetWriter | None = None

    def write(self, crowd: Crowd, confidence: Confidence) -> None:
        """Append a crowd; all must have a confidence (one number per token), or none."""
        if confidence is not None:
            confidence = np.asarray(confidence, np.float32)
        for group in _groups(crowd, confidence, self._tokens, self._documents):
            if self._file is None:
                import pyarrow.parquet as pq  # slow to import: only where it is needed

                # Without Arrow's own schema, other tools see plain text, not categories.
                self._file = pq.ParquetWriter(
                    self._path, group.schema, write_page_checksum=True, store_schema=False
                )
            self._file.write_table(group, row_group_size=GROUP_ROWS)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _with_tokens(crowd: Crowd) -> bool:
    return crowd.corpus.tokens is not None


def _with_documents(crowd: Crowd) -> bool:
    return crowd.corpus.documents != ("",)


def _groups(
    crowd: Crowd, confidence: Confidence, tokens: bool, documents: bool
) -> Iterator[pa.Table]:
    """Groups of whole sentences, about GROUP_ROWS rows each."""
    lengths = np.maximum(np.diff(crowd.corpus.token_offsets), 1)
    rows = offsets_of(lengths * np.maximum(np.diff(crowd.sentence_rows), 1))
    first = 0
    while first < crowd.n_sentences:
        last = int(np.searchsorted(rows, rows[first] + GROUP_ROWS, "right")) - 1
        last = max(last, first + 1)
        yield _group(crowd, confidence, tokens, documents, first, last)
        first = last


def _group(
    crowd: Crowd, confidence: Confidence, tokens: bool, documents: bool, first: int, last: int
) -> pa.Table:
    """One row per row and token of the sentences ``first`` to ``last`` (not included).

    A sentence that nobody saw has rows with an empty annotator; one without tokens has a row with an
    empty token_index.
    """
    corpus = crowd.corpus
    sentence, row = _rows(crowd, first, last)
    lengths = np.diff(corpus.token_offsets)[sentence]
    shown = np.maximum(lengths, 1)
    starts = offsets_of(shown)
    index = (np.arange(starts[-1]) - np.repeat(starts[:-1], shown)).astype(np.int32)
    empty = np.repeat(lengths == 0, shown)
    place = np.repeat(corpus.token_offsets[sentence], shown) + index
    place[empty] = 0
    tagged = np.repeat((row >= 0) & (lengths > 0), shown)
    tags = crowd.scheme.unlabelled(len(index))
    flat = np.repeat(crowd.row_offsets[row], shown) + index
    tags[tagged] = crowd.tags[flat[tagged]]
    annotator = np.append(crowd.row_annotator, np.int32(-1))[row]
    columns = {
        "task": _named(np.repeat(sentence - first, shown), corpus.sentence_ids[first:last]),
        "worker": _named(
            np.repeat(annotator, shown), pa.array(crowd.annotators, pa.large_string())
        ),
        "token_index": pa.array(index, mask=empty if empty.any() else None),
    }
    if tokens:
        columns["token"] = _words(corpus.tokens, place, empty)
    columns["label"] = _named(tags, pa.array(crowd.scheme.labels, pa.large_string()))
    if documents:
        names = pa.array(corpus.documents, pa.large_string())
        columns["doc"] = _named(np.repeat(corpus.sentence_document[sentence], shown), names)
    if confidence is not None:
        numbers = np.zeros(len(place), confidence.dtype)
        numbers[~empty] = confidence[place[~empty]]
        columns["confidence"] = pa.array(numbers, mask=empty if empty.any() else None)
    return pa.table(columns)


def _rows(crowd: Crowd, first: int, last: int) -> tuple[I32, npt.NDArray[np.int64]]:
    """Sentence and row, or -1 where nobody saw the sentence, in the order of the sentences."""
    bounds = crowd.sentence_rows[first : last + 1]
    counts = np.diff(bounds)
    sentence = np.repeat(np.arange(first, last, dtype=np.int32), np.maximum(counts, 1))
    row = np.full(len(sentence), -1, np.int64)
    row[np.repeat(counts > 0, np.maximum(counts, 1))] = np.arange(bounds[0], bounds[-1])
    return sentence, row


def _named(codes: npt.NDArray[np.integer[Any]], names: pa.Array) -> pa.DictionaryArray:
    """Text by codes; empty where the code is negative."""
    numbers = codes.astype(np.int32)
    missing = numbers < 0
    places = pa.array(numbers, mask=missing if missing.any() else None)
    return pa.DictionaryArray.from_arrays(places, names)


def _words(
    tokens: pa.Array | None, place: npt.NDArray[np.int64], empty: npt.NDArray[np.bool_]
) -> pa.Array:
    if tokens is None:
        return pa.nulls(len(place), pa.large_string())
    used = tokens[int(place.min()) : int(place.max()) + 1] if len(tokens) else tokens
    if pc.any(pc.equal(used, "")).as_py():
        raise DataError("an empty token cannot be written in a table", fix="write .jsonl instead")
    return tokens.take(pa.array(place, mask=empty if empty.any() else None))
