"""Shapes that the tools' users have and the fixtures do not: who is told from whom, and what is not lost."""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seqtruth import io
from seqtruth.errors import DataWarning, InputError
from seqtruth.io.documents import Document

TEXT = "IBM hired Zoë. IBM paid."
ZOE, IBM = (10, 13), (0, 3)
Marks = dict[str, list[tuple[str, str]]]


def put(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records))
    return path


def marks_of(document: Document) -> Marks:
    return {
        opinion.annotator: [(document.text[m.start : m.end], m.label) for m in opinion.marks]
        for opinion in document.opinions
    }


def read(path: Path, **options: Any) -> Marks:
    """Marks of the only document."""
    (found,) = [document for document, _ in io.read_documents(path, **options)]
    return marks_of(found)


def people(*paths: Path) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return set(io.read([str(path) for path in paths]).annotators)


# --- files of one name


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = [
        put(tmp_path / who / "all.jsonl", {"id": 1, "text": TEXT, "label": [[*place, "X"]]})
        for who, place in (("ann", ZOE), ("bob", IBM))
    ]
    assert people(*files) == {"ann", "bob"} == people(tmp_path / "*/all.jsonl") == people(tmp_path)
    with zipfile.ZipFile(tmp_path / "both.zip", "w") as archive:
        for file in files:
            archive.write(file, str(file.relative_to(tmp_path)))
    assert people(tmp_path / "both.zip") == {"ann", "bob"}
    io.convert([str(file) for file in files], tmp_path / "out.json", to="json")
    assert read(tmp_path / "out.json") == {"ann": [("Zoë", "X")], "bob": [("IBM", "X")]}


def test_parts_by_one_annotator_stay_one(tmp_path: Path) -> None:
    files = [
        put(tmp_path / part / "out.jsonl", {"text": text, "spans": [{"start": 0, "end": 2, "label": "X"}]})
        for part, text in (("one", "Ann ran."), ("two", "Nothing of the kind."))
    ]  # fmt: skip
    assert people(*files) == {"out"}


def test_a_conll_file_for_each_annotator(tmp_path: Path) -> None:
    for who, tag in (("ann", "B-X"), ("bob", "O")):
        (tmp_path / f"{who}.conll").write_text(f"IBM {tag}\nhired O\n\nZoë O\n")
    assert people(tmp_path / "ann.conll", tmp_path / "bob.conll") == {"ann", "bob"}
    (tmp_path / "more.conll").write_text("# id = x\nZoë B-X\n")
    assert people(tmp_path / "ann.conll", tmp_path / "more.conll") == {"1"}


MAE = "<T><TEXT><![CDATA[Ada ran.]]></TEXT><TAGS>{}</TAGS></T>"
GATE = (
    '<GateDocument version="3"><TextWithNodes><Node id="0"/>Ada<Node id="3"/> ran.</TextWithNodes>'
    '<AnnotationSet>{}</AnnotationSet></GateDocument>'
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("d.xml", MAE.format('<PER id="P0" spans="0~3" text="Ada" />')),
        ("d.xml", GATE.format('<Annotation Id="1" Type="PER" StartNode="0" EndNode="3"/>')),
        ("d.json", json.dumps([{"text": "Ada ran.", "entities": [[0, 3, "PER"]]}])),
        ("d.json", json.dumps([{"tokenized_text": ["Ada", "ran", "."], "ner": [[0, 0, "PER"]]}])),
        ("d.conll", "Ada B-PER\nran O\n"),
    ],
)
def test_a_folder_for_each_annotator(name: str, content: str, tmp_path: Path) -> None:
    files = [tmp_path / who / name for who in ("ann", "bob")]
    for file in files:
        file.parent.mkdir()
        file.write_text(content)
    assert people(tmp_path) == people(*files) == {"ann", "bob"}
    if name.endswith((".xml", ".json")):
        assert people(tmp_path / "ann", tmp_path / "bob") == {"ann", "bob"}


@pytest.mark.parametrize("layout", ["{who}/{part}", "{part}/{who}", "p/{who}/{part}"])
@pytest.mark.parametrize("names", [("d", "d"), ("d", "e")])
def test_brat_folders_in_folders(layout: str, names: tuple[str, str], tmp_path: Path) -> None:
    for who in ("ann", "bob"):
        for part, name, text in (("x", names[0], "Ada ran."), ("y", names[1], "Zoë slept.")):
            folder = tmp_path / layout.format(who=who, part=part)
            folder.mkdir(parents=True)
            (folder / f"{name}.txt").write_text(text)
            (folder / f"{name}.ann").write_text(f"T1\tP 0 3\t{text[:3]}\n")
    found = [document for document, _ in io.read_documents(tmp_path)]
    assert [document.text for document in found] == ["Ada ran.", "Zoë slept."]
    assert all([o.annotator for o in document.opinions] == ["ann", "bob"] for document in found)


