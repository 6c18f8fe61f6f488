"""Label Studio's marks in pages and dialogues, and the control tags that come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from seqtruth import io
from seqtruth.errors import InputError
from seqtruth.io.formats.label_studio_rendered import rendered

HTML = "<div><p>Ada Lovelace&nbsp;met <b>Charles</b> Babbage.<br>Twice</p></div><style>p {}</style>"


def page_mark(start: str, a: int, end: str, b: int, said: str, **more: object) -> dict[str, Any]:
    value = {
        "start": start, "startOffset": a, "end": end, "endOffset": b, "text": said,
        "hypertextlabels": ["PER"], **more,
    }  # fmt: skip
    return {"from_name": "ner", "to_name": "page", "type": "hypertextlabels", "value": value}


def task(data: dict[str, Any], *results: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"id": 1, "data": data, "annotations": [{"completed_by": 7, "result": list(results)}]}]


def marked(path: Path) -> list[tuple[str, str]]:
    return [
        (document.text[mark.start : mark.end], mark.label)
        for document, _ in io.read_documents(path)
        for opinion in document.opinions
        for mark in opinion.marks
    ]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"globalOffsets": {"start": 17, "end": 32}},
        {"globalOffsets": {"start": 900, "end": 999}},
    ],
    ids=["XPath", "global offsets", "wrong global offsets"],
)
def test_hypertext(tmp_path: Path, more: dict[str, object]) -> None:
    mark = page_mark(
        "/div[1]/p[1]/b[1]/text()[1]", 0, "/div[1]/p[1]/text()[2]", 8, "Charles Babbage", **more
    )
    path = tmp_path / "a.json"
    path.write_text(json.dumps(task({"page": HTML, "text": "not this"}, mark)))
    assert marked(path) == [("Charles Babbage", "PER")]


def test_a_quote_that_stands_once_is_found_without_offsets(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    lost = page_mark("/x[1]", 0, "/x[1]", 3, "Charles")
    unknown = page_mark("/x[1]", 0, "/x[1]", 3, "Dora")
    path.write_text(json.dumps(task({"page": HTML}, lost, unknown)))
    assert marked(path) == [("Charles", "PER")]
    with pytest.warns(match="1 × mark that cannot be found in the rendered text"):
        io.read(path)


def test_paragraphs_and_pages_come_back(tmp_path: Path) -> None:
    talk = [{"author": "Ann", "text": "Hi Bob."}, {"author": "Bob", "text": "Ann! 😀"}]
    said = {"start": "1", "end": "1", "startOffset": 0, "endOffset": 3, "text": "Ann",
            "paragraphlabels": ["PER"]}  # fmt: skip
    dialogue = {"from_name": "who", "to_name": "talk", "type": "paragraphlabels", "value": said}
    page = page_mark("/div[1]/p[1]/text()[1]", 0, "/div[1]/p[1]/text()[1]", 12, "Ada Lovelace")
    for data, result in (({"talk": talk}, dialogue), ({"page": HTML}, page)):
        first, second = tmp_path / "a.json", tmp_path / "b.json"
        first.write_text(json.dumps(task(data, result)))
        io.convert(first, second, to="label-studio")
        assert marked(second) == marked(first) != []
        (written,) = json.loads(second.read_text())
        assert written["data"] == data
        (back,) = written["predictions"][0]["result"]
        assert {k: back[k] for k in ("from_name", "to_name", "type")} == {
            k: result[k] for k in ("from_name", "to_name", "type")
        }
        assert result["value"].items() <= back["value"].items()


def test_each_label_goes_back_to_its_control_tag(tmp_path: Path) -> None:
    def mark(start: int, end: int, label: str, control: str) -> dict[str, Any]:
        value = {"start": start, "end": end, "labels": [label]}
        return {"from_name": control, "to_name": "doc", "type": "labels", "value": value}

    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(
        json.dumps(task({"doc": "Ada in Rome"}, mark(0, 3, "PER", "who"), mark(7, 11, "LOC", "at")))
    )
    io.convert(first, second, to="label-studio")
    results = json.loads(second.read_text())[0]["predictions"][0]["result"]
    assert [(one["from_name"], one["to_name"]) for one in results] == [
        ("who", "doc"),
        ("at", "doc"),
    ]


def test_text_of_a_page() -> None:
    page = rendered(HTML)
    assert page is not None
    assert page.text == "Ada Lovelace\xa0met Charles Babbage.Twice"
    assert page.nodes[-1].path == "/div[1]/p[1]/text()[3]"
    assert rendered(7) is None and rendered([]) is None


def test_a_long_first_text_does_not_hide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        json.dumps(
            [
                {"data": {"text": "x " * 100_000}, "annotations": [{"result": []}], "id": 1},
                *task({"text": "Ada"}, {"from_name": "n", "to_name": "text", "type": "labels",
                      "value": {"start": 0, "end": 3, "labels": ["PER"]}}),
            ]
        )
    )  # fmt: skip
    assert io.detect_format(path) == "label-studio"


def test_archives_of_exports(tmp_path: Path) -> None:
    import zipfile

    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("p/project.json", json.dumps(task({"page": HTML})))
        archive.writestr("p/notes.json", '{"categories": []}')
    with pytest.warns(match=r"left out, as not recognised: p/notes\.json"):
        assert io.read(path).annotators == ("7",)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("p/project.json", json.dumps(task({"page": HTML}))[:-4])
    with pytest.raises(InputError, match=r"export\.zip/p/project\.json:1: the file ends"):
        io.read(path)


@pytest.mark.parametrize(
    ("content", "looks"),
    [
        ('{"foo": 1, "bar": [2]}', "cannot tell the format; got JSON with the keys foo, bar"),
        ('<View><Labels toName="t"/></View>', "a labelling configuration of Label Studio"),
        ('{"images": [], "annotations": [{"bbox": []}], "x": 1}', "COCO, labels of pictures"),
        ('{"custom_id": "a", "response": {}}', "batch answers of a language model"),
        ("# text = A\n1\tAda\tAda\tPROPN\t_\t_\t0\troot\t_\t_\n", "CoNLL-U, syntax without labels"),
        ("INPUT:text\tOUTPUT:result\tASSIGNMENT:worker_id\nAda\t[]\tw\n", "results of Toloka"),
        ("\x80\x04abc", "a Python pickle, which can run code and is never opened"),
    ],
)
def test_what_a_file_looks_like(tmp_path: Path, content: str, looks: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        io.read(path)
    assert looks in str(caught.value)
