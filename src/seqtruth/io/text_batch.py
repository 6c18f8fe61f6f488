"""Many texts cut into tokens and sentences at once, by passes over arrays of characters.

The result is that of :func:`~seqtruth.io.tokens.tokenise` and :func:`~seqtruth.io.sentences.split_text`, text
by text, which the tests compare. Texts with characters that need a look at their neighbours (combining marks,
joiners, flags) and texts with tokens of their own are left to these two.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.errors import InputError
from seqtruth.io.documents import Document
from seqtruth.io.sentences import (
    BREAKS,
    WIDE_ENDS,
    line_borders,
    merged_blanks,
    paragraph_borders,
    sentence_ends,
    source_borders,
)
from seqtruth.io.tokens import UNSPACED, is_complex, tokenise
from seqtruth.kernels.native import call

I64 = npt.NDArray[np.int64]
_BLANK, _OTHER, _LETTER, _DIGIT, _UNSPACED_LETTER, _COMPLEX = range(6)
#: Characters below this are looked up in a table.
_NEAR = 0x3000
_UNSPACED = re.compile(f"[{UNSPACED}]")


class Batch(NamedTuple):
    """Texts one after the other, a line end between two.

    Places count characters of the whole. ``kinds[n]`` is the kind of a character.
    """

    text: str
    codes: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.uint8]
    starts: I64
    ends: I64


class Texts(NamedTuple):
    """Texts as bytes one after the other, and how many each has."""

    sizes: npt.NDArray[np.int32]
    data: npt.NDArray[np.uint8]


class Cut(NamedTuple):
    """Where tokens and sentences begin and end in a batch.

    ``tokens_of[s]`` is the first token of sentence ``s``, ``sentences_of[d]`` the first sentence of text
    ``d``; both have one entry more than there are.
    """

    token_starts: I64
    token_ends: I64
    tokens_of: I64
    sentence_starts: I64
    sentence_ends: I64
    sentences_of: I64


def _kind(letter: str) -> int:
    if letter.isspace():
        return _BLANK
    if is_complex(letter):
        return _COMPLEX
    unspaced = _UNSPACED.match(letter) is not None
    if letter.isdecimal():
        return _COMPLEX if unspaced else _DIGIT
    if letter.isalnum() or letter == "_":
        return _UNSPACED_LETTER if unspaced else _LETTER
    return _OTHER


@functools.cache
def _kinds_below(limit: int) -> npt.NDArray[np.uint8]:
    return np.array([_kind(chr(point)) for point in range(limit)], np.uint8)


def _kinds(codes: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    largest = int(codes.max(initial=0))
    for limit in (0x80, _NEAR):
        if largest < limit:
            return _kinds_below(limit)[codes]
    kinds = _kinds_below(_NEAR)[np.minimum(codes, _NEAR - 1)]
    far = np.flatnonzero(codes >= _NEAR)
    points, which = np.unique(codes[far], return_inverse=True)
    kinds[far] = np.array([_kind(chr(point)) for point in points], np.uint8)[which]
    return kinds


def batch_of(texts: Sequence[str]) -> Batch:
    """Texts as one."""
    whole = "\n".join(texts) + "\n"
    codes = np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), np.int32)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1) - 1
    return Batch(whole, codes, _kinds(codes), ends - lengths, ends)


def blank(batch: Batch, places: I64) -> npt.NDArray[np.bool_]:
    """Whether white space stands there."""
    return np.asarray(batch.kinds[places] == _BLANK)


def cut(
    batch: Batch, documents: Sequence[Document], split: str, cuts: I64, hulls: tuple[I64, I64]
) -> Cut:
    """Tokens and sentences of all texts.

    Parameters
    ----------
    cuts : places at which a token must not go on, in ascending order.
    hulls : starts and ends of stretches that no sentence may cut.
    """
    odd = _holding(batch, batch.kinds == _COMPLEX)
    odd |= np.fromiter((one.tokens is not None for one in documents), np.bool_, len(documents))
    starts, ends = _tokens(batch)
    if odd.any():
        starts, ends, solid = _with_odd(batch, documents, odd, cuts, (starts, ends))
        hulls = (np.concatenate([hulls[0], solid[0]]), np.concatenate([hulls[1], solid[1]]))
    starts, ends = _cut_further(starts, ends, cuts)
    first, last, of = _sentences(batch, documents, split, hulls)
    tokens_of = np.concatenate([np.searchsorted(starts, first), [len(starts)]])
    return Cut(starts, ends, tokens_of, first, last, of)


def _holding(batch: Batch, where: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which texts hold such a character."""
    if not where.any():
        return np.zeros(len(batch.starts), np.bool_)
    places = np.flatnonzero(where)
    return np.asarray(np.searchsorted(places, batch.ends) > np.searchsorted(places, batch.starts))


def _tokens(batch: Batch) -> tuple[I64, I64]:
    """Runs of letters and digits, numbers with points, and all other visible characters one by one."""
    n = int(np.count_nonzero(batch.kinds))
    starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    found = call("find_tokens", batch.kinds, batch.codes, starts, ends)
    return starts[:found], ends[:found]


