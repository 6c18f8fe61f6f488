"""Language models' answers: every shape, quotes found, ambiguous, invented; round trip and damage."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes
from seqtruth.io.format import Glimpse
from seqtruth.io.formats import quoted_text as quotes_module
from seqtruth.io.formats.language_models import FORMAT
from seqtruth.io.formats.quoted_text import Quotes

from .tool_documents import check_damage, documents, facts, round_trip

QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = "Jane met Bob. Later Bob saw the hero, he said."


def read(tmp_path: Path, *records: object, **options: object) -> tuple[list[Document], Notes]:
    path = tmp_path / "gpt.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    notes = Notes()
    return list(FORMAT.read(path, notes, **options)), notes


def marks(
    tmp_path: Path, answer: object, text: str = TEXT, **options: object
) -> tuple[list[str], Notes]:
    """What one model's answer comes to, as ``label:start-end``."""
    (document,), notes = read(tmp_path, {"text": text, "models": {"m": answer}}, **options)
    return [
        f"{mark.label}:{mark.start}-{mark.end}" for o in document.opinions for mark in o.marks
    ], notes


@pytest.mark.parametrize(
    "answer",
    [
        [{"text": "Jane", "label": "PER"}],
        [{"quote": "Jane", "type": "PER", "reason": "a name"}],
        [{"entity": "Jane", "category": "PER", "confidence": 0.5}],
        [["Jane", "PER"]],
        {"PER": ["Jane"], "LOC": []},
        {"PER": "Jane", "LOC": None},
        {"PER": [{"text": "Jane"}]},
        {"entities": [{"text": "Jane", "label": "PER"}], "explanation": "because"},
        {"entities": {"PER": ["Jane"]}},
        {"name": "Jane", "type": "PER"},
        '[{"text": "Jane", "label": "PER"}]',
        'Sure! Here you are:\n```json\n{"PER": ["Jane"]}\n```\nAnything else?',
        '<think>{"LOC": ["Bob"]}?</think>\n```\n{"PER": ["Jane"]}\n```',
        'The answer is {"PER": ["Jane"]}.',
        '{"text": "Jane", "label": "PER"}\n',
        {
            "extractions": [
                {
                    "extraction_class": "PER",
                    "extraction_text": "Jane",
                    "char_interval": {"start_pos": 0, "end_pos": 4},
                }
            ]
        },
    ],
)
def test_shapes_of_answers(answer, tmp_path):
    assert marks(tmp_path, answer)[0] == ["PER:0-4"]
    assert FORMAT.tell(Glimpse(tmp_path / "gpt.jsonl")) > 0.8


def test_lines_in_a_string(tmp_path):
    answer = '```\n{"text": "Jane", "label": "PER"}\n{"text": "hero", "label": "PER"}\n```'
    assert marks(tmp_path, answer)[0] == ["PER:0-4", "PER:32-36"]


def test_shapes_of_records(tmp_path):
    answer = [{"text": "Jane", "label": "PER"}]
    records = [
        {
            "id": 1,
            "text": TEXT,
            "answers": {"a": answer, "b": [], "c": None, "d": "", "e": "nothing"},
        },
        {"id": 2, "text": TEXT, "model": "a", "answer": answer},
        {"id": 2, "text": TEXT, "model": "b", "output": []},
        {"document": TEXT + "!", "entities": answer},
        {"text": TEXT + "?", "predictions": [{"model": "a", "answer": answer}]},
        {
            "document_id": "x",
            "text": TEXT,
            "extractions": [
                {
                    "extraction_text": "Jane",
                    "extraction_class": "PER",
                    "alignment_status": "match_exact",
                }
            ],
        },
    ]
    made, notes = read(tmp_path, *records)
    jane = [Mark(0, 4, "PER")]
    assert [(one[0], one[2]) for one in facts(made)] == [
        ("1", [("a", "model", jane), ("b", "model", [])]),
        ("2", [("a", "model", jane), ("b", "model", [])]),
        ("4", [("gpt", "model", jane)]),
        ("5", [("a", "model", jane)]),
        ("x", [("gpt", "model", jane)]),
    ]
    assert notes.counts == {"unreadable answer (no JSON in it) of e": 1}


def test_ambiguous_quotes_are_not_guessed(tmp_path):
    bob = {"text": "Bob", "label": "PER"}
    found, notes = marks(tmp_path, [bob])
    assert found == []
    assert dict(notes.counts) == {"ambiguous quote of m": 1}
    assert "'Bob'" in notes.lines()[0]
    assert marks(tmp_path, [bob], occurrences="all")[0] == ["PER:9-12", "PER:20-23"]
    assert marks(tmp_path, [bob], occurrences="first")[0] == ["PER:9-12"]
    assert marks(tmp_path, [bob, bob])[0] == ["PER:9-12", "PER:20-23"]
    assert marks(tmp_path, [{**bob, "start": 20, "end": 23}])[0] == ["PER:20-23"]
    assert marks(tmp_path, [{**bob, "start": 21, "end": 24}])[0] == []
    assert marks(tmp_path, [{**bob, "context": "Later Bob saw"}])[0] == ["PER:20-23"]
    found, notes = marks(tmp_path, [bob, bob, bob])
    assert found == ["PER:9-12", "PER:20-23"]
    assert notes.counts == {"repeated quote of m": 1}


