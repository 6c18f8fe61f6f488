"""The leak's page: taggers taught by gold are marked as such, asked and not trained, and kept apart."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from seqtruth.data.labelling import Labelling
from seqtruth.methods import make_method
from seqtruth.metrics import evaluate
from seqtruth.paper import PARTS, Workshop, leak, reproduce
from seqtruth.paper.leak_page import TEACHER_WORDS
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
