# ruff: noqa: E501 (the lines of files are kept whole)
"""Damaged files of these tools: read, or refused with a SeqTruth error, and quickly."""

from __future__ import annotations

import json
import time
import zipfile
import zlib
from pathlib import Path

import pytest

from seqtruth.errors import InputError
from seqtruth.io import read
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.formats import bioc, brat, catma, gate, inception, mae, spacy_docbin, spacy_json
from seqtruth.io.formats.msgpack import pack, unpack
from seqtruth.io.formats.safe_xml import parse_xml
from tests.io.formats.made_documents import faults, mutated, mutated_json

INCEPTION, TSV, XMI, JSON = inception.FORMATS
N_MUTATIONS = 300
TEXT = "Ann met 👩‍🚀 Bob\r\nin Köln, 北京."
DOCUMENTS = [
    Document("one", TEXT, (Opinion("anna", (Mark(0, 3, "PER"), Mark(0, 15, "X|Y"), Mark(20, 24, "LOC"))), Opinion("bob"))),
    Document("two", "Second.", (Opinion("anna"),)),
]  # fmt: skip
ONE = [Document("one", TEXT, (Opinion("anna", (Mark(0, 3, "PER"), Mark(2, 15, "X|Y"))),))]
OLD_TSV = (
    " # de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity | value # x.Rel | value | AttachTo=x.Y\n"
    "#id=1\n#text=Ms. Haag plays .\n1-1\tMs.\tB-PER|B-X\t_\t_\n1-2\tHaag\tI-PER\t_\t_\n1-3\tplays\tO\t_\t_\n1-4\t.\tO\n\n"
)
SPACY_2 = [{"id": 0, "paragraphs": [{"raw": "Ann ran .", "sentences": [{"tokens": [
    {"orth": "Ann", "ner": "U-PER"}, {"orth": "ran", "ner": "-"}, {"orth": ".", "ner": "O"}]}], "cats": []}]}]  # fmt: skip
SPACY_3 = [["Ann ran", {"entities": [[0, 3, "PER"]]}], ["x", {"spans": {"sc": [[0, 1, "A"]]}}]]


@pytest.mark.parametrize("format", [gate.FORMAT, mae.FORMAT, bioc.FORMAT, TSV, XMI, JSON, spacy_docbin.FORMAT, spacy_json.FORMAT],
                         ids=lambda f: f.name)  # fmt: skip
def test_changed_bytes(format: object, tmp_path: Path) -> None:
    path = tmp_path / "a_b.xml"
    format.write(ONE, path, Notes())  # type: ignore[attr-defined]
    data = path.read_bytes()
    check(format, path, (mutated(data, seed) for seed in range(N_MUTATIONS)))
    if format is spacy_docbin.FORMAT:
        inner = zlib.decompress(data)
        check(format, path, (zlib.compress(mutated(inner, seed)) for seed in range(N_MUTATIONS)))
    if format is TSV:
        check(format, path, (mutated(OLD_TSV.encode(), seed) for seed in range(N_MUTATIONS)))


