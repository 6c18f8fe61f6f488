"""CRF-MA: its E-step by enumeration, its M-steps as maximisers, and a bound that never falls."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from oracles.paths import Enumeration, log_sum, path_score
from seqtruth import datasets, evaluate
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.engine import MemoryParts
from seqtruth.errors import ConvergenceWarning, DataError, ParameterError
from seqtruth.kernels.chain import Chain
from seqtruth.methods.crf_ma import CRFMA, CandidateRows, _Fit, update_pi
from seqtruth.methods.task import Task
from seqtruth.predictors import CRF
from seqtruth.testing import small_crowd

QUICK = CRF(max_iter=12, further_iter=6)


def fit_of(crowd: Crowd, known: np.ndarray | None = None, **settings) -> _Fit:
    task = Task(MemoryParts(crowd), known)
    return _Fit(CRFMA(predictor=QUICK, **settings), task, CandidateRows.of(task))


def holed_crowd(seed: int = 0) -> Crowd:
    """Short sentences, three annotators, absent rows and missing tags."""
    rng = np.random.default_rng(seed)
    lengths = [3, 1, 2, 3]
    sentence, annotator = np.array(
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (2, 1), (3, 0), (3, 1)]
    ).T
    n_tags = sum(lengths[s] for s in sentence)
    corpus = Corpus.of([["t"] * n for n in lengths])
    tags = rng.integers(-1, 3, n_tags)
    return Crowd.build(corpus, ["B-X", "I-X", "O"], list("abc"), sentence, annotator, tags, "iob2")


@pytest.mark.parametrize("seed", range(6))
def test_e_step_by_enumeration(seed: int) -> None:
    crowd, rng = holed_crowd(seed), np.random.default_rng(seed + 100)
    fit, n = fit_of(crowd), crowd.n_labels
    pi = rng.random(3) + 0.1
    scores = rng.normal(size=(crowd.n_tokens, n))
    chain = Chain(rng.random(n) + 0.1, rng.random((n, n)) + 0.1, rng.random(n) + 0.1)
    state, log_likelihood = fit.expect(pi, scores, chain)
    offsets, total = crowd.corpus.token_offsets, 0.0
    targets, pairs = np.zeros((crowd.n_tokens, n)), np.zeros((n, n))
    found_q = {
        (s, w): q for s, w, q in zip(fit.rows.sentence, fit.rows.annotator, state["q"], strict=True)
    }
    for s, (a, b) in enumerate(pairwise(offsets)):
        rows = {w: crowd.row(s, w) for w in range(3)}
        rows = {w: row for w, row in rows.items() if row is not None and (row >= 0).any()}
        if not rows:
            continue
        free = Enumeration(b - a, n, lambda p, a=a, b=b: path_score(p, scores[a:b], chain))
        logs, inside = {}, {}
        for w, row in rows.items():
            inside[w] = np.array(
                [all(t in (-1, y) for t, y in zip(row, p, strict=True)) for p in free.paths]
            )
            # the annotator who is right by the CRF, every other tag drawn from L labels
            others = sum(int((rows[v] >= 0).sum()) for v in rows if v != w)
            share = pi[w] / sum(pi[v] for v in rows)
            logs[w] = np.log(share) + np.log(free.p[inside[w]].sum()) - others * np.log(n)
        evidence = log_sum(list(logs.values()))
        total += evidence
        for w in rows:
            q = np.exp(logs[w] - evidence)
            assert found_q[s, w] == pytest.approx(q, abs=1e-6)
            weights = q * free.p * inside[w] / free.p[inside[w]].sum()
            for path, weight in zip(free.paths, weights, strict=True):
                for i, label in enumerate(path):
                    targets[a + i, label] += weight
                for x, y in pairwise(path):
                    pairs[x, y] += weight
    assert log_likelihood == pytest.approx(total, abs=1e-6)
    np.testing.assert_allclose(state["targets"], targets, atol=1e-5)
    np.testing.assert_allclose(state["transitions"], pairs, atol=1e-5)


def test_pi_is_the_maximiser() -> None:
    rng = np.random.default_rng(3)
    fit = fit_of(small_crowd(), reliability={"w1": 0.9, "w4": 0.2}, reliability_strength=5.0)
    rows, (rho, weight) = fit.rows, fit.prior
    raw = rng.random(len(rows.sentence))
    q = raw / np.bincount(rows.sentence, raw)[rows.sentence]
    n = fit.task.crowd.n_annotators

    def value(pi: np.ndarray) -> float:
        total = np.bincount(rows.sentence, pi[rows.annotator])[rows.sentence]
        prior = float((weight * (rho * np.log(pi) - n * pi)).sum())
        return float(q @ np.log(pi[rows.annotator] / total)) + prior

    start = np.full(n, 1.0 / n)
    found = update_pi(start, q, rows, rho, weight)
    assert value(found) >= value(start)
    for step in (1e-3, 1e-2, 0.3):
        for _ in range(20):
            other = found * np.exp(step * rng.normal(size=n))
            assert value(other) <= value(found) + 1e-9


def test_log_posterior_never_falls() -> None:
    crowd = small_crowd(n_sentences=80)
    holes = crowd.tags.copy()
    holes[::11] = -1
    for tags in (crowd.tags, holes):
        part = Crowd(
            crowd.corpus,
            crowd.scheme,
            crowd.annotators,
            crowd.row_sentence,
            crowd.row_annotator,
            tags,
        )
        fit = fit_of(part)
        state, values = fit.start(), []
        for _ in range(6):
            outcome = fit.advance(state)
            state = outcome.state
            assert sum(outcome.parts.values()) == pytest.approx(outcome.objective)
            values.append(outcome.objective)
        assert all(b >= a - 1e-3 for a, b in pairwise(values))  # weights are kept to 32 bits


def test_annotators_start_from_their_agreement_with_the_majority() -> None:
    fit = fit_of(small_crowd(n_sentences=150))
    pi = fit.start()["pi"]
    assert pi.argmin() == 4 and pi.sum() == pytest.approx(1.0)


def test_labels_are_an_annotators_own() -> None:
    crowd = small_crowd()
    result = CRFMA(predictor=QUICK).fit(crowd)
    offsets = crowd.corpus.token_offsets
    for s, (a, b) in enumerate(pairwise(offsets)):
        rows = [crowd.row(s, w) for w in range(crowd.n_annotators)]
        assert any(row is not None and (row == result.tags[a:b]).all() for row in rows)


@pytest.mark.parametrize("labels", ["annotator", "mixture", "crf"])
def test_every_reading_is_close_to_the_truth(labels: str) -> None:
    crowd = small_crowd(n_sentences=100)
    truth = crowd.select_annotators(["w0"])  # who hardly errs
    result = CRFMA(predictor=QUICK, labels=labels).fit(crowd)
    assert evaluate(result, truth).f1 > 0.9
    assert result.annotators.weight[0] > result.annotators.weight[4]
    assert result.annotators.weight.mean() == pytest.approx(1.0)
    assert result.tagger is not None
    assert result.tagger.tag(["Ida", "left", "Brno", "."])[2] == "B-LOC"


def test_known_gold_rules_annotators_out() -> None:
    votes = {
        "right": [["B-X", "O"]] * 12,
        "half": [["O", "O"]] * 12,
        "wrong": [["O", "B-X"]] * 12,
    }
    tokens = [["t", "u"]] * 12
    ids = [f"s{i}" for i in range(12)]
    crowd = Crowd.of(votes, tokens, "iob2", ids)
    known = np.full(crowd.n_tokens, -1, np.int8)
    known[:20] = np.tile(crowd.row(0, 0), 10)
    fit = fit_of(crowd, known)
    sentence, annotator = fit.rows.sentence, fit.rows.annotator
    np.testing.assert_array_equal(fit.rows.possible, (sentence >= 10) | (annotator == 0))
    assert (fit.rows.tags[fit.rows.offsets[:-1]][sentence < 10] == known[0]).all()
    gold = Crowd.of({"gold": [["B-X", "O"]] * 10}, tokens[:10], "iob2", ids[:10])
    result = CRFMA(predictor=QUICK).fit(crowd, gold)
    assert (result.tags.reshape(-1, 2) == crowd.row(0, 0)).all()
    assert result.annotators.weight.argmax() == 0


def test_known_gold_that_nobody_labelled_teaches_the_tagger() -> None:
    tokens = [["Zed", "ran"]] * 8 + [["Zed", "sat"]]
    ids = [f"s{i}" for i in range(9)]
    rows: list[list[str] | None] = [None] * 8
    crowd = Crowd.of({"a": [*rows, ["O", "O"]], "b": [*rows, ["B-X", "O"]]}, tokens, "iob2", ids)
    gold = Crowd.of({"gold": [["B-X", "O"]] * 8}, tokens[:8], "iob2", ids[:8])
    result = CRFMA().fit(crowd, gold)
    assert result.scheme.labels[result.tags[-2]] == "B-X"
    assert result.labelled.all()


def test_known_reliabilities_are_priors() -> None:
    votes = {"a": [["B-X"]] * 10, "b": [["O"]] * 10}
    crowd = Crowd.of(votes, [["t"]] * 10, "iob2")
    for name, label in (("a", "B-X"), ("b", "O")):
        other = "b" if name == "a" else "a"
        # of two sources of whom one never marks anything, that one would be taken for silent
        method = CRFMA(
            reliability={name: 0.95, other: 0.1}, reliability_strength=100.0, abstain="none"
        )
        result = method.fit(crowd)
        assert {result.scheme.labels[t] for t in result.tags} == {label}


def test_resumed_run_gives_the_same_bytes(tmp_path: Path) -> None:
    class Stop(Exception):
        pass

    def stop(step: object) -> None:
        raise Stop

    crowd, method = small_crowd(), CRFMA(predictor=QUICK, max_iter=3, tol=0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        method.fit(crowd).save(tmp_path / "whole")
        with pytest.raises(Stop):
            method.fit(crowd, checkpoint=tmp_path / "kept", progress=stop)
        rounds: list[object] = []
        result = method.fit(
            crowd, checkpoint=tmp_path / "kept", resume=True, progress=rounds.append
        )
    assert len(rounds) == 2
    result.save(tmp_path / "resumed")
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "resumed").read_bytes()


def test_bad_settings_and_missing_words_are_named() -> None:
    for settings in ({"labels": "x"}, {"prior": 0.0}, {"max_iter": 0}):
        with pytest.raises(ParameterError, match=next(iter(settings))):
            CRFMA(**settings)
    crowd = small_crowd()
    corpus = Corpus(crowd.corpus.token_offsets, crowd.corpus.sentence_ids, None)
    silent = Crowd(
        corpus, crowd.scheme, crowd.annotators, crowd.row_sentence, crowd.row_annotator, crowd.tags
    )
    with pytest.raises(DataError, match="needs the words"):
        CRFMA().fit(silent)


def test_ner(ner: datasets.Dataset) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = CRFMA(predictor=CRF(max_iter=30, further_iter=15), max_iter=2).fit(ner.crowd)
    score = evaluate(result, ner.gold, sentences=ner.splits["nguyen_test"])
    assert score.f1 >= 0.625
