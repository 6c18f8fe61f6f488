"""More labels than one byte holds: read, aggregated, measured, written and saved as fewer are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import seqtruth as seq
from seqtruth import io, metrics
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.kernels.arrays import tag_dtype
from seqtruth.kernels.grammar import is_legal
from seqtruth.methods import METHODS, make_method

#: Numbers of entity types; with B-, I- and O that makes 133 and 301 labels.
TYPES = (66, 150)
WITHOUT_PREDICTOR = [
    name
    for name in METHODS
    if name not in ("accord", "aggslc", "crf-ma", "dl-cl", "lstm-crowd", "optsla")
] + ["aggslc:predictor=none", "optsla:predictor=none"]

BY_PREVIOUS_TAG = ("bsc-seq", "bsc-seq-if")


def truth_of(n_types: int, n_sentences: int = 60) -> Labelling:
    """Every type is named at least once."""
    sentences = []
    for s in range(n_sentences):
        kinds = [f"T{(3 * s + k) % n_types:03d}" for k in range(3)]
        sentences.append([t for kind in kinds for t in (f"B-{kind}", f"I-{kind}", "O")])
    tokens = [[f"w{i}" for i in range(9)] for _ in sentences]
    return Crowd.of({"gold": sentences}, tokens, "iob2").labelling()


def noisy(truth: Labelling, seed: int = 0, n_annotators: int = 4) -> Crowd:
    """Annotators who err at a tenth of the tokens, all of them on all sentences."""
    rng = np.random.default_rng(seed)
    n, labels = truth.corpus.n_sentences, len(truth.scheme.labels)
    tags = np.tile(truth.tags, n_annotators)
    wrong = rng.random(len(tags)) < 0.1
    tags[wrong] = rng.integers(0, labels, int(wrong.sum()))
    return Crowd.build(
        truth.corpus,
        truth.scheme.labels,
        [f"a{w}" for w in range(n_annotators)],
        np.tile(np.arange(n), n_annotators),
        np.repeat(np.arange(n_annotators), n),
        tags,
        truth.scheme,
    )


@pytest.fixture(scope="module", params=TYPES)
def crowd_and_truth(request: pytest.FixtureRequest) -> tuple[Crowd, Labelling]:
    truth = truth_of(request.param)
    return noisy(truth), truth


def test_a_tag_takes_two_bytes_only_where_one_is_not_enough() -> None:
    assert [tag_dtype(n).itemsize for n in (1, 127, 128, 2048)] == [1, 1, 2, 2]
    assert Crowd.of({"a": [["O"]]}, [["x"]]).tags.dtype == np.int8
    assert noisy(truth_of(TYPES[0])).tags.dtype == np.int16


@pytest.mark.parametrize("spec", WITHOUT_PREDICTOR)
def test_methods_find_the_truth(spec: str, crowd_and_truth: tuple[Crowd, Labelling]) -> None:
    crowd, truth = crowd_and_truth
    if spec in BY_PREVIOUS_TAG and crowd.n_labels > 200:
        pytest.skip("an annotator's table has as many entries as labels cubed: 200 MB each")
    result = make_method(spec).fit(crowd)
    assert result.tags.dtype == np.int16
    right = metrics.token_scores(Labelling(crowd.corpus, result.scheme, result.tags), truth)
    assert (result.tags == truth.recode(result.scheme).tags).mean() > 0.9, right
    if make_method(spec).promises_legal:
        offsets = crowd.corpus.token_offsets
        assert is_legal(result.tags, offsets, result.scheme.grammar).all()


@pytest.mark.parametrize("name", ["a.conll", "a.jsonl", "a.parquet", "a.csv"])
def test_read_and_written(
    name: str, tmp_path: Path, crowd_and_truth: tuple[Crowd, Labelling]
) -> None:
    crowd, _ = crowd_and_truth
    io.write(crowd, tmp_path / name)
    again = io.read(tmp_path / name, scheme="iob2").recode(crowd.scheme)
    assert again.tags.dtype == np.int16
    np.testing.assert_array_equal(again.tags, crowd.tags)


def test_saved_and_loaded(tmp_path: Path, crowd_and_truth: tuple[Crowd, Labelling]) -> None:
    result = seq.MajorityVote().fit(crowd_and_truth[0])
    result.save(tmp_path / "result")
    again = seq.Result.load(tmp_path / "result")
    assert again.tags.dtype == np.int16
    np.testing.assert_array_equal(again.tags, result.tags)


def test_measured(crowd_and_truth: tuple[Crowd, Labelling]) -> None:
    crowd, truth = crowd_and_truth
    assert metrics.annotator_scores(crowd, truth).f1.min() > 0.5
    assert metrics.agreement(crowd).alpha > 0.5
    ours = seq.MajorityVote().fit(crowd)
    assert metrics.evaluate(ours, truth).f1 > 0.8
    bioes = truth.respell("bioes")
    assert bioes.tags.dtype == np.int16
    np.testing.assert_array_equal(bioes.respell("iob2").recode(truth.scheme).tags, truth.tags)


def test_streamed(tmp_path: Path, crowd_and_truth: tuple[Crowd, Labelling]) -> None:
    crowd, _ = crowd_and_truth
    io.write(crowd, tmp_path / "a.parquet")
    parts = seq.stream(tmp_path / "a.parquet", scheme="iob2")
    sums = parts.add_up(lambda part: {"tags": np.array([part.tags.itemsize, part.tags.size])})
    assert sums["tags"].tolist() == [2, len(crowd.tags)]


@given(st.integers(0, 2**32 - 1), st.integers(100, 160))
@settings(max_examples=15, deadline=None)
def test_labels_that_nobody_uses_change_nothing(seed: int, n_more: int) -> None:
    # the same crowd with one byte a tag and, for labels that are only listed, with two
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 12, 20)
    corpus = Corpus.of([["t"] * n for n in lengths])
    sentence, annotator = np.nonzero(rng.random((20, 4)) < 0.8)
    tags = rng.integers(-1, 5, int(lengths[sentence].sum()))
    labels = ["B-A", "B-C", "I-A", "I-C", "O"]
    few = Crowd.build(corpus, labels, list("wxyz"), sentence, annotator, tags, "iob2")
    more = {*few.scheme.labels, *(f"B-Z{i}" for i in range(n_more))}
    many = few.recode(type(few.scheme).of("iob2", more))
    assert few.tags.dtype == np.int8 and many.tags.dtype == np.int16
    for spec in ("mv", "aggslc:predictor=none", "catd", "crh"):
        one, two = make_method(spec).fit(few), make_method(spec).fit(many)
        table = many.scheme.recoding(few.scheme.labels)
        np.testing.assert_array_equal(table[one.tags], two.tags)
