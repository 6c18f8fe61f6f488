"""Questions: what a reviewer is asked, in the order of what an answer is expected to be worth.

Three kinds. A *sentence*: look at it and make it right. A *form*: marks with the same text in one document
("NEW YORK in this table: LOC or ORG? 41 spans"). A *pair*: marks of one document that waver between the same
two types. Answers to the last two are a type (or "nothing here") for all marks that are not left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from seqtruth.decisions.cases import Cases, expected_errors
from seqtruth.kernels.arrays import F64, I64, Bool

KINDS = ("sentence", "form", "pair")
#: How much of a group's doubt one answer is expected to settle: forms and pairs.
COHERENCE = {"form": 0.85, "pair": 0.7}
#: A question shows at most so many marks, the most doubtful first.
MOST_MARKS = 40


class Question(NamedTuple):
    """One question: its name, kind and cases, and how many errors the answer is expected to put right."""

    name: str
    kind: str
    cases: tuple[int, ...]
    gain: float


@dataclass(frozen=True, eq=False)
class Questions:
    """All questions about some cases.

    Parameters
    ----------
    cases : what is in doubt.
    n_sentences : of the corpus.
    """

    cases: Cases
    n_sentences: int

    @cached_property
    def _groups(self) -> dict[str, I64]:
        """For forms and pairs the number of each case's group; -1 where it is in none."""
        cases = self.cases
        low, high = np.minimum(cases.label, cases.rival), np.maximum(cases.label, cases.rival)
        keys = {
            "form": np.stack([cases.document, cases.surface, low, high]),
            "pair": np.stack([cases.document, low, high]),
        }
        groups = {}
        for kind, key in keys.items():
            numbers = np.full(cases.size, -1, np.int64)
            # marks with different texts that are "LOC or nothing" have no answer in common
            fit = cases.plain if kind == "form" else cases.plain & (low >= 0)
            if fit.any():
                _, found = np.unique(key[:, fit], axis=1, return_inverse=True)
                numbers[fit] = found.reshape(-1)
            groups[kind] = numbers
        return groups

    @cached_property
    def _by_doubt(self) -> dict[str, I64]:
        """For forms and pairs the cases that are in a group, by group and the most doubtful first."""
        found = {}
        for kind, group in self._groups.items():
            order = np.lexsort((-self.cases.wrong, group))
            found[kind] = order[group[order] >= 0]
        return found

    def ranked(
        self, mask: Bool, most: int = 1, together: Bool | None = None, kinds: Sequence[str] = KINDS
    ) -> list[Question]:
        """The questions about the cases of a mask that are worth most, best first.

        Parameters
        ----------
        mask : bool[C], cases that are open and wanted.
        most : how many questions.
        together : bool[C], cases that may be asked about with others; None for none of them.
        kinds : of the questions.
        """
        grouped = mask if together is None else mask & together
        kinds = [one for one in kinds if one == "sentence" or together is not None]
        gains = [
            self._sentence_gain(mask) if kind == "sentence" else self._group_gain(kind, grouped)
            for kind in kinds
        ]
        flat = np.concatenate([np.zeros(0), *gains])
        order = _largest(flat, most)
        edges = np.cumsum([0, *(len(column) for column in gains)])
        found = []
        for place in order[flat[order] > 0].tolist():
            part = int(np.searchsorted(edges, place, side="right")) - 1
            number, kind = place - int(edges[part]), kinds[part]
            heard = mask if kind == "sentence" else grouped
            found.append(self._question(kind, number, heard, float(flat[place])))
        return found

    def find(self, name: str, mask: Bool) -> Question | None:
        """The question of this name, on the cases of the mask; None where there is none."""
        letter, _, number = name.partition("-")
        kinds = {"s": "sentence", "f": "form", "p": "pair"}
        if letter not in kinds or not number.isascii() or not number.isdigit() or len(number) > 12:
            return None
        kind, place = kinds[letter], int(number)
        if kind == "sentence":
            if place >= self.n_sentences:
                return None
            return self._question(kind, place, mask, 0.0)
        if place >= self.cases.size or self._groups[kind][place] < 0:
            return None
        return self._question(kind, int(self._groups[kind][place]), mask, 0.0)

    def _sentence_gain(self, mask: Bool) -> F64:
        return expected_errors(self.cases, self.n_sentences, mask)

    def _group_gain(self, kind: str, mask: Bool) -> F64:
        """Doubt of each group's most doubtful marks; groups of one are sentences."""
        group = self._groups[kind]
        order = self._by_doubt[kind]
        order = order[mask[order]]
        if not len(order):
            return np.zeros(int(group.max(initial=-1)) + 1)
        of = group[order]
        starts = np.flatnonzero(np.diff(of, prepend=-1))
        rank = np.arange(len(of)) - np.repeat(starts, np.diff(np.append(starts, len(of))))
        heard = rank < MOST_MARKS
        n = int(group.max()) + 1
        worth = np.bincount(of[heard], self.cases.wrong[order][heard], n)
        several = np.bincount(of, minlength=n) > 1
        return np.where(several, COHERENCE[kind] * worth, 0.0)

    def _question(self, kind: str, number: int, mask: Bool, gain: float) -> Question:
        if kind == "sentence":
            chosen = np.flatnonzero((self.cases.sentence == number) & mask)
            return Question(f"s-{number}", kind, tuple(chosen.tolist()), gain)
        members = np.flatnonzero(self._groups[kind] == number)
        chosen = np.flatnonzero((self._groups[kind] == number) & mask)
        chosen = chosen[np.argsort(-self.cases.wrong[chosen], kind="stable")][:MOST_MARKS]
        name = f"{kind[0]}-{members[0]}"
        return Question(name, kind, tuple(np.sort(chosen).tolist()), gain)


def _largest(values: F64, most: int) -> I64:
    """Places of the largest values, largest first; of equal ones the first.

    >>> _largest(np.array([1.0, 3.0, 2.0, 3.0, 3.0]), 2).tolist()
    [1, 3]
    """
    if most < len(values):
        least = np.partition(values, len(values) - most)[len(values) - most]
        places = np.flatnonzero(values >= least)
    else:
        places = np.arange(len(values))
    return np.asarray(places[np.argsort(-values[places], kind="stable")][:most])
