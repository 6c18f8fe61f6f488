"""What a result keeps of the model that made it, so that it can be explained, asked and updated.

Every method that says how probable labels are scores a label sequence t of a sentence as

    log start[t_1] + Σ_i log transition[t_{i-1}, t_i] + log end[t_n]
    + Σ_i ( share · Σ_j table[j, c^j_{i-1}, c^j_i, t_i] + Σ_m trust_m · evidence_m[i, t_i] )

with c^j what annotator j said and m the sources beside the annotators (a tagger, the document). These
parts, and the sums that ``table`` was made from, are what is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from seqtruth import archive
from seqtruth.kernels.arrays import F32, F64, I64, Tags
from seqtruth.kernels.chain import Chain
from seqtruth.schema import Column, Schema, under

#: Name of the source that rules out what nobody claims where silence is no vote.
SILENCE = "silence"


class Source(NamedTuple):
    """Something heard beside the annotators.

    name : ``"document"``, ``"usual"`` (how common labels are) or a predictor's name.
    trust : how much its evidence counts.
    evidence : float32[T, L], log evidence.
    """

    name: str
    trust: float
    evidence: F32


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model.

    Parameters
    ----------
    family : which module knows how it goes on: ``"chain"`` (Dawid-Skene, MACE, BSC) or ``"accord"``.
    table : float64[W, P, C, L], log probability that an annotator gives tag c after their own tag p
        (P is 1 where that does not matter), given the true label.
    share : how much annotators' evidence counts.
    chain : weights of the label chain.
    usual : float64[L], log score of each label wherever it stands.
    sources : what is heard beside the annotators.
    known : tag[T], labels given as true (-1: none).
    sums : what the method needs to go on, by name.
    settings : plain values that it needs besides.
    """

    family: str
    table: F64
    share: float
    chain: Chain
    usual: F64
    sources: tuple[Source, ...] = ()
    known: Tags | None = None
    sums: Mapping[str, np.ndarray] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def others(self, tokens: I64) -> F64:
        """float64[N, L]: what all but the annotators and the chain say of some tokens.

        Parameters
        ----------
        tokens : their numbers.
        """
        return np.tile(self.usual, (len(tokens), 1)) + self.of_sources(tokens)

    def of_sources(self, tokens: I64, names: Sequence[str] | None = None) -> F64:
        """float64[N, L]: what sources beside the annotators say of some tokens, all or those named.

        Parameters
        ----------
        tokens : their numbers.
        names : of the sources.
        """
        total = np.zeros((len(tokens), len(self.usual)))
        for source in self.sources:
            if names is None or source.name in names:
                total += source.trust * source.evidence[tokens]
        return total

    def with_annotators(self, number: I64, fill: Mapping[str, Any]) -> Fitted:
        """The model with its annotators renumbered.

        Parameters
        ----------
        number : for each annotator to be, the present number (-1: new).
        fill : for each array of :attr:`sums` that has a row an annotator, the value of new rows.
        """
        sums = {
            name: _rows(array, number, fill[name]) if name in fill else array
            for name, array in self.sums.items()
        }
        return replace(self, table=_rows(self.table, number, 0.0), sums=sums)


def _rows(array: np.ndarray, number: I64, value: Any) -> np.ndarray:
    out = np.empty((len(number), *array.shape[1:]), array.dtype)
    out[...] = value
    out[number >= 0] = array[number[number >= 0]]
    return out


