"""The real files of these tools: told by their own format, and read or refused for a good reason."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes
from seqtruth.io.format import DocumentFormat, Glimpse
from tests.io.formats.made_documents import FIXTURES, faults

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason=f"no real files at {FIXTURES} (set SEQTRUTH_FIXTURES)"
)
MODULES = ("brat", "gate", "mae", "inception", "spacy_docbin", "spacy_json", "catma", "bioc")


def formats() -> list[DocumentFormat]:
    found: list[DocumentFormat] = []
    for name in MODULES:
        module = importlib.import_module(f"seqtruth.io.formats.{name}")
        found += getattr(module, "FORMATS", None) or [module.FORMAT]
    return found


def read(name: str, path: str, **options: object) -> tuple[list[Document], Notes]:
    notes = Notes()
    (format,) = (format for format in formats() if format.name == name)
    return list(format.read(FIXTURES / path, notes, **options)), notes


#: Files and folders that are these tools' own, by format; all others must not be claimed.
OWN = {
    "brat": ["brat", "brat/*", "brat/eco_collectf_*/*", "brat/**/*.ann", "brat/**/*.txt"],
    "gate": ["gate", "gate/*.xml"],
    "mae": ["mae", "mae/iaa_example", "mae/iaa_example/*.xml"],
    "inception": [
        "inception", "inception/cassis", "inception/cassis_json", "inception/mergecas_multivalspanrel",
        "inception/*.zip", "inception/tsv3_suite", "inception/tsv3_suite/*", "inception/tsv_testsuite",
        "inception/tsv_testsuite/*",
    ],
    "webanno-tsv": ["inception/**/*.tsv"],
    "cas-xmi": ["inception/**/*.xmi"],
    "cas-json": ["inception/**/*.json"],
    "spacy": ["spacy/*.spacy"],
    "spacy-json": ["spacy/*.json", "doccano/*.spacy.user1"],
}  # fmt: skip


def owners() -> dict[Path, str]:
    return {
        path: name for name, globs in OWN.items() for glob in globs for path in FIXTURES.glob(glob)
    }


def test_each_file_is_told_by_its_own_format_only() -> None:
    mine = owners()
    claims = {}
    for path in sorted(FIXTURES.rglob("*")):
        glimpse = Glimpse(path)
        scores = {format.name: format.tell(glimpse) for format in formats()}
        best = max(scores, key=lambda name: scores[name])
        if path in mine:
            assert best == mine[path] and scores[best] >= 0.4, (path, scores)
        elif scores[best] > 0.1:
            claims[str(path.relative_to(FIXTURES))] = best
    assert claims == {}


REFUSED = {
    "inception/neuged_tsv_multi_sentence.tsv": "begins inside the one before",  # offsets begin anew
    "inception/neuged_tsv_quotes.tsv": "the token is not in the text",  # '=A' is not 'a'
    "inception/cassis_json/casWithTextAndAnnotations__debug.xmi": "the CAS has no text",
}
ASKED = "must be chosen"


def test_every_file_is_read_or_refused_for_a_reason() -> None:
    by_name = {format.name: format for format in formats()}
    refused, asked = set(), set()
    for path, name in owners().items():
        fault = faults(by_name[name], path)
        relative = str(path.relative_to(FIXTURES))
        if fault is None:
            continue
        if ASKED in fault:
            asked.add(relative)
        elif path.is_file():
            assert REFUSED.get(relative, "?") in fault, fault
            refused.add(relative)
    assert refused == set(REFUSED)
    # several layers, or several features: the error lists them, and a choice reads the file
    for relative in asked:
        path = FIXTURES / relative
        name = owners()[path]
        if path.is_file():
            layer, feature = _first_layer(by_name[name], path)
            assert faults(by_name[name], path, layer=layer, feature=feature) is None


def _first_layer(format: DocumentFormat, path: Path) -> tuple[str, str | None]:
    with pytest.raises(InputError) as caught:
        list(format.read(path, Notes()))
    layer, *features = (caught.value.got or "").removeprefix("layers ").split("; ")[0].split("|")
    return layer, features[0] or None if features else None


def test_tsv_and_xmi_of_the_same_document_agree() -> None:
    """INCEpTION's own test cases: the TSV says what the XMI says, blanks at edges and names apart."""
    by_name = {format.name: format for format in formats()}
    compared = 0
    for folder in sorted((FIXTURES / "inception" / "tsv3_suite").iterdir()):
        if faults(by_name["webanno-tsv"], folder / "reference.tsv") or "Chain" in folder.name:
            continue
        (tsv,) = by_name["webanno-tsv"].read(folder / "reference.tsv", Notes())
        (xmi,) = by_name["cas-xmi"].read(folder / "reference.xmi", Notes())
        assert tsv.text.rstrip() == xmi.text.rstrip()
        assert (tsv.tokens, tsv.sentences) == (xmi.tokens, xmi.sentences)
        assert [stripped(tsv, m) for m in tsv.opinions[0].marks] == [
            stripped(xmi, m) for m in xmi.opinions[0].marks
        ]
        compared += 1
    assert compared == 24


