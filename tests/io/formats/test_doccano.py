"""doccano's exports: every shape, the round trip, the damage, the real files."""

from __future__ import annotations

import json
import sys
import types
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import Glimpse
from seqtruth.io.formats.doccano import FORMAT

from .tool_documents import FIXTURES, check_damage, documents, facts, needs_fixtures, round_trip

QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
RECORD = {
    "id": 3,
    "text": "Jane saw 👩‍👧 Bob",
    "label": [[0, 4, "PER"], [13, 16, "PER"]],
    "Comments": [],
}


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def read(path: Path, **options: object) -> tuple[list[Document], Notes]:
    notes = Notes()
    return list(FORMAT.read(path, notes, **options)), notes


@pytest.mark.parametrize(
    ("record", "label"),
    [
        ({"text": "Jane", "label": [[0, 4, "PER"]]}, "PER"),
        ({"data": "Jane", "label": [[0, 4, "PER"]]}, "PER"),
        ({"text": "Jane", "labels": [[0, 4, "PER"]]}, "PER"),
        (
            {
                "text": "Jane",
                "entities": [{"id": 1, "label": "PER", "start_offset": 0, "end_offset": 4}],
            },
            "PER",
        ),
        (
            {"text": "Jane", "annotations": [{"label": 12, "start_offset": 0, "end_offset": 4}]},
            "12",
        ),
    ],
)
def test_shapes(record, label, tmp_path):
    path = tmp_path / "ann.doe.jsonl"
    for indent in (None, 2):
        path.write_text(json.dumps(record, indent=indent))
        (document,), _ = read(path)
        assert document.opinions == (Opinion("ann.doe", (Mark(0, 4, label),)),)


def test_users_and_numbers_of_old_exports(tmp_path):
    path = tmp_path / "x.jsonl"
    span = {"label": 12, "start_offset": 0, "end_offset": 4}
    path.write_text(
        lines(
            {"id": 1, "text": "Jane", "annotations": [{**span, "user": 1}, {**span, "user": 2}]},
            {"id": 2, "text": "Jim", "annotations": []},
        )
    )
    labels = tmp_path / "label_config.json"
    labels.write_text('[{"id": 12, "text": "PER"}]')
    made, notes = read(path, labels=str(labels))
    assert [o.annotator for o in made[0].opinions] == ["1", "2"]
    assert made[0].opinions[0].marks == (Mark(0, 4, "PER"),)
    assert made[1].opinions == ()
    assert not notes.counts
    _, notes = read(path)
    assert notes.counts == {"name of a label that is known only by its number": 2}


def test_a_zip_has_a_file_for_each_user(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "ann.jsonl",
            lines(
                {"id": 1, "text": "Jane", "label": [[0, 4, "PER"]]},
                {"id": 2, "text": "Jim", "label": []},
            ),
        )
        archive.writestr("bob.jsonl", lines({"id": 2, "text": "Jim ", "label": [[0, 3, "PER"]]}))
        archive.writestr("admin.jsonl", lines({"id": 1, "text": "Jane", "label": []}))
    made, notes = read(path)
    assert facts(made) == [
        ("1", "Jane", [("ann", "annotator", [Mark(0, 4, "PER")])]),
        ("2", "Jim", [("ann", "annotator", []), ("bob", "annotator", [Mark(0, 3, "PER")])]),
    ]
    assert notes.counts == {"annotator without any mark (taken as not annotating)": 1}
    made, _ = read(path, empty="unseen")
    assert [o.annotator for o in made[1].opinions] == ["bob"]
    assert FORMAT.tell(Glimpse(path)) > 0.5


def test_texts_that_differ_are_refused_with_the_place(tmp_path):
    (tmp_path / "a.jsonl").write_text(lines({"id": 1, "text": "Jane", "label": [[0, 4, "PER"]]}))
    (tmp_path / "b.jsonl").write_text(lines({"id": 1, "text": "Jules", "label": [[0, 4, "PER"]]}))
    with pytest.raises(InputError, match=r"differs at character 1"):
        read(tmp_path)


