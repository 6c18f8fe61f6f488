# ruff: noqa: E501 (the lines of files are kept whole)
"""Small files in the shapes of the tools, with the traps that real ones hold."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat
from seqtruth.io.formats import bioc, brat, catma, gate, inception, mae, spacy_docbin, spacy_json
from tests.io.formats.made_documents import documents, plain, round_trip
from tests.io.formats.test_standoff_round_trips import fresh, texts

INCEPTION, TSV, XMI, JSON = inception.FORMATS
TEXT = "Ann 😀 met Bob."


def put(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def read(format: DocumentFormat, path: Path, **options: object) -> tuple[list[Document], Notes]:
    notes = Notes()
    return list(format.read(path, notes, **options)), notes


def found(document: Document) -> dict[str, list[tuple[str, str]]]:
    return {
        opinion.annotator: [(document.text[m.start : m.end], m.label) for m in opinion.marks]
        for opinion in document.opinions
    }


# --- brat


def test_brat_counts_line_ends_as_its_words_say(tmp_path: Path) -> None:
    text = "one\r\ntwo\r\nBob ran"
    put(
        tmp_path,
        {
            "a/d.txt": text,
            "a/d.ann": "T1\tPER 10 13\tBob\r\n",
            "b/d.txt": text,
            "b/d.ann": "T1\tPER 8 11\tBob\n",
        },
    )
    (document,), notes = read(brat.FORMAT, tmp_path)
    assert found(document) == {"a": [("Bob", "PER")], "b": [("Bob", "PER")]} and not notes.counts


def test_brat_counts_utf16_units_where_its_words_say(tmp_path: Path) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.ann": "T1\tPER 11 14\tBob\nT2\tPER 0 3\tAnn\n"})
    (document,), _ = read(brat.FORMAT, tmp_path)
    assert found(document) == {tmp_path.name: [("Bob", "PER"), ("Ann", "PER")]}


def test_brat_sorts_out_everything_else(tmp_path: Path) -> None:
    lines = [
        "T1\tPER 0 3\tAnn", "T2\tX 0 3;6 9\tAnn met", "T3\tX 90 95\tout", "T4\tX 3 3\t", "T5\tPER 10 13\tTom",
        "E1\tMove:T1 Who:T2", "R1\tKnows Arg1:T1 Arg2:T2", "*\tEquiv T1 T2", "A1\tSure T1", "M1\tMaybe T1",
        "N1\tRef T1 Wiki:1\tAnn", "#1\tAnnotatorNotes T1\twhy", "",
    ]  # fmt: skip
    put(tmp_path, {"d.txt": TEXT, "d.ann": "\n".join(lines)})
    (document,), notes = read(brat.FORMAT, tmp_path / "d.ann")
    assert document.opinions[0].marks == (
        Mark(0, 3, "PER"), Mark(0, 9, "X", ((0, 3), (6, 9))), Mark(10, 13, "PER"),
    )  # fmt: skip
    assert notes.counts == {
        "relation": 2, "attribute": 2, "event": 1, "normalisation": 1, "comment": 1, "mark outside the text": 1,
        "mark without text (zero-width)": 1, "text repeated beside a mark that differs from the document": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    "line", ["T1 PER 0 3 Ann", "T1\tPER 0", "T1\tPER a b\tAnn", "hello", "T1\tPER 0 3.5\tx"]
)
def test_brat_faults_say_where(tmp_path: Path, line: str) -> None:
    put(tmp_path, {"d.txt": TEXT, "d.ann": f"T1\tPER 0 3\tAnn\n{line}\n"})
    with pytest.raises(InputError, match=r"d\.ann:2: not a line of brat's"):
        read(brat.FORMAT, tmp_path)


def test_brat_texts_that_differ(tmp_path: Path) -> None:
    """Blanks apart, marks are moved; another text is refused with the place of the first difference."""
    put(
        tmp_path,
        {
            "a/d.txt": "Ann met Bob",
            "a/d.ann": "",
            "b/d.txt": "Ann\r\nmet  Bob\n",
            "b/d.ann": "T1\tP 10 13\tBob\n",
        },
    )
    (document,), _ = read(brat.FORMAT, tmp_path)
    assert found(document) == {"a": [], "b": [("Bob", "P")]}
    put(tmp_path, {"b/d.txt": "Ann was here before Bob"})
    with pytest.raises(
        InputError,
        match=r"differs at character 4 from that at .*a/d\.txt; got 'was here before Bob'",
    ):
        read(brat.FORMAT, tmp_path)


def test_texts_that_differ_in_normalisation(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "a/d.txt": "née Bob, Köln",
            "a/d.ann": "",
            "b/d.txt": "ne\u0301e Bob, Ko\u0308ln",
            "b/d.ann": "T1\tP 0 4\tne\u0301e\nT2\tP 10 15\tKo\u0308ln\n",
        },
    )
    (document,), _ = read(brat.FORMAT, tmp_path)
    assert found(document) == {"a": [], "b": [("née", "P"), ("Köln", "P")]}


def test_brat_layouts(tmp_path: Path) -> None:
    put(
        tmp_path / "parts",
        {"train/d.txt": "Ann", "train/d.ann": "", "dev/e.txt": "Bob", "dev/e.ann": ""},
    )
    parts, _ = read(brat.FORMAT, tmp_path / "parts")
    assert [(d.id, [o.annotator for o in d.opinions]) for d in parts] == [
        ("dev/e", ["parts"]),
        ("train/d", ["parts"]),
    ]
    put(tmp_path / "one", {"d.txt": "Ann", "a/d.ann": "T1\tP 0 3\tAnn", "b/d.ann": ""})
    (shared,), _ = read(brat.FORMAT, tmp_path / "one")
    assert found(shared) == {"a": [("Ann", "P")], "b": []}
    put(tmp_path / "none", {"d.ann": ""})
    with pytest.raises(InputError, match=r"there is no text for this file; put d\.txt beside it"):
        read(brat.FORMAT, tmp_path / "none")


# --- INCEpTION


def tsv(
    marks: str = "PER", text: str = "Ann ran", layers: str = "#T_SP=webanno.custom.Span|value\n"
) -> str:
    return f"#FORMAT=WebAnno TSV 3.3\n{layers}\n\n#Sentence.id=s1\n#Text={text}\n1-1\t0-3\tAnn\t{marks}\t\n1-2\t4-7\tran\t_\t\n"


def project(root: Path, **more: str | bytes) -> Path:
    states = [
        {"name": "d.txt", "user": "anna", "state": "FINISHED"},
        {"name": "d.txt", "user": "anna2", "state": "IN_PROGRESS"},
        {"name": "d.txt", "user": "carl", "state": "NEW"},
    ]
    files: dict[str, str | bytes] = {
        "exportedproject123.json": json.dumps({"name": "x", "annotation_documents": states}),
        "source/d.txt": "Ann  ran\n", "source/e.txt": "Nobody looked.", "log/project.log": "x",
        "annotation/d.txt/anna.tsv": tsv(), "annotation/d.txt/anna21234567890.tsv": tsv("LOC"),
        "annotation/d.txt/carl.tsv": tsv("_"), "annotation/d.txt/INITIAL_CAS.tsv": tsv("_"),
        "annotation/d.txt/dora98765432109876.tsv": tsv("_"),
        "annotation_ser/d.txt/emil.ser": b"\xac\xed\0\x05",
        "curation/d.txt/CURATION_USER.tsv": tsv("PER"), **more,
    }  # fmt: skip
    return put(root, files)


def test_inception_project_with_its_users(tmp_path: Path) -> None:
    (document, unseen), notes = read(INCEPTION, project(tmp_path))
    assert (document.id, document.text, unseen.id, unseen.opinions) == (
        "d.txt",
        "Ann  ran\n",
        "e.txt",
        (),
    )
    assert found(document) == {
        "anna": [("Ann", "PER")], "anna2": [("Ann", "LOC")], "dora": [], "CURATION_USER": [("Ann", "PER")],
    }  # fmt: skip
    assert {o.annotator for o in document.opinions if o.role == "gold"} == {"CURATION_USER"}
    assert document.tokens == ((0, 3), (5, 8))
    assert notes.counts == {
        "annotator's work in Java's own format only (.ser)": 1,
        "document that its annotator did not begin, or locked": 1,
    }


def test_inception_project_with_packed_xmi(tmp_path: Path) -> None:
    made = Document("d.txt", "Ann ran", (Opinion("anna", (Mark(0, 3, "PER"),)),))
    XMI.write([made], tmp_path / "anna.xmi", Notes())  # type: ignore[misc]
    with zipfile.ZipFile(tmp_path / "anna.zip", "w") as archive:
        archive.write(tmp_path / "anna.xmi", "anna.xmi")
        archive.writestr("TypeSystem.xml", "<x/>")
    packed = (tmp_path / "anna.zip").read_bytes()
    root = put(
        tmp_path / "p",
        {"annotation/d.txt/anna77777777777.zip": packed, "annotation/d.txt/bob.json": b"{}"},
    )
    (document,), _ = read(INCEPTION, root)
    assert found(document) == {"anna": [("Ann", "PER")]}
    put(root, {"annotation/d.txt/anna77777777777.zip": packed[:200]})
    with pytest.raises(InputError, match="the archive is damaged"):
        read(INCEPTION, root)


def test_inception_layers_are_asked_for(tmp_path: Path) -> None:
    two = "#T_SP=a.Person|kind|sure\n#T_SP=a.Place|value\n"
    rows = "#Text=Ann ran\n1-1\t0-3\tAnn\tx\tyes\tTOWN\t\n1-2\t4-7\tran\t_\t_\t_\t\n"
    path = put(tmp_path, {"u.tsv": f"#FORMAT=WebAnno TSV 3.3\n{two}\n\n{rows}"}) / "u.tsv"
    with pytest.raises(InputError) as caught:
        read(TSV, path)
    assert caught.value.got == "layers a.Person|kind|sure; a.Place|value"
    assert caught.value.fix == "choose with layer=NAME and feature=NAME"
    (document,), notes = read(TSV, path, layer="Place")
    assert found(document) == {"u": [("Ann", "TOWN")]} and notes.counts == {
        "mark of the layer Person": 1
    }
    with pytest.raises(InputError, match=r"layer 'a\.Person' has several features"):
        read(TSV, path, layer="a.Person")
    (document,), _ = read(TSV, path, layer="a.Person", feature="kind")
    assert found(document) == {"u": [("Ann", "x")]}
    with pytest.raises(InputError, match="no layer 'Nope'"):
        read(TSV, path, layer="Nope")


def test_tsv_of_scripts_that_count_code_points(tmp_path: Path) -> None:
    rows = (
        "#Text=😀 Ann\n1-1\t0-1\t😀\t_\t\n1-2\t2-5\tAnn\tPER\t\n\n#Text=Bob\n2-1\t6-9\tBob\tPER\t\n"
    )
    path = put(tmp_path, {"u.tsv": f"#FORMAT=WebAnno TSV 3.3\n#T_SP=a.B|c\n\n\n{rows}"}) / "u.tsv"
    (document,), _ = read(TSV, path)
    assert document.text == "😀 Ann\nBob" and found(document) == {
        "u": [("Ann", "PER"), ("Bob", "PER")]
    }


def test_tsv_3_0_has_the_escapes_of_java(tmp_path: Path) -> None:
    rows = '#Text=a \\"b\\" \\u00e9\n1-1\t0-1\ta\tX\n1-2\t2-3\t"\t_\n1-3\t3-4\tb\t_\n1-4\t4-5\t"\t_\n1-5\t6-7\té\t_\n'
    path = put(tmp_path, {"u.tsv": f"#FORMAT=WebAnno TSV 3.1\n#T_SP=a.B|c\n\n\n{rows}"}) / "u.tsv"
    assert read(TSV, path)[0][0].text == 'a "b" é'


def test_tsv_2_stacked(tmp_path: Path) -> None:
    head = " # de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity | identifier | value\n"
    rows = "1-1\tAnn\t_\tB-PER|B-X\t\n1-2\tvan\t_\tI-PER\t\n1-3\tDam\t_\tB-PER\t\n"
    path = put(
        tmp_path,
        {"u.tsv": f"{head}#id=1\n#text=Ann van Dam\n{rows}\n#id=2\n#text=Bob\n2-1\tBob\t_\tO\t\n"},
    )
    (document,), _ = read(TSV, path / "u.tsv")
    assert document.text == "Ann van Dam\nBob"
    assert found(document) == {"u": [("Ann van", "PER"), ("Ann", "X"), ("Dam", "PER")]}


def test_xmi_takes_members_of_the_first_view(tmp_path: Path) -> None:
    xmi = (
        '<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:c="http:///a/b.ecore">'
        '<c:Span xmi:id="2" sofa="1" begin="7" end="10" value="X"/><c:Span xmi:id="3" sofa="1" begin="0" end="3" value="GONE"/>'
        '<c:Span xmi:id="4" sofa="9" begin="0" end="1" value="OTHER"/>'
        '<c:Rel xmi:id="5" sofa="1" begin="0" end="3" Governor="2" Dependent="3"/>'
        '<c:Span xmi:id="6" sofa="1" begin="4" end="5" value="HALF"/>'
        f'<cas:Sofa xmi:id="1" sofaID="_InitialView" sofaString="{TEXT}"/><cas:Sofa xmi:id="9" sofaID="v" sofaString="x"/>'
        '<cas:View sofa="1" members="2 5 6"/></xmi:XMI>'
    )
    (document,), notes = read(XMI, put(tmp_path, {"u.xmi": xmi}) / "u.xmi")
    assert found(document) == {"u": [("met", "X")]}
    assert notes.counts == {
        "further view of a document": 1,
        "relation": 1,
        "mark outside the text": 1,
    }


def test_folders_of_annotators_or_of_documents(tmp_path: Path) -> None:
    put(tmp_path / "a", {"d1/anna.tsv": tsv(), "d1/bob.tsv": tsv("_"), "d2/anna.tsv": tsv()})
    assert [(d.id, sorted(found(d))) for d in read(INCEPTION, tmp_path / "a")[0]] == [
        ("d1", ["anna", "bob"]),
        ("d2", ["anna"]),
    ]
    other = tsv(text="Ann RAN").replace("\tran\t", "\tRAN\t")
    put(tmp_path / "b", {"anna/d1.tsv": tsv(), "anna/d2.tsv": other, "bob/d1.tsv": tsv("_")})
    assert [(d.id, sorted(found(d))) for d in read(INCEPTION, tmp_path / "b")[0]] == [
        ("d1", ["anna", "bob"]),
        ("d2", ["anna"]),
    ]


# --- GATE and MAE


def test_gate_nodes_sets_and_features(tmp_path: Path) -> None:
    xml = (
        '<GateDocument><TextWithNodes><Node id="0"/>Ann<Node id="3"/> 😀 <Node id="7"/>met<Node id="10"/> Bob.</TextWithNodes>'
        '<AnnotationSet/><AnnotationSet Name="Original markups"><Annotation Id="1" Type="p" StartNode="0" EndNode="10"/></AnnotationSet>'
        '<AnnotationSet Name="anna"><Annotation Id="2" Type="Mention" StartNode="0" EndNode="3"><Feature><Name>class</Name>'
        "<Value>PER</Value></Feature></Annotation><Annotation Id='3' Type='Token' StartNode='7' EndNode='10'/></AnnotationSet>"
        '<AnnotationSet Name="Key"><Annotation Id="4" Type="V" StartNode="7" EndNode="10"/></AnnotationSet>'
        '<AnnotationSet Name="bob"/></GateDocument>'
    )
    path = put(tmp_path, {"d.xml": xml}) / "d.xml"
    (document,), _ = read(gate.FORMAT, path)
    assert document.text == TEXT and document.tokens == ((6, 9),)
    assert found(document) == {"anna": [("Ann", "Mention")], "Key": [("met", "V")], "bob": []}
    assert [o.role for o in document.opinions] == ["annotator", "gold", "annotator"]
    (document,), _ = read(gate.FORMAT, path, types="Mention", feature="class")
    assert found(document)["anna"] == [("Ann", "PER")]
    put(tmp_path, {"d.xml": xml.replace('StartNode="0" EndNode="3"', 'StartNode="1" EndNode="3"')})
    with pytest.raises(
        InputError, match=r"d\.xml:1: the annotation is at a node that is not in the text"
    ):
        read(gate.FORMAT, path)


def test_mae_spans(tmp_path: Path) -> None:
    xml = (
        f"<Task>\n<TEXT><![CDATA[{TEXT}]]></TEXT>\n<TAGS>\n"
        '<PER id="P0" spans="0~3,11~14" text="Ann ... Bob" kind="real"/>\n<ACT id="A0" start="7" end="10" text="met"/>\n'
        '<MOOD id="M0" spans="-1~-1" text=""/>\n<LINK id="L0" fromID="P0" toID="A0"/>\n<X id="X0" spans="5~7"/>\n</TAGS>\n</Task>'
    )
    (document,), notes = read(mae.FORMAT, put(tmp_path, {"d_anna.xml": xml}) / "d_anna.xml")
    assert document.id == "d" and document.opinions[0].annotator == "anna"
    assert document.opinions[0].marks == (Mark(0, 13, "PER", ((0, 3), (10, 13))), Mark(6, 9, "ACT"))
    assert notes.counts == {
        "tag without text": 1,
        "link between tags (relation)": 1,
        "mark outside the text": 1,
    }
    (document,), _ = read(mae.FORMAT, tmp_path / "d_anna.xml", attribute="kind", annotator="x")
    assert [m.label for m in document.opinions[0].marks] == ["real", "ACT"]
    put(tmp_path, {"d_anna.xml": xml.replace("0~3,", "0-3,")})
    with pytest.raises(
        InputError, match=r"d_anna\.xml:4: not a span; got '0-3,11~14'; expected '3~8'"
    ):
        read(mae.FORMAT, tmp_path / "d_anna.xml")


# --- spaCy


def test_spacy_json_shapes(tmp_path: Path) -> None:
    tagged = [("Ann", "B-PER"), ("Lee", "L-PER"), ("ran", "-"), ("home", "U-LOC"), (".", "O")]
    tokens = [{"orth": word, "ner": tag} for word, tag in tagged]
    paragraph = {"raw": "Ann Lee ran home.", "sentences": [{"tokens": tokens}]}
    put(tmp_path, {
        "two.json": json.dumps([{"id": 7, "paragraphs": [paragraph]}]),
        "lines.jsonl": '["Ann", {"entities": [[0, 3, "PER"]]}]\n["Bob", {"entities": []}]\n',
        "tool.json": json.dumps({"classes": ["PER"], "annotations": [["Ann", {"entities": [[0, 3, "PER"]]}], None]}),
        "spans.json": json.dumps([["Ann", {"spans": {"sc": [[0, 3, "PER"]], "b": []}}]]),
    })  # fmt: skip
    (document,), _ = read(spacy_json.FORMAT, tmp_path / "two.json")
    assert document.id == "7" and document.opinions[0].seen == ((0, 7), (12, 17))
    assert found(document) == {"two": [("Ann Lee", "PER"), ("home", "LOC")]}
    assert [found(d)["lines"] for d in read(spacy_json.FORMAT, tmp_path / "lines.jsonl")[0]] == [
        [("Ann", "PER")],
        [],
    ]
    assert len(read(spacy_json.FORMAT, tmp_path / "tool.json")[0]) == 1
    with pytest.raises(InputError, match="several groups of spans"):
        read(spacy_json.FORMAT, tmp_path / "spans.json")
    assert found(read(spacy_json.FORMAT, tmp_path / "spans.json", spans="sc")[0][0]) == {
        "spans": [("Ann", "PER")]
    }


# --- CATMA and BioC


def annotation(tag: str, author: str, *stretches: tuple[int, int]) -> dict[str, object]:
    items = [
        {"source": "D_1", "selector": {"start": a, "end": b, "type": "TextPositionSelector"}}
        for a, b in stretches
    ]
    system = {catma._AUTHOR: [author]}
    return {"type": "Annotation", "body": {"tag": f"tagsets/T_1/{tag}", "properties": {"system": system, "user": {}}},
            "target": {"items": items, "type": "List"}}  # fmt: skip


def test_catma_project(tmp_path: Path) -> None:
    header = {"name": "first", "responsibleUser": "anna", "sourceDocumentId": "D_1"}
    put(tmp_path, {
        "documents/D_1/D_1.txt": TEXT, "documents/D_1/header.json": json.dumps({"gitContentInfoSet": {"title": "Tale"}}),
        "tagsets/T_1/header.json": "{}", "tagsets/T_1/CATMA_2/propertydefs.json": '{"name": "person"}',
        "collections/C_1/header.json": json.dumps(header),
        "collections/C_1/annotations/anna_0.json": json.dumps([annotation("CATMA_2", "anna", (0, 3)),
                                                               annotation("CATMA_2", "anna", (7, 9), (9, 10), (11, 14))]),
        "collections/C_2/header.json": json.dumps({**header, "name": "second", "responsibleUser": "bob"}),
        "collections/C_3/header.json": json.dumps({**header, "name": "third", "responsibleUser": None}),
        "collections/C_3/annotations/CATMA_9.json": json.dumps(annotation("CATMA_8", "carl", (11, 14))),
    })  # fmt: skip
    (document,), _ = read(catma.FORMAT, tmp_path)
    assert document.id == "Tale (D_1)"
    assert found(document) == {
        "anna": [("Ann", "person"), ("met Bob", "person")],
        "bob": [],
        "carl": [("Bob", "CATMA_8")],
    }
    assert document.opinions[0].marks[1].pieces == ((6, 9), (10, 13))
    (document,), _ = read(catma.FORMAT, tmp_path, by="collections")
    assert list(found(document)) == ["first", "second", "third"]
    half = json.dumps(annotation("\ud800", "carl", (11, 14)))
    put(tmp_path, {"collections/C_3/annotations/CATMA_9.json": half})
    assert found(read(catma.FORMAT, tmp_path)[0][0])["carl"] == [("Bob", "\ufffd")]
    put(tmp_path, {"collections/C_3/annotations/CATMA_9.json": '{"body": 1}'})
    with pytest.raises(InputError, match="not an annotation of CATMA's"):
        read(catma.FORMAT, tmp_path)


def test_catma_tei(tmp_path: Path) -> None:
    tei = (
        '<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><encodingDesc><fsdDecl xml:id="T_1" n="tags"><fsDecl xml:id="CATMA_2" '
        'type="CATMA_2"><fsDescr>person</fsDescr></fsDecl></fsdDecl></encodingDesc></teiHeader><text><body><ab type="catma">{}</ab></body>'
        '<fs xml:id="CATMA_7" type="CATMA_2"><f name="catma_markupauthor"><string>anna</string></f></fs></text></TEI>'
    )
    pointers = (
        '<seg ana="#CATMA_7"><ptr target="catma://D_1#char=0,2" type="inclusion"/></seg>'
        '<seg ana="#CATMA_7 #CATMA_8"><ptr target="catma://D_1#char=2,3" type="inclusion"/></seg>'
        '<ptr target="catma://D_1#char=3,15" type="inclusion"/>'
    )
    put(tmp_path, {"tale.txt": TEXT, "annotationcollections/c.xml": tei.format(pointers)})
    (document,), _ = read(catma.FORMAT, tmp_path)
    assert document.id == "tale" and found(document) == {
        "anna": [("Ann", "person")],
        "c": [("n", "?")],
    }
    put(tmp_path / "with", {"c.xml": tei.format('Ann 😀 <seg ana="#CATMA_7">met</seg> Bob.')})
    (document,), _ = read(catma.FORMAT, tmp_path / "with" / "c.xml")
    assert document.text == TEXT and found(document) == {"anna": [("met", "person")]}
    put(tmp_path / "without", {"c.xml": tei.format(pointers)})
    with pytest.raises(InputError, match=r"put the document's \.txt"):
        read(catma.FORMAT, tmp_path / "without")


def test_bioc_json(tmp_path: Path) -> None:
    marks = [
        {
            "infons": {"type": "P", "annotator": "anna"},
            "locations": [{"offset": 0, "length": 3}],
            "text": "Ann",
        },
        {"infons": {"type": "P"}, "locations": [{"offset": 17, "length": 3}], "text": "Bob"},
    ]
    passages = [
        {"offset": 0, "text": "Ann ran.", "annotations": marks},
        {"offset": 10, "text": "He saw Bob.", "relations": [{}]},
    ]
    path = (
        put(tmp_path, {"c.json": json.dumps({"documents": [{"id": "d", "passages": passages}]})})
        / "c.json"
    )
    (document,), notes = read(bioc.FORMAT, path)
    assert document.text == "Ann ran.  He saw Bob."
    assert found(document) == {"anna": [("Ann", "P")], "c": [("Bob", "P")]} and notes.counts == {
        "relation": 1
    }


@given(documents(pieces=True, text=texts))
def test_bioc_round_trip(made: list[Document]) -> None:
    def marked(document: Document) -> Document:
        opinions = tuple(o for o in document.opinions if o.marks) or (Opinion("out"),)
        return Document(document.id, document.text, opinions)

    with fresh("out.xml") as path:
        assert plain(round_trip(bioc.FORMAT, made, path)) == plain(map(marked, made))


@pytest.mark.parametrize(("format", "name"), [(brat.FORMAT, "o"), (gate.FORMAT, "o"), (mae.FORMAT, "o"), (bioc.FORMAT, "o.xml"),
    (INCEPTION, "o"), (TSV, "o.tsv"), (XMI, "o.xmi"), (JSON, "o.json"), (spacy_docbin.FORMAT, "o.spacy"), (spacy_json.FORMAT, "o.json")])  # fmt: skip
def test_what_is_lost_is_said(format: DocumentFormat, name: str, tmp_path: Path) -> None:
    mark = Mark(0, 9, "X", ((0, 3), (6, 9)), score=0.5)
    made = Document("d", TEXT, (Opinion("m", (mark,), role="model", seen=((0, 9),), score=1.0),))
    notes = Notes()
    format.write([made], tmp_path / name, notes)  # type: ignore[misc]
    assert (
        notes.counts["role of an annotator (model)"]
        == notes.counts["score or time of an opinion"]
        == 1
    )
    assert notes.counts["which parts of a text were seen"] == (format is not spacy_docbin.FORMAT)
    pieces, score = (
        notes.counts["gaps of a discontinuous mark (written whole)"],
        notes.counts["score"],
    )
    assert pieces == (format not in (brat.FORMAT, mae.FORMAT, bioc.FORMAT)) and score == (
        format is not gate.FORMAT
    )


def test_a_folder_for_each_annotator_with_one_document(tmp_path: Path) -> None:
    """The folders are annotators where all hold the same text under the same name."""
    sheet = (
        "#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.E|value\n\n\n#Text=Ann ran\n"
        "1-1\t0-3\tAnn\t{}\t\n1-2\t4-7\tran\t_\t\n"
    )
    put(tmp_path, {"ann/d.tsv": sheet.format("PER"), "bob/d.tsv": sheet.format("_")})
    (document,), _ = read(inception.FORMATS[0], tmp_path)
    assert document.id == "d"
    assert found(document) == {"ann": [("Ann", "PER")], "bob": []}
