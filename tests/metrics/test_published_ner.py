"""Published figures on the real NER crowd; needs the evaluation data beside the repository."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.metrics import agreement, annotator_scores, evaluate

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "ner"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"the NER evaluation data is not at {DATA}"
)


def table(name: str) -> list[dict[str, str]]:
    with gzip.open(DATA / name, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    rows = table("sentences.tsv.gz")
    return Corpus.of(
        [row["tokens"].split(" ") for row in rows],
        [row["sentence_id"] for row in rows],
        [row["doc_id"] for row in rows],
    )


def crowd_from(corpus: Corpus, rows: list[dict[str, str]], column: str, annotator: str) -> Crowd:
    place = {name: i for i, name in enumerate(corpus.sentence_ids.to_pylist())}
    annotators = sorted({row.get(annotator, "") for row in rows})
    tags = [tag for row in rows for tag in row[column].split(" ")]
    labels = sorted(set(tags))
    number = {label: i for i, label in enumerate(labels)}
    return Crowd.build(
        corpus,
        labels,
        annotators,
        [place[row["sentence_id"]] for row in rows],
        [annotators.index(row.get(annotator, "")) for row in rows],
        np.array([number[tag] for tag in tags], np.int16),
        "iob2",
    )


@pytest.fixture(scope="module")
def crowd(corpus: Corpus) -> Crowd:
    return crowd_from(corpus, table("annotations.tsv.gz"), "labels", "worker_id")


@pytest.fixture(scope="module")
def vote(crowd: Crowd) -> Labelling:
    """Majority vote, ties to the alphabetically first label."""
    start = crowd.corpus.token_offsets[:-1][crowd.row_sentence]
    within = np.arange(len(crowd.tags)) - np.repeat(
        crowd.row_offsets[:-1] - start, np.diff(crowd.row_offsets)
    )
    votes = np.zeros((crowd.n_tokens, crowd.n_labels), np.int64)
    np.add.at(votes, (within, crowd.tags), 1)
    winner = np.where(votes.any(axis=1), votes.argmax(axis=1), -1).astype(np.int8)
    return Labelling(crowd.corpus, crowd.scheme, winner)


def split(name: str) -> list[str]:
    return [row["sentence_id"] for row in table("splits.tsv.gz") if row["split"] == name]


def per_cent(scores: object) -> tuple[float, ...]:
    return tuple(round(100 * getattr(scores, name), 2) for name in ("precision", "recall", "f1"))


@pytest.mark.parametrize(
    ("strict", "expected"),
    [("b-required", (79.95, 55.35, 65.41)), ("conlleval", (77.84, 55.09, 64.51))],
)
def test_majority_vote(
    corpus: Corpus, vote: Labelling, strict: str, expected: tuple[float, ...]
) -> None:
    gold = crowd_from(corpus, table("gold.tsv.gz"), "labels_raw", "-")
    scores = evaluate(vote, gold, sentences=split("nguyen_test"), strict=strict)
    assert per_cent(scores) == expected
    assert (scores.n_sentences, scores.without_gold) == (3256, 0)


@pytest.mark.parametrize(
    ("source", "column", "strict"),
    [
        ("gold.tsv.gz", "labels", (77.54, 57.35, 65.94)),
        ("gold.tsv.gz", "labels_raw", (77.54, 57.40, 65.97)),
        ("aggslc_mv.tsv.gz", "gold_as_distributed", (77.54, 57.41, 65.97)),
    ],
)
def test_the_authors_own_vote(
    corpus: Corpus, source: str, column: str, strict: tuple[float, ...]
) -> None:
    """The paper's relaxed score is a label-set score, and the same under each gold column."""
    theirs = crowd_from(corpus, table("aggslc_mv.tsv.gz"), "labels", "-")
    gold = crowd_from(corpus, table(source), column, "-")
    scores = evaluate(theirs, gold, sentences=split("aggslc_3466"))
    assert per_cent(scores.label_set) == (93.43, 81.58, 85.11)
    assert per_cent(scores) == strict


def test_annotators_and_agreement_are_quick_and_sane(corpus: Corpus, crowd: Crowd) -> None:
    gold = crowd_from(corpus, table("gold.tsv.gz"), "labels", "-")
    agreement(crowd[:5]), annotator_scores(crowd[:5], gold)  # compile
    begin = perf_counter()
    found, scores = agreement(crowd), annotator_scores(crowd, gold)
    seconds = perf_counter() - begin
    assert scores.sentences.sum() == crowd.n_rows == 29_704
    assert 0.5 < found.alpha < found.observed < 1
    assert (scores.f1 < 0.3).sum() >= 4  # the four who left /LOC and the like in the text
    assert seconds < 5, f"took {seconds:.1f} s"


@pytest.mark.parametrize(("strict", "column"), [("conlleval", "F1"), ("b-required", "F1_Breq")])
def test_each_annotators_own_f1(corpus: Corpus, crowd: Crowd, strict: str, column: str) -> None:
    gold = crowd_from(corpus, table("gold.tsv.gz"), "labels", "-")
    with (DATA / "worker_stats.tsv").open(encoding="utf-8", newline="") as lines:
        stats = {row["worker_id"]: row for row in csv.DictReader(lines, delimiter="\t")}
    scores = annotator_scores(crowd, gold, strict=strict)
    expected = [float(stats[name][column]) for name in scores.annotators]
    assert (100 * scores.f1).tolist() == pytest.approx(expected, abs=0.006)
