"""Labels that lie beside somebody's own spelling of a text, moved to the text itself.

The crowd's files of the NER data set repeat the text token by token, but not always as it was given:
tokens carry the annotation tool's marks (``London/LOC``), are cut in two, lose their line, or sit among
blank lines that do not end a sentence. :func:`align` walks through both and says for every sentence what
it had to put up with, the worst of:

``exact``      same tokens, same sentence.
``emptyline``  same tokens, but the blank lines stand elsewhere, or a line has a label and no token.
``suffix``     a token has a mark behind a slash; the mark is cut off.
``retok``      a token is in pieces (the last piece's label counts), or several are one (it labels all).
``fuzzy``      the texts differ. As many tokens on either side are taken one for one; otherwise the
               tokens without counterpart are ``O``.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

HOW = ("exact", "emptyline", "suffix", "retok", "fuzzy")
_EMPTYLINE, _SUFFIX, _RETOK, _FUZZY = range(1, 5)
#: How far apart, in tokens, the next place where both texts agree may be.
REACH = 60

#: A line of an annotator's file: a token and its label, or None for a blank line.
Line = tuple[str, str] | None


def align(sentences: Sequence[Sequence[str]], lines: Sequence[Line]) -> list[tuple[list[str], str]]:
    """Labels for every sentence of a document, each with the word for how they were found.

    Examples
    --------
    >>> text = [["Oslo", "'s", "harbour"], ["U.S.", "ships"]]
    >>> own = [("Oslo/LOC", "B-LOC"), ("'s", "O"), ("harbour", "O"), None,
    ...        ("U.S", "B-LOC"), (".", "I-LOC"), ("ships", "O")]
    >>> align(text, own)
    [(['B-LOC', 'O', 'O'], 'suffix'), (['I-LOC', 'O'], 'retok')]
    """
    walk = _Walk([token for sentence in sentences for token in sentence], lines)
    walk.run()
    found, start = [], 0
    for sentence in sentences:
        end = start + len(sentence)
        how = max(walk.how[start:end], default=0)
        if how == 0 and walk.broken(start, end):
            how = _EMPTYLINE
        found.append((walk.labels[start:end], HOW[how]))
        start = end
    return found


class _Walk:
    """Two hands, one on the text's tokens, one on the annotator's."""

    def __init__(self, tokens: Sequence[str], lines: Sequence[Line]) -> None:
        self.tokens = tokens
        self.words: list[tuple[str, str]] = []
        self.block: list[int] = []  # which run of lines between blank ones a word is in
        self.loose: set[int] = set()  # words before which a label stood without a token
        block = 0
        for line in lines:
            if line is None:
                block += 1
            elif line[0]:
                self.words.append(line)
                self.block.append(block)
            else:
                self.loose.add(len(self.words))
        self.labels = ["O"] * len(tokens)
        self.how = [_FUZZY] * len(tokens)
        self.word_of = [-1] * len(tokens)

    def run(self) -> None:
        t = w = 0
        while t < len(self.tokens) and w < len(self.words):
            step = self.same(t, w) or self.pieces(t, w) or self.merged(t, w) or self.jump(t, w)
            t, w = t + step[0], w + step[1]

    def take(self, t: int, w: int, label: str, how: int) -> None:
        self.labels[t], self.how[t], self.word_of[t] = label, how, w

    def same(self, t: int, w: int) -> tuple[int, int] | None:
        """The same token, or the same with a mark behind a slash."""
        how = _likeness(self.tokens[t], self.words[w][0])
        if how is None:
            return None
        if w in self.loose:
            how = max(how, _EMPTYLINE)
        self.take(t, w, self.words[w][1], how)
        return 1, 1

    def pieces(self, t: int, w: int) -> tuple[int, int] | None:
        """Several words that make one token: the last one's label."""
        rest, here = self.tokens[t], w
        while rest and here < len(self.words):
            piece = self.words[here][0]
            if not rest.startswith(piece):
                piece = piece.split("/")[0]
            if not piece or not rest.startswith(piece):
                return None
            rest, here = rest[len(piece) :], here + 1
        if rest:
            return None
        self.take(t, w, self.words[here - 1][1], _RETOK)
        return 1, here - w

    def merged(self, t: int, w: int) -> tuple[int, int] | None:
        """One word for several tokens: its label for all of them."""
        rest, label = self.words[w]
        here = t
        while rest and here < len(self.tokens) and rest.startswith(self.tokens[here]):
            rest, here = rest[len(self.tokens[here]) :], here + 1
        if rest or here - t < 2:
            return None
        for place in range(t, here):
            inside = place > t and label.startswith("B-")
            self.take(place, w, "I" + label[1:] if inside else label, _RETOK)
        return here - t, 1

    def jump(self, t: int, w: int) -> tuple[int, int]:
        """Over what differs, to the nearest place where two tokens in a row agree again."""
        ahead, skipped = self.meet(t, w)
        for k in range(ahead if ahead == skipped else 0):
            self.take(t + k, w + k, self.words[w + k][1], _FUZZY)
        if ahead == 0:  # words too many: the token is the same, its surroundings are not
            self.take(t, w + skipped, self.words[w + skipped][1], _FUZZY)
            return 1, skipped + 1
        return ahead, skipped

    def meet(self, t: int, w: int) -> tuple[int, int]:
        for apart in range(1, REACH):
            for ahead in sorted(range(apart + 1), key=lambda i: abs(2 * i - apart)):
                if self.agree(t + ahead, w + apart - ahead):
                    return ahead, apart - ahead
        return len(self.tokens) - t, len(self.words) - w

    def agree(self, t: int, w: int) -> bool:
        if t >= len(self.tokens) or w >= len(self.words):
            return False
        last = t + 1 == len(self.tokens) or w + 1 == len(self.words)
        return _likeness(self.tokens[t], self.words[w][0]) is not None and (
            last or _likeness(self.tokens[t + 1], self.words[w + 1][0]) is not None
        )

    def broken(self, start: int, end: int) -> bool:
        """Whether blank lines stand within these tokens, or none before the next ones."""
        blocks = [self.block[w] for w in self.word_of[start:end]]
        if any(a != b for a, b in pairwise(blocks)):
            return True
        follower = self.word_of[end] if end < len(self.tokens) else -1
        return follower >= 0 and bool(blocks) and self.block[follower] == blocks[-1]


def _likeness(token: str, word: str) -> int | None:
    if word == token:
        return 0
    return _SUFFIX if word.startswith(token + "/") else None
