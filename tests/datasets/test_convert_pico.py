"""The PICO repository's own shapes into tables; spaCy's part with spaCy, the rest without."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataset_sources import ABSTRACT, pico_sources, write_sources, zipped
from seqtruth.datasets import convert_pico
from seqtruth.datasets.convert_pico import Sentence, convert, label_spans, sentence_splitter
from seqtruth.datasets.tables import Table
from seqtruth.errors import InputError, MissingExtraError

needs_spacy = pytest.mark.skipif(
    importlib.util.find_spec("spacy") is None, reason="spaCy (extra datasets) is not installed"
)


def by_full_stop(text: str) -> Iterator[list[tuple[str, int]]]:
    sentence: list[tuple[str, int]] = []
    for match in re.finditer(r"\w+|\.", text):
        sentence.append((match[0], match.start()))
        if match[0] == ".":
            yield sentence
            sentence = []


@pytest.fixture(params=["numbered", "without numbers"])
def tables(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Table]:
    monkeypatch.setattr(convert_pico, "sentence_splitter", lambda: by_full_stop)
    return convert(write_sources(tmp_path, pico_sources(request.param == "numbered")))


def test_tables(tables: dict[str, Table]) -> None:
    assert tables["sentences_acl17-test.tsv.gz"].columns[-1] == "char_starts"
    assert tables["sentences_acl17-test.tsv.gz"].rows[1] == (
        "11#1", "11", "Two old men and 5 women slept .", "13 17 21 25 29 31 37 42"
    )  # fmt: skip
    assert [row[:2] for row in tables["sentences_nogold.tsv.gz"].rows[::3]] == [
        ("21#0", "21"), ("22#0", "22"), ("23#0", "23")
    ]  # fmt: skip
    assert tables["sentences_nogold.tsv.gz"].columns == ("sentence_id", "doc_id", "tokens")
    splits = [split for _, split in tables["splits.tsv.gz"].rows]
    assert splits == ["acl17-test"] * 9 + ["train"] * 3 + ["dev"] * 3 + ["test"] * 3


def test_touching_spans_of_the_crowd_stay_two(tables: dict[str, Table]) -> None:
    rows = {(row[0], row[1]): row[2] for row in tables["annotations_acl17-test.tsv.gz"].rows}
    assert rows["11#1", "W1"] == "B-PAR I-PAR I-PAR B-PAR I-PAR I-PAR O O"
    assert rows["12#1", "W2"] == "B-PAR I-PAR O O O O O O"  # half a token counts
    assert rows["12#1", "W1"] == "O O O O O O O O"  # saw it, marked nothing here
    assert [key for key in rows if key[0] == "12#0"] == [("12#0", "W2"), ("12#0", "W1")]


def test_gold_is_the_first_experts_and_merged(tables: dict[str, Table]) -> None:
    gold = dict(tables["gold.tsv.gz"].rows)
    assert gold["11#1"] == "B-PAR I-PAR O O O O O O" and gold["11#0"] == "O O O"
    assert gold["12#1"] == "O O O O B-PAR I-PAR O O"
    assert {gold[f"13#{n}"] for n in range(3)} == {"O O O", "O O O O O O O O"}


def test_a_span_over_two_sentences_begins_in_both_and_later_ones_overwrite() -> None:
    first, second = Sentence("1#0", ["a", "b"], [0, 2]), Sentence("1#1", ["c", "d"], [4, 6])
    assert label_spans(first, [(2, 5)]) == ["O", "B-PAR"]
    assert label_spans(second, [(2, 5)]) == ["B-PAR", "O"]
    assert label_spans(second, [(4, 7), (6, 7)]) == ["B-PAR", "B-PAR"]


@needs_spacy
def test_spacy_splits_hyphens_and_drops_white_space() -> None:
    found = list(sentence_splitter()("Double-blind (n=5).\n\nIt works.\n\n"))
    assert [[token for token, _ in one] for one in found] == [
        ["Double", "-", "blind", "(", "n=5", ")", "."], ["It", "works", "."]
    ]  # fmt: skip
    assert [start for _, start in found[1]] == [21, 24, 29]


@needs_spacy
def test_with_spacy(tmp_path: Path) -> None:
    tables = convert(write_sources(tmp_path, pico_sources()))
    assert tables["sentences_acl17-test.tsv.gz"].rows[2][2] == "They woke ."


def test_without_spacy_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(convert_pico, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"seqtruth\[datasets\]"):
        sentence_splitter()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"readme": ""}, "no folder docs"),
        ({"docs/1.txt": ABSTRACT}, "no annotations/acl17-test"),
        ({"docs/1.txt": "", "annotations/dev/PICO-annos-crowdsourcing.json": "{"}, "not JSON"),
        ({"docs/1.txt": "", "annotations/dev/PICO-annos-crowdsourcing.json": "[]"}, "objects"),
    ],
)
def test_another_archive_is_told_apart(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        convert(write_sources(tmp_path, pico_sources() | {"pico-data.zip": zipped(files)}))
