"""Shapes of files that were read wrongly, or refused, until somebody tried them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seqtruth import io
from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes

TEXT = "Jane Roe met Zoë 😀 in Bonn."


def put(path: Path, *records: Any) -> Path:
    """A file of text, or of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (one if isinstance(one, str) else json.dumps(one) for one in records)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def read(path: Path, **options: Any) -> tuple[list[Document], Notes]:
    found = list(io.read_documents(path, **options))
    return [document for document, _ in found], found[-1][1]


def said(document: Document) -> dict[str, list[tuple[str, str]]]:
    """What each one marked: words and labels."""
    return {
        opinion.annotator: [(document.text[m.start : m.end], m.label) for m in opinion.marks]
        for opinion in document.opinions
    }


def test_prodigy_without_hashes_keeps_rejected_answers_out(tmp_path: Path) -> None:
    span = {"start": 0, "end": 8, "label": "PER"}
    answers = [
        {"text": f"{TEXT} {answer}", "spans": [span], "answer": answer}
        for answer in ("accept", "reject", "ignore")
    ]
    documents, notes = read(put(tmp_path / "ann.jsonl", *answers))
    assert io.detect_format(tmp_path / "ann.jsonl") == "prodigy"
    assert [len(document.opinions) for document in documents] == [1, 0, 0]
    assert notes.counts == {"rejected answer": 1, "ignored answer": 1}


def test_tags_of_a_whole_sentence_in_a_cell_are_no_tag(tmp_path: Path) -> None:
    path = put(tmp_path / "ann.csv", "text,labels", "Jane ran,B-PER O", "Bob sat,B-PER O")
    documents, _ = read(path)
    assert [said(one) for one in documents] == [
        {"ann": [("Jane", "PER")]},
        {"ann": [("Bob", "PER")]},
    ]


def test_an_end_that_is_the_last_character_is_known_by_the_quote(tmp_path: Path) -> None:
    spans = [
        {"start": 0, "end": 7, "text": "Jane Roe", "label": "PER"},
        {"start": 22, "end": 26, "text": "Bonn", "label": "LOC"},  # UTF-16 units
        {"start": 9, "end": 12, "text": "saw", "label": "V"},
    ]
    documents, notes = read(put(tmp_path / "ann.jsonl", {"text": TEXT, "entities": spans}))
    assert said(documents[0])["ann"] == [("Jane Roe", "PER"), ("Bonn", "LOC"), ("met", "V")]
    assert notes.counts == {"quoted text that differs from the text at its offsets": 1}


def test_dataturks(tmp_path: Path) -> None:
    point = {"start": 0, "end": 7, "text": "Jane Roe"}
    label = {"label": ["PER"], "points": [point]}
    record = {"content": TEXT, "annotation": [label], "extras": None}
    documents, _ = read(put(tmp_path / "ann.json", record))
    assert said(documents[0]) == {"ann": [("Jane Roe", "PER")]}


def test_a_column_of_spans_for_each_annotator(tmp_path: Path) -> None:
    wanted = {"ann": [("Jane Roe", "PER")], "bob": []}
    record = {"id": 1, "text": TEXT, "ann": [{"start": 0, "end": 8, "label": "PER"}], "bob": []}
    documents, _ = read(put(tmp_path / "wide.jsonl", record))
    assert said(documents[0]) == wanted
    row = f"""1,{TEXT},"[(0, 8, 'PER')]",[]"""
    documents, _ = read(put(tmp_path / "wide.csv", "id,text,ann,bob", row, f"2,{TEXT} 2,,[]"))
    assert [said(one) for one in documents] == [wanted, {"bob": []}]


def test_a_row_for_each_quote(tmp_path: Path) -> None:
    header, *rows = "id,text,model,quote,label", "7,Jane met Bob.,gpt,Jane,PER", "7,,gpt,Bob,PER"
    path = put(tmp_path / "answers.csv", header, *rows, "7,,llama,,", "7,,eve,Paris,LOC")
    documents, notes = read(path)
    names = [("Jane", "PER"), ("Bob", "PER")]
    assert [said(one) for one in documents] == [{"gpt": names, "llama": [], "eve": []}]
    assert notes.counts == {"invented quote (not in the text) of eve": 1}


