"""Words as sub-word pieces in windows that a transformer can read (needs tokenizers).

Every word is cut into pieces on its own, so a distinct word is cut once. A word of which the tokenizer
leaves nothing (a lone control character) is one unknown piece; of very long words the first pieces are
read. A sentence of more pieces than the model reads at once is read in windows that overlap by half,
and each word belongs to the window in which it has the most context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import gather
from seqtruth.kernels.arrays import F64, I64, Bool
from seqtruth.predictors.torch.lexicon import CASES, case_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

#: Pieces read of one word, and the case that special and padding pieces have.
MOST_PIECES, NO_CASE = 16, len(CASES)


class Windows(NamedTuple):
    """Windows over n words.

    first, last : int64[W], each reads the words from ``first`` to before ``last``.
    chosen : int64[n], the window that each word belongs to.
    """

    first: I64
    last: I64
    chosen: I64


def windows(bounds: I64, room: int) -> Windows:
    """Cut words whose pieces begin at ``bounds`` [n+1] into windows of at most ``room`` pieces.

    A word has min(pieces to its left, pieces to its right) of context in a window; an end of the
    sentence is no lack of context. No word may have more than ``room`` pieces.

    >>> windows(np.arange(7), 4)
    Windows(first=array([0, 2]), last=array([4, 6]), chosen=array([0, 0, 0, 1, 1, 1]))
    """
    n = len(bounds) - 1
    chosen, best = np.zeros(n, np.int64), np.full(n, -1.0)
    firsts: list[int] = []
    lasts: list[int] = []
    a = b = 0
    while b < n:
        b = int(np.searchsorted(bounds, bounds[a] + room, "right")) - 1
        left = bounds[a:b] - bounds[a] if a else np.full(b, np.inf)
        right = bounds[b] - bounds[a + 1 : b + 1] if b < n else np.full(b - a, np.inf)
        context: F64 = np.minimum(left, right).astype(np.float64)
        better = context > best[a:b]
        best[a:b][better], chosen[a:b][better] = context[better], len(firsts)
        firsts.append(a)
        lasts.append(b)
        a = min(int(np.searchsorted(bounds, bounds[a] + (room + 1) // 2)), b)
    return Windows(np.array(firsts, np.int64), np.array(lasts, np.int64), chosen)


class WindowRows(NamedTuple):
    """Windows of some sentences side by side, R of them with at most P pieces.

    token : int64[B, N], each word's place in the corpus; ``mask`` is False on padding.
    pieces : int64[R, P]; ``inside`` is False on padding.
    case : int64[R, P], of each piece's word.
    at : int64[B, N], where among the R · P pieces the word's first piece is.
    """

    token: I64
    mask: Bool
    pieces: I64
    inside: Bool
    case: I64
    at: I64


@dataclass(frozen=True)
class PieceCorpus:
    """A corpus of T words in pieces.

    offsets : int64[S+1], of words; ``bounds`` int64[T+1] those of their pieces in ``pieces``.
    case : how the word of each piece is written.
    first, last : int64[W], the words of each window; ``owned`` int64[S+1] the windows of sentences.
    window : int64[T], the window each word belongs to.
    before, after : special pieces around a window; ``pad`` fills rows.
    """

    offsets: I64
    bounds: I64
    pieces: I64
    case: I64
    first: I64
    last: I64
    owned: I64
    window: I64
    before: I64
    after: I64
    pad: int

    @property
    def lengths(self) -> I64:
        """int64[S]: pieces of each sentence."""
        return np.diff(self.bounds[self.offsets])

    def rows(self, places: I64) -> WindowRows:
        """The sentences at these places, none of them empty."""
        lengths = np.diff(self.offsets)[places]
        mask = np.arange(lengths.max(initial=1)) < lengths[:, None]
        token = np.zeros(mask.shape, np.int64)
        token[mask] = gather(self.offsets, places)[1]
        chosen = gather(self.owned, places)[1]
        spans = np.stack([self.bounds[self.first[chosen]], self.bounds[self.last[chosen]]], axis=1)
        ahead, behind = len(self.before), len(self.after)
        width = int((spans[:, 1] - spans[:, 0]).max(initial=1)) + ahead + behind
        pieces = np.full((len(chosen), width), self.pad, np.int64)
        inside, case = np.zeros(pieces.shape, np.bool_), np.full(pieces.shape, NO_CASE, np.int64)
        for row, (start, end) in enumerate(spans):
            stop = ahead + end - start
            pieces[row, :ahead], pieces[row, stop : stop + behind] = self.before, self.after
            pieces[row, ahead:stop] = self.pieces[start:end]
            case[row, ahead:stop] = self.case[start:end]
            inside[row, : stop + behind] = True
        row_of = np.zeros(len(self.first), np.int64)
        row_of[chosen] = np.arange(len(chosen))
        window = self.window[token]
        at = row_of[window] * width + ahead + self.bounds[token] - self.bounds[self.first[window]]
        return WindowRows(token, mask, pieces, inside, case, np.where(mask, at, 0))


@dataclass(frozen=True)
class Reader:
    """Cuts words with a tokenizer of the Rust library, which knows neither pickle nor code.

    Parameters
    ----------
    tokenizer : its truncation and padding are switched off.
    pad, unknown : pieces that fill rows, and that stand for words without any.
    longest : pieces the model reads at once, special ones included.
    """

    tokenizer: Tokenizer
    pad: int
    unknown: int
    longest: int

    def __post_init__(self) -> None:
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        if self.room < 1:
            raise ValueError(f"a model that reads {self.longest} pieces has no room for words")

    @property
    def lowers(self) -> bool:
        """Does it take A and a for the same?"""
        return self._cut(["A"]) == self._cut(["a"])

    @property
    def largest(self) -> int:
        """Largest number a piece can have."""
        return max([self.pad, self.unknown, *map(int, self.tokenizer.get_vocab().values())])

    @property
    def room(self) -> int:
        """Pieces of words in a window."""
        return self.longest - sum(map(len, self._around()))

    def _around(self) -> tuple[list[int], list[int]]:
        """The special pieces before and after a sentence."""
        found = self.tokenizer.encode(["a"], is_pretokenized=True)
        words = [n for n, special in enumerate(found.special_tokens_mask) if not special]
        first, last = (words[0], words[-1]) if words else (len(found.ids), len(found.ids))
        return found.ids[:first], found.ids[last + 1 :]

    def _cut(self, words: list[str]) -> list[list[int]]:
        """The pieces of each word as inside a sentence (byte-level tokenizers mark the space)."""
        twice, once, spaced = (
            self.tokenizer.encode(text, add_special_tokens=False).ids for text in ("a a", "a", " a")
        )
        space = " " if twice == once + spaced != once + once else ""
        found = self.tokenizer.encode_batch(
            [[space + word] for word in words], is_pretokenized=True, add_special_tokens=False
        )
        return [one.ids for one in found]

    def encode(self, corpus: Corpus) -> PieceCorpus:
        """A corpus with text in pieces."""
        assert corpus.tokens is not None
        coded = corpus.tokens.dictionary_encode()
        words: list[str] = coded.dictionary.to_pylist()
        word = np.asarray(coded.indices).astype(np.int64)
        room = self.room
        cut = [found[: min(room, MOST_PIECES)] or [self.unknown] for found in self._cut(words)]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in cut])]).astype(np.int64)
        bounds, places = gather(starts, word)
        flat = np.array([piece for one in cut for piece in one], np.int64)
        case = np.array([case_of(word) for word in words], np.int64)
        before, after = (np.array(part, np.int64) for part in self._around())
        return PieceCorpus(
            corpus.token_offsets, bounds, flat[places], np.repeat(case[word], np.diff(bounds)),
            *_all_windows(corpus.token_offsets, bounds, room), before, after, self.pad,
        )  # fmt: skip


def _all_windows(offsets: I64, bounds: I64, room: int) -> tuple[I64, I64, I64, I64]:
    """Windows of every sentence: their first and last words, whose they are, and words' windows."""
    firsts, lasts, owned, chosen = [], [], [0], []
    for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        found = windows(bounds[a : b + 1], room)
        firsts.append(found.first + a)
        lasts.append(found.last + a)
        chosen.append(found.chosen + owned[-1])
        owned.append(owned[-1] + len(found.first))
    empty = [np.zeros(0, np.int64)]
    first, last, window = (np.concatenate(empty + part) for part in (firsts, lasts, chosen))
    return first, last, np.array(owned, np.int64), window
