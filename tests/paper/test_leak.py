"""The leak's page: taggers taught by gold are marked as such, asked and not trained, and kept apart."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from seqtruth.data.corpus import Corpus
from seqtruth.data.labelling import Labelling
from seqtruth.methods import make_method
from seqtruth.metrics import evaluate
from seqtruth.paper import PARTS, Workshop, leak, reproduce
from seqtruth.paper.claims import claims
from seqtruth.paper.leak_page import TEACHER_WORDS, leak_section
from seqtruth.paper.ready import Halves


def workshop(folder: Path, data: Path) -> Workshop:
    return Workshop(
        folder, lambda spec, seed: make_method(spec, seed=seed), quick=True, seeds=1, data_dir=data
    )


@pytest.mark.slow
def test_the_page_says_that_it_uses_gold_and_has_every_teacher(mini: Path, tmp_path: Path) -> None:
    work = workshop(tmp_path, mini)
    report = reproduce("leak", work)
    assert not report.failed
    page = (tmp_path / "leak.md").read_text()
    assert "use gold labels. They are no results of ours" in page
    for words in TEACHER_WORDS.values():
        assert words in page
    assert "83.02 / 78.69 / 80.79" in page  # the paper's own
    with open(tmp_path / "leak.csv") as file:
        rows = list(csv.DictReader(file))
    f1 = {(r["data"], r["teacher"]): float(r["f1"]) for r in rows
          if r["settings"] == "ours" and r["modules"] == "whole"}  # fmt: skip
    for data in ("ner", "pico"):
        assert f1[data, "same"] > f1[data, "crowd"]
    made = reproduce("leak", workshop(tmp_path, mini))
    assert made.rows == report.rows
    assert leak.NAME not in PARTS  # never among the results


def test_a_ready_tagger_has_seen_what_its_teacher_says(mini: Path, tmp_path: Path) -> None:
    material = workshop(tmp_path, mini).material("pico")
    gold, even = material.data.gold, material.data.splits["even"]
    scores = {}
    for teacher in ("same", "other"):
        ready = leak.Ready(
            "crf", teacher, 0, "", lambda t=teacher: leak.teach(material, t, "crf", 0)
        )
        assert ready.clone() is ready
        before = ready.predict_proba(material.crowd.corpus)
        assert ready.fit(material.crowd.corpus, material.crowd.tags[:1]) is ready
        np.testing.assert_array_equal(ready.predict_proba(material.crowd.corpus), before)
        tags = before.argmax(axis=1).astype(material.crowd.tags.dtype)
        said = Labelling(material.crowd.corpus, material.crowd.scheme, tags)
        scores[teacher] = evaluate(said, gold, sentences=gold.covered).span.f1
    assert scores["same"] > 0.95 > scores["other"]
    # each half is judged by the model of the other
    halves = leak.teach(material, "other", "crf", 0)
    assert isinstance(halves, Halves)
    name = material.crowd.corpus.documents[material.crowd.corpus.sentence_document[even][0]]
    assert halves.mine(name) == 0


class Counting:
    """A predictor that counts the sentences it is asked about."""

    def __init__(self) -> None:
        self.asked = 0

    def predict_proba(self, corpus: Corpus) -> np.ndarray:
        self.asked += corpus.n_sentences
        return np.repeat(np.arange(corpus.n_tokens, dtype=np.float32)[:, None], 3, axis=1)


def test_a_ready_tagger_works_out_no_sentence_twice() -> None:
    model = Counting()
    ready = leak.Ready("crf", "same", 0, "", lambda: model)  # type: ignore[arg-type, return-value]
    corpus = Corpus.of([["Ann", "slept"], ["Bo"], ["Cy", "ran", "."]])
    first = ready.predict_proba(corpus)
    assert model.asked == 3
    some = ready.predict_proba(corpus[np.array([2, 0])])
    assert model.asked == 3
    np.testing.assert_array_equal(some, first[[3, 4, 5, 0, 1]])
    ready.predict_proba(Corpus.of([["Bo"], ["Di"]]))
    assert model.asked == 4  # the same words in the same document


def test_a_tagger_alone_does_not_hear_the_crowd(mini: Path, tmp_path: Path) -> None:
    material = workshop(tmp_path, mini).material("pico")
    ready = leak.Ready("crf", "same", 0, "", lambda: leak.teach(material, "same", "crf", 0))
    crowd = material.crowd
    alone = leak.TaggerAlone(predictor=ready, abstain="none").fit(crowd)
    gold = material.data.gold
    said = Labelling(crowd.corpus, alone.scheme, alone.tags)
    assert evaluate(said, gold, sentences=gold.covered & crowd.covered).span.f1 > 0.95


def test_what_the_page_says_is_what_its_rows_show() -> None:
    row = {"data": "ner", "split": "aggslc_3466", "precision": 80.0, "recall": 80.0, "seeds": 1,
           "testa": 74.0, "testb": None, "heard": 1}  # fmt: skip
    rows = [
        row | {"teacher": teacher, "kind": "crf", "settings": settings, "modules": modules, "f1": f1}
        for teacher, settings, modules, f1 in (
            ("same", "ours", "whole", 85.0), ("same", "ours", "without L_inc", 84.0),
            ("same", "alone", "tagger alone", 99.0),
            ("crowd", "ours", "whole", 80.0), ("crowd", "ours", "without L_inc", 79.5),
            ("crowd", "alone", "tagger alone", 90.0), ("crowd", "paper", "whole", 60.0),
            ("none", "ours", "without L_pred", 70.0),
        )
    ]  # fmt: skip
    text = leak_section("leak", rows).text
    assert "- (c) the crowd's majority vote, crf, settings ours: 0.79 away" in text
    assert "(a) gold of the very sentences, crf, settings" not in text
    assert "no tagger, whatever it has seen, comes nearer than 20.79" in text
    assert "to 70.00: (a) gold of the very sentences crf +15.00; (c) the crowd's" in text
    assert "come out with: (c) the crowd's majority vote, crf" in text
    (claim,) = claims({"leak": rows})
    assert claim.holds and claim.paper == "80.79" and claim.ours.startswith("80.00")
