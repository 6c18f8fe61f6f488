"""Many texts cut into tokens and sentences at once, by passes over arrays of characters.

The result is that of :func:`~seqtruth.io.tokens.tokenise` and :func:`~seqtruth.io.sentences.split_text`, text
by text, which the tests compare. Texts with characters that need a look at their neighbours (combining marks,
joiners, flags) and texts with tokens of their own are left to these two.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seqtruth.errors import InputError
from seqtruth.io.documents import Extents
from seqtruth.io.sentences import (
    BREAKS,
    LONG_WORD,
    LONGEST_WORD,
    WIDE_ENDS,
    is_shortened,
    line_borders,
    merged_blanks,
    paragraph_borders,
    signs_of,
    source_borders,
)
from seqtruth.io.tokens import UNSPACED, is_complex, tokenise
from seqtruth.kernels.native import call

I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
#: Kinds of characters, see :func:`_kind`; the first two are blank.
_BREAK, _BLANK, _OTHER, _POINT, _LETTER, _DIGIT, _UNSPACED_LETTER, _COMPLEX = range(8)
#: Stands in a table for what is not known yet.
_UNKNOWN = 255
_UNSPACED = re.compile(f"[{UNSPACED}]")


@dataclass(frozen=True)
class Batch:
    """Texts one after the other, a line end behind each.

    Places count characters of the whole. ``data`` is the whole as UTF-8, ``kinds[n]`` a character's kind.
    """

    data: U8
    kinds: U8
    starts: I64
    ends: I64

    @functools.cached_property
    def text(self) -> str:
        """The whole."""
        return self.data.tobytes().decode()

    def text_of(self, number: int) -> str:
        """One of the texts."""
        return self.text[self.starts[number] : self.ends[number]]

    @functools.cached_property
    def _bytes(self) -> I64:
        """Where each character begins."""
        return np.flatnonzero((self.data & 0xC0) != 0x80)

    def part(self, first: int, last: int) -> Batch:
        """The texts from ``first`` on, up to ``last``."""
        a, b = int(self.starts[first]), int(self.ends[last - 1])
        data = self.data[self._bytes[a] : self._bytes[b] + 1]
        starts, ends = self.starts[first:last] - a, self.ends[first:last] - a
        return Batch(data, self.kinds[a : b + 1], starts, ends)


@dataclass
class Given:
    """Borders that the sources of texts give, by the number of the text: of tokens and of sentences."""

    tokens: dict[int, Extents] = field(default_factory=dict)
    sentences: dict[int, Extents] = field(default_factory=dict)


class Texts(NamedTuple):
    """Texts as bytes one after the other, and how many each has."""

    sizes: npt.NDArray[np.int32]
    data: U8


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
        return _BREAK if letter in BREAKS else _BLANK
    if is_complex(letter):
        return _COMPLEX
    unspaced = _UNSPACED.match(letter) is not None
    if letter.isdecimal():
        return _COMPLEX if unspaced else _DIGIT
    if letter.isalnum() or letter == "_":
        return _UNSPACED_LETTER if unspaced else _LETTER
    return _POINT if letter in ".," else _OTHER


class LetterTable:
    """A small number for every character, found out when one is met first.

    Parameters
    ----------
    number_of : the number of a character, below 255.
    """

    def __init__(self, number_of: Callable[[str], int]) -> None:
        self.number_of = number_of

    @functools.cached_property
    def _numbers(self) -> U8:
        return np.full(0x110000, _UNKNOWN, np.uint8)

    def of(self, data: U8) -> U8:
        """The numbers of the characters of UTF-8."""
        numbers = np.empty(len(data), np.uint8)
        numbers = numbers[: call("look_up", data, self._numbers, numbers)]
        new = numbers == _UNKNOWN
        if new.any():
            for letter in set(itertools.compress(data.tobytes().decode(), new.tolist())):
                self._numbers[ord(letter)] = self.number_of(letter)
            call("look_up", data, self._numbers, numbers)
        return numbers


_KINDS, _SIGNS = LetterTable(_kind), LetterTable(signs_of)


def batch_of(texts: Sequence[str], name: str) -> Batch:
    """Texts as one; ``name`` is their file's, for messages."""
    try:
        data = ("\n".join(texts) + "\n").encode()
    except UnicodeEncodeError:
        raise InputError("a text holds half a surrogate pair", where=name) from None
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return batch_of_bytes(np.frombuffer(data, np.uint8), lengths)


def batch_of_bytes(data: U8, lengths: npt.NDArray[np.integer[Any]]) -> Batch:
    """Texts that are UTF-8 already, with a line end behind each; ``lengths`` are their characters."""
    ends = np.cumsum(lengths + 1, dtype=np.int64) - 1
    return Batch(data, _KINDS.of(data), ends - lengths, ends)


def blank(batch: Batch, places: I64) -> npt.NDArray[np.bool_]:
    """Whether white space stands there."""
    return np.asarray(batch.kinds[places] <= _BLANK)


def cut(batch: Batch, given: Given, split: str, cuts: I64, hulls: tuple[I64, I64]) -> Cut:
    """Tokens and sentences of all texts.

    Parameters
    ----------
    given : borders of the sources.
    cuts : places at which a token must not go on, in any order.
    hulls : starts and ends of stretches that no sentence may cut.
    """
    odd = _holding(batch, batch.kinds == _COMPLEX)
    odd[list(given.tokens)] = True
    starts, ends = _tokens(batch)
    if odd.any():
        starts, ends, solid = _with_odd(batch, given, odd, cuts, (starts, ends))
        hulls = (np.concatenate([hulls[0], solid[0]]), np.concatenate([hulls[1], solid[1]]))
    starts, ends = _cut_further(batch, starts, ends, cuts)
    first, last, of = _sentences(batch, given, split, hulls)
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
    n = int(np.count_nonzero(batch.kinds > _BLANK))
    starts, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    found = call("find_tokens", batch.kinds, starts, ends)
    return starts[:found], ends[:found]


