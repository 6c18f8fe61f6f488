"""Triage: monotone in the precision asked for, honest about what it cannot promise; its queue in files."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import seqtruth as st
from seqtruth.decisions import queue, sample, triage, write_queue
from seqtruth.decisions.precision import Claims
from seqtruth.decisions.promises import Grounds, Share, Verdicts
from seqtruth.decisions.returned import on_own_tokens
from seqtruth.errors import ParameterError
from tests.decisions.material import demo, fitted

pytestmark = pytest.mark.filterwarnings("ignore::seqtruth.errors.SeqTruthWarning")
METHOD = "accord:predictor=none"


def _people() -> st.Result:
    """A result without copies, so that something can be promised without known labels."""
    result = fitted(METHOD)
    return replace(result, provenance={**result.provenance, "copies": []})


def _share(
    sure: np.ndarray, known: int, right: np.ndarray, level: float, **more: np.ndarray
) -> Share:
    """What is promised of spans with these confidences, the first of them known; one in a sentence."""
    zero = np.zeros(len(sure), np.int64)
    claims = Claims(sure, zero, zero + 1, zero, np.arange(len(sure)))._replace(**more)
    verdicts = Verdicts(np.arange(known), right[:known])
    return Grounds("spans", claims, verdicts, "", 1.0).share(level)


@given(
    some.lists(some.floats(0, 1), min_size=1, max_size=40),
    some.floats(0.05, 0.95),
    some.floats(0.05, 0.95),
)
def test_more_precision_accepts_fewer(sure: list[float], one: float, other: float) -> None:
    low, high = sorted((one, other))
    nothing = np.zeros(0, np.bool_)
    many, few = (_share(np.array(sure), 0, nothing, level) for level in (low, high))
    assert not (few.accepted & ~many.accepted).any()
    if few.accepted.any():
        assert np.array(sure)[few.accepted].mean() >= high


def test_a_promise_is_kept_where_confidences_are_true() -> None:
    draw = np.random.default_rng(0)
    sure = draw.uniform(0.3, 1.0, 4000)
    right = draw.random(4000) < sure
    for level in (0.7, 0.8, 0.9):
        found = _share(sure, 300, right, level)
        assert found.promised
        assert right[300:][found.accepted[300:]].mean() >= level - 0.02


def test_known_labels_correct_confidences_that_boast() -> None:
    draw = np.random.default_rng(1)
    sure = draw.uniform(0.9, 1.0, 3000)
    right = draw.random(3000) < 0.7
    assert not _share(sure, 400, right, 0.9).promised
    assert _share(sure, 400, right, 0.6).promised
    high = _share(sure, 400, right, 0.9)
    assert high.offer is not None
    assert 0.55 <= high.offer.precision <= 0.72
    assert high.needed is None  # 70 % are right, however many are looked at


def test_witnesses_tell_where_confidences_do_not() -> None:
    draw = np.random.default_rng(2)
    seen, witnesses = np.full(4000, 5), draw.integers(0, 6, 4000)
    right = draw.random(4000) < np.where(witnesses >= 3, 0.95, 0.6)
    sure = np.full(4000, 0.9)
    assert not _share(sure, 800, right, 0.85).promised
    found = _share(sure, 800, right, 0.85, witnesses=witnesses, seen=seen)
    assert found.promised
    assert witnesses[found.accepted].min() >= 3
    assert right[found.accepted].mean() >= 0.93


def test_what_can_be_promised_instead_and_what_it_would_take() -> None:
    draw = np.random.default_rng(3)
    sure = np.where(draw.random(5000) < 0.4, 0.985, draw.uniform(0.5, 0.9, 5000))
    right = draw.random(5000) < sure
    unaided = _share(sure, 0, right, 0.95)
    assert not unaided.promised
    assert unaided.offer is not None
    assert unaided.offer.precision == 0.9
    assert unaided.needed == 342  # 1.5 standard errors within half of 5 %, for half of the spans
    few = _share(sure, 80, right, 0.95)
    assert not few.promised
    assert few.needed is None or few.needed > 80
    many = _share(sure, 2000, right, 0.95)
    assert many.promised
    assert right[many.accepted].mean() >= 0.93


def test_few_known_labels_take_nothing_away_unless_they_speak_against_it() -> None:
    sure = np.tile([0.97, 0.6], 500)
    good = np.tile([True, False], 500)
    assert _share(sure, 60, good, 0.9).promised
    assert not _share(sure, 60, np.zeros(1000, np.bool_), 0.9).promised


def test_nothing_that_is_likelier_wrong_is_accepted() -> None:
    sure = np.concatenate([np.full(990, 0.99), np.full(10, 0.3)])
    found = _share(sure, 0, np.zeros(0, np.bool_), 0.8)
    assert found.accepted.sum() == 990


def test_it_says_what_it_cannot_promise() -> None:
    uncorrected = triage(fitted("bsc-seq"), 0.8)
    assert not uncorrected.spans.promised
    assert uncorrected.spans.why == "bsc-seq does not correct its confidences"
    assert not uncorrected.spans.accepted.any()
    high = triage(_people(), 0.95)
    assert not high.spans.promised
    assert "above 90% it takes known labels" in high.spans.why
    copies = triage(
        replace(fitted(METHOD), provenance={**fitted(METHOD).provenance, "copies": [{}]}), 0.8
    )
    assert "copy each other" in copies.spans.why
    few = triage(fitted("bsc-seq"), 0.8, demo().gold.take(slice(5)))
    assert "are too few (50 are needed)" in few.spans.why
    for level in (0.0, 1.0, 2.0):
        with pytest.raises(ParameterError, match="accept must lie between 0 and 1"):
            triage(_people(), level)


def test_known_labels_make_a_promise_that_holds() -> None:
    data, result = demo(), fitted("bsc-seq")
    checked = data.gold.take(slice(100))
    found = triage(result, 0.8, checked)
    assert found.spans.promised
    assert found.spans.checked > 50
    told = result.update(known=checked)  # what the result was told says nothing about the rest
    assert triage(told, 0.8, checked).spans.checked == 0


def test_the_queue_has_what_is_not_accepted_with_reasons(tmp_path: Path) -> None:
    found = triage(_people(), 0.9)
    assert found.spans.promised
    items = queue(found)
    assert len(items) == found.to_dict()["to_see"]
    errors = [item.expected_errors for item in items]
    assert errors == sorted(errors, reverse=True)
    assert all(item.reasons for item in items)
    nothing = queue(triage(_people(), 0.95))  # nothing is promised: every span wants a look
    assert any(" mark it so" in reason for item in nothing for reason in item.reasons)
    settled = found.settled
    ids = found.result.corpus.sentence_ids.to_pylist()
    assert not any(settled[ids.index(item.sentence)] for item in items)
    assert write_queue(found, tmp_path / "queue.csv") == len(items)
    rows = list(csv.DictReader((tmp_path / "queue.csv").open()))
    assert [row["sentence"] for row in rows] == [item.sentence for item in items]
    write_queue(found, tmp_path / "queue.jsonl", limit=3)
    lines = [json.loads(line) for line in (tmp_path / "queue.jsonl").read_text().splitlines()]
    assert [line["reasons"] for line in lines] == [list(item.reasons) for item in items[:3]]


@pytest.mark.parametrize("format", ["label-studio", "prodigy", "doccano", "argilla"])
def test_tools_show_the_reasons(format: str, tmp_path: Path) -> None:
    found = triage(_people(), 0.85)
    path = tmp_path / f"queue.{'jsonl' if format in ('prodigy', 'doccano') else 'json'}"
    write_queue(found, path, format, limit=4)
    text = path.read_text()
    for item in queue(found, 4):
        assert json.dumps(item.reasons[0], ensure_ascii=False)[1:-1] in text
    again = st.read(path, format, **({} if format != "label-studio" else {"roles": ["model"]}))
    assert again.n_sentences >= 4


def test_formats_without_documents_are_refused(tmp_path: Path) -> None:
    found = triage(_people(), 0.85)
    with pytest.raises(ParameterError, match="has no room for a queue"):
        write_queue(found, tmp_path / "queue.conll")
    with pytest.raises(ParameterError, match="no such format for a queue"):
        write_queue(found, tmp_path / "queue.x", "nothing")


def test_cells_are_no_formulas(tmp_path: Path) -> None:
    found = triage(_people(), 0.85)
    item = replace(queue(found, 1)[0], text="=HYPERLINK(1)")
    from seqtruth.decisions.queue import _csv

    assert "'=HYPERLINK" in _csv([item])


@pytest.mark.parametrize("format", ["label-studio", "prodigy", "doccano", "argilla"])
def test_a_sample_comes_back_from_a_tool(format: str, tmp_path: Path) -> None:
    result = fitted("bsc-seq")
    found = triage(result, 0.8)
    items = sample(found, 40, seed=3)
    path = tmp_path / f"sample.{'jsonl' if format in ('prodigy', 'doccano') else 'json'}"
    assert write_queue(found, path, format, items=items) == 40
    roles = {"roles": ["model"]} if format == "label-studio" else {}
    checked = st.read(path, format, **roles).labelling()  # somebody agrees with all of it
    own = on_own_tokens(result, checked)
    ids = result.corpus.sentence_ids.to_pylist()
    drawn = {ids.index(item.sentence) for item in items}
    assert set(np.flatnonzero(own.labelled)) == drawn
    there = np.repeat(own.labelled, np.diff(result.corpus.token_offsets))
    spelled = [own.scheme.labels[tag] for tag in own.tags[there]]
    assert spelled == [result.scheme.labels[tag] for tag in result.tags[there]]
    told = triage(result, 0.8, checked)
    assert told.spans.checked >= 20
    assert told.sentences.checked == 40
    assert told.known.sum() == 40
    now = result.update(known=checked)
    assert now.fitted is not None
    assert (now.fitted.known >= 0).sum() == there.sum()
    assert on_own_tokens(result, demo().gold) is demo().gold