def test_graphemes(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(lines({"text": "👩‍👧 Bob", "label": [[2, 5, "PER"]]}))
    (document,), _ = read(path, offsets="graphemes")
    assert document.opinions[0].marks == (Mark(4, 7, "PER"),)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "must be an object"),
        ('{"a": 1}', "it has no 'text'"),
        ('{"id": 1}', "holds no text"),
        ('{"text": "a", "label": ["good"]}', "no spans of text"),
        ("{", "not JSON|ends in the middle"),
    ],
)
def test_refused_with_a_reason(content, message, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read(path)


def test_options_are_checked(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text(lines(RECORD))
    for options in ({"colour": "red"}, {"offsets": "bytes"}, {"empty": "maybe"}):
        with pytest.raises(ParameterError):
            read(path, **options)
    (tmp_path / "bad.json").write_text("[{}]")
    with pytest.raises(InputError, match="must have 'id'"):
        read(path, labels=tmp_path / "bad.json")


def everybody_marks(made: list[Document]) -> bool:
    names = {o.annotator for one in made for o in one.opinions}
    return all(one.opinions for one in made) and names == {
        o.annotator for one in made for o in one.opinions if o.marks
    }


@given(made=documents().filter(everybody_marks))
@QUIET
def test_round_trip_of_many(made, tmp_path):
    path = tmp_path / "x.zip"
    back = round_trip(FORMAT, made, path)
    assert sorted(facts(back)) == sorted(facts(made))
    before = path.read_bytes()
    FORMAT.write(made, path, Notes())
    assert path.read_bytes() == before


@given(made=documents(names=st.just("ann"), opinions=1))
@QUIET
def test_round_trip_of_one(made, tmp_path):
    assert facts(round_trip(FORMAT, made, tmp_path / "ann.jsonl")) == facts(made)


def test_several_annotators_do_not_fit_a_line(tmp_path):
    made = [Document("1", "Jane", (Opinion("ann"), Opinion("bob")))]
    with pytest.raises(ParameterError, match="several annotators"):
        FORMAT.write(made, tmp_path / "x.jsonl", Notes())
    FORMAT.write(made, tmp_path / "x.jsonl", Notes(), annotator="bob")
    assert json.loads((tmp_path / "x.jsonl").read_text()) == {"id": 1, "text": "Jane", "label": []}


def without_silence(made: list[Document]) -> list[Document]:
    return [replace(one, opinions=tuple(o for o in one.opinions if o.marks)) for one in made]


@given(made=documents().map(without_silence))
@QUIET
def test_round_trip_of_the_old_shape(made, tmp_path):
    assert facts(round_trip(FORMAT, made, tmp_path / "x.jsonl", shape="annotations")) == facts(made)


@pytest.mark.tools
@pytest.mark.parametrize("shape", ["labels", "annotations"])
def test_the_transformer_takes_what_we_write(shape, tmp_path, monkeypatch):
    pytest.importorskip("doccano_transformer")
    old = types.ModuleType("spacy.gold")  # of spaCy 2, which this needs for another format only
    old.biluo_tags_from_offsets = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy.gold", old)
    monkeypatch.setitem(sys.modules, "spacy", types.ModuleType("spacy"))
    from doccano_transformer.datasets import NERDataset
    from doccano_transformer.utils import read_jsonl

    made = [
        Document("1", "Jane saw Bob", (Opinion("ann", (Mark(0, 4, "PER"), Mark(9, 12, "PER"))),))
    ]
    FORMAT.write(made, tmp_path / "x.jsonl", Notes(), shape=shape)
    (one,) = read_jsonl(str(tmp_path / "x.jsonl"), NERDataset).to_conll2003(str.split)
    assert one["data"].split("\n")[2:5] == ["Jane _ _ B-PER", "saw _ _ O", "Bob _ _ B-PER"]


def test_damage(tmp_path):
    relation = {
        "text": "Jane",
        "entities": [{"id": 1, "label": "P", "start_offset": 0, "end_offset": 4}],
        "relations": [{"id": 1}],
    }
    check_damage(FORMAT.read, lines(RECORD, relation).encode(), tmp_path / "x.jsonl", 400)


def test_damaged_archives(tmp_path):
    import random

    made = [Document("1", "Jane " * 50, (Opinion("ann", (Mark(0, 4, "P"),)),))]
    FORMAT.write(made, tmp_path / "x.zip", Notes())
    good = (tmp_path / "x.zip").read_bytes()
    chance = random.Random(0)
    for _ in range(200):
        data = bytearray(good)
        data[chance.randrange(len(data))] = chance.randrange(256)
        (tmp_path / "y.zip").write_bytes(
            data[: chance.choice([len(data), chance.randrange(30, len(data))])]
        )
        try:
            FORMAT.tell(Glimpse(tmp_path / "y.zip"))
            read(tmp_path / "y.zip")
        except InputError:
            pass


@needs_fixtures
def test_real_files():
    for path in sorted((FIXTURES / "doccano").glob("*.jsonl")):
        assert FORMAT.tell(Glimpse(path)) > 0.7, path
        made, _ = read(path)
        assert made
    assert len(read(FIXTURES / "doccano" / "bsner_bw_admin.jsonl")[0]) == 454
