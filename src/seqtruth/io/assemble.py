"""The last step of every reader: coded columns become a :class:`~seqtruth.data.crowd.Crowd`.

Faults that only show once everything is read (a tag outside the scheme, too many labels) are
turned here into errors that name their place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import offsets_of as offsets_of
from seqtruth.data.scheme import MAX_LABELS, Scheme, check_label, detect, detect_from_pairs
from seqtruth.errors import DataError, InputError
from seqtruth.io.growing import string_array
from seqtruth.kernels.tags import count_pairs

#: Place of a tag from (sentence, token in the sentence, annotator), as ``file:line``.
Where = Callable[[int, int, int], str]


@dataclass
class Columns:
    """What a reader has found, in file order.

    Parameters
    ----------
    name : file name for messages.
    corpus : the sentences.
    annotators : annotators' names.
    labels : what the numbers in ``tags`` mean.
    row_sentence, row_annotator, tags : rows, as :meth:`Crowd.build` takes them.
    where : place of a tag.
    """

    name: str
    corpus: Corpus
    annotators: Sequence[str]
    labels: Sequence[str]
    row_sentence: npt.NDArray[np.integer[Any]]
    row_annotator: npt.NDArray[np.integer[Any]]
    tags: npt.NDArray[np.signedinteger[Any]]
    where: Where
    offsets: npt.NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        lengths = np.diff(self.corpus.token_offsets)[self.row_sentence]
        self.offsets = offsets_of(lengths)


def assemble(columns: Columns, scheme: str | None) -> Crowd:
    """Check the tags against the scheme (given or detected) and build the crowd."""
    kind = find_scheme(columns, scheme)
    try:
        return Crowd.build(
            columns.corpus,
            columns.labels,
            columns.annotators,
            columns.row_sentence,
            columns.row_annotator,
            columns.tags,
            kind,
        )
    except DataError as error:
        raise as_input_error(error, columns.name) from None


def find_scheme(columns: Columns, scheme: str | None) -> str:
    """The scheme's name; raises at the first tag that is not in it."""
    if scheme is None:
        kind = _detected(columns)
    else:
        kind = Scheme.of(scheme, ()).kind
    faults = [number for number, label in enumerate(columns.labels) if fault_of(kind, label)]
    places = np.flatnonzero(np.isin(columns.tags, faults)) if faults else np.zeros(0, np.int64)
    if len(places):
        row = np.searchsorted(columns.offsets, places, "right") - 1
        sentence, annotator = columns.row_sentence[row], columns.row_annotator[row]
        token = places - columns.offsets[row]
        first = np.lexsort((annotator, token, sentence))[0]
        fault = fault_of(kind, columns.labels[columns.tags[places[first]]])
        assert fault is not None
        where = columns.where(int(sentence[first]), int(token[first]), int(annotator[first]))
        raise InputError(fault.what, where=where, fix=fault.fix)
    return kind


def _detected(columns: Columns) -> str:
    if len(columns.labels) > MAX_LABELS:
        return detect(columns.labels, columns.tags, columns.offsets[:-1])
    pairs = count_pairs(columns.tags, columns.offsets, len(columns.labels))
    return detect_from_pairs(columns.labels, pairs)


def fault_of(kind: str, label: str) -> DataError | None:
    """Why a label is not in the scheme; None where it is."""
    try:
        check_label(kind, label)
    except DataError as error:
        return error
    return None


def as_input_error(error: DataError, name: str) -> InputError:
    """The same fault, told of a file."""
    where = f"{name}: {error.where}" if error.where else name
    return InputError(error.what, where=where, got=error.got, fix=error.fix)


def make_corpus(
    name: str,
    token_offsets: npt.NDArray[np.int64],
    ids: Sequence[str] | pa.Array,
    tokens: pa.Array | None,
    documents: Sequence[str] | None = None,
    texts: pa.Array | None = None,
    char_starts: npt.NDArray[np.int32] | None = None,
    char_ends: npt.NDArray[np.int32] | None = None,
) -> Corpus:
    """A corpus from columns; ``documents`` is one name per sentence."""
    numbers: dict[str, int] = {}
    document: Any = None
    if documents is not None and len(documents):
        document = np.array([numbers.setdefault(d, len(numbers)) for d in documents], np.int32)
    if not isinstance(ids, pa.Array):
        ids = string_array(ids)
    try:
        return Corpus(
            token_offsets,
            ids,
            tokens,
            tuple(numbers) or ("",),
            document,
            texts,
            char_starts,
            char_ends,
        )
    except DataError as error:
        raise as_input_error(error, name) from None


def sentence_documents(corpus: Corpus) -> list[str]:
    """Name of each sentence's document."""
    assert corpus.sentence_document is not None
    return [corpus.documents[number] for number in corpus.sentence_document.tolist()]
