"""Label schemes as tables: which tag may follow which, and what a tag means.

A tag is ``O`` or ``prefix-TYPE``. The schemes differ in their prefixes and in which transitions are
legal; everything else in the house reads the tables and never looks at a tag's text again.

=======  =======================  ==============================================================
scheme   prefixes                 legal when
=======  =======================  ==============================================================
plain    none (``NOUN``)          always; every token is its own unit (part-of-speech tags)
io       I                        always
iob1     I, B                     B- only right after a token of the same type
iob2     B, I                     I- only after B- or I- of the same type
bioes    B, I, E, S               B/I are followed by I/E of the same type, nothing else is
bilou    B, I, L, U               as bioes, with L for E and U for S
=======  =======================  ==============================================================
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.errors import DataError, ParameterError
from seqtruth.kernels.arrays import Tags, tag_dtype
from seqtruth.kernels.grammar import Grammar
from seqtruth.kernels.spans import BEGIN, END, INSIDE, OUTSIDE, PLAIN, SINGLE
from seqtruth.kernels.tags import numbers_in_use

_LETTERS = {
    "io": {"I": INSIDE},
    "iob1": {"B": BEGIN, "I": INSIDE},
    "iob2": {"B": BEGIN, "I": INSIDE},
    "bioes": {"B": BEGIN, "I": INSIDE, "E": END, "S": SINGLE},
    "bilou": {"B": BEGIN, "I": INSIDE, "L": END, "U": SINGLE},
}
KINDS = ("plain", *_LETTERS)
_TAG = re.compile(r"([BIESLU])-(.+)", re.DOTALL)

#: More are hardly labels. Tables of what may follow what, and of annotators' confusions, have as many
#: rows and columns as there are labels.
MAX_LABELS = 2048


@dataclass(frozen=True)
class Scheme:
    """A label scheme together with the labels in use.

    Labels are kept in alphabetical order and closed under the scheme: where ``B-PER`` is in use,
    ``I-PER`` (and ``E-PER``, ``S-PER``) exist too, so that a legal path can always be spelled.

    Parameters
    ----------
    kind : one of ``plain``, ``io``, ``iob1``, ``iob2``, ``bioes``, ``bilou``.
    labels : all labels, alphabetically.

    Examples
    --------
    >>> scheme = Scheme.of("iob2", ["B-PER", "O"])
    >>> scheme.labels
    ('B-PER', 'I-PER', 'O')
    >>> bool(scheme.allowed[scheme.index("O"), scheme.index("I-PER")])
    False
    """

    kind: str
    labels: tuple[str, ...]

    @classmethod
    def of(cls, kind: str, labels: Iterable[str]) -> Scheme:
        """Make a scheme from the labels seen; adds ``O`` and the tags needed to spell any span.

        Parameters
        ----------
        kind : one of ``io``, ``iob1``, ``iob2``, ``bioes``, ``bilou`` and ``plain``.
        labels : the labels that occur.
        """
        if kind not in KINDS:
            raise ParameterError(f"scheme must be one of {', '.join(KINDS)}", got=repr(kind))
        seen = set(labels)
        if kind != "plain":
            for label in sorted(seen):
                check_label(kind, label)
            types = {label[2:] for label in seen if label != "O"}
            seen = {"O"} | {f"{p}-{t}" for p in _LETTERS[kind] for t in types}
        if len(seen) > MAX_LABELS:
            raise DataError(
                f"at most {MAX_LABELS} different labels are supported",
                got=f"{len(seen)}",
                fix="check that the label column really holds labels",
            )
        return cls(kind, tuple(sorted(seen)))

    @property
    def tag_dtype(self) -> np.dtype[np.signedinteger[Any]]:
        """What label numbers are kept in: int8, or int16 where there are more than 127 labels."""
        return tag_dtype(len(self.labels))

    def encode(self, labels: Iterable[str | None]) -> Tags:
        """Numbers of labels; None is -1, "not labelled".

        >>> Scheme.of("iob2", ["B-PER"]).encode(["O", None, "B-PER"])
        array([ 2, -1,  0], dtype=int8)
        """
        return np.array([-1 if t is None else self.index(t) for t in labels], self.tag_dtype)

    def unlabelled(self, n: int) -> Tags:
        """tag[n] without any label: all -1."""
        return np.full(n, -1, self.tag_dtype)

    def recoding(self, labels: Iterable[str], *, missing: bool = False) -> Tags:
        """Table from numbers in a list of labels to numbers here; its last entry keeps -1.

        A label that is not here is a fault, or -1 where some may be ``missing``.

        Parameters
        ----------
        labels : the labels in the order of their numbers.
        missing : whether labels that are not here become -1.

        Examples
        --------
        >>> Scheme.of("plain", ["A", "B"]).recoding(["B", "A"])[[0, 1, -1]]
        array([ 1,  0, -1], dtype=int8)
        """
        find = self._numbers.get if missing else self.index
        numbers = [find(label) for label in labels]
        return np.array([*(-1 if n is None else n for n in numbers), -1], self.tag_dtype)

    def index(self, label: str) -> int:
        """Number of a label; raises for an unknown one."""
        try:
            return self._numbers[label]
        except KeyError:
            known = ", ".join(self.labels)
            raise DataError("unknown label", got=repr(label), fix=f"known are {known}") from None

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def roles(self) -> npt.NDArray[np.int8]:
        """What each label does: OUTSIDE, BEGIN, INSIDE, END, SINGLE or PLAIN."""
        if self.kind == "plain":
            return np.full(len(self.labels), PLAIN, np.int8)
        letters = _LETTERS[self.kind]
        return np.array(
            [OUTSIDE if label == "O" else letters[label[0]] for label in self.labels], np.int8
        )

    @cached_property
    def types(self) -> tuple[str, ...]:
        """Entity types in alphabetical order (for plain tags: the labels themselves)."""
        if self.kind == "plain":
            return self.labels
        return tuple(sorted({label[2:] for label in self.labels if label != "O"}))

    @cached_property
    def type_of(self) -> npt.NDArray[np.int16]:
        """Number of each label's type in :attr:`types`; -1 for ``O``."""
        if self.kind == "plain":
            return np.arange(len(self.labels), dtype=np.int16)
        numbers = {name: i for i, name in enumerate(self.types)}
        return np.array(
            [-1 if label == "O" else numbers[label[2:]] for label in self.labels], np.int16
        )

    @property
    def outside(self) -> int:
        """Number of ``O``, or -1 where the scheme has none."""
        return self._numbers["O"] if self.kind != "plain" else -1

    @cached_property
    def is_entity(self) -> npt.NDArray[np.bool_]:
        """Whether each label marks (part of) an entity."""
        return np.asarray(self.roles != OUTSIDE)

    @cached_property
    def allowed(self) -> npt.NDArray[np.bool_]:
        """``allowed[a, b]``: may label b stand right after label a?"""
        same = self.type_of[:, None] == self.type_of
        if self.kind == "iob1":
            return np.asarray((self.roles != BEGIN) | same)
        if self.kind == "iob2":
            return np.asarray((self.roles != INSIDE) | same)
        if self.kind in ("bioes", "bilou"):
            inside = np.isin(self.roles, (BEGIN, INSIDE))[:, None]
            continues = np.isin(self.roles, (INSIDE, END))
            return np.asarray((inside == continues) & (same | ~inside))
        return np.ones(same.shape, np.bool_)

    @cached_property
    def start(self) -> npt.NDArray[np.bool_]:
        """``start[b]``: may label b open a sentence?"""
        forbidden = {
            "iob1": (BEGIN,),
            "iob2": (INSIDE,),
            "bioes": (INSIDE, END),
            "bilou": (INSIDE, END),
        }.get(self.kind, ())
        return ~np.isin(self.roles, forbidden)

    @cached_property
    def end(self) -> npt.NDArray[np.bool_]:
        """``end[a]``: may label a close a sentence?"""
        forbidden = (BEGIN, INSIDE) if self.kind in ("bioes", "bilou") else ()
        return ~np.isin(self.roles, forbidden)

    def respelled(self, kind: str) -> Scheme:
        """The scheme of another kind for the same entity types."""
        return Scheme.of(kind, [] if self.kind == "plain" else [f"I-{t}" for t in self.types])

    @cached_property
    def grammar(self) -> Grammar:
        """The rules as kernels read them."""
        return Grammar(self.start, self.allowed, self.end, self.is_entity, max(self.outside, 0))

    def label(self, role: int, type_name: str) -> int:
        """Number of the label with this role and type, as this scheme spells it.

        Parameters
        ----------
        role : a role of :mod:`seqtruth.kernels.spans`, such as ``BEGIN``.
        type_name : the span's type, such as ``PER``.
        """
        for letter, its_role in _LETTERS[self.kind].items():
            if its_role == role:
                return self.index(f"{letter}-{type_name}")
        raise ParameterError(f"scheme {self.kind} has no such role", got=str(role))


