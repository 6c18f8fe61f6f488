"""DL-CL and its layer."""

from __future__ import annotations

import numpy as np
import pytest

from neural_crowds import simulated
from seqtruth.errors import ParameterError
from seqtruth.methods.neural.crowd_layer import CrowdLayer
from seqtruth.predictors.tagger import Tagger
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.result import Result

torch = pytest.importorskip("torch", reason="needs the extra seqtruth[torch]")

from seqtruth.methods.neural.crowd_layer import (  # noqa: E402
    confusions,
    crowd_scores,
    identity_maps,
    masked,
)
from seqtruth.methods.neural.training import Said  # noqa: E402

SMALL = BiLSTM(hidden=16, vectors="none", dropout=0.1)


def method(**settings) -> CrowdLayer:
    return CrowdLayer(**{"predictor": SMALL, "pretrain": 1, "max_iter": 3} | settings)


@pytest.fixture(scope="module")
def crowd_and_truth():
    return simulated(n_sentences=120, careful=4, random=3, seed=0)


@pytest.mark.parametrize("variant", CrowdLayer.variants)
def test_the_layer_starts_by_changing_nothing(variant):
    p = torch.rand(2, 5, 3).softmax(dim=2)
    said = Said(torch.tensor([0, 1, 1]), torch.tensor([0, 0, 3]), torch.zeros(3, 5))
    found = crowd_scores(variant, identity_maps(variant, 4, 3), p, said)
    assert torch.equal(found, p[said.sentence])


@pytest.mark.parametrize("variant", CrowdLayer.variants)
def test_silent_annotators_add_no_loss_and_no_gradient(variant):
    maps = identity_maps(variant, 3, 2)
    p = torch.rand(1, 4, 2).softmax(dim=2)
    tags = torch.tensor([[0, 1, -1, 1], [-1, -1, -1, -1]])
    said = Said(torch.tensor([0, 0]), torch.tensor([0, 2]), tags)
    logs = crowd_scores(variant, maps, p, said).log_softmax(dim=2)
    loss = masked(logs, tags)
    expected = -(logs[0, 0, 0] + logs[0, 1, 1] + logs[0, 3, 1])
    assert float(loss.detach()) == pytest.approx(float(expected.detach()))
    loss.backward()
    gradient = maps["scale"].grad.reshape(3, -1).abs().sum(dim=1)
    assert gradient[0] > 0
    assert gradient[1] == gradient[2] == 0


def test_confusions_are_what_the_map_says_of_a_sure_truth():
    maps = {"scale": torch.tensor([[[2.0, 0.0], [1.0, 1.0]]])}
    found = confusions("MW", maps, 2)
    assert found[0, 0] == pytest.approx(np.exp([2, 0]) / np.exp([2, 0]).sum())
    assert found[0, 1] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("variant", CrowdLayer.variants)
def test_careful_annotators_rank_above_random_ones(crowd_and_truth, variant):
    crowd, truth = crowd_and_truth
    result = method(variant=variant).fit(crowd)
    assert result.annotators.weight[:4].min() > result.annotators.weight[4:].max()
    assert (result.tags == truth).mean() > 0.95


def test_same_seed_same_bytes_whatever_the_order(crowd_and_truth):
    crowd, _ = crowd_and_truth
    one = method(max_iter=1).fit(crowd)
    two = method(max_iter=1).fit(crowd)
    assert one.probabilities.tobytes() == two.probabilities.tobytes()
    turned = np.arange(crowd.n_sentences)[::-1]
    other = crowd[turned].select_annotators(crowd.annotators[::-1])
    three = method(max_iter=1).fit(other)
    assert np.array_equal(three.annotators.weight[::-1], one.annotators.weight)
    assert three.as_crowd()[turned].tags.tobytes() == one.as_crowd().tags.tobytes()
    assert (
        method(max_iter=1, seed=1).fit(crowd).probabilities.tobytes() != one.probabilities.tobytes()
    )


def test_a_resumed_run_ends_with_the_same_bytes(crowd_and_truth, tmp_path):
    crowd, _ = crowd_and_truth
    whole = method().fit(crowd)

    class Stop(Exception):
        pass

    def stop(step):
        if step.iteration == 2:
            raise Stop

    with pytest.raises(Stop):
        method().fit(crowd, checkpoint=tmp_path, progress=stop)
    resumed = method().fit(crowd, checkpoint=tmp_path, resume=True)
    assert resumed.probabilities.tobytes() == whole.probabilities.tobytes()
    assert resumed.history.objective == whole.history.objective
    assert whole.history.stop_reason == "rounds"


def test_the_tagger_is_the_bottleneck_and_can_be_saved(crowd_and_truth, tmp_path):
    crowd, _ = crowd_and_truth
    result = method(max_iter=1).fit(crowd)
    assert isinstance(result.tagger, Tagger)
    found = result.tagger.predictor.predict_proba(crowd.corpus)
    assert found == pytest.approx(result.probabilities, abs=1e-5)
    result.save(tmp_path / "result")
    loaded = Result.load(tmp_path / "result").tagger
    assert loaded.predictor.predict_proba(crowd.corpus).tobytes() == found.tobytes()


def test_known_labels_stay_and_abstaining_is_no_vote(crowd_and_truth):
    crowd, _ = crowd_and_truth
    gold = crowd.labelling(0).as_crowd()[np.arange(10)]
    result = method(max_iter=1, abstain="O").fit(crowd, gold)
    n = crowd.corpus.token_offsets[10]
    known = crowd.labelling(0).tags[:n]
    given = np.flatnonzero(known >= 0)
    assert np.array_equal(result.tags[given], known[given])
    assert result.probabilities[given, known[given]].min() == 1.0


def test_nothing_to_learn_from(crowd_and_truth):
    crowd, _ = crowd_and_truth
    silent = method(max_iter=1).fit(crowd.select_annotators([]))
    assert (silent.tags == -1).all()
    assert silent.tagger is None


def test_settings_out_of_range_are_refused():
    for settings in ({"variant": "XW"}, {"max_iter": 0}, {"pretrain": -1}):
        with pytest.raises(ParameterError):
            CrowdLayer(**settings)