def test_quotes_under_the_names_of_models(tmp_path: Path) -> None:
    record = {"text": TEXT, "gpt": [{"text": "Jane Roe", "label": "PER"}], "llama": [], "eve": None}
    documents, _ = read(put(tmp_path / "answers.jsonl", record))
    assert said(documents[0]) == {"gpt": [("Jane Roe", "PER")], "llama": []}
    assert {opinion.role for opinion in documents[0].opinions} == {"model"}


def result(start: int, end: int, label: str, **more: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, "labels": [label]}
    return {"from_name": "ner", "to_name": "text", "type": "labels", "value": value, **more}


def task(data: dict[str, str], *results: dict[str, Any]) -> dict[str, Any]:
    return {"id": 7, "data": data, "annotations": [{"completed_by": 1, "result": list(results)}]}


def test_label_studio_tasks_with_two_texts_come_back_as_they_were(tmp_path: Path) -> None:
    first = result(0, 4, "PER", to_name="left")
    second = result(0, 3, "PER", to_name="right")
    both = task({"left": "Jane ran", "right": "Bob sat"}, first, second)
    io.convert(put(tmp_path / "in.json", [both]), tmp_path / "out.json", to="label-studio")
    (written,) = json.loads((tmp_path / "out.json").read_text())
    assert (written["id"], written["data"]) == (7, both["data"])
    (prediction,) = written["predictions"]
    marked = [(one["to_name"], one["value"]["text"]) for one in prediction["result"]]
    assert marked == [("left", "Jane"), ("right", "Bob")]
    assert len({one["id"] for one in prediction["result"]}) == 2
    documents, _ = read(tmp_path / "out.json")
    assert [document.id for document in documents] == ["7/left", "7/right"]


def test_a_taxonomy_that_labels_stretches(tmp_path: Path) -> None:
    value = {"start": 0, "end": 8, "text": "Jane Roe", "taxonomy": [["Agent", "Person"]]}
    named = {"from_name": "kind", "to_name": "text", "type": "taxonomy", "value": value}
    of_its_own = task({"text": TEXT}, {"id": "a", **named})
    attribute = task({"text": TEXT}, result(0, 8, "PER", id="a"), {"id": "a", **named})
    documents, _ = read(put(tmp_path / "in.json", [of_its_own]))
    assert said(documents[0]) == {"1": [("Jane Roe", "Agent/Person")]}
    io.convert(tmp_path / "in.json", tmp_path / "out.json", to="label-studio")
    (written,) = json.loads((tmp_path / "out.json").read_text())[0]["predictions"][0]["result"]
    assert (written["from_name"], written["type"], written["value"]) == ("kind", "taxonomy", value)
    documents, notes = read(put(tmp_path / "attribute.json", [attribute]))
    assert said(documents[0]) == {"1": [("Jane Roe", "PER")]}
    assert notes.counts == {"attribute of a mark ('taxonomy')": 1}


def test_control_tags_of_json_min(tmp_path: Path) -> None:
    spans = (
        [{"start": 0, "end": 8, "labels": ["PER"]}],
        [{"start": 23, "end": 27, "labels": ["LOC"]}],
    )
    beside = {"annotator": 1, "annotation_id": 5, "lead_time": 1.0, "updated_at": "2024-01-01"}
    row = {"id": 7, "text": TEXT, "who": spans[0], "where": spans[1], **beside}
    path = put(tmp_path / "min.json", [row])
    documents, notes = read(path, control="where")
    assert [m.label for m in documents[0].opinions[0].marks] == ["LOC"]
    assert notes.counts == {"result of another control tag": 1}
    io.convert(path, tmp_path / "out.json", to="label-studio")
    (written,) = json.loads((tmp_path / "out.json").read_text())[0]["predictions"]
    assert [one["from_name"] for one in written["result"]] == ["who", "where"]


def test_digits_glued_to_the_curator_are_none_of_the_name(tmp_path: Path) -> None:
    lines = [
        "#FORMAT=WebAnno TSV 3.3",
        "#T_SP=custom.NE|value",
        "",
        "",
        "#Text=Ann",
        "1-1\t0-3\tAnn\tPER\t",
    ]
    for name in (
        "annotation/d.txt/ann",
        "curation/d.txt/CURATION_USER23948",
        "annotation/d.txt/INITIAL_CAS77",
    ):
        put(tmp_path / "project" / f"{name}.tsv", *lines)
    put(tmp_path / "project" / "exportedproject1.json", "{}")
    documents, _ = read(tmp_path / "project")
    opinions = {opinion.annotator: opinion.role for opinion in documents[0].opinions}
    assert opinions == {"ann": "annotator", "CURATION_USER": "gold"}