def check_label(kind: str, label: str) -> None:
    """Raise :class:`DataError` where ``label`` cannot belong to the scheme."""
    if kind == "plain" or label == "O":
        return
    letters = _LETTERS[kind]
    if len(label) < 3 or label[1] != "-" or label[0] not in letters:
        expected = ", ".join(f"{letter}-" for letter in letters)
        raise DataError(f"tag {label!r} is not {kind.upper()}", fix=f"expected {expected} or O")


def detect(
    labels: Sequence[str], tags: npt.NDArray[np.integer[Any]], starts: npt.NDArray[np.int64]
) -> str:
    """Name the scheme of coded sequences.

    Parameters
    ----------
    labels : the text of each code.
    tags : flat codes, -1 for a missing tag.
    starts : index of the first token of each sequence.

    Notes
    -----
    Crowd labels break rules, so majorities decide. A few tags without a legal prefix do not make
    the others plain: where at least nine of ten tags other than ``O`` are prefixed, or where most
    are and the odd ones only misspell them (``X-PER`` or ``PER`` beside ``B-PER``), the prefixed
    scheme is named and the odd ones are its faults. Likewise E and S (or L and U) must close at
    least a tenth of what B and S (U) open, else they are faults of IOB2. In IOB2 an entity opens
    with B-, in IOB1 with I- unless it touches another one of its type.
    """
    n = len(labels)
    if n > MAX_LABELS:
        return "plain"
    here = np.append(np.arange(n), n)[tags]
    before = np.roll(here, 1)
    before[starts[starts < len(tags)]] = n
    pairs = np.bincount(before * (n + 1) + here, minlength=(n + 1) ** 2)
    return detect_from_pairs(labels, pairs.reshape(n + 1, n + 1)[:, :n])