def test_invented_and_missing_quotes_are_counted_and_listed(tmp_path):
    answer = [
        {"text": "Eve", "label": "PER"},
        {"text": "her", "label": "X"},
        {"text": "", "label": "Y"},
        {"label": "Z"},
        {"text": "Jane"},
        5,
    ]
    found, notes = marks(tmp_path, {"entities": answer}, report=tmp_path / "report.jsonl")
    assert found == []
    assert dict(notes.counts) == {
        "invented quote (not in the text) of m": 1,
        "quote only inside a word of m": 1,
        "item without quote of m": 3,
        "quote without label of m": 1,
    }
    report = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert len(report) == 6
    assert report[0]["quote"] == "Eve"
    assert report[0]["problem"].startswith("invented")


def test_words_have_borders_where_the_script_has(tmp_path):
    assert marks(tmp_path, [{"text": "he", "label": "X"}])[0] == ["X:38-40"]
    assert marks(tmp_path, [{"text": "北京", "label": "LOC"}], "張三在北京。")[0] == ["LOC:3-5"]
    assert marks(tmp_path, [{"text": "กรุงเทพ", "label": "LOC"}], "อยู่กรุงเทพนะ")[0] == ["LOC:4-11"]


def test_fuzzy_only_when_told(tmp_path):
    text = "The  “Café–Bar”\nof Anna Karenina"
    answer = [{"text": 'the "cafe-bar" of', "label": "A"}, {"text": "Ana Karenina", "label": "B"}]
    assert marks(tmp_path, answer, text)[0] == []
    found, notes = marks(tmp_path, answer, text, fuzzy="spelling")
    assert found == ["A:0-18"]
    assert notes.counts["exact wording of a quote (placed by likeness) of m"] == 1
    assert marks(tmp_path, answer, text, fuzzy="0.85")[0] == ["A:0-18", "B:19-32"]
    aligned = [
        {
            "extraction_text": "karenin",
            "extraction_class": "C",
            "char_interval": {"start_pos": 24, "end_pos": 32},
        }
    ]
    assert marks(tmp_path, aligned, text)[0] == []
    assert marks(tmp_path, aligned, text, fuzzy=1.0)[0] == ["C:24-32"]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (3, "must be an object"),
        ({"models": {}}, "no text beside"),
        ({"text": "a"}, "no answers beside"),
    ],
)
def test_refused_with_a_reason(record, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(tmp_path, record)


def test_options_are_checked(tmp_path):
    for options in ({"colour": 1}, {"occurrences": "some"}, {"fuzzy": "very"}, {"fuzzy": 0.1}):
        with pytest.raises(ParameterError):
            read(tmp_path, {"text": "a", "models": {}}, **options)
    with pytest.raises(ParameterError):
        FORMAT.write([], tmp_path / "x", Notes(), colour=1)


def test_searching_is_bounded(monkeypatch):
    monkeypatch.setattr(quotes_module, "MAX_STEPS", 10**8)
    text = "a" * 200_000
    start = time.process_time()
    quotes = Quotes(text, fuzzy=0.9)
    with pytest.raises(InputError, match="too many different quotes"):
        for length in range(100_000, 110_000):
            quotes.places("a" * length + "b")
    assert time.process_time() - start < 10


def blank(made: list[Document]) -> bool:
    return not any(
        one.text[m.start : m.end].isspace() for one in made for o in one.opinions for m in o.marks
    )


@given(made=documents(roles=("model",), scores=("model",)).filter(blank))
@QUIET
def test_round_trip(made, tmp_path):
    path = tmp_path / "x.jsonl"
    assert facts(round_trip(FORMAT, made, path)) == facts(made)
    before = path.read_bytes()
    FORMAT.write(FORMAT.read(path, Notes()), path, Notes())
    assert path.read_bytes() == before


def test_damage(tmp_path):
    record = {
        "id": 1,
        "text": TEXT,
        "models": {
            "a": [{"text": "Jane", "label": "PER", "start": 0, "end": 4, "context": "x"}],
            "b": {"PER": ["Bob"]},
            "c": '```json\n{"PER": ["Bob"]}\n```',
        },
    }
    one = {
        "text": TEXT,
        "model": "m",
        "extractions": [
            {
                "extraction_text": "Jane",
                "extraction_class": "P",
                "char_interval": {"start_pos": 0, "end_pos": 3},
            }
        ],
    }
    lines = "\n".join(json.dumps(line) for line in (record, one))
    check_damage(FORMAT.read, lines.encode(), tmp_path / "x.jsonl", 300)
    check_damage(
        FORMAT.read, lines.encode(), tmp_path / "x.jsonl", 100, fuzzy=0.8, occurrences="all"
    )
