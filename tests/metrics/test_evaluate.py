"""The one call, its table and its JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from oracles.generate import both, crowd_of
from seqtruth.data.labelling import Labelling
from seqtruth.errors import InputError, ParameterError
from seqtruth.io import write
from seqtruth.metrics import Evaluation, calibration, evaluate
from seqtruth.result import Annotators, Result

RESULT = [["I-PER", "O", "B-LOC"], ["O"]]
GOLD = [["B-PER", "O", "B-LOC"], ["B-ORG"]]


def scores(strict: str = "conlleval") -> Evaluation:
    return evaluate(*both(RESULT, GOLD, "iob2"), strict=strict)


def test_attributes_follow_the_reading_asked_for() -> None:
    loose, required = scores(), scores("b-required")
    assert (loose.precision, loose.recall) == (1.0, pytest.approx(2 / 3))
    assert (required.precision, required.recall) == (1.0, pytest.approx(1 / 3))
    assert loose.strict == "conlleval" and required.strict == "b-required"
    assert required.per_type["PER"].f1 == 0.0 and loose.per_type["PER"].f1 == 1.0
    assert loose.spans == required.spans and loose.n_sentences == 2
    assert loose.token.micro.correct == 1


def test_the_table_lines_up() -> None:
    lines = str(scores("b-required")).splitlines()
    table, footer = lines[:-1], lines[-1]
    assert footer == "2 sentences"
    assert table[1].startswith("spans, b-required") and table[5].startswith("spans, conlleval")
    full = [line for line in table if not line.startswith(("tokens, macro", "label set"))]
    assert len({len(line) for line in full}) == 1
    column = table[0].index("F1") + 2
    assert all(line[column - 3] == "." for line in table[1:])


def test_json() -> None:
    figures = json.loads(json.dumps(scores().to_dict()))
    assert figures["f1"] == scores().f1 and figures["strict"] == "conlleval"
    assert figures["readings"]["b-required"]["correct"] == 1
    assert figures["per_type"]["ORG"]["gold"] == 1
    assert set(figures["token"]) == {"micro", "macro", "per_label"}


def test_plain_tags() -> None:
    found = evaluate(*both([["DET", "NOUN"]], [["DET", "VERB"]]))
    assert found.f1 == found.token.micro.f1 == 0.5
    assert str(found).splitlines()[1].startswith("tags ") and "conlleval" not in str(found)


def test_crowds_of_one_and_frames_will_do() -> None:
    result, gold = both(RESULT, GOLD, "iob2")
    rows = [(s, i, tag) for s, row in enumerate(GOLD) for i, tag in enumerate(row)]
    frame = pa.table(
        {
            "task": [str(s) for s, _, _ in rows],
            "worker": ["gold"] * len(rows),
            "token_index": [i for _, i, _ in rows],
            "label": [tag for *_, tag in rows],
        }
    )
    assert evaluate(result, crowd_of({"gold": GOLD})).f1 == evaluate(result, gold).f1
    assert evaluate(result, frame).f1 == evaluate(result, gold).f1


def test_an_unlabelled_sentence_in_the_result_is_missed() -> None:
    _, gold = both(RESULT, GOLD, "iob2")
    empty = Labelling(gold.corpus, gold.scheme, np.full(4, -1, np.int8))
    found = evaluate(empty, gold)
    assert (found.recall, found.f1, found.n_sentences, found.span.gold) == (0, 0, 2, 3)


def test_unknown_reading() -> None:
    with pytest.raises(ParameterError, match="'exact'"):
        scores("exact")


def test_files_are_read(tmp_path: Path) -> None:
    result, gold = both(RESULT, GOLD, "iob2")
    write(result.as_crowd(), tmp_path / "result.conll")
    write(gold.as_crowd().respell("bioes"), tmp_path / "gold.jsonl")
    found = evaluate(tmp_path / "result.conll", str(tmp_path / "gold.jsonl"))
    assert (found.f1, found.n_sentences) == (evaluate(result, gold).f1, 2)
    write(crowd_of({"a": GOLD, "b": GOLD}), tmp_path / "crowd.conll")
    with pytest.raises(InputError, match=r"crowd\.conll.*2 annotators"):
        evaluate(result, tmp_path / "crowd.conll")
    with pytest.raises(InputError, match="missing"):
        evaluate(result, tmp_path / "missing.conll")


def confident(of_sentence: list[float] | None = None) -> tuple[Result, Labelling]:
    """Four sentences: a span wrong in type, one right, one missed, and one right that is long."""
    ours = [["B-PER", "O"], ["B-LOC"], ["O", "O"], ["B-LOC", "I-LOC"]]
    result, gold = both(ours, [["B-ORG", "O"], ["B-LOC"], ["O", "B-LOC"], ["B-LOC", "I-LOC"]])
    tags, labels = result.tags, len(result.scheme.labels)
    sure = np.array([0.55, 0.95, 0.95, 0.85, 0.65, 0.85, 0.75], np.float32)
    probabilities = np.tile(((1 - sure) / (labels - 1))[:, None], (1, labels)).astype(np.float32)
    probabilities[np.arange(len(tags)), tags] = sure
    none = np.zeros(0)
    annotators = Annotators((), none, none.astype(np.int64), none.astype(np.int64), none)
    of_span = np.array([0.45, 0, 0.95, 0, 0, 0.85, 0.85], np.float32)
    made = Result(result.corpus, result.scheme, tags, probabilities, annotators)
    if of_sentence is not None:
        made = replace(made, of_span=of_span, of_sentence=np.array(of_sentence))
    return made, gold


def test_confidences_are_judged_where_there_are_any() -> None:
    result, gold = confident([0.3, 0.9, 0.6, 0.8])
    found = evaluate(result, gold).calibration
    assert found is not None and found.token is not None and found.span is not None
    # tokens: 0.55 and 0.65 wrong, 0.75 right, 0.85 and 0.95 twice right
    assert found.token.ece == pytest.approx((0.55 + 0.65 + 0.25 + 0.3 + 0.1) / 7, abs=1e-6)
    assert found.span.ece == pytest.approx((0.45 + 0.05 + 0.15) / 3, abs=1e-6)
    assert found.sentence is not None
    assert found.sentence.ece == pytest.approx((0.3 + 0.1 + 0.6 + 0.2) / 4)
    assert [row.f1 for row in found.selective][:2] == [1.0, pytest.approx(4 / 5)]
    by_hand = calibration(
        result, gold, token=result.token_confidence, span=[0.45, 0.95, 0.85],
        sentence=[0.3, 0.9, 0.6, 0.8],
    )  # fmt: skip
    assert found.selective == by_hand.selective
    assert found.span.brier == pytest.approx(by_hand.span.brier if by_hand.span else 0)


def test_the_margin_ranks_sentences_and_is_no_probability() -> None:
    result, gold = confident()
    found = evaluate(result, gold).calibration
    assert found is not None and found.sentence is None and found.span is not None
    assert found.span.mean_confidence == pytest.approx((0.55 + 0.95 + 0.75) / 3)  # weakest tokens
    by_hand = calibration(result, gold, sentence=result.sentence_confidence)
    assert found.selective == by_hand.selective != ()


def test_calibration_follows_the_selection_and_the_reading() -> None:
    result, gold = confident([0.3, 0.9, 0.6, 0.8])
    found = evaluate(result, gold, sentences=[1, 3]).calibration
    assert found is not None and found.sentence is not None and found.span is not None
    assert found.sentence.n == found.span.n == 2
    assert found.span.ece == pytest.approx((0.05 + 0.15) / 2, abs=1e-6)
    stray = np.where(np.arange(7) == 2, result.scheme.index("I-LOC"), result.tags).astype(np.int8)
    result = replace(result, tags=stray)
    numbers = []
    for strict in ("conlleval", "b-required"):
        judged = evaluate(result, gold, strict=strict).calibration
        assert judged is not None and judged.span is not None
        numbers.append(judged.span.n)
    assert numbers == [3, 2]


def test_what_is_not_labelled_claims_nothing() -> None:
    result, gold = confident([0.3, 0.9, 0.6, 0.8])
    tags = np.where(np.arange(7) < 2, np.int8(-1), result.tags)
    found = evaluate(replace(result, tags=tags), gold).calibration
    assert found is not None and found.token is not None and found.sentence is not None
    assert (found.token.n, found.sentence.n, found.selective[-1].sentences) == (5, 3, 4)


def test_what_is_printed_of_confidences() -> None:
    result, gold = confident([0.3, 0.9, 0.6, 0.8])
    lines = str(evaluate(result, gold)).splitlines()
    assert lines[-3:] == [
        "calibration error  tokens 26.43 · spans 21.67 · sentences 30.00",
        "surest sentences   50 %: F1 100.00 · 80 %: F1 80.00 · 90 %: F1 57.14",
        "4 sentences",
    ]
    assert lines[1].startswith("spans, conlleval       66.67")
    margin = str(evaluate(*confident())).splitlines()
    assert margin[-3] == "calibration error  tokens 26.43 · spans 28.33"
    bare = str(evaluate(Labelling(result.corpus, result.scheme, result.tags), gold)).splitlines()
    assert bare == [*lines[:-3], lines[-1]]


def test_plain_tags_and_no_spans_at_all() -> None:
    result, gold = confident([0.3, 0.9, 0.6, 0.8])
    outside = np.full(7, result.scheme.index("O"), np.int8)
    found = evaluate(replace(result, tags=outside), gold)
    assert found.calibration is not None and found.calibration.span is not None
    assert found.calibration.span.n == 0 and "spans – ·" in str(found)
    plain, truth = both([["N", "V"]], [["N", "N"]])
    one = np.ones((2, 2), np.float32)
    made = Result(plain.corpus, plain.scheme, plain.tags, one, result.annotators)
    assert "calibration error  tokens 50.00\n" in str(evaluate(made, truth))


def test_calibration_in_json() -> None:
    result, gold = confident([0.3, 0.9, 0.6, 0.8])
    figures = json.loads(json.dumps(evaluate(result, gold).to_dict()))["calibration"]
    assert set(figures) == {"token", "span", "sentence", "selective"}
    assert figures["span"]["ece"] == pytest.approx(0.65 / 3, abs=1e-6)
    assert [row["share"] for row in figures["selective"]] == [0.5, 0.8, 0.9, 1.0]
    assert "sentence" not in evaluate(*confident()).to_dict()["calibration"]
    assert scores().calibration is None and scores().to_dict()["calibration"] is None


def test_a_saved_result_brings_its_confidences(tmp_path: Path) -> None:
    result, gold = confident([0.3, 0.9, 0.6, 0.8])
    result.save(tmp_path / "result")
    result.write(tmp_path / "labels.conll")
    write(gold.as_crowd(), tmp_path / "gold.conll")
    saved = evaluate(str(tmp_path / "result"), tmp_path / "gold.conll")
    assert str(saved) == str(evaluate(result, gold))
    assert evaluate(gold, tmp_path / "result").f1 == saved.f1
    assert evaluate(tmp_path / "labels.conll", tmp_path / "gold.conll").calibration is None
