"""What the readers make of particular files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.io.tokens import tokenise
from tests.strategies import document_names, spelled


def read(tmp_path: Path, name: str, content: str | bytes, **options: object) -> Crowd:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return io.read(path, **options)


def test_conll_2003_with_four_columns(tmp_path: Path) -> None:
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP B-ORG\n\n-DOCSTART- -X- O O\n\nPeter NNP I-NP B-PER\n"
    crowd = read(tmp_path, "a.txt", text, columns=[-1], annotators=["gold"])
    assert spelled(crowd) == {("0", "gold"): ["B-ORG"], ("1", "gold"): ["B-PER"]}
    assert document_names(crowd.corpus) == ["1", "2"]


def test_crlf_spaces_and_tabs(tmp_path: Path) -> None:
    crowd = read(tmp_path, "a.txt", "EU  B-ORG\tO \r\n\r\n \t\r\n Yes O  O\r\n")
    assert crowd.corpus.tokens.to_pylist() == ["EU", "Yes"]
    assert spelled(crowd)["0", "2"] == ["O"]


def test_only_ascii_space_separates(tmp_path: Path) -> None:
    crowd = read(tmp_path, "a.txt", "New\u00a0York\u2028x B-LOC\n# O\n#tag O\ntoken O\n")
    assert crowd.corpus.words(0) == ["New\u00a0York\u2028x", "#", "#tag", "token"]


def test_tokens_with_spaces_in_tabbed_files(tmp_path: Path) -> None:
    crowd = read(tmp_path, "a.conll", "# token\tMary Ann\nNew York\tB-LOC\n1 000\tO\n")
    assert crowd.annotators == ("Mary Ann",)
    assert crowd.corpus.words(0) == ["New York", "1 000"]


def test_plain_header_and_a_sentence_that_opens_with_token(tmp_path: Path) -> None:
    assert read(tmp_path, "a.txt", "token ann bob\nEU B-ORG O\n").annotators == ("ann", "bob")
    crowd = read(tmp_path, "b.txt", "token O ?\nring B-X ?\n")
    assert crowd.annotators == ("1", "2")
    assert crowd.corpus.words(0) == ["token", "ring"]


def test_an_annotator_who_saw_nothing_stays_listed(tmp_path: Path) -> None:
    crowd = read(tmp_path, "a.txt", "EU B-ORG ?\n\nYes ? ?\n")
    assert crowd.annotators == ("1", "2")
    assert crowd.covered.tolist() == [True, False]


@pytest.mark.parametrize(
    ("tags", "kind"),
    [
        ("B-PER I-PER O", "iob2"),
        ("I-PER O I-PER", "io"),
        ("NOUN VERB O", "plain"),
        ("B-PER E-PER S-PER", "bioes"),
        ("B-PER L-PER U-PER", "bilou"),
        ("B-PER NOUN VERB", "plain"),
        ("O O O", "iob2"),
    ],
)
def test_detected_schemes(tags: str, kind: str, tmp_path: Path) -> None:
    lines = "".join(f"w {tag}\n" for tag in tags.split())
    assert read(tmp_path, "a.conll", lines).scheme.kind == kind


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a", '{"tokens": ["x"], "annotations": {}}', "jsonl"),
        ("a.json", '{"tokens": ["x"], "annotations": {}}', "jsonl"),
        ("a.txt", "{ O\n", "conll"),
        ("a.tsv", "task\tworker\tlabel\n1\tw\tO\n", "tsv"),
        ("a.tsv", "EU\tB-ORG\n", "conll"),
        ("a.data", "task,worker,label\n1,w,O\n", "csv"),
        ("a.CSV", "task,worker,label\n1,w,O\n", "csv"),
    ],
)
def test_detected_formats(name: str, content: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    assert io.detect_format(tmp_path / name) == expected
    io.read(tmp_path / name)


def test_parquet_is_known_by_its_content(tmp_path: Path) -> None:
    io.write(Crowd.of({"w": [["O"]]}, [["a"]]), tmp_path / "a", "parquet")
    assert io.detect_format(tmp_path / "a") == "parquet"


def test_spans_never_end_inside_a_token(tmp_path: Path) -> None:
    text = "anti-HIV drug2x, 3.50 e\u0301te\u0301 👩‍🔬\r\nend"
    marked = {
        "a": [{"start": 0, "end": 4, "label": "X"}, {"start": 9, "end": 13, "label": "Y"}],
        "b": [{"start": 1, "end": 8, "label": "X"}, {"start": 14, "end": 15, "label": "Y"}],
    }
    record = json.dumps({"text": text, "annotations": marked})
    crowd = read(tmp_path, "a.jsonl", record)
    words = crowd.corpus.words(0)
    assert words[:3] == ["a", "nti", "-"]
    assert "e\u0301te\u0301" in words and "3.50" in words
    io.write(crowd, tmp_path / "b.jsonl")
    assert json.loads((tmp_path / "b.jsonl").read_text())["annotations"] == marked


def test_white_space_at_the_edge_of_a_span_is_trimmed(tmp_path: Path) -> None:
    marked = {"w": [{"start": 0, "end": 7, "label": "P"}]}
    record = {"text": " Ann\u00a0\r\n ran", "annotations": marked}
    crowd = read(tmp_path, "a.jsonl", json.dumps(record))
    io.write(crowd, tmp_path / "b.jsonl")
    spans = json.loads((tmp_path / "b.jsonl").read_text())["annotations"]["w"]
    assert spans == [{"start": 1, "end": 4, "label": "P"}]


def test_texts_with_missing_tags_keep_text_and_offsets(tmp_path: Path) -> None:
    record = '{"text": "Ann ran", "annotations": {"w": [{"start": 0, "end": 3, "label": "P"}]}}'
    crowd = read(tmp_path, "a.jsonl", record).abstaining("O")
    io.write(crowd, tmp_path / "b.jsonl")
    back = io.read(tmp_path / "b.jsonl")
    assert spelled(back) == {("0", "w"): ["B-P", None]}
    assert back.digest() == crowd.digest()
    assert back.corpus.texts.to_pylist() == ["Ann ran"]
    assert back.corpus.char_ends.tolist() == [3, 7]


def test_tsv_made_without_quoting(tmp_path: Path) -> None:
    text = 'task\tworker\ttoken_index\ttoken\tlabel\ns\tw\t0\t"\tO\ns\tw\t1\t"\tO\n'
    crowd = read(tmp_path, "a.tsv", text, quoting=False)
    assert crowd.corpus.words(0) == ['"', '"']


def test_tokeniser_covers_all_but_white_space() -> None:
    text = "A 1,000.5km  ½ — 字字\u200b x_y"
    tokens = tokenise(text, {3})
    assert "".join(text[a:b] for a, b in tokens) == "".join(c for c in text if not c.isspace())
    assert all(b == c or text[b:c].isspace() for (_, b), (c, _) in zip(tokens, tokens[1:]))  # noqa: B905, RUF007


def test_spans_as_triples(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Ann ran", "annotations": {"a": [[0, 3, "PER"]], "b": []}}\n')
    crowd = io.read(path)
    assert [crowd.scheme.labels[tag] for tag in crowd.labelling(0).tags] == ["B-PER", "O"]