def stripped(document: Document, mark: object) -> str:
    return document.text[mark.start : mark.end].strip()  # type: ignore[attr-defined]


def test_brat_annotators_are_folders() -> None:
    found, notes = read("brat", "brat/eco_collectf_discontinuous")
    (document,) = found
    assert [o.annotator for o in document.opinions] == ["A1", "S1", "T1"]
    mark = document.opinions[1].marks[0]
    assert mark.pieces == ((1863, 1900), (1901, 1933)) and (mark.start, mark.end) == (1863, 1933)
    assert notes.counts["attribute"] == 129
    assert [o.marks for o in read("brat", "brat/news")[0][1].opinions] == [()]


def test_mae_annotators_are_in_the_names() -> None:
    found, notes = read("mae", "mae/iaa_example")
    assert {d.id: [o.annotator for o in d.opinions] for d in found} == {
        "doc1": ["a1", "a2", "a3", "a4", "a5"], "doc2": ["a1", "a3", "a4", "a5"],
        "doc3": ["a1", "a2", "a3", "a4", "a5"], "doc4": ["a1", "a2", "a3", "a4", "a5"],
    }  # fmt: skip
    assert notes.counts == {"link between tags (relation)": 57, "tag without text": 38}


def test_gate_sets_are_annotators() -> None:
    found, _ = read("gate", "gate")
    assert [[(o.annotator, o.role) for o in d.opinions] for d in found] == [[("Key", "gold")]] * 3
    document = found[2]
    assert [document.text[m.start : m.end] for m in document.opinions[0].marks] == [
        "Poconggg",
        "TwitFAKTA",
        "#TwitFAKTA",
    ]


def test_inception_project() -> None:
    found, notes = read("inception", "inception/project_export_curated_3_6_1.zip")
    (document,) = found
    assert (document.id, document.text) == (
        "example_sentence.txt",
        "This is an example sentence.\n",
    )
    assert [(o.annotator, o.role, len(o.marks)) for o in document.opinions] == [
        ("CURATION_USER", "gold", 1)
    ]
    assert list(notes.counts) == ["annotator's work in Java's own format only (.ser)"]


def test_smileys_count_two_units() -> None:
    (document,), _ = read("cas-xmi", "inception/cassis/cas_with_smileys.xmi")
    assert [document.text[m.start : m.end] for m in document.opinions[0].marks][:4] == [
        "Transformers"
    ] * 3 + ["PyTorch"]
    (document,), _ = read("cas-json", "inception/casjson_phi_Baastrup.json")
    assert (
        len(document.tokens or ()) == 248 and document.opinions[0].marks == ()
    )  # nothing was marked


def test_spacy() -> None:
    found, _ = read("spacy", "spacy/jdsw_dev.spacy")
    assert len(found) == 179 and found[0].opinions[0].marks[0].label == "PHON"
    (document,), _ = read("spacy-json", "spacy/spacy2_training-data.json")
    assert document.opinions[0].seen is None
    assert document.text[slice(*document.opinions[0].marks[1][:2])] == "The Misanthrope"