def scheme_in_use(
    labels: Sequence[str],
    tags: npt.NDArray[Any],
    offsets: npt.NDArray[np.int64],
    scheme: str | Scheme | None,
) -> tuple[Scheme, Tags]:
    """The scheme of the labels in use, and the table from numbers in ``labels`` to its own."""
    if isinstance(scheme, Scheme) and set(labels) <= set(scheme.labels):
        return scheme, scheme.recoding(labels)
    used = numbers_in_use(tags[:, None], len(labels))[0, :-1]
    names = list(compress(labels, used))
    if isinstance(scheme, Scheme):
        for name in names:
            scheme.index(name)
        return scheme, scheme.recoding(labels, missing=True)
    if scheme is None:
        compact = np.append(np.cumsum(used) - 1, -1)[tags].astype(np.int16)
        scheme = detect(names, compact, offsets[:-1])
    rules = Scheme.of(scheme, names)
    return rules, rules.recoding(labels, missing=True)


def detect_from_pairs(labels: Sequence[str], pairs: npt.NDArray[np.int64]) -> str:
    """Name the scheme from sums alone, so that parts of a crowd can be counted and added up.

    Parameters
    ----------
    labels : the text of each code.
    pairs : int64[L + 1, L], how often each code stands right after each other one; the last row
        counts those that open a sequence or stand after a missing tag.
    """
    counts = pairs.sum(axis=0).tolist()
    used = {tag: n for tag, n in zip(labels, counts, strict=True) if n and tag != "O"}
    if not used:
        return "iob2"
    prefixed = {tag: n for tag, n in used.items() if _TAG.fullmatch(tag)}
    odd = {tag: n for tag, n in used.items() if tag not in prefixed}
    if odd and not _are_faults(odd, prefixed):
        return "plain"
    letters = dict.fromkeys("BIESLU", 0)
    for tag, n in prefixed.items():
        letters[tag[0]] += n
    closing = {
        "bioes": (letters["E"] + letters["S"], letters["B"] + letters["S"]),
        "bilou": (letters["L"] + letters["U"], letters["B"] + letters["U"]),
    }
    kinds = [kind for kind, (closed, opened) in closing.items() if closed and closed * 10 >= opened]
    if kinds:
        return kinds[0] if len(kinds) == 1 else "plain"
    if not letters["B"]:
        return "io"
    type_names = sorted({tag[2:] for tag in prefixed})
    type_of = np.array([type_names.index(t[2:]) if t in prefixed else -1 for t in labels] + [-2])
    begins = np.array([t in prefixed and t[0] == "B" for t in labels])
    opens = (type_of[:-1] >= 0) & (type_of[:-1] != type_of[:, None])
    with_b, with_i = int(pairs[opens & begins].sum()), int(pairs[opens & ~begins].sum())
    return "iob1" if with_i > with_b else "iob2"


def _are_faults(odd: dict[str, int], prefixed: dict[str, int]) -> bool:
    """Whether tags without a legal prefix are slips in a prefixed scheme."""
    n_odd, n_prefixed = sum(odd.values()), sum(prefixed.values())
    if n_prefixed >= 9 * n_odd:
        return True
    types = {tag[2:].upper() for tag in prefixed}
    slips = all(
        tag in ("o", "0") or {tag.upper(), tag[2:].upper(), tag[1:].upper()} & types for tag in odd
    )
    return slips and n_prefixed > n_odd
