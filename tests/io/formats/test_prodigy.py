"""Prodigy's lines: joined, reviewed, by hand and yes or no; round trip, damage, real files."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import Glimpse
from seqtruth.io.formats.prodigy import FORMAT
from seqtruth.io.formats.prodigy_writing import tokens_for

from .tool_documents import FIXTURES, check_damage, documents, facts, needs_fixtures, round_trip

QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TOKENS = [
    {"text": "Jane", "start": 0, "end": 4, "id": 0, "ws": True},
    {"text": "Doe", "start": 5, "end": 8, "id": 1},
]
LINE = {
    "text": "Jane Doe",
    "_input_hash": -7,
    "_task_hash": 2,
    "tokens": TOKENS,
    "answer": "accept",
    "spans": [{"start": 0, "end": 8, "token_start": 0, "token_end": 1, "label": "PER"}],
    "_annotator_id": "d-ann",
    "_session_id": "d-ann",
    "_timestamp": 1633931112,
    "_view_id": "ner_manual",
}


def read(tmp_path: Path, *lines: object, **options: object) -> tuple[list[Document], Notes]:
    path = tmp_path / "news.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    notes = Notes()
    return list(FORMAT.read(path, notes, **options)), notes


def test_lines_are_joined_by_their_input(tmp_path):
    other = {
        **LINE,
        "_annotator_id": "d-bob",
        "spans": [{"token_start": 0, "token_end": 1, "label": "ORG"}],
    }
    nothing = {
        key: value
        for key, value in LINE.items()
        if key not in ("spans", "_annotator_id", "_session_id")
    }
    between = {"text": "Jim", "_input_hash": 3, "answer": "ignore"}
    made, notes = read(tmp_path, LINE, between, other, nothing)
    assert [one.id for one in made] == ["3", "-7"]
    assert made[0].opinions == ()
    assert [(o.annotator, o.marks) for o in made[1].opinions] == [
        ("d-ann", (Mark(0, 8, "PER"),)),
        ("d-bob", (Mark(0, 8, "ORG"),)),
        ("news", ()),
    ]
    assert made[1].tokens == ((0, 4), (5, 8))
    assert made[1].opinions[0].time == "2021-10-11T05:45:12+00:00"
    assert notes.counts == {"ignored answer": 1}
    made, _ = read(tmp_path, nothing, annotator="eve")
    assert made[0].opinions[0].annotator == "eve"


def test_answers_about_one_span(tmp_path):
    asked = {"text": "Jane Doe", "_input_hash": 1, "_is_binary": True, "_session_id": "ann"}
    lines = [
        {**asked, "answer": "accept", "spans": [{"start": 0, "end": 4, "label": "PER"}]},
        {**asked, "answer": "accept", "spans": [{"start": 5, "end": 8, "label": "PER"}]},
        {**asked, "answer": "reject", "spans": [{"start": 0, "end": 8, "label": "ORG"}]},
    ]
    (document,), notes = read(tmp_path, *lines)
    (opinion,) = document.opinions
    assert opinion.marks == (Mark(0, 4, "PER"), Mark(5, 8, "PER"))
    assert opinion.seen == ((0, 4), (5, 8))
    assert notes.counts == {"rejected answer": 1}


def test_the_review_recipe(tmp_path):
    version = {key: LINE[key] for key in ("text", "tokens", "spans")}
    review = {
        **LINE,
        "_annotator_id": "d-eve",
        "_view_id": "review",
        "view_id": "ner_manual",
        "spans": [],
        "versions": [
            {**version, "sessions": ["d-ann", "d-bob"], "default": True},
            {**version, "spans": [], "sessions": ["d-cyd"]},
        ],
    }
    (document,), _ = read(tmp_path, review)
    assert [(o.annotator, o.role, len(o.marks)) for o in document.opinions] == [
        ("d-ann", "annotator", 1),
        ("d-bob", "annotator", 1),
        ("d-cyd", "annotator", 0),
        ("d-eve", "gold", 0),
    ]


def test_what_is_left_out(tmp_path):
    odd = {
        **LINE,
        "spans": [{"start": 0, "end": 4}, {"start": 3, "end": 99, "label": "X"}, 5],
        "relations": [{}],
        "accept": ["A"],
    }
    _, notes = read(
        tmp_path,
        odd,
        {"image": "x", "answer": "accept"},
        {**LINE, "tokens": [{"start": 3, "end": 1}]},
    )
    assert dict(notes.counts) == {
        "mark without a label": 1,
        "mark outside the text": 1,
        "span that is no object": 1,
        "relation": 1,
        "choice or label of a whole text": 1,
        "record without text": 1,
        "list of tokens that do not fit the text": 1,
        "earlier annotation by the same annotator": 1,
    }


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([[1]], "must be an object"),
        ([{"a": 1}], "it has no 'text'"),
        ([{"image": "x"}], "holds no text"),
        ([{"text": "a", "label": "GOOD", "answer": "accept"}], "no spans of text"),
        (
            [{"text": "a", "options": [{"id": 1}], "accept": [1], "answer": "accept"}],
            "no spans of text",
        ),
        ([LINE, {**LINE, "text": "Jane was not here"}], "differs at character 5"),
        ([{**LINE, "spans": 3}], "spans must be a list"),
    ],
)
def test_refused_with_a_reason(lines, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(tmp_path, *lines)


def test_options_are_checked(tmp_path):
    with pytest.raises(ParameterError):
        read(tmp_path, LINE, colour="red")
    for options in ({"colour": 1}, {"shape": "x"}, {"view_id": "x"}):
        with pytest.raises(ParameterError):
            FORMAT.write([], tmp_path / "x", Notes(), **options)


@given(made=documents(roles=("annotator", "model", "gold"), scores=("annotator", "model", "gold")))
@QUIET
def test_round_trip(made, tmp_path):
    path = tmp_path / "x.jsonl"
    assert facts(round_trip(FORMAT, made, path)) == facts(made)
    before = path.read_bytes()
    FORMAT.write(FORMAT.read(path, Notes()), path, Notes())
    assert path.read_bytes() == before
    assert FORMAT.tell(Glimpse(path)) > 0.6


@given(made=documents(roles=("annotator", "model")), gold=st.booleans())
@QUIET
def test_round_trip_of_a_review(made, gold, tmp_path):
    if gold:
        made = [
            Document(one.id, one.text, (*one.opinions, Opinion("eve", (), "gold"))) for one in made
        ]
    assert facts(round_trip(FORMAT, made, tmp_path / "x.jsonl", shape="review")) == facts(made)


@given(made=documents())
@QUIET
def test_every_mark_begins_and_ends_with_a_token(made):
    for document in made:
        marks = [mark for opinion in document.opinions for mark in opinion.marks]
        tokens = tokens_for(document.text, None, marks)
        assert {mark.start for mark in marks} <= {start for start, _ in tokens}
        assert {mark.end for mark in marks} <= {end for _, end in tokens}
        assert all(a[1] <= b[0] for a, b in pairwise(tokens))
        assert tokens_for(document.text, tokens, marks) == tokens


def test_tokens_are_kept(tmp_path):
    made, _ = read(tmp_path, LINE)
    assert round_trip(FORMAT, made, tmp_path / "x.jsonl")[0].tokens == made[0].tokens


def test_damage(tmp_path):
    version = {**LINE, "versions": [{**LINE, "sessions": ["a"]}]}
    lines = "\n".join(json.dumps(line) for line in (LINE, version, {**LINE, "_is_binary": True}))
    check_damage(FORMAT.read, lines.encode(), tmp_path / "x.jsonl", 400)


@needs_fixtures
def test_real_files():
    counts = {}
    for path in sorted((FIXTURES / "prodigy").iterdir()):
        assert FORMAT.tell(Glimpse(path)) > 0.9
        made = list(FORMAT.read(path, Notes()))
        assert all(one.tokens for one in made)
        counts[path.name] = len(made), sum(bool(one.opinions) for one in made)
    assert counts == {
        "explosion_drugs_eval_60.jsonl": (60, 60),
        "explosion_tweets_test_annotated_cut.jsonl": (73, 69),
    }
