"""LSTM-Crowd and LSTM-Crowd-cat."""

from __future__ import annotations

import numpy as np
import pytest

from neural_crowds import simulated
from seqtruth import archive
from seqtruth.data.crowd import Crowd
from seqtruth.errors import ParameterError
from seqtruth.methods.neural.lstm_crowd import LSTMCrowd, agreement
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.result import Result

pytest.importorskip("torch", reason="needs the extra seqtruth[torch]")

SMALL = BiLSTM(hidden=16, vectors="none", dropout=0.1)


def method(**settings) -> LSTMCrowd:
    return LSTMCrowd(**{"predictor": SMALL, "max_iter": 4} | settings)


@pytest.fixture(scope="module")
def crowd_and_truth():
    return simulated(n_sentences=120, careful=4, random=3, seed=0)


@pytest.mark.parametrize("variant", LSTMCrowd.variants)
def test_careful_annotators_rank_above_random_ones(crowd_and_truth, variant):
    crowd, truth = crowd_and_truth
    result = method(variant=variant).fit(crowd)
    assert result.annotators.weight[:4].min() > result.annotators.weight[4:].max()
    assert (result.tags == truth).mean() > 0.95


def test_a_vector_takes_up_an_annotators_leaning(tmp_path):
    tokens = [[name] for name in ("Ann", "Bob", "Eve", "ran", "sat", "dog") for _ in range(8)]
    truth = [["B-PER"]] * 24 + [["O"]] * 24
    zealot = [["B-PER"]] * 48  # marks everything
    crowd = Crowd.of({"a": truth, "b": truth, "zealot": zealot}, tokens, "iob2")
    result = method(variant="add", penalty=0.0).fit(crowd, checkpoint=tmp_path)
    assert result.tags.tolist() == crowd.labelling(0).tags.tolist()
    vector = archive.load(tmp_path / "checkpoint.seqtruth", "checkpoint")[1]["own/vector"]
    leaning = sorted(vector[:, crowd.scheme.index("B-PER")] - vector[:, crowd.scheme.outside])
    assert leaning[1] == pytest.approx(leaning[0], abs=0.1)
    assert leaning[2] > leaning[1] + 0.5


@pytest.mark.parametrize("variant", LSTMCrowd.variants)
def test_same_seed_same_bytes_and_resuming(crowd_and_truth, tmp_path, variant):
    crowd, _ = crowd_and_truth
    whole = method(variant=variant, max_iter=2).fit(crowd)

    class Stop(Exception):
        pass

    def stop(step):
        if step.iteration == 1:
            raise Stop

    with pytest.raises(Stop):
        method(variant=variant, max_iter=2).fit(crowd, checkpoint=tmp_path, progress=stop)
    resumed = method(variant=variant, max_iter=2).fit(crowd, checkpoint=tmp_path, resume=True)
    assert resumed.probabilities.tobytes() == whole.probabilities.tobytes()
    assert resumed.annotators.weight.tobytes() == whole.annotators.weight.tobytes()


def test_the_tagger_can_be_saved(crowd_and_truth, tmp_path):
    crowd, _ = crowd_and_truth
    result = method(max_iter=1).fit(crowd)
    found = result.tagger.predictor.predict_proba(crowd.corpus)
    result.save(tmp_path / "result")
    loaded = Result.load(tmp_path / "result").tagger
    assert loaded.predictor.predict_proba(crowd.corpus).tobytes() == found.tobytes()


def test_known_labels_stay_and_teach(crowd_and_truth):
    crowd, _ = crowd_and_truth
    random_only = crowd.select_annotators(crowd.annotators[4:])
    gold = crowd.labelling(0).as_crowd()
    plain, taught = method().fit(random_only), method().fit(random_only, gold)
    given = np.flatnonzero(crowd.labelling(0).tags >= 0)
    assert np.array_equal(taught.tags[given], crowd.labelling(0).tags[given])
    other = np.flatnonzero(crowd.labelling(0).tags < 0)
    reference = crowd.labelling(1).tags[other]
    seen = reference >= 0
    assert (taught.tags[other] == reference)[seen].mean() > (plain.tags[other] == reference)[
        seen
    ].mean()


def test_missing_tags_are_no_votes(crowd_and_truth):
    crowd, _ = crowd_and_truth
    result = method(max_iter=1, abstain="O").fit(crowd)
    assert np.isfinite(result.probabilities).all()


def test_agreement_is_the_expected_confusion():
    crowd = Crowd.of({"a": [["B-X", "O", None]]}, [["u", "v", "w"]], "iob2")
    p = np.array([[0.5, 0.0, 0.5], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], np.float32)
    confusion, prior = agreement(crowd, p)
    third = 1 / 3
    assert confusion[0, 0] == pytest.approx(
        [(0.5 + third) / 1.5, third / 1.5, third / 1.5], abs=1e-6
    )
    assert confusion[0, 2] == pytest.approx([(0.5 + third) / 2.5, third / 2.5, (1 + third) / 2.5])
    assert prior == pytest.approx([0.5, 0.0, 1.5], abs=1e-6)  # of the tokens he labelled


def test_settings_out_of_range_are_refused():
    for settings in ({"variant": "mul"}, {"max_iter": 0}, {"penalty": -1.0}, {"width": 0}):
        with pytest.raises(ParameterError):
            LSTMCrowd(**settings)
