"""The objective's steps: each is the minimiser it claims to be, and the sums are what they say."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.data.crowd import Crowd
from seqtruth.errors import ParameterError
from seqtruth.kernels import vote
from seqtruth.kernels.vote import LEAST_PROBABILITY, Prediction
from seqtruth.methods.vote.aggslc import AggSLC
from seqtruth.methods.vote.labeller import Labeller
from seqtruth.methods.vote.objective import (
    average_losses,
    class_weights,
    prediction_losses,
    vote_counts,
    weights_from_losses,
)
from seqtruth.methods.vote.weighted import weighted_vote
from seqtruth.testing import small_crowd
from strategies import crowds

seeds = st.integers(0, 2**32 - 1)
losses = st.lists(st.floats(1e-3, 10.0), min_size=2, max_size=6)


def units(rule: str | float, crowd: Crowd) -> np.ndarray:
    return class_weights(rule, crowd.scheme, partial(vote_counts, crowd))


def votes_of(crowd: Crowd, weights: np.ndarray) -> np.ndarray:
    """Weighted votes [T, L], by plain loops."""
    votes = np.zeros((crowd.n_tokens, crowd.n_labels))
    for s, a in enumerate(crowd.corpus.token_offsets[:-1]):
        for w in range(crowd.n_annotators):
            row = crowd.row(s, w)
            for i, tag in enumerate([] if row is None else row):
                if tag >= 0:
                    votes[a + i, tag] += weights[w]
    return votes


def random_prediction(crowd: Crowd, rng: np.random.Generator) -> Prediction:
    soft = rng.dirichlet(np.ones(crowd.n_labels), crowd.n_tokens).astype(np.float32)
    return Prediction(soft, rng.random(crowd.n_sentences) < 0.6, float(rng.random()))


def add_prediction(votes: np.ndarray, crowd: Crowd, prediction: Prediction) -> np.ndarray:
    given = np.repeat(prediction.given, np.diff(crowd.corpus.token_offsets))
    return votes + prediction.weight * prediction.probabilities * given[:, None]


@given(crowds(), seeds)
def test_no_small_step_away_from_the_vote_lowers_the_loss(crowd: Crowd, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, units = rng.random(crowd.n_annotators) + 0.1, rng.random(crowd.n_labels) + 0.2
    prediction = random_prediction(crowd, rng)
    y = weighted_vote(crowd, weights, units, prediction=prediction).probabilities
    mass = units * add_prediction(votes_of(crowd, weights), crowd, prediction)

    def loss(z: np.ndarray) -> np.ndarray:
        """Σ_l U[l] votes[l] · -log z[l] of every token: L_agg + L_pred at ξ = 1."""
        logs = -np.log(np.maximum(z, 1e-30))
        return np.where(mass > 0, mass * logs, 0.0).sum(axis=1)

    best = loss(y.astype(np.float64))
    for _ in range(5):
        aim = rng.dirichlet(np.ones(crowd.n_labels), crowd.n_tokens)
        for step in (1e-3, 0.1, 1.0):
            assert (loss((1 - step) * y + step * aim) >= best - 1e-5).all()


@given(crowds(missing=True), seeds)
def test_one_pass_measures_what_the_equations_say(crowd: Crowd, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.random(crowd.n_annotators) + 0.1
    prediction = random_prediction(crowd, rng)
    vote = weighted_vote(
        crowd, weights, np.ones(crowd.n_labels), decoding="exact", prediction=prediction
    )
    y, tags, entity = vote.probabilities.astype(np.float64), vote.tags, crowd.scheme.is_entity
    logs = -np.log(np.maximum(y, LEAST_PROBABILITY))
    total, staked = np.zeros(crowd.n_annotators), np.zeros(crowd.n_annotators)
    stakes, predicted = np.zeros(crowd.n_annotators), 0.0
    for s, (a, b) in enumerate(
        zip(crowd.corpus.token_offsets[:-1], crowd.corpus.token_offsets[1:], strict=True)
    ):
        if a == b or tags[a] < 0:
            assert vote.confidence[s] == 0
            continue
        ranked = np.sort(y[a:b], axis=1)
        margin = ranked[:, -1] - (ranked[:, -2] if y.shape[1] > 1 else 0.0)
        assert vote.confidence[s] == pytest.approx(margin.mean(), abs=1e-5)  # Eq 4
        xi = vote.confidence[s]
        for w in range(crowd.n_annotators):
            row = crowd.row(s, w)
            for i, tag in enumerate([] if row is None else row):
                if tag >= 0:
                    total[w] += xi * logs[a + i, tag]  # Eq 2
                    if entity[tag] or entity[tags[a + i]]:
                        staked[w] += xi * logs[a + i, tag]
                        stakes[w] += 1
        if prediction.given[s]:
            predicted += xi * float((prediction.probabilities[a:b] * logs[a:b]).sum())  # Eq 5
    np.testing.assert_allclose(vote.losses, total, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(vote.stake_losses, staked, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(vote.stakes, stakes)
    assert vote.prediction_loss == pytest.approx(predicted, rel=1e-3, abs=1e-4)
    assert vote.illegal == 0


@given(crowds(), seeds)
def test_sums_add_up_over_parts(crowd: Crowd, seed: int) -> None:
    weights = np.random.default_rng(seed).random(crowd.n_annotators) + 0.1
    units = np.ones(crowd.n_labels)
    whole = weighted_vote(crowd, weights, units, decoding="bidirectional")
    half = crowd.n_sentences // 2
    parts = [
        weighted_vote(crowd[part], weights, units, decoding="bidirectional")
        for part in (slice(0, half), slice(half, None))
    ]
    np.testing.assert_array_equal(whole.tags, np.concatenate([p.tags for p in parts]))
    np.testing.assert_allclose(whole.losses, sum(p.losses for p in parts), atol=1e-9)
    np.testing.assert_array_equal(whole.stakes, sum(p.stakes for p in parts))


@given(losses, seeds)
def test_sum_weights_minimise_under_the_constraint(values: list[float], seed: int) -> None:
    loss = np.array(values)
    w = weights_from_losses(loss, "sum")
    assert np.exp(-w).sum() == pytest.approx(1.0)
    rng = np.random.default_rng(seed)
    for step in (1e-3, 0.1, 1.0):
        shares = np.exp(-w) * np.exp(step * rng.normal(size=len(w)))
        other = -np.log(shares / shares.sum())  # any other weights that meet the constraint
        assert w @ loss <= other @ loss + 1e-9


@given(losses)
def test_max_weights_are_the_papers(values: list[float]) -> None:
    loss = np.array(values)
    w = weights_from_losses(loss, "max")
    if (loss == loss[0]).all():
        assert (w == 1.0).all()
    else:
        np.testing.assert_allclose(w, np.log(loss.max() / loss))
        assert w[loss.argmax()] == 0.0


def test_annotators_without_labels_weigh_nothing_and_perfect_ones_are_finite() -> None:
    w = weights_from_losses(np.array([np.nan, 0.0, 0.5]), "max")
    assert w[0] == 0 and np.isfinite(w).all() and w[1] > 10
    assert weights_from_losses(np.array([np.nan]), "sum").tolist() == [0.0]
    with pytest.raises(ParameterError, match="weight_norm"):
        weights_from_losses(np.ones(2), "mean")


@given(crowds())
def test_averages_divide_by_what_each_labelled(crowd: Crowd) -> None:
    vote = weighted_vote(crowd, np.ones(crowd.n_annotators), np.ones(crowd.n_labels))
    n_tokens = (votes_of_each(crowd) > 0).sum(axis=1)
    by_token = average_losses(vote.sums, crowd.annotator_tokens, "token")
    by_entity = average_losses(vote.sums, crowd.annotator_tokens, "entity")
    for w in range(crowd.n_annotators):
        if n_tokens[w] == 0:
            assert np.isnan(by_token[w]) and np.isnan(by_entity[w])
        else:
            assert by_token[w] == pytest.approx(vote.losses[w] / n_tokens[w])
            assert by_entity[w] == pytest.approx(vote.stake_losses[w] / max(vote.stakes[w], 1))


def votes_of_each(crowd: Crowd) -> np.ndarray:
    eye = np.eye(crowd.n_annotators)
    return np.array([votes_of(crowd, eye[w]).sum(axis=1) for w in range(crowd.n_annotators)])


def test_expected_losses_count_as_so_many_tokens() -> None:
    crowd = small_crowd()
    vote = weighted_vote(crowd, np.ones(5), np.ones(crowd.n_labels))
    prior = np.array([np.nan, np.nan, np.nan, np.nan, 0.5])
    plain = average_losses(vote.sums, crowd.annotator_tokens, "entity")
    mixed = average_losses(vote.sums, crowd.annotator_tokens, "entity", prior, 30.0)
    np.testing.assert_array_equal(mixed[:4], plain[:4])
    n = vote.stakes[4]
    assert mixed[4] == pytest.approx((plain[4] * n + 0.5 * 30) / (n + 30))
    nothing = average_losses(vote.sums, crowd.annotator_tokens, "entity", prior, 0.0)
    np.testing.assert_array_equal(nothing, plain)


def test_predictor_is_judged_where_it_spoke() -> None:
    crowd = small_crowd()
    vote = weighted_vote(crowd, np.ones(5), np.ones(crowd.n_labels))
    right = np.eye(crowd.n_labels, dtype=np.float32)[vote.tags]
    wrong = np.roll(right, 1, axis=1)
    given = np.ones(crowd.n_sentences, bool)
    here = (vote.tags, vote.probabilities, vote.confidence, crowd)
    for average in ("entity", "token"):
        fine, n = prediction_losses(right, given, *here, average)
        worse, more = prediction_losses(wrong, given, *here, average)
        assert fine / n < worse / more
    assert prediction_losses(right, ~given, *here, "token") == (0.0, 0)


@given(crowds(), seeds, st.sampled_from(["none", "exact", "bidirectional", "unidirectional"]))
def test_skipping_what_is_settled_changes_nothing(crowd: Crowd, seed: int, decoding: str) -> None:
    rng = np.random.default_rng(seed)
    weights, units = rng.random(crowd.n_annotators), rng.random(crowd.n_labels) + 0.2
    nothing = np.full(crowd.n_tokens, -1, np.int8)  # takes the way through every token
    short = weighted_vote(crowd, weights, units, decoding=decoding)
    long = weighted_vote(crowd, weights, units, decoding=decoding, known=nothing)
    np.testing.assert_array_equal(short.tags, long.tags)
    for one, other in zip(short[1:], long[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)
    bare = Labeller(weights, units, decoding).vote(crowd)
    np.testing.assert_array_equal(bare.tags, short.tags)
    np.testing.assert_array_equal(bare.sums, short.sums)
    assert bare.probabilities.shape == (0, crowd.n_labels)


# --- ties --------------------------------------------------------------------------------------


def tied() -> Crowd:
    votes = {"a": [["B-X"]] * 40, "b": [["O"]] * 40}
    return Crowd.of(votes, [["t"]] * 40, "iob2", [f"s{i}" for i in range(40)])


@pytest.mark.parametrize(
    ("rule", "winner"), [("alphabetical", "B-X"), ("entity", "B-X"), ("O", "O")]
)
def test_ties_go_by_name(rule: str, winner: str) -> None:
    crowd = tied()
    tags = weighted_vote(crowd, np.ones(2), np.ones(3), ties=rule).tags
    assert {crowd.scheme.labels[t] for t in tags} == {winner}


def test_an_entity_wins_a_tie_against_an_o_that_comes_first() -> None:
    crowd = Crowd.of({"a": [["O"]], "b": [["I-Z"]]}, [["t"]], "io")
    tags = {
        rule: crowd.scheme.labels[weighted_vote(crowd, np.ones(2), np.ones(2), ties=rule).tags[0]]
        for rule in ("alphabetical", "entity", "O")
    }
    assert tags == {"alphabetical": "I-Z", "entity": "I-Z", "O": "O"}


def test_random_ties_are_seeded_and_belong_to_the_sentence() -> None:
    crowd = tied()

    def tags(part: Crowd, seed: int) -> np.ndarray:
        return weighted_vote(part, np.ones(2), np.ones(3), ties="random", seed=seed).tags

    first = tags(crowd, 0)
    assert len(set(first.tolist())) == 2  # both labels win somewhere
    np.testing.assert_array_equal(first, tags(crowd, 0))
    assert (first != tags(crowd, 1)).any()
    order = np.random.default_rng(0).permutation(40)
    np.testing.assert_array_equal(first[order], tags(crowd[order], 0))
    np.testing.assert_array_equal(first[7:9], tags(crowd[7:9], 0))


def test_unknown_ties_are_named() -> None:
    with pytest.raises(ParameterError, match="alphabetical"):
        weighted_vote(tied(), np.ones(2), np.ones(3), ties="coin")


# --- known labels, class weights, the clip -----------------------------------------------------


@given(crowds(), seeds)
def test_known_labels_stay(crowd: Crowd, seed: int) -> None:
    rng = np.random.default_rng(seed)
    known = rng.integers(-1, crowd.n_labels, crowd.n_tokens).astype(np.int8)
    vote = weighted_vote(crowd, np.ones(crowd.n_annotators), np.ones(crowd.n_labels), known=known)
    fixed = known >= 0
    np.testing.assert_array_equal(vote.tags[fixed], known[fixed])
    assert (vote.probabilities[np.flatnonzero(fixed), known[fixed]] == 1.0).all()


@given(crowds())
def test_vote_counts(crowd: Crowd) -> None:
    votes = votes_of(crowd, np.ones(crowd.n_annotators))
    np.testing.assert_array_equal(vote_counts(crowd, contested=False), votes.sum(axis=0))
    open_ = (votes > 0).sum(axis=1) > 1
    np.testing.assert_array_equal(vote_counts(crowd, contested=True), votes[open_].sum(axis=0))


def test_class_weights_by_rule() -> None:
    crowd = Crowd.of({"a": [["B-X", "O", "O", "O"]], "b": [["O", "O", "O", "O"]]}, [["t"] * 4])
    assert units("none", crowd).tolist() == [1, 1, 1]
    assert units(2.0, crowd).tolist() == [2, 2, 1]
    inverse = units("inverse", crowd)  # 1 vote for B-X, 7 for O; I-X never occurs
    assert inverse[0] == 7 and inverse[2] == 1 and np.isfinite(inverse).all()
    assert units("contested", crowd)[0] == 1  # one vote each where they differ
    for bad in ("x", -1.0, float("nan")):
        with pytest.raises(ParameterError, match="class"):
            units(bad, crowd)


def test_results_do_not_hinge_on_the_clip(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd, outcomes, objectives = small_crowd(n_sentences=80), [], set()
    for clip in (1e-2, 1e-3, LEAST_PROBABILITY, 1e-6, 1e-9):
        monkeypatch.setattr(vote, "LEAST_PROBABILITY", clip)
        result = AggSLC(predictor=None).fit(crowd)
        outcomes.append(
            (result.tags.tolist(), [row["annotator"] for row in result.annotators.ranked()])
        )
        objectives.add(tuple(result.history.objective))
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert len(objectives) == 5, "the clip is at work"
