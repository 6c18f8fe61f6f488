"""The BiLSTM keeps a predictor's bargain."""

from __future__ import annotations

import builtins
import sys

import numpy as np
import pytest

import seqtruth as st
from seqtruth.data.corpus import Corpus
from seqtruth.data.ragged import gather
from seqtruth.errors import DataError, MissingExtraError, ParameterError
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.tagger import Tagger
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.predictors.torch.lexicon import batches

NAMES = ["Ann", "Bob", "Eve", "Kim", "Lee", "Max"]
VERBS = ["ran", "sat", "spoke", "left"]
TOKENS = [[name, verb, "in", "Ames"] for name in NAMES for verb in VERBS] + [["It", "rained", "."]]
TAGS = [["B-PER", "O", "O", "B-LOC"]] * 24 + [["O", "O", "O"]]


def small(**settings) -> BiLSTM:
    defaults = {"epochs": 4, "hidden": 12, "vectors": "none", "dropout": 0.1, "learning_rate": 0.02}
    return BiLSTM(**defaults | settings)


def test_missing_torch_names_the_extra(monkeypatch):
    for name in list(sys.modules):
        if name.split(".")[0] == "torch" or name in (
            "seqtruth.predictors.torch.network", "seqtruth.predictors.torch.training",
        ):  # fmt: skip
            monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without_torch(name, *args, **kwargs):
        if name.split(".")[0] == "torch":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_torch)
    with pytest.raises(MissingExtraError, match=r"seqtruth\[torch\]"):
        small().fit(TOKENS, TAGS)


@pytest.mark.parametrize(
    "settings", [{"output": "hmm"}, {"vectors": "w2v"}, {"epochs": 0}, {"dropout": 1.0}]
)
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(ParameterError):
        BiLSTM(**settings)


def test_batches_hold_every_sentence_once_and_like_lengths_together():
    lengths = np.random.default_rng(0).integers(0, 30, 200)
    groups = batches(lengths, 16, np.random.default_rng(1))
    assert sorted(np.concatenate(groups)) == np.flatnonzero(lengths).tolist()
    assert max(np.ptp(lengths[group]) for group in groups) <= 9