TSV = """#FORMAT=WebAnno TSV 3.3
#T_SP=custom.Span|note|label


#Text=IBM hired Zoë.
1-1\t0-3\tIBM\t_|_\tA[1]|B[2]\t
1-2\t4-9\thired\t_\tA[1]\t
1-3\t10-13\tZoë\t_\t_\t
1-4\t13-14\t.\t_\t_\t

"""


def test_webanno_nothing_in_a_stack_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "d.tsv").write_text(TSV)
    assert read(tmp_path / "d.tsv", feature="label") == {"d": [("IBM hired", "A"), ("IBM", "B")]}


def test_webanno_a_zip_for_each_annotator(tmp_path: Path) -> None:
    for who in ("ann", "bob"):
        with zipfile.ZipFile(tmp_path / f"{who}.zip", "w") as archive:
            archive.writestr("report.tsv", TSV)
    assert people(tmp_path / "ann.zip", tmp_path / "bob.zip") == {"ann", "bob"}
    (tmp_path / "report.txt").mkdir()
    (tmp_path / "report.txt" / "eve.tsv").write_text(TSV)
    assert people(tmp_path / "report.txt") == {"eve"}


# --- Argilla as Parquet


def spans(*places: tuple[int, int]) -> list[dict[str, Any]]:
    return [{"start": start, "end": end, "label": "X"} for start, end in places]


ANN, BOB = (f"00000000-0000-0000-0000-00000000000{number}" for number in (1, 2))


def test_argilla_as_the_hub_has_it(tmp_path: Path) -> None:
    rows = [{
        "id": "1", "status": "completed", "text": TEXT, "q.responses": [spans(ZOE), spans(IBM)],
        "q.responses.users": [ANN, BOB], "q.responses.status": ["submitted", "discarded"],
        "q.suggestion": spans(IBM), "q.suggestion.score": [0.5], "q.suggestion.agent": "gliner",
    }]  # fmt: skip
    data = tmp_path / "data"
    data.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), data / "train-00000-of-00001.parquet")
    expected = {ANN: [("Zoë", "X")], "gliner": [("IBM", "X")]}
    assert read(data / "train-00000-of-00001.parquet") == read(tmp_path) == expected


@pytest.mark.parametrize("columns", [False, True])
def test_argilla_1_feedback_as_the_hub_has_it(columns: bool, tmp_path: Path) -> None:
    given: Any = [
        {"user_id": ANN, "value": spans(ZOE), "status": "submitted"},
        {"user_id": BOB, "value": [], "status": "submitted"},
    ]
    if columns:
        given = {key: [one[key] for one in given] for key in given[0]}
    row = {
        "text": TEXT, "q": given, "q-suggestion": spans(IBM),
        "q-suggestion-metadata": {"type": "model", "score": 0.5, "agent": "m"},
    }  # fmt: skip
    expected = {ANN: [("Zoë", "X")], BOB: [], "m": [("IBM", "X")]}
    assert read(put(tmp_path / "a.jsonl", row)) == expected
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == expected


