"""What is decided about a sentence: which of its tokens are settled, and the marks on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from seqtruth.data.corpus import Corpus
from seqtruth.data.labelling import Labelling
from seqtruth.data.scheme import Scheme
from seqtruth.data.spans import Spans, paint
from seqtruth.decisions.claims import spans_in
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import Tags
from seqtruth.result import Result

Span = tuple[int, int, str]
Range = tuple[int, int]


@dataclass(frozen=True)
class Marks:
    """Settled tokens of one sentence and the spans on them.

    Parameters
    ----------
    settled : ranges of tokens, ``(first, behind the last)``, in order and apart.
    spans : ``(first, behind the last, type)``, in order, each inside one range.
    """

    settled: tuple[Range, ...] = ()
    spans: tuple[Span, ...] = ()

    @classmethod
    def of(
        cls,
        settled: Iterable[Sequence[int]],
        spans: Iterable[Sequence[Any]],
        n_tokens: int,
        scheme: Scheme,
    ) -> Marks:
        """Checked marks of a sentence with ``n_tokens`` tokens.

        >>> Marks.of([[0, 3]], [[1, 2, "LOC"]], 3, Scheme.of("iob2", ["B-LOC"])).spans
        ((1, 2, 'LOC'),)
        """
        ranges = _joined([(int(a), int(b)) for a, b in settled])
        marks = sorted((int(a), int(b), str(kind)) for a, b, kind in spans)
        for a, b in ranges:
            if not 0 <= a < b <= n_tokens:
                raise DataError(f"a range must lie within 0 to {n_tokens}", got=f"{a} to {b}")
        behind = 0
        for a, b, kind in marks:
            if kind not in scheme.types:
                raise DataError(
                    "unknown type", got=repr(kind), fix=f"known are {', '.join(scheme.types)}"
                )
            if a < behind:
                raise DataError("spans of one layer must not overlap", got=f"{a} to {b}")
            if not any(x <= a < b <= y for x, y in ranges):
                raise DataError("a span must lie inside what is settled", got=f"{a} to {b}")
            if scheme.kind == "plain" and b - a != 1:
                raise DataError("a plain tag belongs to one token", got=f"{a} to {b}")
            behind = b
        if scheme.kind == "plain" and len(marks) != sum(b - a for a, b in ranges):
            raise DataError("plain tags: every settled token needs one", got=f"{len(marks)} tags")
        return cls(tuple(ranges), tuple(marks))

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Marks:
        """Marks as :meth:`to_dict` made them."""
        return cls(
            tuple((a, b) for a, b in found["settled"]),
            tuple((a, b, kind) for a, b, kind in found["spans"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, for JSON."""
        return {
            "settled": [list(one) for one in self.settled],
            "spans": [list(one) for one in self.spans],
        }

    def with_(self, new: Marks) -> Marks:
        """These, with ``new`` in the place of what it settles.

        A span of which only a part is settled anew is given up, and the rest of it is open again.

        >>> old = Marks(((0, 6),), ((0, 1, "PER"), (2, 5, "ORG")))
        >>> old.with_(Marks(((4, 5),), ((4, 5, "LOC"),)))
        Marks(settled=((0, 2), (4, 6)), spans=((0, 1, 'PER'), (4, 5, 'LOC')))
        """
        hit = [one for one in self.spans if _touches(one, new.settled)]
        kept = [one for one in self.spans if one not in hit]
        ranges = list(self.settled)
        for a, b, _ in hit:
            ranges = _without(ranges, (a, b))
        return Marks(tuple(_joined([*ranges, *new.settled])), tuple(sorted([*kept, *new.spans])))

    def covers(self, start: int, end: int) -> bool:
        """Whether all tokens from ``start`` to ``end`` are settled."""
        return any(a <= start and end <= b for a, b in self.settled)

    @property
    def empty(self) -> bool:
        """Whether nothing is settled."""
        return not self.settled

    def tags(self, n_tokens: int, scheme: Scheme) -> Tags:
        """tag[n_tokens] in the scheme; -1 where nothing is settled."""
        if scheme.kind == "plain":
            found = scheme.unlabelled(n_tokens)
            for a, _, kind in self.spans:
                found[a] = scheme.index(kind)
            return found
        numbers = {name: i for i, name in enumerate(scheme.types)}
        columns = Spans(
            np.zeros(len(self.spans), np.int64),
            np.array([a for a, _, _ in self.spans], np.int32),
            np.array([b for _, b, _ in self.spans], np.int32),
            np.array([numbers[kind] for _, _, kind in self.spans], np.int16),
        )
        painted = paint(columns, np.array([0, n_tokens], np.int64), scheme)
        known = np.zeros(n_tokens, np.bool_)
        for a, b in self.settled:
            known[a:b] = True
        return np.where(known, painted, painted.dtype.type(-1))


def current_marks(result: Result, sentence: int, decided: Marks) -> Marks:
    """The labels of a sentence, with what is decided in the place of what it settles."""
    a, b = (int(value) for value in result.corpus.token_offsets[sentence : sentence + 2])
    whole = Marks(((0, b - a),) if b > a else (), tuple(spans_in(result.tags[a:b], result.scheme)))
    found = whole.with_(decided)
    return Marks(whole.settled, found.spans)


def labelling(decided: Mapping[int, Marks], corpus: Corpus, scheme: Scheme) -> Labelling:
    """What is decided as gold labels; -1 where nothing is."""
    tags = scheme.unlabelled(corpus.n_tokens)
    for sentence, marks in decided.items():
        a, b = (int(value) for value in corpus.token_offsets[sentence : sentence + 2])
        tags[a:b] = marks.tags(b - a, scheme)
    return Labelling(corpus, scheme, tags)


def _joined(ranges: list[Range]) -> list[Range]:
    """Ranges in order, those that touch made one."""
    out: list[Range] = []
    for a, b in sorted(ranges):
        if out and a <= out[-1][1]:
            out[-1] = (out[-1][0], max(b, out[-1][1]))
        else:
            out.append((a, b))
    return out


def _without(ranges: list[Range], hole: Range) -> list[Range]:
    out: list[Range] = []
    for a, b in ranges:
        out += [(x, y) for x, y in ((a, min(b, hole[0])), (max(a, hole[1]), b)) if x < y]
    return out


def _touches(span: Span, ranges: Iterable[Range]) -> bool:
    return any(a < span[1] and span[0] < b for a, b in ranges)
