"""brat, GATE, MAE, INCEpTION and spaCy, written and read back: the same, as far as each can carry it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.formats import bioc, brat, gate, inception, mae, spacy_docbin, spacy_json
from tests.io.formats.made_documents import documents, plain, round_trip, texts

INCEPTION, TSV, XMI, JSON = inception.FORMATS
#: A byte-order mark at the beginning is taken off by every reader of text.
unmarked = texts.filter(lambda text: not text.startswith("\ufeff"))


@contextmanager
def fresh(name: str = "out") -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / name


def numbered(made: list[Document]) -> list[Document]:
    return [replace(document, id=str(i)) for i, document in enumerate(made, start=1)]


def trimmed(made: list[Document]) -> list[Document]:
    """Marks without blanks at their edges; those of blanks only are gone."""

    def trim(text: str, mark: Mark) -> Mark:
        words = text[mark.start : mark.end]
        start = mark.start + len(words) - len(words.lstrip())
        return mark._replace(
            start=start, end=max(start, mark.end - len(words) + len(words.rstrip()))
        )

    def opinion(text: str, old: Opinion) -> Opinion:
        return replace(
            old, marks=tuple(m for m in (trim(text, m) for m in old.marks) if m.start < m.end)
        )

    return [replace(d, opinions=tuple(opinion(d.text, o) for o in d.opinions)) for d in made]


@given(documents(pieces=True, text=unmarked))
def test_brat(made: list[Document]) -> None:
    with fresh() as path:
        assert plain(round_trip(brat.FORMAT, made, path)) == plain(made)


@given(documents())
def test_gate(made: list[Document]) -> None:
    with fresh() as path:
        assert plain(round_trip(gate.FORMAT, made, path)) == plain(made)


@given(documents(pieces=True, label=st.sampled_from(["PER", "a_b", "X.y-1", "_"])))
def test_mae(made: list[Document]) -> None:
    everyone = [replace(d, opinions=(Opinion("first"), *d.opinions)) for d in made]
    with fresh() as path:
        assert plain(round_trip(mae.FORMAT, everyone, path)) == plain(everyone)


@given(documents(pieces=True))
def test_bioc(made: list[Document]) -> None:
    """But for annotators who found nothing: of them BioC cannot tell, and takes the file's name for one."""
    said = [replace(d, opinions=tuple(o for o in d.opinions if o.marks)) for d in made]
    said = [document for document in said if document.opinions]
    if not said:
        return
    with fresh("out.xml") as path:
        assert plain(round_trip(bioc.FORMAT, said, path)) == plain(said)


@given(documents(text=unmarked))
def test_inception_tsv(made: list[Document]) -> None:
    annotated = [*made, Document("last", "Ann.", (Opinion("anna"),))]
    with fresh() as path:
        assert plain(round_trip(INCEPTION, annotated, path)) == plain(trimmed(annotated))


@pytest.mark.parametrize("kind", ["xmi", "json"])
@given(documents(text=unmarked))
def test_inception_cas(kind: str, made: list[Document]) -> None:
    annotated = [*made, Document("last", "Ann.", (Opinion("anna"),))]
    with fresh() as path:
        assert plain(round_trip(INCEPTION, annotated, path, {"kind": kind})) == plain(annotated)


@pytest.mark.parametrize("format", [TSV, XMI, JSON], ids=lambda format: format.name)
@given(documents(text=unmarked.map(str.lstrip).filter(str.strip), annotators=1))
def test_single_files(format: object, made: list[Document]) -> None:
    for document in made:
        if document.opinions:
            with fresh(f"doc.{document.opinions[0].annotator.replace('/', '-')}") as path:
                (back,) = round_trip(
                    format, [document], path, annotator=document.opinions[0].annotator
                )  # type: ignore[arg-type]
                expected = trimmed([document]) if format is TSV else [document]
                assert plain([replace(back, id=document.id)]) == plain(expected)


@given(documents(text=texts.filter(bool)))
def test_docbin(made: list[Document]) -> None:
    who = {opinion.annotator for document in made for opinion in document.opinions}
    with fresh("out.spacy") as path:
        options = {"spans": "*"} if len(who) > 1 else {"annotator": next(iter(who), "nobody")}
        assert plain(round_trip(spacy_docbin.FORMAT, made, path, **options)) == plain(
            numbered(made)
        )


@given(documents(annotators=1))
def test_spacy_json(made: list[Document]) -> None:
    who = {opinion.annotator for document in made for opinion in document.opinions}
    with fresh("out.json") as path:
        back = round_trip(spacy_json.FORMAT, made, path, annotator=next(iter(who), "nobody"))
        assert plain(back) == plain(numbered(made))


def test_tokens_sentences_and_what_was_seen() -> None:
    """Borders come back where the format has them."""
    document = Document(
        "1", "Ann met 👩‍🚀 Bob.\nThey ran.", (Opinion("anna", (Mark(0, 3, "PER"),), seen=((0, 7),)),),
        tokens=((0, 3), (4, 7), (8, 11), (12, 15), (15, 16), (17, 21), (22, 25), (25, 26)),
        sentences=((0, 16), (17, 26)),
    )  # fmt: skip
    with fresh("anna.spacy") as path:
        assert round_trip(spacy_docbin.FORMAT, [document], path) == [
            replace(document, where=f"{path}, document 1")
        ]
    for format, write in ((INCEPTION, {"kind": kind}) for kind in ("tsv", "xmi", "json")):
        with fresh() as path:
            (back,) = round_trip(format, [document], path, write)
            assert (back.tokens, back.sentences) == (document.tokens, document.sentences)


def test_tokens_that_a_mark_cuts_are_written_in_parts(tmp_path: Path) -> None:
    text = "aaaaaa bbbbbb"
    marks = (Mark(3, 10, "X"), Mark(0, 6, "Y"), Mark(7, 10, "Z"))
    made = Document("d", text, (Opinion("u", marks),), tokens=((0, 6), (7, 13)))
    TSV.write([made], tmp_path / "u.tsv", Notes())  # type: ignore[misc]
    content = (tmp_path / "u.tsv").read_text()
    assert "1-1\t0-6\taaaaaa\tY\t\n1-1.1\t3-6\taaa\tX[1]\t\n" in content
    assert "1-2\t7-13\tbbbbbb\t_\t\n1-2.1\t7-10\tbbb\tX[1]|Z[2]\t\n" in content
    (back,) = TSV.read(tmp_path / "u.tsv", Notes())
    assert set(back.opinions[0].marks) == set(marks)


@given(documents())
def test_same_documents_same_bytes(made: list[Document]) -> None:
    formats = [
        (brat.FORMAT, "a"),
        (gate.FORMAT, "a"),
        (INCEPTION, "a"),
        (spacy_docbin.FORMAT, "a.spacy"),
    ]
    for format, name in formats:
        assert format.write is not None
        with fresh(name) as first, fresh(name) as second:
            format.write(made, first, Notes())
            format.write(made, second, Notes())
            assert contents(first) == contents(second)


def contents(path: Path) -> dict[str, bytes]:
    files = (
        [path] if path.is_file() else [file for file in sorted(path.rglob("*")) if file.is_file()]
    )
    return {str(file.relative_to(path)): file.read_bytes() for file in files}