def _with_odd(
    batch: Batch,
    given: Given,
    odd: npt.NDArray[np.bool_],
    cuts: I64,
    tokens: tuple[I64, I64],
) -> tuple[I64, I64, tuple[I64, I64]]:
    """The tokens, with those of odd texts cut one text at a time; and tokens that no sentence may cut."""
    of, cuts = np.searchsorted(batch.ends, tokens[0], "right"), np.unique(cuts)
    pairs: list[tuple[int, int]] = []
    solid: list[tuple[int, int]] = []
    for number in np.flatnonzero(odd).tolist():
        text, base = batch.text_of(number), int(batch.starts[number])
        a, b = np.searchsorted(cuts, (batch.starts[number], batch.ends[number] + 1))
        here = tokenise(text, (cuts[a:b] - base).tolist(), given.tokens.get(number))
        pairs += [(x + base, y + base) for x, y in here]
        # a token of the source may hold a line end, one of ours a full stop with an accent: they are not cut
        if number not in given.tokens:
            here = [(x, y) for x, y in here if y - x > 1 and text[x] in WIDE_ENDS]
        solid += [(x + base, y + base) for x, y in here]
    more, held = (np.array(some, np.int64).reshape(-1, 2) for some in (pairs, solid))
    starts, ends = (
        np.concatenate([column[~odd[of]], more[:, k]]) for k, column in enumerate(tokens)
    )
    order = np.argsort(starts, kind="stable")
    return starts[order], ends[order], (held[:, 0], held[:, 1])


def _cut_further(batch: Batch, starts: I64, ends: I64, cuts: I64) -> tuple[I64, I64]:
    """Tokens cut at these places, as far as they lie inside one; those of odd texts are cut already."""
    joined = batch.kinds > _OTHER
    cuts = cuts[joined[cuts] & joined[cuts - 1]]
    if not len(cuts):
        return starts, ends
    cuts = _distinct(cuts)
    token = np.searchsorted(starts, cuts)
    inside = (token > 0) & (cuts < ends[token - 1])
    token, cuts = token[inside], cuts[inside]
    return np.insert(starts, token, cuts), np.insert(ends, token - 1, cuts)


def _distinct(places: I64) -> I64:
    """As ``np.unique``, which loads masked arrays first."""
    ordered = np.sort(places)
    return ordered[np.diff(ordered, prepend=-1) > 0]


def _sentences(
    batch: Batch, given: Given, split: str, hulls: tuple[I64, I64]
) -> tuple[I64, I64, I64]:
    """Starts and ends of sentences, and the first sentence of each text."""
    whole = batch.starts, batch.ends, np.arange(len(batch.starts) + 1)
    if split == "none":
        return whole
    borders = _distinct(np.concatenate(list(_borders(batch, given, split))))
    of = np.searchsorted(batch.ends, borders, "right")
    of = np.minimum(of, len(batch.ends) - 1)
    borders = borders[(borders > batch.starts[of]) & (borders < batch.ends[of])]
    borders = _uncut(borders, hulls)
    if not len(borders):
        return whole
    starts = np.sort(np.concatenate([batch.starts, borders]))
    of = np.searchsorted(batch.starts, starts, "right") - 1
    starts, of = _without_blank_ones(batch, starts, of)
    counts = np.bincount(of, minlength=len(batch.starts))
    first = np.concatenate([[0], np.cumsum(counts)])
    last = np.concatenate([starts[1:], [0]])
    last[first[1:] - 1] = batch.ends
    return starts, last, first


def _borders(batch: Batch, given: Given, split: str) -> Iterator[I64]:
    """All places at which a sentence might begin, in any order; also such as lie outside of texts."""
    own = split == "sentences"
    told = np.zeros(len(batch.starts), np.bool_)
    told[list(given.sentences)] = True
    ends = _sentence_ends(batch) if own and not told.all() else np.zeros(0, np.int64)
    yield ends[~told[np.searchsorted(batch.ends, ends, "right")]]
    breaks = _holding(batch, batch.kinds == _BREAK)
    for number in np.flatnonzero((told | breaks) if own else breaks).tolist():
        text, start = batch.text_of(number), int(batch.starts[number])
        if not own:
            found = line_borders(text)
        elif told[number]:
            found = source_borders(text, given.sentences[number])
        else:
            found = paragraph_borders(text)
        yield np.fromiter(found, np.int64) + start


def _sentence_ends(batch: Batch) -> I64:
    """As :func:`~seqtruth.io.sentences.sentence_ends`, of all texts."""
    signs = _SIGNS.of(batch.data)
    found = np.empty((np.count_nonzero(signs & 3), 3), np.int64)
    found = found[: call("find_ends", signs, LONG_WORD, LONGEST_WORD, found)]
    asked = np.flatnonzero(found[:, 0] >= 0)
    short = [is_shortened(batch.text, *places) for places in found[asked].tolist()]
    return np.delete(found[:, 2], asked[np.array(short, np.bool_)])


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
    blank = np.maximum.reduceat(batch.kinds, starts) <= _BLANK
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


def strings(batch: Batch, starts: I64, ends: I64) -> Texts:
    """Stretches of a batch, in ascending order, as UTF-8."""
    sizes, data = np.empty(len(starts), np.int32), np.empty(len(batch.data), np.uint8)
    found = call("copy_stretches", batch.data, starts, ends, sizes, data)
    return Texts(sizes, data[:found])
