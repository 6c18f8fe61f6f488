"""What happened in an iterative method, round by round, and why it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from seqtruth.plural import count

#: ``converged`` is never "hit max_iter"; ``rounds``: as many as were asked for, which is not a run cut
#: short; ``closed-form`` methods have no rounds to speak of.
STOP_REASONS = ("converged", "max_iter", "rounds", "closed-form")


@dataclass(frozen=True)
class Step:
    """One round.

    Parameters
    ----------
    iteration : 1 for the first round.
    objective : the quantity the method watches (:attr:`History.measure` names it).
    parts : its terms by name; they add up to ``objective``.
    change : share of tokens whose label differs from the round before, where the method decides
        labels in every round.
    confident : sentences the predictor may learn from (0 without a predictor).
    seconds : wall time of the round; not kept in saved files, so that same seed means same bytes.
    """

    iteration: int
    objective: float
    parts: Mapping[str, float] = field(default_factory=dict)
    change: float | None = None
    confident: int = 0
    seconds: float = field(default=float("nan"), compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "iteration": self.iteration,
            "objective": self.objective,
            "parts": dict(self.parts),
            "change": self.change,
            "confident": self.confident,
        }


@dataclass(frozen=True)
class History:
    """All rounds and the reason for stopping.

    Parameters
    ----------
    measure : what ``objective`` is, such as ``"objective"`` (to fall), ``"log likelihood"`` or
        ``"lower bound"`` (to rise).
    """

    steps: tuple[Step, ...] = ()
    stop_reason: str = "closed-form"
    measure: str = "objective"

    @property
    def objective(self) -> list[float]:
        return [step.objective for step in self.steps]

    @property
    def converged(self) -> bool:
        return self.stop_reason == "converged"

    def then(self, more: History) -> History:
        """This run and one that went on from it, rounds numbered through."""
        later = (replace(step, iteration=step.iteration + len(self)) for step in more.steps)
        return replace(more, steps=(*self.steps, *later))

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def rounds(self) -> str:
        """How many rounds there were, and why no more unless that was chosen beforehand."""
        why = "" if self.stop_reason == "rounds" else f" ({self.stop_reason})"
        return count(len(self), "round") + why

    def __str__(self) -> str:
        names = list(self.steps[0].parts) if self.steps else []
        lines = ["round  " + "".join(f"{name:>14}" for name in [self.measure, *names, "changed"])]
        for step in self.steps:
            values = [step.objective, *(step.parts[name] for name in names)]
            numbers = "".join(f"{value:14,.2f}" for value in values)
            changed = "–" if step.change is None else f"{step.change:.3%}"
            lines.append(f"{step.iteration:5d}  {numbers}{changed:>14}")
        return "\n".join([*lines, f"stopped: {self.stop_reason}"])

    def to_dict(self) -> dict[str, Any]:
        return {
            "measure": self.measure,
            "stop_reason": self.stop_reason,
            "steps": [step.to_dict() for step in self.steps],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> History:
        """Inverse of :meth:`to_dict`; ValueError, KeyError or TypeError where it is not one."""
        if data["stop_reason"] not in STOP_REASONS or not isinstance(data["measure"], str):
            raise ValueError("the history must say what it measured and why it stopped")
        steps = tuple(Step(**step) for step in data["steps"])
        for place, step in enumerate(steps, 1):
            change = 0.0 if step.change is None else step.change
            numbers = (step.objective, change, step.confident, *step.parts.values())
            if not all(isinstance(number, int | float) for number in numbers):
                raise ValueError("a step of the history must hold numbers")
            if step.iteration != place or step.parts.keys() != steps[0].parts.keys():
                raise ValueError("the steps of the history do not follow each other")
        return cls(steps, data["stop_reason"], data["measure"])