REPORT = "_unit_id,_worker_id,_tainted,words,text"


def test_figure_eight_without_test_questions(tmp_path: Path) -> None:
    rows = ['1,ann,false,"[""Jane""]",Jane met Bob.', "1,bob,false,[],Jane met Bob."]
    documents, _ = read(put(tmp_path / "full.csv", REPORT, *rows))
    assert said(documents[0]) == {"ann": [("Jane", "words")], "bob": []}


def test_spans_of_appens_text_annotation(tmp_path: Path) -> None:
    tokens = [
        {"text": "Jane", "startIdx": 0, "endIdx": 4},
        {"text": "Roe", "startIdx": 5, "endIdx": 8},
    ]
    cell = json.dumps([{"classname": "PER", "tokens": tokens}]).replace('"', '""')
    documents, _ = read(put(tmp_path / "full.csv", REPORT, f'1,ann,false,"{cell}",Jane Roe ran.'))
    assert said(documents[0]) == {"ann": [("Jane Roe", "PER")]}
    link = '"{""url"": ""https://example.org/1""}"'
    with pytest.raises(InputError, match="links to results that are not in the file"):
        put(tmp_path / "links.csv", REPORT + ",words_gold", f"1,ann,false,{link},Jane Roe ran.,")
        read(tmp_path / "links.csv")


def test_mturk_without_entities_is_refused(tmp_path: Path) -> None:
    path = put(
        tmp_path / "batch.csv", "HITId,WorkerId,Input.text,Answer.label", "1,w,Jane ran.,PER"
    )
    with pytest.raises(
        InputError, match=r"no assignment has an answer with entities.*Answer\.label"
    ):
        read(path)


def test_a1_and_a2_of_bionlp_are_an_ann(tmp_path: Path) -> None:
    put(tmp_path / "set/1.txt", "IL2 binds STAT")
    put(tmp_path / "set/1.a1", "T1\tProtein 0 3\tIL2")
    put(tmp_path / "set/1.a2", "T2\tBinding 4 9\tbinds", "E1\tBinding:T2 Theme:T1")
    documents, notes = read(tmp_path / "set")
    assert said(documents[0]) == {"set": [("IL2", "Protein"), ("binds", "Binding")]}
    assert notes.counts == {"event": 1}


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("x.tar", b"\0" * 257 + b"ustar", "an archive that is not opened here"),
        ("x.7z", b"7z\xbc\xaf\x27\x1c", "an archive that is not opened here"),
        ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file"),
        ("x.png", b"\x89PNG\r\n", "a picture"),
        (
            "x.bdocjs",
            b'{"annotation_sets": {}, "text": "", "features": {}}',
            "a document of gatenlp",
        ),
        (
            "train.py",
            b"TRAIN = [('Jane ran', {'entities': [(0, 4, 'PER')]})]",
            "cannot tell the format",
        ),
    ],
)
def test_files_of_other_kinds_are_called_that(
    tmp_path: Path, name: str, data: bytes, what: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=what):
        read(tmp_path / name)


def test_what_is_empty_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    zipfile.ZipFile(tmp_path / "x.zip", "w").close()
    for name, what in (("folder", "the folder is empty"), ("x.zip", "the archive is empty")):
        with pytest.raises(InputError, match=what):
            read(tmp_path / name)


TAGS = ["O", "B-PER", "I-PER"]


def parquet(path: Path, rows: list[dict[str, Any]], **names: list[str]) -> Path:
    """A file as ``datasets`` writes it, with the names of numbers in the schema."""
    table = pa.Table.from_pylist(rows)
    kinds = {column: {"names": said, "_type": "ClassLabel"} for column, said in names.items()}
    info = json.dumps({"info": {"features": kinds}})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({"huggingface": info}), path)
    return path


def test_a_dataset_of_several_files_is_by_one(tmp_path: Path) -> None:
    for split in ("train", "test"):
        rows = [{"id": f"{split}-1", "tokens": ["Jane", "ran"], "ner_tags": [1, 0]}]
        path = tmp_path / "news/data" / f"{split}-00000-of-00001.parquet"
        parquet(path, rows, ner_tags=TAGS)
    documents, _ = read(tmp_path / "news")
    assert [said(one) for one in documents] == [{"news": [("Jane", "PER")]}] * 2


