"""What each tool's file means, on small files in the tools' shapes."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seqtruth.errors import InputError, SeqTruthError
from seqtruth.io.documents import Document, Mark
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats import (
    figure_eight,
    gliner,
    huggingface,
    lighttag,
    mturk,
    own_json,
    sagemaker,
    span_table,
    tagtog,
    wide_table,
    wrench,
)
from tests.io.formats import small_files as small
from tests.io.formats.drawn_documents import read

FORMATS = (
    huggingface.FORMAT,
    wrench.FORMAT,
    mturk.FORMAT,
    figure_eight.FORMAT,
    sagemaker.FORMAT,
    lighttag.FORMAT,
    tagtog.FORMAT,
    gliner.FORMAT,
    own_json.FORMAT,
    span_table.FORMAT,
    wide_table.FORMAT,
)


def said(document: Document) -> dict[str, list[tuple[str, str]]]:
    """Who marked which words with which label."""
    return {
        o.annotator: [(document.text[m.start : m.end], m.label) for m in o.marks]
        for o in document.opinions
    }


def roles(document: Document) -> dict[str, str]:
    return {opinion.annotator: opinion.role for opinion in document.opinions}


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_mturk(tmp_path: Path) -> None:
    (one, two), notes = read(mturk.FORMAT, put(tmp_path, "batch.csv", small.MTURK))
    assert one.id == "H1"
    assert said(one) == {
        "w1": [("Ann Lee", "PER"), ("Bob", "PER")],
        "w2": [("Rome", "LOC")],
        "w1#2": [],
    }
    assert one.opinions[0].time == "2023-01-17T05:05:14-08:00"
    assert said(two) == {"w1": []}
    assert notes.counts == {
        "rejected assignment": 2,
        "mark outside the text": 1,
        "identity of a worker with several assignments on a document": 1,
    }
    (one, _), _ = read(
        mturk.FORMAT, tmp_path / "batch.csv", rejected="keep", annotator="AssignmentId"
    )
    assert list(said(one)) == ["A1", "A2", "A3", "A4", "A5"]


def test_sagemaker(tmp_path: Path) -> None:
    (one, two), notes = read(sagemaker.FORMAT, put(tmp_path, "x.manifest", small.MANIFEST))
    assert one.opinions[0].marks == (Mark(2, 9, "PER", score=0.75),)
    assert roles(one) == {"ner": "gold"}
    assert two.opinions == ()
    assert notes.counts == {"failed labelling": 1}
    (document,), _ = read(sagemaker.FORMAT, put(tmp_path, "request.json", small.REQUEST))
    assert document.id == "5"
    assert said(document) == {"w1": [("Ann Lee", "PER")], "w2": []}


def test_sagemaker_folder(tmp_path: Path) -> None:
    put(tmp_path, "job/manifests/output/output.manifest", small.MANIFEST)
    response = {"answers": [{"workerId": "w9", "answerContent": small.answer((3, 6, "PER"))[0]}]}
    name = "job/annotations/worker-response/iteration-1/1/2020.json"
    put(tmp_path, name, json.dumps(response).encode())
    assert sagemaker.tell(Glimpse(tmp_path / "job")) > 0.9
    (one, two), _ = read(sagemaker.FORMAT, tmp_path / "job")
    assert list(said(one)) == ["ner"]
    assert said(two) == {"w9": [("luc", "PER")]}
    with pytest.raises(InputError, match="does not hold the text; give the job's output folder"):
        read(sagemaker.FORMAT, tmp_path / name)


def test_lighttag(tmp_path: Path) -> None:
    (document,), notes = read(lighttag.FORMAT, put(tmp_path, "x.json", small.LIGHTTAG))
    assert said(document) == {
        "ann": [("Ann Lee", "PER"), ("Rome", "LOC")],
        "bob": [("Ann Lee", "PER")],
        "eve": [],
        "review": [("Ann Lee", "PER")],
    }
    assert roles(document)["review"] == "gold"
    assert document.opinions[0].time == "2020-07-27T20:42:03"
    assert notes.counts == {"relation": 1, "label of the whole document": 1}


def test_tagtog_export(tmp_path: Path) -> None:
    ann = small.tagtog_ann(
        small.tagtog_entity("e_1", "s1p1", 3, "Ann Lee", "user:ann"),
        small.tagtog_entity("e_2", "s1h1", 0, "News & more", "ml:model"),
        small.tagtog_entity("e_9", "s1p1", 5, "Rome", "user:ann"),
    )
    put(tmp_path, "ann.json/master/pool/doc.ann.json", ann)
    put(tmp_path, "plain.html/pool/doc.plain.html", small.TAGTOG_HTML)
    put(tmp_path, "annotations-legend.json", small.TAGTOG_LEGEND)
    (document,), notes = read(tagtog.FORMAT, tmp_path)
    assert document.text == "News & more\n" + small.TEXT
    assert said(document) == {"ann": [("Ann Lee", "Person")], "model": [("News & more", "Place")]}
    assert roles(document)["model"] == "model"
    assert notes.counts == {"mark whose words do not stand where it says": 1}
    put(tmp_path, "ann.json/members/bob/pool/doc.ann.json", small.tagtog_ann())
    (document,), _ = read(tagtog.FORMAT, tmp_path)
    assert roles(document) == {"master": "gold", "bob": "annotator"}
    assert said(document)["bob"] == []


def test_tagtog_beside_a_text(tmp_path: Path) -> None:
    entity = small.tagtog_entity("e_1", "s1v1", 4, "Lee", "user:ann")
    content = json.loads(small.tagtog_ann(entity)) | {"annotatable": {"parts": ["s1v1"]}}
    path = put(tmp_path, "doc.ann.json", json.dumps(content).encode())
    with pytest.raises(InputError, match=r"the text is not in an \.ann\.json file"):
        read(tagtog.FORMAT, path)
    put(tmp_path, "doc.txt", b"Ann Lee ran")
    (document,), _ = read(tagtog.FORMAT, path)
    assert said(document) == {"ann": [("Lee", "e_1")]}


def test_figure_eight_csv(tmp_path: Path) -> None:
    (one, two), notes = read(figure_eight.FORMAT, put(tmp_path, "f.csv", small.FIGURE_EIGHT_CSV))
    assert said(one) == {"w1": [("Ann Lee", "names"), ("Bob", "names")], "w2": []}
    assert one.opinions[0].time == "2018-09-03T15:14:10"
    assert notes.counts == {
        "tainted judgment": 1,
        "answer unsure (not a list of quotes)": 1,
        "quote that is not in the text": 1,
        "quote with several places (taken: the first)": 3,
    }
    assert [(m.start, m.end) for m in two.opinions[0].marks] == [(0, 3), (4, 7)]
    assert roles(two) == {"w1": "annotator", "gold": "gold"}
    (_, two), _ = read(figure_eight.FORMAT, tmp_path / "f.csv", ambiguous="all", label="PER")
    assert len(two.opinions[0].marks) == 5
    assert two.opinions[0].marks[0].label == "PER"


def test_figure_eight_json(tmp_path: Path) -> None:
    (document,), notes = read(figure_eight.FORMAT, put(tmp_path, "f.json", small.FIGURE_EIGHT_JSON))
    assert said(document) == {"1": [("Ann Lee", "names"), ("Bob", "names")], "2": []}
    assert document.tokens == ((0, 3), (4, 7), (8, 11), (12, 15))
    assert notes.counts == {"tainted judgment": 1, "answer found (not a list of marks)": 2}


def test_wrench(tmp_path: Path) -> None:
    put(tmp_path, "meta.json", small.WRENCH_META)
    path = put(tmp_path, "train.json", small.WRENCH)
    (document,), _ = read(wrench.FORMAT, path)
    assert said(document) == {
        "names": [("Ann", "PER")],
        "places": [("ran", "LOC")],
        "gold": [("Ann Lee", "PER")],
    }
    assert roles(document)["gold"] == "gold"
    assert read(wrench.FORMAT, tmp_path)[0][0].opinions == document.opinions
    (tmp_path / "meta.json").unlink()
    (document,), _ = read(wrench.FORMAT, path)
    assert list(said(document)) == ["lf0", "lf1", "gold"]


def test_wrench_numbers_and_abstaining(tmp_path: Path) -> None:
    put(tmp_path, "label.json", b'{"0": "O", "1": "B-X", "2": "I-X"}')
    item = {"data": {"text": ["a", "b"]}, "weak_labels": [[1, -1, -1], [2, 0, -1]]}
    (document,), _ = read(wrench.FORMAT, put(tmp_path, "t.json", json.dumps({"k": item}).encode()))
    assert said(document) == {"lf0": [("a b", "X")], "lf1": []}
    assert document.opinions[1].seen == ((2, 3),)


def test_gliner(tmp_path: Path) -> None:
    (one, two), notes = read(gliner.FORMAT, put(tmp_path, "ann.json", small.GLINER))
    assert one.text == "Ann Lee ran"
    assert said(one) == {"ann": [("Ann Lee", "person"), ("ran", "act")]}
    assert said(two) == {"ann": []}
    assert notes.counts == {"empty token": 1, "mark outside the text": 1}


def test_huggingface_lines_need_names(tmp_path: Path) -> None:
    path = put(tmp_path, "train.jsonl", small.HF_LINES)
    with pytest.raises(InputError, match=r"the labels are numbers.*give names=O,B-PER"):
        read(huggingface.FORMAT, path)
    (one, two), _ = read(huggingface.FORMAT, path, names="O,B-PER,I-PER")
    assert said(one) == {"1": [("Ann", "PER")], "2": []}
    assert one.opinions[1].seen == ((0, 3),)
    assert said(two) == {"1": [("Bob", "PER")]}


def _dataset(**columns: Any) -> tuple[pa.Table, dict[str, Any]]:
    label = {"names": ["O", "B-PER", "I-PER"], "_type": "ClassLabel"}
    features = {name: {"feature": label, "_type": "List"} for name in columns if "tags" in name}
    table = pa.table(columns).replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )
    return table, features


@pytest.mark.parametrize("kind", ["parquet", "stream", "file", "folder", "splits", "hub"])
def test_huggingface_names_come_from_the_schema(tmp_path: Path, kind: str) -> None:
    table, features = _dataset(id=["7"], tokens=[["Ann", "Lee"]], ner_tags=[[1, 2]])
    path = tmp_path / ("data" if kind in ("folder", "splits", "hub") else "train.x")
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind in ("stream", "file"):
        opened = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with opened(path, table.schema) as writer:
            writer.write_table(table)
    elif kind == "hub":
        for split in ("train", "test"):
            (path / "data").mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path / "data" / f"{split}-00000-of-00001.parquet")
    else:
        for split in ("train", "test") if kind == "splits" else ("",):
            (path / split).mkdir(parents=True)
            plain = table.replace_schema_metadata(None)
            with pa.ipc.new_stream(
                path / split / "data-00000-of-00001.arrow", plain.schema
            ) as writer:
                writer.write_table(plain)
            state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}
            put(path, f"{split}/state.json".lstrip("/"), json.dumps(state).encode())
            put(
                path,
                f"{split}/dataset_info.json".lstrip("/"),
                json.dumps({"features": features}).encode(),
            )
    assert huggingface.tell(Glimpse(path)) >= 0.95
    documents, _ = read(huggingface.FORMAT, path)
    expected = {"splits": ["test/7", "train/7"], "hub": ["test/7", "train/7"]}
    assert [document.id for document in documents] == expected.get(kind, ["7"])
    assert list(said(documents[0]).values()) == [[("Ann Lee", "PER")]]
    if kind in ("splits", "hub"):
        (document,), _ = read(huggingface.FORMAT, path, subset="test")
        assert document.id == "7"


def test_huggingface_row_per_annotator(tmp_path: Path) -> None:
    table, _ = _dataset(
        id=["1", "2", "1"],
        annotator=["a", "a", "b"],
        tokens=[["Ann"], ["x"], ["Ann"]],
        tags=[[1], [0], [0]],
    )
    pq.write_table(table, tmp_path / "x.parquet")
    (one, two), _ = read(huggingface.FORMAT, tmp_path / "x.parquet")
    assert said(one) == {"a": [("Ann", "PER")], "b": []}
    assert said(two) == {"a": []}


def test_huggingface_state_names_nothing_outside(tmp_path: Path) -> None:
    table, _ = _dataset(tokens=[["Ann"]], tags=[[1]])
    with pa.ipc.new_stream(tmp_path / "secret.arrow", table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "set").mkdir()
    with pa.ipc.new_stream(tmp_path / "set" / "a.arrow", table.schema) as writer:
        writer.write_table(table)
    put(tmp_path, "set/state.json", b'{"_data_files": [{"filename": "../secret.arrow"}]}')
    assert read(huggingface.FORMAT, tmp_path / "set")[0] == []


def test_json_tags(tmp_path: Path) -> None:
    (one, two), _ = read(own_json.FORMAT, put(tmp_path, "gold.json", small.JSON_TAGS))
    assert one.text == "Ann ran"
    assert one.tokens == ((0, 3), (4, 7))
    assert said(one) == {"gold": [("Ann", "PER")]}
    assert roles(one) == {"gold": "gold"}
    assert said(two) == {"gold": []}


def test_json_spans(tmp_path: Path) -> None:
    documents, notes = read(own_json.FORMAT, put(tmp_path, "ann.jsonl", small.JSON_SPANS))
    assert [said(document) for document in documents] == [
        {"ann": [("Ann", "PER")]},
        {"ann": [("Bob", "PER"), ("ran", "LOC")]},
        {"ann": [], "gold": [("Eve", "PER")]},
        {"ann": [("Zoe", "PER")]},
        {"u7": [("Max", "PER")]},
    ]
    assert documents[0].opinions[0].marks[0].score == 0.5
    assert not notes.counts


@pytest.mark.parametrize(
    "key", ["tags", "ner_tags", "labels", "label", "ner", "bio_tags", "entities"]
)
def test_json_gold_in_the_obvious_shape(tmp_path: Path, key: str) -> None:
    content = json.dumps({"tokens": ["Ann", "ran"], key: ["B-PER", "O"]}).encode()
    (document,), _ = read(own_json.FORMAT, put(tmp_path, "x.jsonl", content))
    assert said(document) == {"x": [("Ann", "PER")]}
    assert own_json.tell(Glimpse(tmp_path / "x.jsonl")) > 0


def test_json_columns_by_annotator(tmp_path: Path) -> None:
    record = {
        "id": "1",
        "tokens": ["Ann"],
        "pos_tags": ["N"],
        "chunk_tags": ["B-NP"],
        "tags": ["O"],
        "tags_bob": ["B-PER"],
        "tags_Zoë K": ["O"],
    }
    (document,), _ = read(own_json.FORMAT, put(tmp_path, "x.json", json.dumps(record).encode()))
    assert said(document) == {"x": [], "bob": [("Ann", "PER")], "Zoë K": []}
    assert roles(document)["x"] == "gold"  # what the others were merged into


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"tokens": ["a", "b"], "tags": ["O"]}, "one tag for each token; got 1 tags for 2 tokens"),
        ({"tokens": ["a", "b"], "spans": [[0, 1, "X"]]}, "spans may count tokens or characters"),
        ({"a": 1}, "neither a text nor a list of tokens; got keys a; name the column"),
        ({"tokens": [1], "tags": ["O"]}, "each of the tokens must be a text; got 1"),
        ([1], "a record must be an object"),
    ],
)
def test_json_faults(tmp_path: Path, record: Any, message: str) -> None:
    path = put(tmp_path, "x.jsonl", json.dumps([record]).encode())
    with pytest.raises(InputError, match=message) as caught:
        read(own_json.FORMAT, path)
    assert str(caught.value).startswith(f"{path}:1: ")


def test_json_same_id_twice(tmp_path: Path) -> None:
    path = put(tmp_path, "x.jsonl", b'{"id": 1, "text": "a", "spans": []}\n' * 2)
    with pytest.raises(InputError, match="annotator_column="):
        read(own_json.FORMAT, path)


@pytest.mark.parametrize(
    "content",
    [
        {"data": [{"id": "a", "text": "Ann", "spans": [[0, 3, "P"]]}], "version": 1},
        {"a": {"text": "Ann", "entities": [{"offset": 0, "length": 3, "category": "P"}]}},
        [{"id": "a", "words": ["Ann"], "annotators": {"x": ["B-P"]}}],
        {"id": "a", "text": "Ann", "annotations": [{"annotator": "x", "labels": [[0, 3, "P"]]}]},
    ],
)
def test_json_wrappings(tmp_path: Path, content: Any) -> None:
    path = put(tmp_path, "x.json", json.dumps(content).encode())
    assert own_json.tell(Glimpse(path)) >= 0.4
    (document,), _ = read(own_json.FORMAT, path)
    assert document.id == "a"
    assert said(document) == {"x": [("Ann", "P")]}


def test_tagtog_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        entity = small.tagtog_entity("e_1", "s1p1", 3, "Ann Lee", "user:ann")
        archive.writestr("p/ann.json/master/pool/doc.ann.json", small.tagtog_ann(entity))
        archive.writestr("p/plain.html/pool/doc.plain.html", small.TAGTOG_HTML)
        archive.writestr("p/annotations-legend.json", small.TAGTOG_LEGEND)
    assert tagtog.tell(Glimpse(tmp_path / "x.zip")) > 0.9
    (document,), _ = read(tagtog.FORMAT, tmp_path / "x.zip")
    assert said(document) == {"ann": [("Ann Lee", "Person")]}


def test_aggregated_report(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", b"_unit_id,_trusted_judgments,names,text\n1,3,a,b\n")
    assert figure_eight.tell(Glimpse(path)) > 0.5
    with pytest.raises(InputError, match="give the full report"):
        read(figure_eight.FORMAT, path)


def test_json_token_units(tmp_path: Path) -> None:
    record = {"tokens": ["Ann", "Lee", "ran"], "spans": [{"start": 0, "end": 1, "label": "P"}]}
    path = put(tmp_path, "x.jsonl", json.dumps(record).encode())
    assert said(read(own_json.FORMAT, path, unit="tokens")[0][0]) == {"x": [("Ann", "P")]}
    assert said(read(own_json.FORMAT, path, unit="tokens-inclusive")[0][0]) == {
        "x": [("Ann Lee", "P")]
    }


def test_span_table(tmp_path: Path) -> None:
    (one, two), notes = read(span_table.FORMAT, put(tmp_path, "x.csv", small.SPAN_TABLE))
    assert (one.id, one.text) == ("d1", "Ann ran")
    assert said(one) == {"ann": [("Ann", "PER")], "bob": []}
    assert said(two) == {"ann": [("Bob", "PER")], "bob": []}
    assert notes.counts == {"mark outside the text": 1}


def test_span_table_with_texts_elsewhere(tmp_path: Path) -> None:
    path = put(tmp_path, "x.csv", b"file,start,end,label,text\nd1,0,3,PER,Ann\nd1,8,11,PER,Bob\n")
    with pytest.raises(InputError, match="name the texts' folder with texts="):
        read(span_table.FORMAT, path)
    put(tmp_path, "texts/d1.txt", b"Ann met Bob")
    (document,), _ = read(span_table.FORMAT, path, texts=tmp_path / "texts")
    assert said(document) == {"x": [("Ann", "PER"), ("Bob", "PER")]}


@pytest.mark.parametrize(
    "content",
    [
        b"id,tokens,ner_tags\n1,\"['Ann', 'ran']\",\"['B-PER', 'O']\"\n",
        b'id|tokens|tags\n1|["Ann", "ran"]|["B-PER", "O"]\n',
        b'sentence,word_labels\nAnn ran,"B-PER,O"\n',
        b"sep=;\nsentence;labels\nAnn ran;B-PER O\n",
        b"text\tentities\nAnn ran\t[(0, 3, 'PER')]\n",
    ],
)
def test_tables_with_lists(tmp_path: Path, content: bytes) -> None:
    (document,), _ = read(span_table.FORMAT, put(tmp_path, "x.csv", content))
    assert said(document) == {"x": [("Ann", "PER")]}
    assert document.text == "Ann ran"


def test_wide_table(tmp_path: Path) -> None:
    (one, two), _ = read(wide_table.FORMAT, put(tmp_path, "x.tsv", small.WIDE_TABLE))
    assert said(one) == {"ann": [("Ann", "PER")], "bob": [("Ann", "PER")], "gold": [("Ann", "PER")]}
    assert one.opinions[1].seen == ((0, 3),)
    assert said(two) == {"ann": [], "gold": [("Bob", "PER")]}
    table = pa.table({"doc": ["a"] * 2, "word": ["Ann", "ran"], "x": ["B-P", "O"], "y": ["O", "O"]})
    pq.write_table(table, tmp_path / "x.parquet")
    (document,), _ = read(wide_table.FORMAT, tmp_path / "x.parquet")
    assert said(document) == {"x": [("Ann", "P")], "y": []}
    assert wide_table.tell(Glimpse(tmp_path / "x.parquet")) > huggingface.tell(
        Glimpse(tmp_path / "x.parquet")
    )


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"token,tag\nAnn,B-PER\nran,O\n\nBob,O\n", ["Ann ran", "Bob"]),
        (b"Sentence #,Word,Tag\ns1,Ann,B-PER\n,ran,O\ns2,Bob,O\n", ["Ann ran", "Bob"]),
        (b"doc;sent_id;token;tag\na;1;Ann;B-PER\na;1;ran;O\nb;1;Bob;O\n", ["Ann ran", "Bob"]),
        (
            b"sent_id,word,annotator,tag\n1,Ann,u,B-PER\n1,ran,u,O\n2,Bob,u,O\n1,Ann,v,O\n1,ran,v,O\n",
            ["Ann ran", "Bob"],
        ),
        (b"id,token,tag\n1,Ann,B-PER\n2,ran,O\n3,Bob,O\n", ["Ann ran Bob"]),
    ],
)
def test_sentences_of_wide_tables(tmp_path: Path, content: bytes, texts: list[str]) -> None:
    documents, _ = read(wide_table.FORMAT, put(tmp_path, "x.csv", content))
    assert [document.text for document in documents] == texts
    assert [len(x.opinions[0].marks) for x in documents] == [1, *[0] * (len(texts) - 1)]


SMALL = [
    (mturk.FORMAT, "a.csv", small.MTURK),
    (sagemaker.FORMAT, "a.manifest", small.MANIFEST),
    (sagemaker.FORMAT, "a.json", small.REQUEST),
    (lighttag.FORMAT, "a.json", small.LIGHTTAG),
    (tagtog.FORMAT, "a.ann.json", small.tagtog_ann()),
    (figure_eight.FORMAT, "a.csv", small.FIGURE_EIGHT_CSV),
    (figure_eight.FORMAT, "a.json", small.FIGURE_EIGHT_JSON),
    (wrench.FORMAT, "a.json", small.WRENCH),
    (gliner.FORMAT, "a.json", small.GLINER),
    (huggingface.FORMAT, "a.jsonl", small.HF_LINES),
    (own_json.FORMAT, "a.json", small.JSON_TAGS),
    (own_json.FORMAT, "a.jsonl", small.JSON_SPANS),
    (span_table.FORMAT, "a.csv", small.SPAN_TABLE),
    (wide_table.FORMAT, "a.tsv", small.WIDE_TABLE),
]


@pytest.mark.parametrize(("format", "name", "content"), SMALL)
def test_each_knows_its_own(
    tmp_path: Path, format: DocumentFormat, name: str, content: bytes
) -> None:
    glimpse = Glimpse(put(tmp_path, name, content))
    scores = {other.name: other.tell(glimpse) for other in FORMATS}
    assert max(scores, key=lambda name: scores[name]) == format.name, scores


@pytest.mark.parametrize(("format", "name", "content"), SMALL)
def test_unknown_options(tmp_path: Path, format: DocumentFormat, name: str, content: bytes) -> None:
    with pytest.raises(SeqTruthError):
        read(format, put(tmp_path, name, content), nonsense=1)
