"""Label Studio's exports: the traps, the round trip, the damage, the real files."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import Glimpse
from seqtruth.io.formats import label_studio
from seqtruth.io.formats.label_studio import FORMAT

from .tool_documents import FIXTURES, check_damage, documents, facts, needs_fixtures, round_trip

QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def span(start, end, text, *labels, **more):
    value = {"start": start, "end": end, "text": text, "labels": list(labels)}
    return {
        "id": "r",
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": value,
        **more,
    }


TASKS = [
    {
        "id": 5,
        "data": {"text": "Jane 😀 saw Bob", "id.num": 3},
        "annotations": [
            {
                "id": 1,
                "completed_by": {"id": 3, "email": "ann@x.org"},
                "result": [
                    span(0, 4, "Jane", "PER", "ORG"),
                    {
                        "type": "taxonomy",
                        "value": {"taxonomy": [["a"]]},
                        "from_name": "c",
                        "to_name": "text",
                    },
                    {"type": "relation", "from_id": "r", "to_id": "r"},
                ],
                "ground_truth": True,
                "was_cancelled": False,
                "updated_at": "2024-01-02",
            },
            {"id": 2, "completed_by": 7, "result": [], "was_cancelled": False},
            {"id": 3, "completed_by": 8, "result": [], "was_cancelled": True},
            {"id": 4, "result": [span(11, 14, "Bob", "PER")]},
            {"id": 6, "completed_by": 9, "result": [span(12, 15, "Bob", "PER")]},
        ],
        "predictions": [
            {
                "model_version": "m1",
                "score": 0.5,
                "result": [span(11, 14, "Bob", "PER", score=0.25)],
            },
            17,
        ],
    }
]


def read(value: object, tmp_path: Path, **options: object) -> tuple[list[Document], Notes]:
    path = tmp_path / "in.json"
    path.write_text(json.dumps(value))
    notes = Notes()
    return list(FORMAT.read(path, notes, **options)), notes


_ODD_PARTS = [
    {}, {"was_cancelled": True}, {"ground_truth": True}, {"completed_by": None}, {"completed_by": {"id": 3}},
    {"completed_by": {"email": "ann@x.org"}}, {"created_at": "2024-01-01"}, {"updated_at": 5},
    {"completed_by": " blank "}, {"result": None}, {"result": [7]}, {"drafts": [1]},
    {"created_username": " ann, 3"},
]  # fmt: skip
_RESULTS = [
    span(0, 4, "Jane", "PER"), span(5, 8, "saw", "V"), span(9, 12, "Bob", "PER", score=0.5),
    span(9, 13, "Bob", "PER"), span(0, 4, "Jane"), span(0, 4, "Jane", "PER", "X"), span(4, 4, "", "PER"),
    span(3, 2, "", "PER"), span(90, 99, "", "PER"), span("0", 4, "Jane", "PER"), span(0, 4, "Jone", "PER"),
    span(0, 4, "Jane", "PER", from_name="other"), span(0, 4, "Jane", "PER", to_name="title"),
    span(0, 4, "Jane", "PER", type="choices"), span(0, 4, None, "PER"), span(0, 4, "Jane", 7),
    span(0, 4, "Jane", "PER", source="$title"), span(True, 4, "ane", "PER"),
]  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.lists(
                st.tuples(
                    st.sampled_from(_ODD_PARTS), st.lists(st.sampled_from(_RESULTS), max_size=3)
                ),
                max_size=3,
            ),
            st.sampled_from(
                [{}, {"predictions": [{"result": []}]}, {"id": None}, {"reviews": [1]}]
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
@QUIET
def test_plain_tasks_are_read_as_the_others(tmp_path, made):
    """The short way gives what the long way gives, notes included."""
    tasks: list[object] = [{"data": {"text": "Jane saw Bob"}, "annotations": [
        {"completed_by": 1, "result": [span(0, 4, "Jane", "PER")]}]}]  # fmt: skip
    for number, (parts, more) in enumerate(made):
        annotations = [
            {"completed_by": who, "result": results, **odd}
            for who, (odd, results) in enumerate(parts)
        ]
        data = {"text": "Jane saw Bob", "title": "Jane"}
        tasks.append({"id": number, "data": data, "annotations": annotations, **more})

    def outcome() -> object:
        try:
            found, notes = read(tasks, tmp_path)
        except InputError as error:
            return str(error)
        return found, notes.counts, notes.first

    short = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_studio, "plain_task", lambda *_: None)
        assert outcome() == short


def test_who_said_what(tmp_path):
    (document,), notes = read(TASKS, tmp_path)
    said = {opinion.annotator: opinion for opinion in document.opinions}
    assert list(said) == ["7", "unknown-4", "9", "ann@x.org", "m1"]
    assert said["ann@x.org"].marks == (Mark(0, 4, "PER"), Mark(0, 4, "ORG"))
    assert said["7"].marks == ()
    assert said["m1"] == Opinion("m1", (Mark(11, 14, "PER", score=0.25),), role="model", score=0.5)
    assert document.id == "5"
    assert dict(notes.counts) == {
        "relation": 1,
        "result that marks no text ('taxonomy')": 1,
        "cancelled annotation": 1,
        "prediction known only by its number": 1,
    }


def test_gzip_is_told_and_read(tmp_path):
    path = tmp_path / "x.json.gz"
    path.write_bytes(gzip.compress(json.dumps(TASKS).encode()))
    assert FORMAT.tell(Glimpse(path)) > 0.9
    assert len(list(FORMAT.read(path, Notes()))) == 1


def test_old_versions_count_utf16_units(tmp_path):
    (document,), notes = read(TASKS, tmp_path)
    said = {opinion.annotator: opinion for opinion in document.opinions}
    assert said["9"].marks == said["unknown-4"].marks == (Mark(11, 14, "PER"),)
    (document,), notes = read(TASKS, tmp_path, offsets="points")
    assert notes.counts["mark outside the text"] == 1


def test_ground_truth_on_request_is_gold_beside_its_annotator(tmp_path):
    (document,), _ = read(TASKS, tmp_path, ground_truth="gold")
    gold = [opinion for opinion in document.opinions if opinion.role == "gold"]
    assert [opinion.marks for opinion in gold] == [(Mark(0, 4, "PER"), Mark(0, 4, "ORG"))]
    assert "ann@x.org" in {opinion.annotator for opinion in document.opinions}


def test_the_later_of_two_annotations_stands_last(tmp_path):
    task = {
        "data": {"text": "ab"},
        "annotations": [
            {"completed_by": 1, "result": [span(0, 1, "a", "NEW")], "updated_at": "2024-02"},
            {"completed_by": 1, "result": [span(0, 1, "a", "OLD")], "updated_at": "2024-01"},
        ],
    }
    (document,), notes = read([task], tmp_path)
    assert [opinion.marks[0].label for opinion in document.opinions] == ["OLD", "NEW"]
    assert notes.counts == {"earlier annotation by the same annotator": 1}


def test_which_data_is_the_text(tmp_path):
    result = [{**span(0, 3, "two", "X"), "to_name": "t"}]
    task = {"id": 1, "data": {"a": "one", "b": "two"}, "annotations": [{"result": result}]}
    (document,), _ = read(task, tmp_path)
    assert document.text == "two"
    (document,), notes = read(task, tmp_path, text_key="a")
    assert document.text == "one"
    assert notes.counts == {"quoted text that differs from the text at its offsets": 1}
    task["data"] = {"a": "xxx", "b": "yyy"}
    with pytest.raises(InputError, match="which of the task's data is the text"):
        read(task, tmp_path)
    with pytest.raises(InputError, match="no text under 'c'"):
        read(task, tmp_path, text_key="c")
    task["data"] = {"text": "https://example.org/a.txt"}
    with pytest.raises(InputError, match="only its address"):
        read(task, tmp_path)


def test_two_texts_in_a_task_are_two_documents(tmp_path):
    result = [
        {**span(0, 1, "a", "X"), "to_name": "title"},
        {**span(1, 2, "d", "Y"), "to_name": "body"},
    ]
    task = {
        "id": 1,
        "data": {"title": "ab", "body": "cd"},
        "annotations": [{"completed_by": 1, "result": result}],
    }
    both, _ = read([task], tmp_path)
    assert [(one.id, one.text, one.opinions[0].marks) for one in both] == [
        ("1/title", "ab", (Mark(0, 1, "X"),)),
        ("1/body", "cd", (Mark(1, 2, "Y"),)),
    ]


def test_one_control_tag_of_several(tmp_path):
    result = [span(0, 1, "a", "X"), {**span(1, 2, "b", "Y"), "from_name": "other"}]
    task = {"id": 1, "data": {"text": "ab"}, "annotations": [{"completed_by": 1, "result": result}]}
    (document,), notes = read([task], tmp_path, control="other")
    assert document.opinions[0].marks == (Mark(1, 2, "Y"),)
    assert notes.counts == {"result of another control tag": 1}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([{"id": 1}], "no 'data' object"),
        ([1], "no 'data' object"),
        ([{"data": {"text": "a"}, "annotations": 3}], "annotations must be a list"),
        ([{"data": {"image": 3}, "annotations": []}], "holds no text"),
        (
            [
                {
                    "data": {"text": "a"},
                    "annotations": [{"result": [{"type": "choices", "value": {}}]}],
                }
            ],
            "no spans of text",
        ),
    ],
)
def test_refused_with_a_reason(value, message, tmp_path):
    with pytest.raises(InputError, match=message):
        read(value, tmp_path)


def test_options_are_checked(tmp_path):
    with pytest.raises(ParameterError, match="no option 'colour'"):
        read(TASKS, tmp_path, colour="red")
    with pytest.raises(ParameterError, match="must be 'gold'"):
        read(TASKS, tmp_path, ground_truth="yes")
    with pytest.raises(ParameterError, match="opinions must be"):
        FORMAT.write([], tmp_path / "x", Notes(), opinions="x")


def test_rows_are_joined_by_task(tmp_path):
    spans = [{"start": 0, "end": 4, "text": "Jane", "labels": ["PER"]}]
    rows = [
        {
            "text": "Jane",
            "id": 1,
            "label": spans,
            "annotator": "a@x",
            "annotation_id": 1,
            "lead_time": 1.0,
        },
        {"text": "Jim", "id": 2, "annotator": "a@x", "annotation_id": 2, "lead_time": 1.0},
        {
            "text": "Jane",
            "id": 1,
            "annotator": 5,
            "annotation_id": 3,
            "lead_time": 1.0,
            "sentiment": "Good",
        },
    ]
    made, _ = read(rows, tmp_path)
    assert facts(made) == [
        ("1", "Jane", [("5", "annotator", []), ("a@x", "annotator", [Mark(0, 4, "PER")])]),
        ("2", "Jim", [("a@x", "annotator", [])]),
    ]
    assert FORMAT.tell(Glimpse(tmp_path / "in.json")) > 0.9


@pytest.mark.parametrize("mark", [",", "\t"])
def test_tables(mark, tmp_path):
    path = tmp_path / "x.csv"
    cell = '"[{""start"":0,""end"":4,""text"":""Jane"",""labels"":[""PER""]}]"'
    rows = [
        ["annotation_id", "annotator", "id", "label", "lead_time", "text"],
        ["1", "a@x", "9", cell, "1", '"Jane\nDoe"'],
        ["2", "b@x", "9", '""', "1", '"Jane\nDoe"'],
    ]
    path.write_text("\n".join(mark.join(row) for row in rows))
    (document,) = FORMAT.read(path, Notes())
    assert document.text == "Jane\nDoe"
    assert [o.marks for o in document.opinions] == [(Mark(0, 4, "PER"),), ()]
    assert FORMAT.tell(Glimpse(path)) > 0.9
    path.write_text("\n".join(mark.join(row) for row in rows) + "\n1,2")
    with pytest.raises(InputError, match="columns where the header has 6") as caught:
        list(FORMAT.read(path, Notes()))
    assert caught.value.where == f"{path}:6"


@given(made=documents(roles=("annotator", "model"), scores=("model",)))
@QUIET
def test_round_trip_as_annotations(made, tmp_path):
    path = tmp_path / "out.json"
    assert facts(round_trip(FORMAT, made, path, opinions="annotations")) == facts(made)
    bytes_ = path.read_bytes()
    FORMAT.write(FORMAT.read(path, Notes()), path, Notes(), opinions="annotations")
    assert path.read_bytes() == bytes_
    assert FORMAT.tell(Glimpse(path)) > 0


@given(made=documents(roles=("model",), scores=("model",)))
@QUIET
def test_round_trip_as_predictions(made, tmp_path):
    assert facts(round_trip(FORMAT, made, tmp_path / "out.json")) == facts(made)


def test_gold_comes_back_as_gold(tmp_path):
    made = [Document("1", "Jane", (Opinion("ground truth", (Mark(0, 4, "PER"),), "gold"),))]
    back = round_trip(
        FORMAT, made, tmp_path / "x.json", {"ground_truth": "gold"}, opinions="ground_truth"
    )
    assert facts(back) == facts(made)


def test_data_of_the_task_is_kept_and_pieces_are_noted(tmp_path):
    made, _ = read(TASKS, tmp_path)
    notes = Notes()
    mark = Mark(0, 14, "PER", pieces=((0, 4), (11, 14)))
    made = [Document("5", made[0].text, (Opinion("m", (mark,)),), source=made[0].source)]
    FORMAT.write(made, tmp_path / "out.json", notes)
    (task,) = json.loads((tmp_path / "out.json").read_text())
    assert task["data"] == TASKS[0]["data"]
    assert [r["value"]["text"] for r in task["predictions"][0]["result"]] == ["Jane", "Bob"]
    assert notes.counts == {
        "bond between the pieces of a discontinuous mark": 1,
        "role of an opinion (annotator; written as a prediction)": 1,
    }


def test_damage(tmp_path):
    check_damage(FORMAT.read, json.dumps(TASKS).encode(), tmp_path / "x.json", 400)


def test_damaged_rows_and_tables(tmp_path):
    spans = [{"start": 0, "end": 4, "text": "Jane", "labels": ["PER"]}]
    row = {
        "text": "Jane",
        "id": 1,
        "label": spans,
        "annotator": "a",
        "annotation_id": 1,
        "lead_time": 1,
    }
    check_damage(FORMAT.read, json.dumps([row, row]).encode(), tmp_path / "x.json", 200)
    cell = '"[{""start"":0,""end"":4,""text"":""Jane"",""labels"":[""PER""]}]"'
    table = (
        f"annotation_id,annotator,id,label,lead_time,text\n1,a,9,{cell},1,Jane\n2,b,9,[],1,Jane\n"
    )
    check_damage(FORMAT.read, table.encode(), tmp_path / "x.csv", 200)


def test_a_missing_file_is_an_input_error(tmp_path):
    for path in (tmp_path / "no.json", tmp_path):
        with pytest.raises(InputError, match="cannot read the file"):
            list(FORMAT.read(path, Notes()))


@needs_fixtures
def test_real_files():
    folder = FIXTURES / "label_studio"
    refused = []
    for path in sorted(folder.rglob("*.*")):
        if path.is_dir() or path.suffix in (".xml", ".conll"):
            continue
        assert FORMAT.tell(Glimpse(path)) > 0.9, path
        try:
            made = list(FORMAT.read(path, Notes()))
        except InputError as error:
            assert "holds no spans of text" in str(error)
            refused.append(path.name)
            continue
        assert len(made) in (6, 28)
        for document in made:
            assert 2 <= len(document.opinions) <= 3
    assert len(refused) == 9


def config() -> str:
    names = ("PER", "LOC", "B-ORG", "日期", "a b", "O", "x/y,z")
    labels = "".join(f'<Label value="{name}"/>' for name in names)
    text = '<Text name="text" value="$text"/>'
    return f'<View><Labels name="label" toName="text">{labels}</Labels>{text}</View>'


@pytest.mark.tools
@given(made=documents(roles=("annotator", "model"), scores=("model",)))
@QUIET
def test_the_tool_takes_what_we_write(made, tmp_path):
    sdk = pytest.importorskip("label_studio_sdk.label_interface")
    interface = sdk.LabelInterface(config())
    for opinions in ("predictions", "annotations", "ground_truth"):
        FORMAT.write(made, tmp_path / "out.json", Notes(), opinions=opinions)
        for task in json.loads((tmp_path / "out.json").read_text()):
            assert interface.validate_task({"data": task["data"]})
            assert all(map(interface.validate_prediction, task["predictions"]))
            assert all(map(interface.validate_annotation, task["annotations"]))


@pytest.mark.tools
@pytest.mark.parametrize("kind", ["JSON_MIN", "CSV", "TSV"])
@given(made=documents(ids=st.sampled_from(["1", "2", "3"]), names=st.sampled_from(["a@x", "b@x"])))
@settings(QUIET, max_examples=15)
def test_we_read_what_the_tool_makes_of_it(made, kind, tmp_path):
    converter = pytest.importorskip("label_studio_sdk.converter")
    made = [one for one in made if one.opinions]
    if not any(opinion.marks for one in made for opinion in one.opinions):
        return
    FORMAT.write(made, tmp_path / "out.json", Notes(), opinions="annotations")
    target = tmp_path / kind
    converter.Converter(config(), project_dir=None).convert(
        str(tmp_path / "out.json"), str(target), kind, is_dir=False
    )
    (file,) = target.iterdir()
    back = list(FORMAT.read(file, Notes()))
    file.unlink()
    if kind != "JSON_MIN":  # the converter's tables lose carriage returns
        made = [one for one in made if "\r" not in one.text]
        back = [one for one in back if one.id in {kept.id for kept in made}]
    assert sorted(facts(back)) == sorted(facts(made))
