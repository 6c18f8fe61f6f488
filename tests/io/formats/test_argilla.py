"""Argilla's records: every shape of both generations, the round trip, the damage, the real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import Glimpse
from seqtruth.io.formats.argilla import FORMAT

from .tool_documents import FIXTURES, check_damage, documents, facts, needs_fixtures, round_trip

QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
ANN, BOB = "32fe46af-ddf3-58ea-9b2e-79b82e4d4a8d", "73f4aef0-c293-53fd-95a2-199865f29a8c"
SPAN = {"start": 0, "end": 4, "label": "PER"}
NESTED = {
    "id": "7",
    "fields": {"text": "Jane Doe"},
    "metadata": {},
    "vectors": {},
    "status": "pending",
    "_server_id": None,
    "responses": {"q": [{"value": [SPAN], "user_id": ANN}, {"value": [], "user_id": BOB}]},
    "suggestions": {"q": {"value": [SPAN], "score": [0.9], "agent": "m"}},
}
FLAT = {
    "id": "7",
    "status": "pending",
    "_server_id": None,
    "text": "Jane Doe",
    "q.responses": [[SPAN], []],
    "q.responses.users": [ANN, BOB],
    "q.responses.status": ["submitted", "submitted"],
    "q.suggestion": [SPAN],
    "q.suggestion.score": [0.9],
    "q.suggestion.agent": "m",
}
SERVER = {
    "external_id": "7",
    "fields": {"text": "Jane Doe"},
    "responses": [
        {"user_id": ANN, "status": "submitted", "values": {"q": {"value": [SPAN]}}},
        {"user_id": BOB, "status": "submitted", "values": {"q": {"value": []}}},
    ],
    "suggestions": [{"question_name": "q", "value": [SPAN], "score": [0.9], "agent": "m"}],
}
FEEDBACK = {
    "external_id": "7",
    "text": "Jane Doe",
    "q": [
        {
            "user_id": ANN,
            "value": {"start": [0], "end": [4], "label": ["PER"]},
            "status": "submitted",
        },
        {"user_id": BOB, "value": [], "status": "submitted"},
    ],
    "q-suggestion": [SPAN],
    "q-suggestion-metadata": {"score": [0.9], "agent": "m", "type": "model"},
}
SAID = [
    (ANN, "annotator", [Mark(0, 4, "PER")]),
    (BOB, "annotator", []),
    ("m", "model", [Mark(0, 4, "PER", score=0.9)]),
]
COLUMNS = {key: [value] for key, value in NESTED.items()}


def read(value: object, tmp_path: Path, **options: object) -> tuple[list[Document], Notes]:
    path = tmp_path / "in.json"
    path.write_text(json.dumps(value))
    notes = Notes()
    return list(FORMAT.read(path, notes, **options)), notes


@pytest.mark.parametrize(
    "value",
    [[NESTED], NESTED, FLAT, SERVER, FEEDBACK, COLUMNS, {"7": NESTED}],
    ids=["nested", "one", "flat", "server", "feedback", "columns", "index"],
)
def test_shapes(value, tmp_path):
    made, notes = read(value, tmp_path)
    assert facts(made) == [("7", "Jane Doe", SAID)]
    assert not notes.counts
    assert FORMAT.tell(Glimpse(tmp_path / "in.json")) > 0.7


def test_first_generation(tmp_path):
    record = {
        "text": "Jane Doe",
        "tokens": ["Jane", "Doe"],
        "id": 3,
        "status": "Validated",
        "annotation": [["PER", 0, 4]],
        "annotation_agent": "ann",
        "prediction": [{"label": "PER", "start": 0, "end": 8, "score": 0.5}],
        "prediction_agent": "m",
    }
    discarded = {**record, "id": 4, "status": "Discarded", "annotation": None, "prediction": None}
    default = {**record, "id": 5, "status": "Default", "annotation": None, "tokens": ["x"]}
    made, notes = read([record, discarded, default], tmp_path)
    assert facts(made)[0] == (
        "3",
        "Jane Doe",
        [("ann", "annotator", [Mark(0, 4, "PER")]), ("m", "model", [Mark(0, 8, "PER", score=0.5)])],
    )
    assert made[0].tokens == ((0, 4), (5, 8))
    assert made[1].opinions == ()
    assert [o.role for o in made[2].opinions] == ["model"]
    assert dict(notes.counts) == {
        "discarded response": 1,
        "list of tokens that do not fit the text": 1,
    }


def test_drafts_and_discarded_answers_are_not_seen(tmp_path):
    flat = {**FLAT, "q.responses.status": ["draft", "discarded"]}
    (document,), notes = read([flat], tmp_path)
    assert [o.annotator for o in document.opinions] == ["m"]
    assert notes.counts == {"draft response": 1, "discarded response": 1}


def test_several_questions_and_fields(tmp_path):
    two = {
        **NESTED,
        "responses": {
            "q": [{"value": [SPAN], "user_id": ANN}],
            "r": [{"value": [SPAN], "user_id": ANN}],
            "rating": [{"value": 3, "user_id": ANN}],
        },
    }
    with pytest.raises(InputError, match=r"several span questions; got 'q', 'r'"):
        read([two], tmp_path)
    (document,), notes = read([two], tmp_path, question="r")
    assert len(document.opinions) == 1
    assert notes.counts == {"answer to another question": 3}
    fields = {**NESTED, "fields": {"title": "a", "body": "Jane"}}
    with pytest.raises(InputError, match="several text fields"):
        read([fields], tmp_path)
    (document,), _ = read([fields], tmp_path, field="body")
    assert document.text == "Jane"


def test_users_have_names(tmp_path):
    (tmp_path / "users.json").write_text(json.dumps({ANN: "ann"}))
    (document,), _ = read([NESTED], tmp_path, users=tmp_path / "users.json")
    assert [o.annotator for o in document.opinions] == ["ann", BOB, "m"]
    (tmp_path / "users.json").write_text("[1]")
    with pytest.raises(InputError, match="users must be"):
        read([NESTED], tmp_path, users=tmp_path / "users.json")


def test_utf16(tmp_path):
    record = {
        **NESTED,
        "fields": {"text": "😀 Jane"},
        "suggestions": {},
        "responses": {"q": [{"value": [{"start": 3, "end": 7, "label": "PER"}], "user_id": ANN}]},
    }
    (document,), _ = read([record], tmp_path, offsets="utf16")
    assert document.opinions[0].marks == (Mark(2, 6, "PER"),)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1], "must be an object"),
        ([{"fields": {}}], "holds no text"),
        ([{"fields": {"text": "a"}, "responses": {"q": [{"value": 3}]}}], "no span question"),
        ([{"fields": {"text": "a"}, "responses": {"q": 3}}], "responses must be a list"),
        ({"id": [1], "fields": []}, "columns of different lengths"),
    ],
)
def test_refused_with_a_reason(value, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(value, tmp_path)


def test_options_are_checked(tmp_path):
    with pytest.raises(ParameterError):
        read([NESTED], tmp_path, colour="red")
    with pytest.raises(ParameterError):
        read([NESTED], tmp_path, offsets="bytes")
    with pytest.raises(ParameterError):
        FORMAT.write([], tmp_path / "x", Notes(), opinions="x")


def one_model(made: list[Document]) -> bool:
    """What a record can carry: one model, with a score for each mark or for none."""
    for one in made:
        models = [o for o in one.opinions if o.role == "model"]
        scores = [mark.score for o in models for mark in o.marks]
        if len(models) > 1 or (None in scores and set(scores) != {None}):
            return False
    return True


@given(
    made=documents(
        roles=("annotator", "model"), scores=("model",), names=st.sampled_from([ANN, BOB])
    ).filter(one_model)
)
@QUIET
def test_round_trip(made, tmp_path):
    path = tmp_path / "x.json"
    assert facts(round_trip(FORMAT, made, path)) == facts(made)
    before = path.read_bytes()
    FORMAT.write(FORMAT.read(path, Notes()), path, Notes())
    assert path.read_bytes() == before


def test_what_cannot_be_carried_is_noted(tmp_path):
    made = [
        Document(
            "1", "Jane", (Opinion("ann"), Opinion("m", role="model"), Opinion("n", role="model"))
        )
    ]
    notes = Notes()
    FORMAT.write(made, tmp_path / "x.json", notes)
    assert dict(notes.counts) == {
        "name of an annotator (Argilla knows users by UUID)": 1,
        "earlier of two suggestions": 1,
    }


@pytest.mark.parametrize("value", [[NESTED], [FLAT], [SERVER], [FEEDBACK], COLUMNS])
def test_damage(value, tmp_path):
    check_damage(FORMAT.read, json.dumps(value).encode(), tmp_path / "x.json", 120)


@needs_fixtures
def test_real_files():
    seen = []
    for path in sorted((FIXTURES / "argilla").iterdir()):
        assert FORMAT.tell(Glimpse(path)) > 0.9
        seen.append(facts(list(FORMAT.read(path, Notes()))))
    assert seen[0] == seen[1] == seen[2]
    assert [len(one[2]) for one in seen[0]] == [4] * 5


@pytest.mark.tools
@given(made=documents(roles=("annotator", "model"), scores=("model",)))
@QUIET
def test_the_tool_takes_what_we_write(made, tmp_path):
    pytest.importorskip("argilla")
    from argilla.records._io import JsonIO

    path = tmp_path / "x.json"
    FORMAT.write(made, path, Notes())
    records = JsonIO._records_from_json(path)
    assert [one.id for one in records] == [one.id for one in made]
    path.unlink()
    JsonIO.to_json(records, path)
    back = list(FORMAT.read(path, Notes()))
    assert [one.text for one in back] == [one.text for one in made]
    people = [[o.marks for o in one.opinions if o.role == "annotator"] for one in made]
    assert [[o.marks for o in one.opinions if o.role == "annotator"] for one in back] == people