def test_argilla_1_tokens_as_parquet(tmp_path: Path) -> None:
    row = {
        "text": "IBM hired", "tokens": ["IBM", "hired"], "annotation": [{**spans(IBM)[0], "score": 1.0}],
        "annotation_agent": "ann", "prediction": None, "prediction_agent": None, "id": "u",
        "metadata": {"page": 1}, "status": "Validated",
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == {"ann": [("IBM", "X")]}


@pytest.mark.parametrize("first", [True, False])
def test_argilla_suggestions_without_the_name_of_their_question(
    first: bool, tmp_path: Path
) -> None:
    said = {"fields": {"text": TEXT}, "responses": [
        {"user_id": ANN, "status": "submitted", "values": {"q": {"value": spans(ZOE)}}}]}  # fmt: skip
    guessed = {"fields": {"text": "Zoë ran."}, "responses": [], "suggestions": [
        {"question_id": "7", "value": spans(IBM), "agent": "m"}]}  # fmt: skip
    path = put(tmp_path / "a.json", [guessed, said] if first else [said, guessed])
    found = {document.text: marks_of(document) for document, _ in io.read_documents(path)}
    assert found == {TEXT: {ANN: [("Zoë", "X")]}, "Zoë ran.": {"m": [("Zoë", "X")]}}


# --- Label Studio


def result(start: int, end: int, said: str) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": said, "labels": ["X"]}
    return {"from_name": "l", "to_name": "t", "type": "labels", "value": value}


def test_label_studio_what_a_webhook_sends(tmp_path: Path) -> None:
    note = {"action": "ANNOTATION_CREATED", "task": {"id": 1, "data": {"text": TEXT}},
            "annotation": {"completed_by": 2, "result": [result(*ZOE, "Zoë")]}}  # fmt: skip
    assert read(put(tmp_path / "a.json", note)) == {"2": [("Zoë", "X")]}


def test_label_studio_tasks_without_data(tmp_path: Path) -> None:
    task = {"text": TEXT, "annotations": [{"completed_by": 2, "result": [result(*ZOE, "Zoë")]}]}
    assert read(put(tmp_path / "a.json", [task])) == {"2": [("Zoë", "X")]}


def test_label_studio_line_ends_that_count_as_one(tmp_path: Path) -> None:
    task = {"data": {"text": "Ada ran.\r\nZoë slept."}, "annotations": [
        {"completed_by": 2, "result": [result(9, 12, "Zoë")]},
        {"completed_by": 3, "result": [result(10, 13, "Zoë")]}]}  # fmt: skip
    assert read(put(tmp_path / "a.json", [task])) == {"2": [("Zoë", "X")], "3": [("Zoë", "X")]}


# --- language models


ANSWERS = [
    "[{'text': 'Zoë', 'label': 'PER', 'why': None}]",
    '[{"text": "Zoë", "label": "PER"},]',
    "<think>[no?]</think> Here: [{“text”: “Zoë”, “label”: “PER”}]",
    {"choices": [{"message": {"role": "assistant", "content": '{"PER": ["Zoë"]}'}}]},
    {"body": {"role": "assistant", "content": [{"type": "text", "text": '{"PER": ["Zoë"]}'}]}},
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_answers_that_are_nearly_json(answer: Any, tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", {"id": 1, "text": TEXT, "model": "m", "answer": answer})
    assert read(path) == {"m": [("Zoë", "PER")]}


def test_answers_in_a_table(tmp_path: Path) -> None:
    rows = [
        "id,text,model,answer",
        f'1,{TEXT},m,"[{{""text"": ""Zoë"", ""label"": ""PER""}}]"',
        f"1,{TEXT},n,[]",
    ]
    (tmp_path / "a.csv").write_text("\n".join(rows))
    assert read(tmp_path / "a.csv") == {"m": [("Zoë", "PER")], "n": []}


def test_an_answer_that_breaks_off_is_called_that(tmp_path: Path) -> None:
    whole, cut = '[{"text": "Zoë", "label": "PER"}]', '[{"text": "Zoë", "label": "PER"}, {"te'
    path = put(tmp_path / "a.jsonl", {"id": 1, "text": TEXT, "models": {"m": whole, "n": cut}})
    ((document, notes),) = io.read_documents(path)
    assert marks_of(document) == {"m": [("Zoë", "PER")]}
    assert "unreadable answer (JSON that is damaged or breaks off) of n" in notes.lines()[0]


@pytest.mark.parametrize(
    "first",
    [
        {"models": {"m": [], "n": []}},
        {"model": "m", "entities": []},
        {"model": "m", "answer": "[]"},
    ],
)
def test_a_first_text_in_which_nobody_found_anything(first: Any, tmp_path: Path) -> None:
    path = put(tmp_path / "a.jsonl", {"id": 1, "text": "No names.", **first})
    assert set(read(path)) <= {"m", "n"} and io.detect_format(path) == "language-models"


# --- JSON of one's own


def test_a_column_of_tags_for_each_annotator_whatever_it_is_called(tmp_path: Path) -> None:
    row = {"tokens": ["IBM", "hired"], "ann": ["B-ORG", "O"], "bob": ["O", "O"]}
    assert read(put(tmp_path / "a.jsonl", row)) == {"ann": [("IBM", "ORG")], "bob": []}


def test_files_of_no_format_are_not_called_ours(tmp_path: Path) -> None:
    for record, said in (
        ({"id": 1, "text": TEXT, "label": ["positive"]}, "labels of whole texts"),
        ({"text": TEXT, "annotation_sets": {}}, "a document of gatenlp"),
        ({"text": TEXT, "entities": {"Person": [{"indices": [0, 3]}]}}, "keys text, entities"),
    ):
        with pytest.raises(InputError, match=said):
            io.read(put(tmp_path / "a.jsonl", record))
