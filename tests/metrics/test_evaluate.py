"""The one call, its table and its JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from oracles.generate import both, crowd_of
from seqtruth.corpus import Corpus
from seqtruth.data import Labelling
from seqtruth.errors import InputError, ParameterError
from seqtruth.io import write
from seqtruth.metrics import Evaluation, evaluate
from seqtruth.scheme import Scheme

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


def test_anything_with_corpus_scheme_and_tags_will_do() -> None:
    @dataclass
    class Thing:
        corpus: Corpus
        scheme: Scheme
        tags: np.ndarray

    result, gold = both(RESULT, GOLD, "iob2")
    thing = Thing(result.corpus, result.scheme, result.tags)
    assert evaluate(thing, gold) == evaluate(result, gold)
    assert evaluate(thing, crowd_of({"gold": GOLD})).f1 == evaluate(result, gold).f1


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
