"""What a result of Accord keeps of its model (:class:`~seqtruth.fitted.Fitted`), and how it is read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.engine import Sums
from seqtruth.fitted import Fitted
from seqtruth.kernels.arrays import F64, Bool
from seqtruth.methods.accord.annotators import ALIKE
from seqtruth.methods.accord.calibration import Lines
from seqtruth.methods.accord.confirmation import Line
from seqtruth.methods.accord.opinions import Opinion
from seqtruth.methods.accord.options import GAPS
from seqtruth.methods.loop import State

if TYPE_CHECKING:
    from seqtruth.methods.accord.run import Run

#: What is kept of the sums behind the sequential model.
SEQUENTIAL_SUMS = ("annotators", "start", "transition")


def fitted_of(
    run: Run, state: State, name: str, opinion: Opinion, final: Sums, lines: Lines | None
) -> Fitted | None:
    """The model behind the option ``name``; None for a plain vote, which learns nothing.

    Parameters
    ----------
    opinion : of the whole crowd, as all sizes here are.
    final : ``counts`` and ``prior`` under the labels that were chosen.
    """
    if name == "vote":
        return None
    told, method = run.told, run.method
    sums: dict[str, np.ndarray] = {
        "final/counts": final["counts"],
        "final/prior": final["prior"],
        "accuracy": told.accuracy,
        "witness": told.copies.weight,
        "open": told.silence.open.astype(np.int8),
        "voices": np.array([told.silence.voices]),
    }
    if not name.startswith("sequential"):
        sums |= {part: state[f"population/{part}"] for part in ("counts", "transition", "prior")}
    if name.startswith(("sequential", "both")):
        parts = (*SEQUENTIAL_SUMS, "strength")
        sums |= {f"sequential/{part}": state[f"sums/{part}"] for part in parts}
    if run.teaches:
        sums["follow"] = np.stack([state[f"follow{m}"] for m in range(len(run.members))])
    if run.by_text is not None:
        sums |= {"reliability": run.by_text.reliability, "given": run.by_text.usual}
    if name == GAPS:
        sums["gap_shift"] = run.gap_shift(state)
    if lines is not None:
        sums["lines"] = np.array(
            [
                (line.slope, line.intercept, line.ceiling)
                for line in (lines.token, lines.sentence, *lines.span)
            ]
        )
    settings: dict[str, Any] = {
        "option": name,
        "threshold": method.threshold if method.decoding == "spans" else None,
        "strength": method.reliability_strength,
        "chain": method.chain,
    }
    usual = np.zeros(run.crowd.n_labels)
    return Fitted(
        "accord", opinion.table, opinion.share, opinion.chain, usual, opinion.sources, run.task.known,
        sums, settings,
    )  # fmt: skip


@dataclass(frozen=True)
class Remembered:
    """What is known of annotators beforehand, as a saved model has it.

    Parameters
    ----------
    scheme : labels and their rules.
    witness : float64[W], share of a witness that each annotator is.
    accuracy, strength : reliabilities given by the user, and the tokens they are worth.
    open : bool[K], types on which silence is no vote.
    voices : annotators on a marked token, on average.
    """

    scheme: Scheme
    witness: F64
    accuracy: F64
    strength: float
    open: Bool
    voices: float

    @classmethod
    def of(cls, fitted: Fitted, scheme: Scheme) -> Remembered:
        sums = fitted.sums
        return cls(
            scheme, sums["witness"], sums["accuracy"], float(fitted.settings["strength"]),
            sums["open"].astype(np.bool_), float(sums["voices"][0]) if "voices" in sums else ALIKE,
        )  # fmt: skip


def lines_of(fitted: Fitted) -> Lines | None:
    """How confidences are corrected, by held-out annotators alone."""
    if "lines" not in fitted.sums:
        return None
    token, sentence, *spans = (Line(*map(float, row)) for row in fitted.sums["lines"])
    return Lines(token, sentence, tuple(spans))
