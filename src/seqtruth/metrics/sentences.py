"""Which sentences are meant, and which sentence of one corpus is which of another."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import gather
from seqtruth.errors import DataError, DataWarning

#: Which sentences: a mask, numbers, a slice, or sentence ids (also as an Arrow array).
Sentences = npt.NDArray[Any] | Iterable[Any] | slice


def choose(corpus: Corpus, sentences: Sentences | None) -> npt.NDArray[np.int64]:
    """Numbers of the sentences meant, in order and without repeats.

    >>> choose(Corpus.of([["a"], ["b"], ["c"]], ids=["x", "y", "z"]), ["z", "x"]).tolist()
    [0, 2]
    """
    n = corpus.n_sentences
    if sentences is None:
        return np.arange(n)
    if isinstance(sentences, slice):
        return np.unique(np.arange(n)[sentences])
    entries: Any = [sentences] if isinstance(sentences, str) else sentences
    if isinstance(entries, pa.Array | pa.ChunkedArray):
        entries = entries.to_numpy(zero_copy_only=False)
    array = entries if isinstance(entries, np.ndarray) else np.array(list(entries))
    if array.ndim != 1:
        raise DataError("sentences must be one list, mask or set", got=f"shape {array.shape}")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype == np.bool_:
        if len(array) != n:
            raise DataError(f"a mask over the sentences must have {n} entries", got=str(len(array)))
        return np.flatnonzero(array)
    if np.issubdtype(array.dtype, np.integer):
        if array.min() < -n or array.max() >= n:
            wrong = array.max() if array.max() >= n else array.min()
            raise DataError(f"sentence numbers must be below {n}", got=str(wrong))
        return np.unique(np.where(array < 0, array + n, array)).astype(np.int64)
    ids = [str(name) for name in array.tolist()]
    found = corpus.find(pa.array(ids, pa.large_string()))
    if (found < 0).any():
        raise DataError(
            "no such sentence in the result",
            got=repr(ids[int(np.argmin(found))]),
            fix="give ids of the result's sentences, their numbers, or a mask",
        )
    return np.unique(found)


def match_sentences(
    ours: Corpus, theirs: Corpus, chosen: npt.NDArray[np.int64], asked: bool = False
) -> npt.NDArray[np.int64]:
    """Place in ``theirs`` of each chosen sentence of ``ours``, -1 where it has none.

    ``asked`` says that the user named the sentences; then only those need a partner.
    """
    found = theirs.find(ours.sentence_ids)
    common = int((found >= 0).sum())
    if common and (
        common in (ours.n_sentences, theirs.n_sentences)
        or (asked and len(chosen) > 0 and (found[chosen] >= 0).all())
    ):
        partner = found[chosen]
        _check_lengths(ours, theirs, chosen, partner)
        _compare_tokens(ours, theirs, chosen, partner)
        return partner
    if ours.n_sentences == theirs.n_sentences and np.array_equal(
        ours.token_offsets, theirs.token_offsets
    ):
        _compare_tokens(ours, theirs, chosen, chosen)
        return chosen
    raise _no_match(ours, theirs, found)


def _check_lengths(
    ours: Corpus,
    theirs: Corpus,
    chosen: npt.NDArray[np.int64],
    partner: npt.NDArray[np.int64],
) -> None:
    both = partner >= 0
    chosen, partner = chosen[both], partner[both]
    a, b = np.diff(ours.token_offsets)[chosen], np.diff(theirs.token_offsets)[partner]
    wrong = np.flatnonzero(a != b)
    if len(wrong):
        i = wrong[0]
        more = f" ({len(wrong)} sentences differ)" if len(wrong) > 1 else ""
        raise DataError(
            "lengths differ",
            where=f"sentence {ours.sentence_ids[int(chosen[i])].as_py()!r}",
            got=f"{a[i]} tokens in the result, {b[i]} in the gold{more}",
            fix="score against a gold standard with the same tokens",
        )


def _compare_tokens(
    ours: Corpus,
    theirs: Corpus,
    chosen: npt.NDArray[np.int64],
    partner: npt.NDArray[np.int64],
) -> None:
    """Ids or positions may agree by accident; say so where the words speak against it."""
    if ours.tokens is None or theirs.tokens is None or ours is theirs:
        return
    both = partner >= 0
    _, flat = gather(ours.token_offsets, chosen[both])
    _, other = gather(theirs.token_offsets, partner[both])
    differs = np.asarray(pc.not_equal(ours.tokens.take(flat), theirs.tokens.take(other)))
    wrong = np.flatnonzero(differs)
    if len(wrong):
        a, b = int(flat[wrong[0]]), int(other[wrong[0]])
        sentence = int(np.searchsorted(ours.token_offsets, a, "right")) - 1
        warnings.warn(
            f"{len(wrong):,} of {len(differs):,} tokens differ between result and gold, first in "
            f"sentence {ours.sentence_ids[sentence].as_py()!r}: {ours.tokens[a].as_py()!r} against "
            f"{theirs.tokens[b].as_py()!r}; check that both hold the same sentences in the same "
            "order, or give them the same ids",
            DataWarning,
            stacklevel=4,
        )


def _no_match(ours: Corpus, theirs: Corpus, found: npt.NDArray[np.int64]) -> DataError:
    common = int((found >= 0).sum())
    if common:
        stray = ours.sentence_ids[int(np.argmin(found))].as_py()
        return DataError(
            "result and gold have only part of their sentences in common",
            got=f"{common} shared ids, {ours.n_sentences} sentences in the result, "
            f"{theirs.n_sentences} in the gold; {stray!r} is not in the gold",
            fix="name the sentences to score with sentences=",
        )
    if ours.n_sentences == theirs.n_sentences:
        a, b = np.diff(ours.token_offsets), np.diff(theirs.token_offsets)
        i = int(np.flatnonzero(a != b)[0])
        return DataError(
            "result and gold share no sentence ids, and by position the lengths differ",
            where=f"sentence {ours.sentence_ids[i].as_py()!r}",
            got=f"{a[i]} tokens in the result, {b[i]} in the gold",
            fix="give both the same ids, or the same sentences in the same order",
        )
    return DataError(
        "result and gold have no common sentences",
        got=f"{ours.n_sentences} sentences in the result, {theirs.n_sentences} in the gold",
        fix="give both the same ids, or the same sentences in the same order",
    )