def _with_odd(
    batch: Batch,
    documents: Sequence[Document],
    odd: npt.NDArray[np.bool_],
    cuts: I64,
    tokens: tuple[I64, I64],
) -> tuple[I64, I64, tuple[I64, I64]]:
    """The tokens, with those of odd texts cut one text at a time; and tokens that no sentence may cut."""
    of = np.searchsorted(batch.ends, tokens[0], "right")
    pairs: list[tuple[int, int]] = []
    solid: list[tuple[int, int]] = []
    for number in np.flatnonzero(odd).tolist():
        document, base = documents[number], int(batch.starts[number])
        a, b = np.searchsorted(cuts, (batch.starts[number], batch.ends[number] + 1))
        here = tokenise(document.text, (cuts[a:b] - base).tolist(), document.tokens)
        pairs += [(x + base, y + base) for x, y in here]
        # a token of the source may hold a line end, one of ours a full stop with an accent: they are not cut
        if document.tokens is None:
            here = [(x, y) for x, y in here if y - x > 1 and document.text[x] in WIDE_ENDS]
        solid += [(x + base, y + base) for x, y in here]
    more, held = (np.array(some, np.int64).reshape(-1, 2) for some in (pairs, solid))
    starts, ends = (
        np.concatenate([column[~odd[of]], more[:, k]]) for k, column in enumerate(tokens)
    )
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order], (held[:, 0], held[:, 1])


def _cut_further(starts: I64, ends: I64, cuts: I64) -> tuple[I64, I64]:
    """Tokens cut at these places, as far as they lie inside one."""
    if not len(cuts) or not len(starts):
        return starts, ends
    token = np.searchsorted(starts, cuts, "right") - 1
    inside = cuts[(token >= 0) & (cuts > starts[token]) & (cuts < ends[token])]
    if not len(inside):
        return starts, ends
    return np.sort(np.concatenate([starts, inside])), np.sort(np.concatenate([ends, inside]))


def _sentences(
    batch: Batch, documents: Sequence[Document], split: str, hulls: tuple[I64, I64]
) -> tuple[I64, I64, I64]:
    """Starts and ends of sentences, and the first sentence of each text."""
    borders = np.unique(np.fromiter(_borders(batch, documents, split), np.int64))
    of = np.searchsorted(batch.ends, borders, "right")
    of = np.minimum(of, len(batch.ends) - 1)
    borders = borders[(borders > batch.starts[of]) & (borders < batch.ends[of])]
    borders = _uncut(borders, hulls)
    if not len(borders):
        return batch.starts, batch.ends, np.arange(len(batch.starts) + 1)
    starts = np.sort(np.concatenate([batch.starts, borders]))
    of = np.searchsorted(batch.starts, starts, "right") - 1
    starts, of = _without_blank_ones(batch, starts, of)
    counts = np.bincount(of, minlength=len(batch.starts))
    first = np.concatenate([[0], np.cumsum(counts)])
    last = np.concatenate([starts[1:], [0]])
    last[first[1:] - 1] = batch.ends
    return starts, last, first


def _borders(batch: Batch, documents: Sequence[Document], split: str) -> Iterable[int]:
    """All places at which a sentence might begin, in any order; also such as lie outside of texts."""
    if split == "none":
        return
    given = np.fromiter((bool(one.sentences) for one in documents), np.bool_, len(documents))
    own = split == "sentences"
    if own and not given.all():
        if given.any():
            inside = [(int(batch.starts[n]), int(batch.ends[n])) for n in np.flatnonzero(~given)]
            for start, end in inside:
                yield from (start + place for place in sentence_ends(batch.text[start:end]))
        else:
            yield from sentence_ends(batch.text)
    breaks = _holding(batch, np.isin(batch.codes, BREAKS))
    for number in np.flatnonzero((given | breaks) if own else breaks).tolist():
        text, start = documents[number].text, int(batch.starts[number])
        if not own:
            found = line_borders(text)
        elif given[number]:
            found = source_borders(text, documents[number].sentences or ())
        else:
            found = paragraph_borders(text)
        yield from (start + place for place in found)


def _uncut(borders: I64, hulls: tuple[I64, I64]) -> I64:
    """The borders that lie inside no stretch."""
    starts, ends = hulls
    if not len(starts) or not len(borders):
        return borders
    order = np.argsort(starts, kind="stable")
    reached = np.maximum.accumulate(ends[order])
    before = np.searchsorted(starts[order], borders, "left") - 1
    inside = (before >= 0) & (reached[np.maximum(before, 0)] > borders)
    return borders[~inside]


def _without_blank_ones(batch: Batch, starts: I64, of: I64) -> tuple[I64, I64]:
    """Sentences without anything visible go to the one before."""
    seen = np.concatenate([[0], np.cumsum(batch.kinds != _BLANK)])
    ends = np.concatenate([starts[1:], [len(batch.codes)]])
    blank = seen[starts] == seen[ends]
    alone = np.bincount(of, minlength=len(batch.starts))[of] == 1
    texts = np.unique(of[blank & ~alone])
    if not len(texts):
        return starts, of
    kept = np.ones(len(starts), np.bool_)
    for number in texts.tolist():
        mine = np.flatnonzero(of == number)
        base, end = int(batch.starts[number]), int(batch.ends[number])
        wanted = merged_blanks(batch.text[base:end], (starts[mine][1:] - base).tolist())
        kept[mine] = np.isin(starts[mine] - base, wanted)
    return starts[kept], of[kept]


def strings(batch: Batch, starts: I64, ends: I64, name: str) -> Texts:
    """Stretches of a batch as UTF-8."""
    room = int((ends - starts).sum()) if batch.text.isascii() else 4 * int((ends - starts).sum())
    sizes, data = np.empty(len(starts), np.int32), np.empty(room, np.uint8)
    found = call("encode_stretches", batch.codes, starts, ends, sizes, data)
    if found < 0:
        raise InputError("a text holds half a surrogate pair", where=name)
    return Texts(sizes, data[:found])
