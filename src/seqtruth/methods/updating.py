"""Going on from a fitted model when labels come or go, without fitting it anew.

A model's annotator tables are made from sums over sentences (expected counts). Where labels of some
sentences change, what these sentences added to the sums is taken out, and what they add now is put in:

    sums ← sums - E[before; θ] + E[after; θ'],    θ' ← sums

a few times over the changed sentences alone. All other sentences keep what they said under the old θ,
which is a little stale; the share that has changed is added up (``debt``), and where it passes
:data:`DEBT` the model settles again on all of them, predictor apart. So the work is proportional to what
is new, and many small updates end where a refit would. How far an update reaches:

========  ==============================================================================================
near      tables from the changed sentences; labels of these (and the rest of their documents)
all       the same tables; labels of all sentences
settle    everything but training the predictor, from where the model stands
auto      near, and settle where the debt has grown too large
========  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.fitted import Fitted
from seqtruth.kernels.arrays import F32, F64, I64, Tags
from seqtruth.methods.task import Decision
from seqtruth.predictors.tagger import Tagger

#: The model settles again when so large a share of the sentences has changed since the last time.
DEBT = 0.2
#: How far an update may reach.
REACHES = ("auto", "near", "all", "settle")
#: Rounds over the changed sentences.
ROUNDS = 1
#: Rounds over all sentences at most.
MOST_ROUNDS = 10


@dataclass(frozen=True, eq=False)
class Change:
    """Labels before and after, on the same sentences and for the same annotators.

    Parameters
    ----------
    before, after : the crowds; sentences that are new have no rows before.
    n_before : how many sentences there were; new ones come after them.
    touched : int64[N], sentences whose labels or known labels change.
    known_before, known_after : tag[T], labels given as true (-1: none).
    tagger : labels what nobody does.
    """

    before: Crowd
    after: Crowd
    n_before: int
    touched: I64
    known_before: Tags
    known_after: Tags
    tagger: Tagger | None = None
    _parts: dict[tuple[bool, bytes], tuple[Crowd, Tags]] = field(default_factory=dict, repr=False)

    @property
    def scheme(self) -> Scheme:
        return self.after.scheme

    def tokens(self, sentences: I64) -> I64:
        """int64: the tokens of some sentences."""
        return gather(self.after.corpus.token_offsets, sentences)[1]

    def old_part(self, sentences: I64) -> tuple[Crowd, Tags]:
        """Labels before, and known ones, on those of the sentences that are not new."""
        return self._part(False, sentences[sentences < self.n_before])

    def new_part(self, sentences: I64) -> tuple[Crowd, Tags]:
        """Labels after, and known ones."""
        return self._part(True, sentences)

    def _part(self, after: bool, sentences: I64) -> tuple[Crowd, Tags]:
        """A part that is asked for several times is cut out once."""
        key = after, sentences.tobytes()
        if key not in self._parts:
            crowd, known = (
                (self.after, self.known_after) if after else (self.before, self.known_before)
            )
            self._parts[key] = crowd[sentences], known[self.tokens(sentences)]
        return self._parts[key]


class Updated(NamedTuple):
    """A model that has gone on, and what it decides anew.

    fitted : the model.
    sentences : int64[N], the sentences decided anew.
    decision : on them, one after the other.
    weight, confusion : of the annotators.
    notes : what was decided on the way, for the result's provenance.
    """

    fitted: Fitted
    sentences: I64
    decision: Decision
    weight: F64
    confusion: F32
    notes: Mapping[str, Any] = MappingProxyType({})


def debt_of(fitted: Fitted) -> float:
    """Share of the sentences that have changed since all were gone through."""
    return float(fitted.settings.get("debt", 0.0))


def reached(fitted: Fitted, change: Change, reach: str) -> tuple[str, float]:
    """How far to go, and the debt afterwards."""
    if reach not in REACHES:
        raise ParameterError(f"reach must be one of {', '.join(REACHES)}", got=repr(reach))
    debt = debt_of(fitted) + len(change.touched) / max(change.after.n_sentences, 1)
    if reach == "auto":
        reach = "settle" if debt >= DEBT else "near"
    return reach, 0.0 if reach == "settle" else debt


def every_sentence(change: Change) -> I64:
    return np.arange(change.after.n_sentences)
