"""The examples in docs/formats.md can be read, and say what the page says."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from seqtruth import io
from seqtruth.errors import DataWarning
from seqtruth.io.format import DocumentFormat
from tests.strategies import document_names, spelled

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    for name, text in re.findall(r"^```\w+ file=(\S+)\n(.*?)^```", PAGE.read_text(), re.M | re.S):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


EXPECTED = {
    "answers.txt": {
        ("0", "1"): ["B-ORG", "O"],
        ("0", "3"): ["O", "O"],
        ("1", "1"): ["B-PER", "I-PER"],
        ("1", "2"): ["B-PER", None],
    },
    "named.conll": {
        ("s1", "ann"): ["B-ORG", "O"],
        ("s1", "bob"): ["O", "O"],
        ("s2", "ann"): ["O"],
    },
    "folder": {("s1", "ann"): ["B-ORG", "O"], ("s1", "bob"): ["O", "O"]},
    "tags.jsonl": {("s1", "ann"): ["B-ORG", "O"], ("s1", "bob"): ["O", None]},
    "texts.jsonl": {("s1", "ann"): ["B-PER"] + ["O"] * 4, ("s1", "bob"): ["O"] * 5},
    "plain.csv": {("image-1", "ann"): ["cat"], ("image-1", "bob"): ["dog"]},
    "tokens.csv": {("s1", "ann"): ["B-ORG", "O"], ("s1", "bob"): ["O", None]},
    "spans.csv": {("s1", "ann"): ["B-ORG", "O", "B-MISC", "O"], ("s1", "bob"): ["O"] * 4},
}
#: In the first layer.
EXPECTED["export.json"] = {
    ("7#1", "ann"): ["B-PER", "O", "O"],
    ("7#1", "bob"): ["O"] * 3,
    ("7#2", "ann"): ["O", "O", "B-LOC", "I-LOC", "I-LOC", "O", "O", "O", "O"],
    ("7#2", "bob"): ["O"] * 9,
}
SENTENCES = {"export.json": 4, "answers.txt": 2,
             "named.conll": 2, "folder": 2, "texts.jsonl": 2, "tokens.csv": 2,
             "spans.csv": 2}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_example(examples: Path, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DataWarning
        )  # of layers, and an annotation that was cancelled
        crowd = io.read(examples / name)
    first = {key: tags for key, tags in spelled(crowd).items() if "@" not in key[0]}
    assert first == EXPECTED[name]
    assert crowd.n_sentences == SENTENCES.get(name, 1)


def test_all_examples_are_tested(examples: Path) -> None:
    assert {path.name for path in examples.iterdir()} == set(EXPECTED)


def test_what_the_page_says_of_names(examples: Path) -> None:
    assert io.read(examples / "tags.jsonl").annotators == ("ann", "bob", "eve")
    crowd = io.read(examples / "named.conll")
    assert document_names(crowd.corpus) == ["news-1", "news-1"]
    assert crowd.corpus.words(1) == ["#hashtag"]
    assert io.read(examples / "texts.jsonl").corpus.words(0) == ["Zoë", "😀", "met", "Ann", "."]


def test_every_format_of_a_tool_is_listed_with_what_it_cannot_carry() -> None:
    page = PAGE.read_text()
    for name, found in io.FORMATS.items():
        assert f"`{name}`" in page
        if isinstance(found, DocumentFormat):
            options = ", ".join(f"`{option}`" for option in found.read_options or ()) or "–"
            lost = (", ".join(found.cannot_carry) if found.write is not None else "") or "–"
            row = f"| `{name}` | {found.title} | {'in, out' if found.write else 'in'} | {options} | {lost} |"
            assert row in page


def test_the_example_of_overlaps(examples: Path) -> None:
    with pytest.warns(DataWarning, match="put on 2 layers: PER, LOC | ROLE"):
        crowd = io.read(examples / "export.json")
    assert crowd.corpus.sentence_ids.to_pylist() == ["7#1", "7#1@ROLE", "7#2", "7#2@ROLE"]
