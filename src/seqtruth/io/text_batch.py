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

I64 = npt.NDArray[np.int64]
_BLANK, _OTHER, _LETTER, _DIGIT, _UNSPACED_LETTER, _COMPLEX = range(6)
_UNSPACED = re.compile(f"[{UNSPACED}]")
_POINT, _COMMA = ord("."), ord(",")


class Batch(NamedTuple):
    """Texts one after the other, a line end between two.

    Places count characters of the whole. ``kinds[n]`` is the kind of a character.
    """

    text: str
    codes: npt.NDArray[np.uint32]
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


def _kinds(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint8]:
    largest = int(codes.max(initial=0))
    for limit in (0x80, 0x3000, 0x10000):
        if largest < limit:
            return _kinds_below(limit)[codes]
    kinds = _kinds_below(0x10000)[np.minimum(codes, 0xFFFF)]
    far = np.flatnonzero(codes > 0xFFFF)
    points, which = np.unique(codes[far], return_inverse=True)
    kinds[far] = np.array([_kind(chr(point)) for point in points], np.uint8)[which]
    return kinds


def batch_of(texts: Sequence[str]) -> Batch:
    """Texts as one."""
    whole = "\n".join(texts) + "\n"
    codes = np.frombuffer(whole.encode("utf-32-le", "surrogatepass"), np.uint32)
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(lengths + 1) - 1
    return Batch(whole, codes, _kinds(codes), ends - lengths, ends)


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
    kinds = batch.kinds
    word = (kinds == _LETTER) | (kinds == _DIGIT)
    single = (kinds != _BLANK) & ~word
    before = np.concatenate([[False], word[:-1]])
    after = np.concatenate([word[1:], [False]])
    starts = np.flatnonzero(single | (word & ~before))
    ends = np.flatnonzero(single | (word & ~after)) + 1
    return _numbers(batch, starts, ends)


def _numbers(batch: Batch, starts: I64, ends: I64) -> tuple[I64, I64]:
    """Tokens with ``3``, ``.``, ``50`` made one, unless a letter follows that belongs to another."""
    codes = batch.codes
    points = np.flatnonzero(
        (ends - starts == 1) & ((codes[starts] == _POINT) | (codes[starts] == _COMMA))
    )
    points = points[(points > 0) & (points < len(starts) - 1)]
    points = points[(ends[points - 1] == starts[points]) & (ends[points] == starts[points + 1])]
    digits = np.concatenate([[0], np.cumsum(batch.kinds == _DIGIT)])
    whole = digits[ends] - digits[starts] == ends - starts
    points = points[whole[points - 1] & whole[points + 1]]
    if not len(points):
        return starts, ends
    kept, ends = np.ones(len(starts), np.bool_), ends.copy()
    breaks = np.flatnonzero(np.diff(points) != 2) + 1
    for chain in np.split(points, breaks):
        first, last = int(chain[0]) - 1, int(chain[-1]) + 1
        if batch.kinds[ends[last]] == _UNSPACED_LETTER:
            last -= 2
        if last > first:
            ends[first] = ends[last]
            kept[first + 1 : last + 1] = False
    return starts[kept], ends[kept]


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
    """Stretches of a batch, in order and without overlaps, as UTF-8."""
    try:
        data = np.frombuffer(batch.text.encode(), np.uint8)
    except UnicodeEncodeError:
        raise InputError("a text holds half a surrogate pair", where=name) from None
    if len(data) == len(batch.codes):
        first, last = starts, ends
    else:
        codes = batch.codes
        sizes = np.ones(len(codes), np.int64)
        for limit in (0x80, 0x800, 0x10000):
            sizes += codes >= limit
        places = np.concatenate([[0], np.cumsum(sizes)])
        first, last = places[starts], places[ends]
    edges, real = np.zeros(len(data) + 1, np.int8), first < last
    edges[first[real]] = 1
    edges[last[real]] -= 1
    inside = np.cumsum(edges[:-1], dtype=np.int8).view(np.bool_)
    return Texts((last - first).astype(np.int32), data[inside])