#: What a saved model holds, see :class:`seqtruth.schema.Column`; the sums have shapes of their own.
_SAVED = {
    "table": Column("float64", ("annotators", "previous", "labels", "labels")),
    "start": Column("float64", ("labels",), 0),
    "transition": Column("float64", ("labels", "labels"), 0),
    "end": Column("float64", ("labels",), 0),
    "usual": Column("float64", ("labels",)),
    "known": Column("int", ("tokens",), -1, "labels", optional=True),
}
_MATRIX = Column("float64", ("annotators", "labels", "labels"), 0)
_LABELS = Column("float64", ("labels",), 0)
_PAIRS = Column("float64", ("labels", "labels"), 0)
_SEQUENTIAL = Column("float64", ("annotators", "labels", "labels", "labels"), 0)
_ACCURACY = Column("float64", ("annotators",), 0, 1.0001, nan=True)
#: What annotators' agreement with the result is made of (``seqtruth.metrics.annotators.COUNTS``).
AGREED = "agreed"
_COUNTS = {AGREED: Column("int", ("annotators", 4), 0, optional=True)}
#: The sums of each family, by name.
SUMS: dict[str, dict[str, Column]] = {
    "chain": {
        **_COUNTS,
        "annotators": Column("float64", ("annotators", "previous", "labels", "labels"), 0),
        "start": _LABELS,
        "transition": _PAIRS,
        "prior": _LABELS,
        "accuracy": _ACCURACY,
        "silent": Column("int", ("annotators", "types"), 0, 2, optional=True),
    },
    "accord": {
        **_COUNTS,
        "counts": replace(_MATRIX, optional=True),
        "transition": replace(_PAIRS, optional=True),
        "prior": replace(_LABELS, optional=True),
        "sequential/annotators": replace(_SEQUENTIAL, optional=True),
        "sequential/start": replace(_LABELS, optional=True),
        "sequential/transition": replace(_PAIRS, optional=True),
        "sequential/strength": Column("float64", (1,), 1e-9, optional=True),
        "final/counts": _MATRIX,
        "final/prior": _LABELS,
        "accuracy": _ACCURACY,
        "witness": Column("float64", ("annotators",), 0, 1.0001),
        "follow": Column("float64", ("predictors", "labels+2", "labels"), 0, optional=True),
        "reliability": replace(_ACCURACY, optional=True),
        "given": replace(_LABELS, optional=True),
        "gap_shift": Column("float64", ("labels",), optional=True),
        "open": Column("int", ("types",), 0, 2),
        "voices": Column("float64", (1,), 0, optional=True),
        "lines": Column("float64", ("types+2", 3), optional=True),
    },
}
_EVIDENCE = Column("float32", ("tokens", "labels"))


def state_of(fitted: Fitted) -> tuple[dict[str, Any], archive.Arrays]:
    """JSON values and arrays for a file."""
    arrays: archive.Arrays = {
        "table": fitted.table, "usual": fitted.usual, **fitted.chain._asdict()
    }  # fmt: skip
    if fitted.known is not None:
        arrays["known"] = fitted.known
    for number, source in enumerate(fitted.sources):
        arrays[f"evidence/{number}"] = source.evidence
    arrays |= archive.under(dict(fitted.sums), "sums")
    return {
        "family": fitted.family,
        "share": fitted.share,
        "sources": [[source.name, source.trust] for source in fitted.sources],
        "settings": dict(fitted.settings),
    }, arrays


def from_state(meta: Mapping[str, Any], arrays: archive.Arrays, sizes: Mapping[str, int]) -> Fitted:
    """Inverse of :func:`state_of`; raises ValueError where something does not fit.

    Parameters
    ----------
    meta, arrays : what :func:`state_of` gave.
    sizes : numbers of ``labels``, ``tokens`` and ``annotators`` of the result.
    """
    sources: Sequence[Any] = meta["sources"]
    columns = _SAVED | {f"evidence/{number}": _EVIDENCE for number in range(len(sources))}
    if meta["family"] not in SUMS or not isinstance(meta["settings"], dict):
        raise ValueError("the model is of no family that is known here")
    columns |= under(SUMS[meta["family"]], "sums")
    found = Schema(columns).check(arrays, sizes)
    _check_values(meta, arrays)
    if found["previous"] not in (1, found["labels"]):
        raise ValueError("table looks at something other than the annotator's previous tag")
    return Fitted(
        meta["family"],
        np.ascontiguousarray(arrays["table"]),
        float(meta["share"]),
        Chain(*(arrays[name] for name in Chain._fields)),
        arrays["usual"],
        tuple(
            Source(str(name), float(trust), arrays[f"evidence/{number}"])
            for number, (name, trust) in enumerate(sources)
        ),
        arrays.get("known"),
        archive.within(arrays, "sums"),
        dict(meta["settings"]),
    )


def _check_values(meta: Mapping[str, Any], arrays: archive.Arrays) -> None:
    """Raise ValueError where the plain values of a model are not what its family needs."""
    settings = meta["settings"]
    numbers = [meta["share"], *(trust for _, trust in meta["sources"]), settings.get("debt", 0.0)]
    if meta["family"] == "accord":
        numbers.append(settings["strength"])
        if settings["threshold"] is not None:
            numbers.append(settings["threshold"])
        option = settings["option"]
        if not isinstance(option, str) or not isinstance(settings["chain"], bool):
            raise ValueError("the model does not say what was chosen")
        needed = [] if option.startswith("sequential") else ["counts", "transition", "prior"]
        if option.startswith(("sequential", "both")):
            needed += [f"sequential/{name}" for name in ("annotators", "start", "transition")]
        missing = [name for name in needed if f"sums/{name}" not in arrays]
        if missing:
            raise ValueError(f"sums/{missing[0]} is missing")
    for number in numbers:
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise ValueError("shares, trusts and settings of the model must be numbers")
        if not 0 <= number < 1e6:
            raise ValueError("shares, trusts and settings of the model must be finite")
