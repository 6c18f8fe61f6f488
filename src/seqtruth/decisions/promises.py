"""What promises about spans or sentences can rest on, and what can be promised.

See :mod:`~seqtruth.decisions.triage` for the grounds, :mod:`~seqtruth.decisions.precision` for how known
labels correct confidences.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from seqtruth.decisions.precision import SAFETY, Claims, Ranking, ranked, ranked_by_known
from seqtruth.kernels.arrays import F64, I64, Bool

#: Spans (or sentences) that a promise needs at least: known ones, or without these all there are.
FEWEST = 50
#: A sample has at least so many sentences.
SAMPLE = 20
#: The highest precision that is promised without known labels.
HIGHEST = 0.9
#: Distance that is kept without known labels.
DISTANCE = 0.02
#: Nothing less probable than this is accepted.
LIKELY = 0.5
#: An offer is for at least this share of all, and its precision is looked for among these.
WORTH, LEVELS = 0.05, np.arange(99, 49, -1) / 100


class Offer(NamedTuple):
    """A precision that can be promised, and for how many."""

    precision: float
    n: int


@dataclass(frozen=True, eq=False)
class Share:
    """Spans or sentences: which are accepted, and what that promises.

    Parameters
    ----------
    confidence : float64[N], probability of being right, corrected where known labels allow it.
    accepted : bool[N].
    expected : precision expected of those accepted (nan where none is).
    promised : whether the precision asked for is promised.
    why : the grounds, or what is missing.
    checked : how many of them known labels decide.
    offer : the highest precision that can be promised for a twentieth of all or more.
    needed : about how many sentences would have to be checked, drawn at random, for the precision asked
        for; None where it is promised, where there are not as many, or where the surest are not right often
        enough.
    """

    confidence: F64
    accepted: Bool
    expected: float
    promised: bool
    why: str
    checked: int
    offer: Offer | None = None
    needed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "n": len(self.accepted),
            "accepted": int(self.accepted.sum()),
            "expected_precision": None if np.isnan(self.expected) else round(self.expected, 4),
            "promised": self.promised,
            "why": self.why,
            "checked": self.checked,
            "can_promise": None if self.offer is None else self.offer._asdict(),
            "sentences_needed": self.needed,
        }


class Verdicts(NamedTuple):
    """Which of them known labels decide, and whether these are right."""

    at: I64
    right: Bool


class Grounds:
    """What promises about spans, or about sentences, can rest on.

    Parameters
    ----------
    what : ``"spans"`` or ``"sentences"``.
    claims : all of them.
    verdicts : what known labels say of some.
    why_not : why nothing can be promised without; empty where it can.
    density : how many there are in a sentence.
    """

    def __init__(
        self, what: str, claims: Claims, verdicts: Verdicts, why_not: str, density: float
    ) -> None:
        self.what, self.claims, self.verdicts = what, claims, verdicts
        self.why_not, self.density, self.checked = why_not, density, len(verdicts.at)
        self.unaided = ranked(claims.confidence)
        self.by_known = (
            ranked_by_known(claims, verdicts.at, verdicts.right) if self.checked >= FEWEST else None
        )

    def share(self, accept: float) -> Share:
        """What can be accepted at a precision."""
        ranking = self.by_known or self.unaided
        taken, why, used = self._promised(accept)
        if taken is not None:
            assert used is not None
            n = int(taken.sum())
            found = Share(
                used.probability, taken, float(used.precision[n - 1]), True, why, self.checked
            )
        else:
            nothing = np.zeros(len(ranking.order), np.bool_)
            found = Share(ranking.probability, nothing, np.nan, False, why, self.checked)
        offer = self._offer()
        return replace(found, offer=offer, needed=None if found.promised else self._needed(accept))

    def _promised(self, accept: float) -> tuple[Bool | None, str, Ranking | None]:
        """Which to accept (None: nothing can be promised), why, and by which ranking."""
        if self.by_known is not None:
            behind = np.maximum(self.by_known.behind, 1.0)
            away = SAFETY * np.sqrt(accept * (1 - accept) / behind)
            taken = _taken(self.by_known, away, accept)
            if taken is not None:
                return (
                    taken,
                    f"corrected by {self.checked:,} {self.what} with known labels",
                    self.by_known,
                )
        why = self._not_unaided(accept)
        if not why:
            taken = _taken(self.unaided, np.full(len(self.unaided.order), DISTANCE), accept)
            if taken is not None and not self._contradicted(taken, accept):
                return taken, "confirmed by held-out annotators", self.unaided
            why = "nothing is sure enough" if taken is None else "known labels speak against it"
        if self.by_known is not None:
            why = f"nothing is sure enough (corrected by {self.checked:,} {self.what} with known labels)"
        elif self.checked:
            few = (
                f"{self.checked:,} {self.what} with known labels are too few ({FEWEST} are needed)"
            )
            why = f"{why}; {few}"
        return None, why, None

    def _not_unaided(self, accept: float) -> str:
        n = len(self.unaided.order)
        if not self.why_not and n < FEWEST:
            return f"{n:,} {self.what} are too few for held-out annotators to confirm ({FEWEST} are needed)"
        if self.why_not or accept <= HIGHEST:
            return self.why_not
        return (
            f"above {HIGHEST:.0%} it takes known labels: annotators miss the same things together"
        )

    def _contradicted(self, taken: Bool, accept: float) -> bool:
        """Whether known labels of those taken are a standard error or more below what is asked for."""
        here = self.verdicts.right[taken[self.verdicts.at]]
        if not len(here):
            return False
        return bool(here.mean() < accept - np.sqrt(accept * (1 - accept) / len(here)))

    def _offer(self) -> Offer | None:
        """The highest precision that can be promised for enough of them."""
        for level in LEVELS.tolist():
            taken = self._promised(level)[0]
            if taken is not None and taken.sum() >= WORTH * len(taken):
                return Offer(level, int(taken.sum()))
        return None

    def _needed(self, accept: float) -> int | None:
        """About how many sentences to check: as many as bring the distance within what is to spare.

        Without known labels nobody knows what is to spare; half of the way to 100 % is taken for granted,
        for half of all.
        """
        n, density = len(self.unaided.order), max(self.density, 1e-9)
        if not n:
            return None
        asked = SAFETY**2 * accept * (1 - accept)
        if self.by_known is None:
            known = asked / ((1 - accept) / 2) ** 2 / 0.5
        else:
            share = np.arange(1, n + 1) / n
            spare = self.by_known.precision - accept
            good = (spare > 0.005) & (share >= WORTH) & (self.by_known.behind >= FEWEST / 5)
            if not good.any():
                return None
            known = float((asked / spare[good] ** 2 / share[good]).min())
        sentences = max(int(np.ceil(max(known, FEWEST) / density)), SAMPLE)
        return None if sentences > round(n / density) else sentences


def _taken(ranking: Ranking, away: F64, accept: float) -> Bool | None:
    """As many as the precision allows, those with the same probability together; None: not one."""
    sure = ranking.probability[ranking.order]
    last = np.append(sure[1:] < sure[:-1], True)[: len(sure)]
    good = np.flatnonzero((ranking.precision - away >= accept) & last & (sure >= LIKELY))
    if not len(good):
        return None
    accepted = np.zeros(len(sure), np.bool_)
    accepted[ranking.order[: int(good[-1]) + 1]] = True
    return accepted
