"""What decisions teach: like cases, the trial on decisions that were not learnt from, and no harm done."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as hs

import seqtruth as st
from review.conftest import small_crowd
from seqtruth.data.labelling import Labelling
from seqtruth.decisions.cases import find_cases
from seqtruth.result import Result
from seqtruth.review import learning
from seqtruth.review.alike import attributes, shifts, softmax
from seqtruth.review.learning import Trial, relearn, tried
from seqtruth.review.marks import Marks, labelling
from seqtruth.review.replay import Replay, prepared
from seqtruth.review.spreading import OTHER, UNDECIDED, answers, spread


def known_of(result: Result, decided: dict[int, Marks]) -> Labelling:
    return labelling(decided, result.corpus, result.scheme)


def york(kind: str | None) -> dict[int, Marks]:
    """``York`` decided in the first two sentences, as this type or as nothing."""
    spans = () if kind is None else ((0, 1, kind),)
    return {s: Marks(((0, 1),), spans) for s in (0, 1)}


def chance(result: Result, token: int, kind: str) -> float:
    return float(result.probabilities[token, result.scheme.index(f"B-{kind}")])


def test_answers_are_read_from_decisions(result: Result) -> None:
    cases = find_cases(result)
    first, lane = (
        int(np.flatnonzero((cases.sentence == 0) & (cases.start == a))[0]) for a in (0, 2)
    )
    assert (answers(cases, known_of(result, {})) == UNDECIDED).all()
    told = answers(cases, known_of(result, york("ORG")))
    assert told[first] == result.scheme.types.index("ORG") and told[lane] == UNDECIDED
    assert answers(cases, known_of(result, york(None)))[first] == len(result.scheme.types)
    apart = {0: Marks(((0, 4),), ((2, 3, "PER"), (3, 4, "LOC")))}
    assert answers(cases, known_of(result, apart))[lane] == OTHER


def test_a_decision_speaks_for_the_same_text(result: Result) -> None:
    token = int(result.corpus.token_offsets[2]) + 1  # the York that nobody decided about
    here = {kind: spread(result, result, small_crowd(), known_of(result, york(kind)))
            for kind in ("ORG", "LOC")}  # fmt: skip
    before = chance(result, token, "ORG")
    assert chance(here["ORG"], token, "ORG") > before > chance(here["LOC"], token, "ORG")
    assert here["ORG"].labels[2] == ["O", "B-ORG", "O"]
    assert here["LOC"].labels == result.labels
    untouched = np.setdiff1d(np.arange(result.corpus.n_tokens), [token, 2, 3])
    assert (here["ORG"].tags[untouched] == result.tags[untouched]).all()
    same = spread(result, result, small_crowd(), known_of(result, {}))
    assert same is result


def test_the_dual_has_found_the_best_weights() -> None:
    rng = np.random.default_rng(0)
    n, variance = 30, {"a": 1.5, "b": 0.5}
    of = {kind: rng.integers(0, 4, n) for kind in variance}
    log_p = np.log(softmax(rng.normal(size=(n, 3))))
    answer = np.where(np.arange(n) < 20, rng.integers(0, 3, n), -1)
    f = shifts(of, log_p, answer, variance)
    off = (
        np.eye(3)[answer[:20]] - softmax(log_p + f)[:20]
    )  # α of the best weights, by their equations
    wanted = sum(variance[kind] * (of[kind][:, None] == of[kind][None, :20]) for kind in variance)
    assert np.abs(f - wanted @ off).max() < 0.01


@given(hs.integers(0, 2**32 - 1))
def test_what_is_carried_over_stays_legal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    result = st.aggregate(small_crowd(), "mv")
    sentences = rng.permutation(4)[: rng.integers(1, 4)].tolist()
    decided = {}
    for s in sentences:
        n = len(result.corpus.words(s))
        kind = str(rng.choice(result.scheme.types))
        decided[s] = Marks(((0, n),), ((0, 1, kind),) if rng.random() < 0.8 else ())
    found = spread(result, result, small_crowd(), known_of(result, decided))
    assert np.allclose(found.probabilities.sum(axis=1), 1.0, atol=1e-5)
    assert result.scheme.allowed[found.tags[:-1], found.tags[1:]][[0, 1, 2, 4, 6, 7]].all()
    assert ((found.token_confidence >= 0) & (found.token_confidence <= 1)).all()


def test_plain_tags_and_no_text() -> None:
    rows = {"a": [["N", "V"], ["N", "V"]], "b": [["N", "N"], ["N", "N"]], "c": [["N", "V"]] * 2}
    result = st.aggregate(st.Crowd.of(rows, [["p", "q"]] * 2), "mv")
    known = known_of(result, {0: Marks(((1, 2),), ((1, 2, "N"),))})
    found = spread(result, result, st.Crowd.of(rows, [["p", "q"]] * 2), known)
    assert (found.tags >= 0).all()
    assert found.probabilities[3, result.scheme.index("N")] > 1 / 3
    corpus = replace(result.corpus, tokens=None, texts=None, char_starts=None, text_starts=None)
    bare = replace(result, corpus=corpus)
    assert set(attributes(bare.corpus, find_cases(bare))) == {
        "label", "pair", "document", "document, pair"
    }  # fmt: skip


def test_a_trial_chooses_and_can_refuse() -> None:
    crowd = small_crowd()
    result = st.aggregate(crowd, "mv")
    agreed = result.as_crowd().labelling()  # decisions that say what the labels say
    same, trial = tried(result, crowd, agreed)
    assert same.labels == result.labels and trial[:2] == (0, 0)
    assert Trial(14, 2).helps and Trial(1, 0).helps
    assert not Trial(9, 4).helps and not Trial(1, 9).helps
    assert Trial(5, 0, "refit").helps and not Trial(3, 0, "refit").helps
    # what is York in two sentences and not in the third speaks against what it says of the others
    against = {s: Marks(((0, n),), spans) for s, n, spans in [
        (0, 4, ((0, 1, "ORG"), (2, 4, "PER"))), (1, 2, ((0, 1, "ORG"),)), (2, 3, ((1, 2, "LOC"),))
    ]}  # fmt: skip
    kept, trial = tried(result, crowd, known_of(result, against), refit=False)
    assert (kept is result) == (not trial.helps)
    assert trial.worse > 0


@pytest.mark.parametrize("method", ["ds", "mv"])
def test_learning_helps_where_nobody_decided_or_does_no_harm(method: str) -> None:
    data = st.datasets.load("demo")
    result = st.aggregate(data.crowd, method)
    gold, chosen = prepared(result, data.gold)
    learn = partial(tried, refit=False)
    replay = Replay(result, data.crowd, gold, chosen, "ours", every=30, learn=learn)
    last = list(replay.run(60, 30))[-1]
    assert last.rest >= last.rest_before + (2.0 if method == "mv" else 0.0)
    known = known_of(result, replay.decided)
    learnt = relearn(result, data.crowd, known, refit=False)
    assert (learnt.annotators.weight != result.annotators.weight).any() == (method == "ds")


def test_a_refit_that_chooses_another_model_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    data = st.datasets.load("demo")
    result = st.aggregate(data.crowd, "mv")
    gold, chosen = prepared(result, data.gold)
    replay = Replay(result, data.crowd, gold, chosen, "ours", every=0)
    list(replay.run(40))
    known = known_of(result, replay.decided)
    right = replace(result, tags=gold.tags)  # the best refit that could be
    monkeypatch.setattr(learning, "_refitted", lambda *_: right)
    assert tried(result, data.crowd, known)[1].how == "refit"
    other = replace(right, provenance={**result.provenance, "chosen": "another"})
    monkeypatch.setattr(learning, "_refitted", lambda *_: other)
    assert tried(result, data.crowd, known)[1].how == "update"
