"""The predictor's weight learnt from what it foretells: against a plain loop, and what it is good for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.crowd import Crowd
from seqtruth.datasets import demo
from seqtruth.errors import ParameterError
from seqtruth.methods.vote.prediction_weight import MULTIPLES, foretelling_losses, weight_of
from seqtruth.testing import small_crowd


@dataclass(frozen=True)
class Said:
    """Predictions that are there."""

    probabilities: np.ndarray
    given: np.ndarray

    def on(self, part: Crowd) -> tuple[np.ndarray, np.ndarray]:
        return self.probabilities, self.given


def _drawn(crowd: Crowd, seed: int) -> Said:
    random = np.random.default_rng(seed)
    said = random.dirichlet(np.ones(crowd.n_labels), crowd.n_tokens).astype(np.float32)
    return Said(said, random.random(crowd.n_sentences) < 0.8)


def _plainly(crowd: Crowd, said: Said, weights: np.ndarray, units: np.ndarray) -> list[float]:
    found = []
    for w_dl in MULTIPLES * weights[weights > 0].mean():
        loss = 0.0
        for s in np.flatnonzero(said.given):
            rows = [
                (j, row)
                for j in range(crowd.n_annotators)
                if (row := crowd.row(int(s), j)) is not None
            ]
            for i, token in enumerate(range(*crowd.corpus.token_offsets[s : s + 2])):
                for judge, theirs in rows:
                    if theirs[i] < 0:
                        continue
                    votes = w_dl * units * said.probabilities[token]
                    for other, row in rows:
                        if other != judge and row[i] >= 0:
                            votes[row[i]] += weights[other] * units[row[i]]
                    even = np.full(crowd.n_labels, 1 / crowd.n_labels)
                    share = votes / votes.sum() if votes.sum() > 0 else even
                    truth = np.eye(crowd.n_labels)[theirs[i]]
                    loss += weights[judge] * float(((share - truth) ** 2).sum())
        found.append(loss)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_losses_are_those_of_a_plain_loop(seed: int) -> None:
    crowd = small_crowd(n_sentences=6, seed=seed)
    said = _drawn(crowd, seed)
    random = np.random.default_rng(seed)
    weights = random.random(crowd.n_annotators) * (random.random(crowd.n_annotators) < 0.8) + 1e-3
    units = 1 + random.random(crowd.n_labels)
    found = foretelling_losses(crowd, said, weights, units)["foretelling"]
    np.testing.assert_allclose(found, _plainly(crowd, said, weights, units), rtol=1e-5)


def test_who_foretells_is_heard_and_who_guesses_is_not() -> None:
    data = demo.load()
    crowd, weights = data.crowd, np.ones(data.crowd.n_annotators)
    truth = np.eye(crowd.n_labels, dtype=np.float32)[data.gold.recode(crowd.scheme).tags]
    everywhere = np.ones(crowd.n_sentences, np.bool_)
    units = np.ones(crowd.n_labels)

    def learnt(probabilities: np.ndarray) -> float:
        said = Said(probabilities, everywhere)
        return weight_of(foretelling_losses(crowd, said, weights, units)["foretelling"], weights)

    guesses = _drawn(crowd, 0).probabilities
    assert learnt(truth) > 1.0 > learnt(guesses)


def test_it_is_a_setting_and_goes_with_rounds_only() -> None:
    data = demo.load()
    result = st.AggSLC(prediction_weight="learnt", max_iter=2, folds=2).fit(data.crowd)
    assert st.evaluate(result, data.gold).span.f1 > 0.85
    with pytest.raises(ParameterError, match="loss, learnt"):
        st.AggSLC(prediction_weight="guessed")
    with pytest.raises(ParameterError, match="its own weight"):
        st.AggSLC(prediction_weight="learnt", descent=True)
