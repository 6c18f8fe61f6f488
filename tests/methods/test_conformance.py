"""Every aggregator of the package through the conformance suite."""

from __future__ import annotations

import importlib.util
import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from seqtruth import testing
from seqtruth.methods import METHODS, Aggregator
from seqtruth.methods.accord.accord import Accord
from seqtruth.methods.task import Decision, Outcome, Task
from seqtruth.methods.vote.aggslc import AggSLC
from seqtruth.methods.vote.majority import MajorityVote
from seqtruth.predictors import CRF, BiLSTM

QUICK_CRF = CRF(max_iter=15, further_iter=5)
#: Settings that make a slow method quick enough for a test.
QUICK: dict[str, dict[str, Any]] = {
    "aggslc": {"predictor": None},
    "optsla": {"predictor": None},
    "accord": {"predictor": None},
    "crf-ma": {"max_iter": 3, "predictor": QUICK_CRF},
    "dl-cl": {"max_iter": 4, "predictor": BiLSTM(hidden=16, vectors="none")},
    "lstm-crowd": {"max_iter": 4, "predictor": BiLSTM(hidden=16, vectors="none")},
}
HAVE_TORCH = importlib.util.find_spec("torch") is not None
CASES: dict[str, Aggregator] = {
    name: kind(**QUICK.get(name, {})) for name, kind in METHODS.items()
} | {
    "mv, random ties": MajorityVote(ties="random", seed=3),
    "aggslc with a predictor": AggSLC(predictor=QUICK_CRF, folds=2, max_iter=3, threshold=0.5),
    "aggslc as printed": AggSLC(
        predictor=QUICK_CRF, prediction="low-confidence", average="token", max_iter=3
    ),
    "aggslc by descent": AggSLC(descent=True, predictor=None),
    "accord with a predictor": Accord(predictor=QUICK_CRF, folds=2),
}
PAIRS = [
    pytest.param(
        method,
        check,
        id=f"{name}-{check.__name__.removeprefix('check_')}",
        marks=pytest.mark.skipif(
            getattr(method, "extra", None) == "torch" and not HAVE_TORCH,
            reason="torch is not installed (make test EXTRAS=all)",
        ),
    )
    for name, method in CASES.items()
    for check in testing.checks_of(method)
]


@pytest.mark.parametrize(("method", "check"), PAIRS)
def test_rule(method: Aggregator, check: testing.Check) -> None:
    check(method)


def test_every_check_is_listed() -> None:
    found = {
        member
        for name, member in inspect.getmembers(testing.methods, inspect.isfunction)
        if name.startswith("check_") and name != "check_method"
    }
    assert found == set(testing.CHECKS)


def test_exemptions_name_real_checks_and_give_reasons() -> None:
    names = {check.__name__ for check in testing.CHECKS}
    for method in CASES.values():
        assert set(method.exempt) <= names
        assert all(len(reason) > 20 for reason in method.exempt.values())


def test_every_aggregator_is_registered() -> None:
    def leaves(kind: type[Aggregator]) -> set[type[Aggregator]]:
        below = {leaf for child in kind.__subclasses__() for leaf in leaves(child)}
        return below or {kind}

    # those of the reproduction (a tagger that has seen gold) are nobody's to choose
    ours = {kind for kind in leaves(Aggregator) if kind.__module__.startswith("seqtruth.methods.")}
    assert ours <= set(METHODS.values())


@dataclass(frozen=True, kw_only=True)
class _Stubborn(Aggregator):
    """Says O to everything: the suite must catch it."""

    name = "stubborn"

    def _fit(self, task: Task) -> Outcome:
        crowd = task.crowd
        tags = np.full(crowd.n_tokens, max(crowd.scheme.outside, 0), np.int8)
        even = np.full((crowd.n_tokens, crowd.n_labels), 1 / crowd.n_labels, np.float32)
        return Outcome(Decision(tags, even), np.ones(crowd.n_annotators))


def test_the_suite_can_fail() -> None:
    with pytest.raises(testing.ConformanceError, match="unanimous"):
        testing.check_method(_Stubborn())
