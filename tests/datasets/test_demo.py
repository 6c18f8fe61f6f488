"""The built-in corpus: what it holds, and that its annotators are as good and bad as they should be."""

from __future__ import annotations

from collections import Counter
from importlib import resources

import numpy as np
import pytest

from seqtruth import datasets
from seqtruth.data.spans import extract
from seqtruth.datasets import demo
from seqtruth.methods import MajorityVote
from seqtruth.metrics import annotator_scores, evaluate
from seqtruth.simulation import simulate


@pytest.fixture(scope="module")
def data() -> datasets.Dataset:
    return datasets.load("demo")


def test_what_it_holds(data):
    gold = data.gold
    assert gold.n_sentences >= 400
    assert gold.scheme.types == ("LOC", "MISC", "ORG", "PER")
    counts = Counter(extract(gold.tags, gold.row_offsets, gold.scheme).type.tolist())
    assert all(counts[kind] >= 100 for kind in range(4))
    assert gold.covered.all() and data.crowd.covered.all()
    assert gold.corpus is data.crowd.corpus
    assert set(data.splits) == {"all", "news", "biomedical"}
    news, biomedical = data.splits["news"], data.splits["biomedical"]
    assert data.splits["all"].all() and (news ^ biomedical).all()
    assert news.sum() > 100 and biomedical.sum() > 100


def test_the_text_is_parsed_whole(data):
    text = "\n".join(
        resources.files(demo).joinpath(f"{part}.txt").read_text(encoding="utf-8")
        for part in demo.PARTS
    )
    sentences = [line for line in text.splitlines() if line.strip() and line[0] != "#"]
    assert len(sentences) == data.gold.n_sentences
    assert text.count("[") == len(
        extract(data.gold.tags, data.gold.row_offsets, data.gold.scheme).type
    )
    tokens = data.gold.corpus.tokens.to_pylist()
    assert not any(set("[]") & set(token) for token in tokens)
    bare = [word.strip("[]") for line in sentences for word in line.split()]
    assert [word for word in bare if word not in data.gold.scheme.types] == [
        token for token in tokens if token not in data.gold.scheme.types
    ]


def test_documents_and_ids(data):
    corpus = data.gold.corpus
    names = [corpus.documents[d] for d in corpus.sentence_document]
    assert all(name for name in names)
    assert [i.rpartition("#")[0] for i in corpus.sentence_ids.to_pylist()] == names
    assert corpus.sentence_ids[0].as_py() == "harbour-strike#1"


def test_five_annotators_read_each_document(data):
    assert (np.diff(data.crowd.sentence_rows) == 5).all()
    assert (data.crowd.annotator_sentences > 100).all()


def test_vices_rank_as_expected(data):
    scores = annotator_scores(data.crowd, data.gold)
    f1 = dict(zip(scores.annotators, scores.f1, strict=True))
    precision = dict(zip(scores.annotators, scores.precision, strict=True))
    recall = dict(zip(scores.annotators, scores.recall, strict=True))
    careful = min(f1["careful-1"], f1["careful-2"])
    others = [name for name in f1 if not name.startswith(("careful", "spammer"))]
    assert careful > 0.8
    assert all(0.3 < f1[name] < 0.7 for name in others)
    assert f1["spammer"] < 0.05
    assert precision["misser"] > 0.8 and recall["misser"] < 0.5


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_majority_vote_leaves_room(seed):
    data = demo.load(seed=seed)
    best = annotator_scores(data.crowd, data.gold).f1.max()
    f1 = evaluate(MajorityVote().fit(data.crowd), data.gold).f1
    assert 0.65 < f1 < 0.8 < best


def test_same_seed_same_bytes(data):
    again = demo.load()
    assert again.crowd.digest() == data.crowd.digest()
    assert demo.load(seed=1).crowd.digest() != data.crowd.digest()
    assert simulate(data.gold, demo.CAST, per_sentence=5).digest() == data.crowd.digest()