def test_parquet_files_of_annotators_in_a_folder(tmp_path: Path) -> None:
    for who in ("ann", "bob"):
        rows = [{"tokens": ["Jane", "ran"], "ner_tags": [1, 0]}]
        parquet(tmp_path / f"both/{who}.parquet", rows, ner_tags=TAGS)
    crowd = io.read(tmp_path / "both")
    assert (crowd.annotators, crowd.n_sentences) == (("ann", "bob"), 1)


def test_annotators_may_be_numbers_with_names(tmp_path: Path) -> None:
    rows = [
        {"doc_id": 1, "annotator": who, "tokens": ["Jane"], "labels": [1 - who]} for who in (0, 1)
    ]
    path = parquet(tmp_path / "rows.parquet", rows, annotator=["ann", "bob"], labels=TAGS)
    documents, _ = read(path)
    assert said(documents[0]) == {"ann": [("Jane", "PER")], "bob": []}


def test_a_column_of_gold_beside_those_of_annotators(tmp_path: Path) -> None:
    tagged = {
        "tokens": ["Jane"],
        "ner_tags_ann": ["B-PER"],
        "ner_tags_bob": ["O"],
        "gold": ["B-PER"],
    }
    span = [{"start": 0, "end": 4, "label": "PER"}]
    marked = {"text": "Jane", "spans_ann": span, "spans_bob": [], "gold": span}
    for number, record in enumerate((tagged, marked)):
        documents, _ = read(put(tmp_path / f"{number}.jsonl", record))
        roles = {opinion.annotator: opinion.role for opinion in documents[0].opinions}
        assert roles == {"ann": "annotator", "bob": "annotator", "gold": "gold"}


def test_labels_go_back_under_the_names_they_were_read_from(tmp_path: Path) -> None:
    answer = {"value": [{"start": 0, "end": 3, "label": "PER"}], "user_id": "u"}
    fields = {"title": "News", "body": "Ann ran"}
    record = {"id": "1", "fields": fields, "responses": {"ner": [answer]}, "suggestions": {}}
    path = put(tmp_path / "argilla.json", [record])
    io.convert(path, tmp_path / "out.json", to="argilla", read_options={"field": "body"})
    (written,) = json.loads((tmp_path / "out.json").read_text())
    assert written["fields"] == fields
    assert list(written["responses"]) == ["ner"]

    header = ["#FORMAT=WebAnno TSV 3.3", "#T_SP=webanno.custom.Who|kind", "", "", "#Text=Ann"]
    path = put(tmp_path / "ann.tsv", *header, "1-1\t0-3\tAnn\tPER\t")
    for name in ("out.tsv", "out.xmi"):
        to = "webanno-tsv" if name == "out.tsv" else "cas-xmi"
        io.convert(path, tmp_path / name, to=to)
        documents, _ = read(tmp_path / name, layer="webanno.custom.Who", feature="kind")
        assert said(documents[0]) == {"out": [("Ann", "PER")]}

    tags = '<PER id="P0" spans="0~3" text="Ann" />'
    path = put(tmp_path / "d_ann.xml", f"<Task><TEXT>Ann</TEXT><TAGS>{tags}</TAGS></Task>")
    io.convert(path, tmp_path / "out", to="mae")
    assert "</TAGS>\n</Task>" in (tmp_path / "out" / "d_ann.xml").read_text()


def test_what_stands_beside_a_text_comes_back(tmp_path: Path) -> None:
    record = {"id": 5, "text": "Ann ran", "label": [[0, 3, "PER"]], "page": 7, "by": "Zoë"}
    io.convert(put(tmp_path / "ann.jsonl", record), tmp_path / "out.jsonl", to="doccano")
    assert json.loads((tmp_path / "out.jsonl").read_text()) == record
    line = {
        "text": "Ann ran",
        "meta": {"page": 7},
        "answer": "accept",
        "_input_hash": 5,
        "spans": [],
    }
    io.convert(put(tmp_path / "in.jsonl", line), tmp_path / "back.jsonl", to="prodigy")
    assert json.loads((tmp_path / "back.jsonl").read_text())["meta"] == {"page": 7}