@pytest.mark.parametrize("value", [SPACY_2, SPACY_3, {"classes": ["A"], "annotations": SPACY_3}])
def test_changed_values_of_spacy_json(value: object, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    check(spacy_json.FORMAT, path, (mutated_json(value, seed) for seed in range(N_MUTATIONS)))


def test_changed_values_of_bioc_and_catma(tmp_path: Path) -> None:
    mark = {
        "infons": {"type": "P", "annotator": "a"},
        "locations": [{"offset": 0, "length": 3}],
        "text": "Ann",
    }
    value = {
        "documents": [
            {
                "id": "d",
                "passages": [
                    {"offset": 0, "text": "Ann ran.", "annotations": [mark], "relations": []}
                ],
            }
        ]
    }
    check(
        bioc.FORMAT, tmp_path / "a.json", (mutated_json(value, seed) for seed in range(N_MUTATIONS))
    )
    items = [{"source": "D_1", "selector": {"start": 0, "end": 3}}]
    annotation = {
        "body": {"tag": "t/CATMA_2", "properties": {"system": {}}},
        "target": {"items": items},
    }
    files = {
        "documents/D_1/D_1.txt": "Ann ran.", "documents/D_1/header.json": {"gitContentInfoSet": {"title": "T"}},
        "tagsets/T/CATMA_2/propertydefs.json": {"name": "x"},
        "collections/C/header.json": {"name": "c", "responsibleUser": "u", "sourceDocumentId": "D_1"},
        "collections/C/annotations/a.json": [annotation],
    }  # fmt: skip
    root = tmp_path / "catma"
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content if isinstance(content, str) else json.dumps(content))
    for name, content in files.items():
        if not isinstance(content, str):
            for seed in range(N_MUTATIONS // 4):
                (root / name).write_bytes(mutated_json(content, seed))
                faults(catma.FORMAT, root)
            (root / name).write_text(json.dumps(content))
    assert faults(catma.FORMAT, root) is None


def test_changed_values_of_cas_json(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    JSON.write(ONE, path, Notes())  # type: ignore[misc]
    value = json.loads(path.read_bytes())
    check(JSON, path, (mutated_json(value, seed) for seed in range(N_MUTATIONS)))


@pytest.mark.parametrize("format", [brat.FORMAT, INCEPTION, gate.FORMAT], ids=lambda f: f.name)
def test_changed_folders(format: object, tmp_path: Path) -> None:
    root = tmp_path / "folder"
    format.write(DOCUMENTS, root, Notes())  # type: ignore[attr-defined]
    files = [file for file in sorted(root.rglob("*")) if file.is_file()]
    for seed in range(N_MUTATIONS // 3):
        file = files[seed % len(files)]
        data = file.read_bytes()
        file.write_bytes(mutated(data, seed))
        faults(format, root)  # type: ignore[arg-type]
        file.write_bytes(data)
    assert faults(format, root) is None  # type: ignore[arg-type]


def test_changed_zip(tmp_path: Path) -> None:
    root, path = tmp_path / "folder", tmp_path / "a.zip"
    INCEPTION.write(DOCUMENTS, root, Notes())  # type: ignore[misc]
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(root.rglob("*")):
            archive.write(file, str(file.relative_to(root)))
    assert faults(INCEPTION, path) is None
    data = path.read_bytes()
    check(INCEPTION, path, (mutated(data, seed) for seed in range(100)))


def check(format: object, path: Path, contents: object) -> None:
    for content in contents:  # type: ignore[attr-defined]
        path.write_bytes(content)
        begun = time.process_time()
        faults(format, path)  # type: ignore[arg-type]
        assert time.process_time() - begun < 1


BOMB = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;">]><GateDocument>&y;</GateDocument>'
OUTSIDE = b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><GateDocument>&x;</GateDocument>'


@pytest.mark.parametrize("data", [BOMB, OUTSIDE, b'<!DOCTYPE a [<!ATTLIST a b CDATA "c">]><a/>'])
def test_xml_that_declares_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"x:1: the XML declares types or entities of its own"):
        parse_xml(data, "x")


def test_xml_faults_say_where() -> None:
    with pytest.raises(InputError, match=r"x:2: not well-formed XML; got mismatched tag"):
        parse_xml(b"<a>\n</b>", "x")
    with pytest.raises(InputError, match="nested more than 200 deep"):
        parse_xml(b"<a>" * 300, "x")
    with pytest.raises(InputError, match=r"x:1: the XML declares|undefined entity"):
        parse_xml(b'<!DOCTYPE a SYSTEM "http://example.org/a.dtd"><a>&b;</a>', "x")
    assert parse_xml(b'<!DOCTYPE c SYSTEM "BioC.dtd"><c>x</c>', "x").content() == "x"
    for encoding in ("utf-16", "no-such", "shift_jis", "utf-7"):
        data = f'<?xml version="1.0" encoding="{encoding}"?><a/>'.encode()
        with pytest.raises(InputError):
            parse_xml(data, "x")


def test_long_files_are_read_in_time_that_grows_with_them(tmp_path: Path) -> None:
    """Shapes on which a careless reader would take the square of the length."""
    n = 30_000
    cell = "|".join(["x"] * n)
    slow = {
        "cells.tsv": f"#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|c\n\n#Text=a\n1-1\t0-1\ta\t{cell}\t\n",
        "escapes.tsv": "#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|c\n\n#Text=a\n1-1\t0-1\ta\t" + "\\" * n + "[1]\t\n",
        "sentences.tsv": "#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|c\n\n"
        + "".join(f"#Text=a\n{i + 1}-1\t{2 * i}-{2 * i + 1}\ta\t_\t\n\n" for i in range(n)),
        "nodes.xml": '<GateDocument><TextWithNodes>' + "".join(f'<Node id="{i}"/>a' for i in range(n))
        + "</TextWithNodes></GateDocument>",
    }  # fmt: skip
    for name, content in slow.items():
        path = tmp_path / name
        path.write_text(content, encoding="utf-8")
        begun = time.process_time()
        assert faults(gate.FORMAT if name.endswith("xml") else TSV, path) is None
        assert time.process_time() - begun < 5, name


def test_user_data_of_a_docbin_is_never_decoded(tmp_path: Path) -> None:
    path = tmp_path / "a.spacy"
    spacy_docbin.FORMAT.write(ONE, path, Notes())  # type: ignore[misc]
    content = unpack(zlib.decompress(path.read_bytes()))
    content["user_data"] = [b"\xc1 not even MessagePack, let alone a pickle"]
    path.write_bytes(zlib.compress(pack(content)))
    assert faults(spacy_docbin.FORMAT, path) is None


def test_a_docbin_that_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_docbin, "MAX_BYTES", 1 << 20)
    path = tmp_path / "a.spacy"
    path.write_bytes(zlib.compress(b"\0" * (1 << 24)))
    assert "too large when unpacked" in (faults(spacy_docbin.FORMAT, path) or "")


@pytest.mark.parametrize("name", ["", "."])
def test_a_file_without_a_name_in_a_zip(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.zip"
    member = zipfile.ZipInfo("x")
    member.filename = name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "text")
    with pytest.raises(InputError, match="a file without a name"):
        read(path)