class TestWithTorch:
    @pytest.fixture(autouse=True)
    def _torch(self):
        pytest.importorskip("torch", reason="needs the extra seqtruth[torch]")

    @pytest.mark.parametrize("output", ["crf", "softmax"])
    def test_learns_a_small_corpus_by_heart(self, output):
        model = small(output=output, epochs=4).fit(TOKENS, TAGS)
        assert isinstance(model, Predictor)
        tagger = Tagger(model, model.scheme)
        assert [tagger.tag(tokens) for tokens in TOKENS] == TAGS
        probabilities = model.predict_proba(TOKENS)
        assert probabilities.dtype == np.float32
        assert probabilities.sum(axis=1) == pytest.approx(1.0, abs=1e-5)

    def test_same_seed_same_bytes_and_torch_left_alone(self):
        import torch

        torch.manual_seed(1)
        before, threads = torch.get_rng_state(), torch.get_num_threads()
        a, b = (small(epochs=1).fit(TOKENS, TAGS).predict_proba(TOKENS) for _ in range(2))
        assert a.tobytes() == b.tobytes()
        assert (
            a.tobytes() != small(epochs=1, seed=1).fit(TOKENS, TAGS).predict_proba(TOKENS).tobytes()
        )
        assert torch.equal(before, torch.get_rng_state())
        assert torch.get_num_threads() == threads

    def test_goes_on_learning_from_memory_as_from_a_file(self, tmp_path):
        model = small(epochs=1).fit(TOKENS[:20], TAGS[:20])
        first = model.predict_proba(TOKENS)
        Tagger(model, model.scheme).save(tmp_path / "tagger")
        loaded = Tagger.load(tmp_path / "tagger").predictor
        assert loaded.predict_proba(TOKENS).tobytes() == first.tobytes()
        again = [m.fit(TOKENS, TAGS).predict_proba(TOKENS) for m in (model, loaded)]
        assert again[0].tobytes() == again[1].tobytes()
        assert again[0].tobytes() != first.tobytes()

    def test_a_damaged_file_is_refused(self):
        model = small(epochs=1).fit(TOKENS[:4], TAGS[:4])
        meta, arrays = model.state()
        for harm in (
            {"words": np.frombuffer(b'["a"]', np.uint8)},
            {"score.weight": np.zeros((3, 5), np.float32)},
            {"chain": np.zeros((1, 1), np.float32)},
        ):
            with pytest.raises(
                ValueError, match=r"fit the arrays|has shape|words must be different"
            ):
                BiLSTM.from_state(meta, arrays | harm, model.scheme)

    def test_further_training_starts_from_what_was_learnt(self):
        target = np.array([tag != "O" for tags in TAGS for tag in tags])
        model = small(epochs=1, further_epochs=1).fit(TOKENS, TAGS)
        outside = model.scheme.outside

        def error(m):
            return np.abs((1 - m.predict_proba(TOKENS)[:, outside]) - target).mean()

        before = error(model)
        after = error(model.fit(TOKENS, TAGS))
        assert after < before

    def test_an_untrained_clone(self):
        model = small(epochs=1, seed=4).fit(TOKENS, TAGS)
        copy = model.clone()
        assert copy == small(epochs=1, seed=4)
        with pytest.raises(DataError, match="not been trained"):
            copy.predict_proba(TOKENS)

    def test_further_training_must_keep_the_labels(self):
        model = small(epochs=1).fit(TOKENS, TAGS)
        with pytest.raises(DataError, match="labels"):
            model.fit([["Ann"]], [["B-ORG"]])

    def test_sentences_of_no_weight_are_not_learnt(self):
        wrong = [["O"] * len(tags) for tags in TAGS]
        weights = np.repeat([1.0, 0.0], len(TOKENS))
        both = small(epochs=4).fit(TOKENS + TOKENS, TAGS + wrong, weights=weights)
        tagger = Tagger(both, both.scheme)
        assert tagger.tag(TOKENS[0]) == TAGS[0]

    @pytest.mark.parametrize("output", ["crf", "softmax"])
    def test_soft_tags_come_back_soft(self, output):
        corpus = Corpus.of([["Ann"]] * 64)
        scheme = small(epochs=1).fit(TOKENS, TAGS).scheme
        soft = np.zeros((64, len(scheme.labels)))
        soft[:, scheme.index("B-PER")], soft[:, scheme.outside] = 0.7, 0.3
        model = small(output=output, epochs=4, dropout=0.0)
        found = model.fit(corpus, soft, scheme=scheme).predict_proba([["Ann"]])[0]
        assert found[scheme.index("B-PER")] == pytest.approx(0.7, abs=0.05)

    def test_missing_tags_and_unknown_words_and_empty_sentences(self):
        tokens, tags = [*TOKENS, [], ["Zoë"]], [*TAGS, [], ["B-PER"]]
        scheme = small(epochs=1).fit(TOKENS, TAGS).scheme
        flat = np.array([scheme.index(t) for sentence in tags for t in sentence], np.int8)
        flat[::3] = -1
        model = small(epochs=1).fit(tokens, flat, scheme=scheme)
        found = model.predict_proba([["never", "seen", "字", "é😀"], [], ["x" * 99]])
        assert found.shape == (5, len(scheme.labels))
        assert np.isfinite(found).all()

    def test_where_sentences_stand_does_not_matter(self) -> None:
        """Labels of 14 of 544 sentences moved when a file was shuffled: batches were drawn from places."""
        data = st.datasets.load("demo")
        corpus, gold = data.gold.corpus[:60], data.gold[:60]
        turn = np.random.default_rng(0).permutation(60)
        other = gold[turn]
        model = small(epochs=2).fit(corpus, gold.tags, scheme=gold.scheme)
        shuffled = small(epochs=2).fit(other.corpus, other.tags, scheme=gold.scheme)
        tokens = gather(corpus.token_offsets, turn)[1]
        expected = model.predict_proba(corpus)[tokens]
        assert np.array_equal(shuffled.predict_proba(other.corpus), expected)
        assert np.array_equal(model.predict_proba(other.corpus), expected)
