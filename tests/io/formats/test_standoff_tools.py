"""The tools' own packages read what is written, and write what is read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.formats import bioc, gate, inception, spacy_docbin
from seqtruth.io.formats.cas import NAMED_ENTITY, TOKEN
from seqtruth.io.formats.cas_xmi import type_system
from seqtruth.io.formats.spacy_strings import string_number
from tests.io.formats.made_documents import documents
from tests.io.formats.test_standoff_round_trips import fresh, unmarked

pytestmark = pytest.mark.tools
INCEPTION, TSV, XMI, JSON = inception.FORMATS
LAYER = (NAMED_ENTITY, "value")


@given(st.text(max_size=40))
def test_strings_have_spacys_numbers(string: str) -> None:
    strings = pytest.importorskip("spacy.strings")
    if string and string.isprintable():
        assert string_number(string) == strings.StringStore().add(string)


def test_every_symbol_has_spacys_number() -> None:
    symbols = pytest.importorskip("spacy.symbols")
    assert {name: string_number(name) for name in symbols.IDS} == symbols.IDS


@given(documents())
def test_spacy_reads_our_docbin(made: list[Document]) -> None:
    spacy = pytest.importorskip("spacy")
    tokens = pytest.importorskip("spacy.tokens")
    who = {opinion.annotator for document in made for opinion in document.opinions}
    with fresh("out.spacy") as path:
        spacy_docbin.FORMAT.write(made, path, Notes())  # type: ignore[misc]
        docs = list(tokens.DocBin().from_disk(path).get_docs(spacy.blank("xx").vocab))
        assert [doc.text for doc in docs] == [document.text for document in made]
        for doc, document in zip(docs, made, strict=True):
            for opinion in document.opinions:
                expected = sorted((m.start, m.end, m.label) for m in opinion.marks)
                spans = doc.spans.get(opinion.annotator if len(who) > 1 else "sc", doc.ents)
                assert sorted((s.start_char, s.end_char, s.label_) for s in spans) == expected


def test_we_read_spacys_docbin(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    tokens = pytest.importorskip("spacy.tokens")
    nlp = spacy.blank("en")
    doc = nlp("Ann Lee ran  home,\n\nto Köln 😀.")
    doc.ents = [tokens.Span(doc, 0, 2, label="PERSON")]
    doc.spans["sc"] = [tokens.Span(doc, 0, 2, label="x"), tokens.Span(doc, 1, 3, label="y")]
    doc.user_data["secret"] = {"a": 1}
    docs = tokens.DocBin(store_user_data=True, docs=[doc, nlp("Unseen.")])
    docs.to_disk(tmp_path / "a.spacy")
    first, second = spacy_docbin.FORMAT.read(tmp_path / "a.spacy", Notes())
    assert first.text == doc.text and first.opinions == (Opinion("a", (Mark(0, 7, "PERSON"),)),)
    assert second.text == "Unseen." and second.opinions == ()
    first, second = spacy_docbin.FORMAT.read(tmp_path / "a.spacy", Notes(), spans="sc")
    assert first.opinions[0].marks == (Mark(0, 7, "x"), Mark(4, 11, "y"))


def test_parts_that_spacy_has_not_looked_at(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy")
    tokens = pytest.importorskip("spacy.tokens")
    doc = spacy.blank("en")("Ann ran home today")
    doc.set_ents(
        [tokens.Span(doc, 0, 1, label="PERSON")],
        missing=[tokens.Span(doc, 2, 4)],
        default="outside",
    )
    tokens.DocBin(docs=[doc]).to_disk(tmp_path / "a.spacy")
    (document,) = spacy_docbin.FORMAT.read(tmp_path / "a.spacy", Notes())
    assert document.opinions == (Opinion("a", (Mark(0, 3, "PERSON"),), seen=((0, 7),)),)


@given(documents(annotators=1, text=unmarked))
def test_cassis_reads_our_xmi_and_json(made: list[Document]) -> None:
    cassis = pytest.importorskip("cassis")
    for document in made:
        for opinion in document.opinions:
            one = Document(
                document.id, document.text, (opinion,), tokens=((0, 1),) if document.text else None
            )
            expected = sorted((m.start, m.end, m.label) for m in opinion.marks)
            with fresh("u.xmi") as path:
                XMI.write([one], path, Notes())  # type: ignore[misc]
                types = cassis.load_typesystem(io.BytesIO(type_system(LAYER).encode()))
                cas = cassis.load_cas_from_xmi(path.open("rb"), typesystem=types)
                assert cas.sofa_string == document.text
                assert (
                    sorted((a.begin, a.end, a.value) for a in cas.select(NAMED_ENTITY)) == expected
                )
                assert [a.end for a in cas.select(TOKEN)] == [1] * bool(document.text)
            with fresh("u.json") as path:
                JSON.write([one], path, Notes())  # type: ignore[misc]
                cas = cassis.load_cas_from_json(path.open("rb"))
                assert cas.sofa_string == document.text
                assert (
                    sorted((a.begin, a.end, a.value) for a in cas.select(NAMED_ENTITY)) == expected
                )


def test_we_read_what_cassis_writes(tmp_path: Path) -> None:
    cassis = pytest.importorskip("cassis")
    types = cassis.load_typesystem(io.BytesIO(type_system(LAYER).encode()))
    cas = cassis.Cas(types)
    cas.sofa_string = '👩‍🚀 Ann\nmet <Bob> & "Eve"'
    cas.sofa_mime = "text/plain"
    kind = types.get_type(NAMED_ENTITY)
    cas.add(kind(begin=4, end=7, value="PER"))
    cas.add(kind(begin=12, end=17, value='a"<b'))
    cas.to_xmi(tmp_path / "u.xmi")
    cas.to_json(tmp_path / "u.json")
    for format, name in ((XMI, "u.xmi"), (JSON, "u.json")):
        (document,) = format.read(tmp_path / name, Notes())
        assert document.text == cas.sofa_string
        assert document.opinions[0].marks == (Mark(4, 7, "PER"), Mark(12, 17, 'a"<b'))


@given(documents())
def test_gatenlp_reads_our_gate_xml(made: list[Document]) -> None:
    gatenlp = pytest.importorskip("gatenlp")
    for document in made:
        with fresh("d.xml") as path:
            gate.FORMAT.write([document], path, Notes())  # type: ignore[misc]
            loaded = gatenlp.Document.load(str(path), fmt="gatexml")
            assert loaded.text == document.text
            for opinion in document.opinions:
                marks = loaded.annset(opinion.annotator)
                expected = sorted((m.start, m.end, m.label) for m in opinion.marks)
                assert sorted((a.start, a.end, a.type) for a in marks) == expected


@given(documents(pieces=True))
def test_bioc_package_reads_our_bioc(made: list[Document]) -> None:
    package = pytest.importorskip("bioc.biocxml")
    with fresh("d.xml") as path:
        bioc.FORMAT.write(made, path, Notes())  # type: ignore[misc]
        collection = package.load(str(path))
        for loaded, document in zip(collection.documents, made, strict=True):
            assert loaded.passages[0].text == document.text
            expected = sorted(
                (m.label, m.pieces or ((m.start, m.end),))
                for o in document.opinions
                for m in o.marks
            )
            found = sorted(
                (a.infons["type"], tuple((p.offset, p.offset + p.length) for p in a.locations))
                for a in loaded.passages[0].annotations
            )
            assert found == expected
