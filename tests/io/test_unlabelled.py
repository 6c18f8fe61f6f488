"""Sentences for a tagger, from files with and without tags."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from seqtruth import io
from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.errors import InputError
from seqtruth.io.unlabelled import read_unlabelled
from tests.strategies import document_names


def read(tmp_path: Path, name: str, content: str, format: str | None = None) -> Corpus:
    (tmp_path / name).write_bytes(content.encode())
    return read_unlabelled(tmp_path / name, format)


def words(corpus: Corpus) -> list[list[str]]:
    return [corpus.words(s) for s in range(corpus.n_sentences)]


def test_text_has_a_sentence_on_each_line(tmp_path: Path) -> None:
    corpus = read(tmp_path, "a.txt", "\ufeffAnn\u2028ran.\r\n\n  Bob\x85left \n")
    assert words(corpus) == [["Ann", "ran", "."], ["Bob", "left"]]
    assert corpus.texts.to_pylist() == ["Ann\u2028ran.", "Bob\x85left"]
    assert corpus.char_starts.tolist() == [0, 4, 7, 0, 4]
    assert words(read(tmp_path, "b", "token ann\n")) == [["token", "ann"]]


def test_prose_is_not_taken_for_columns(tmp_path: Path) -> None:
    text = "Obama visited Ames\nPeter left Brno\n"
    assert [len(sentence) for sentence in words(read(tmp_path, "a.txt", text))] == [3, 3]
    assert len(words(read(tmp_path, "b.txt", "I saw O\n"))[0]) == 3
    assert words(read(tmp_path, "c.txt", "EU B-ORG\nrejects O\n")) == [["EU", "rejects"]]
    corpus = read(tmp_path, "d.txt", "EU B-ORG\nrejects O\n", "text")
    assert words(corpus)[1] == ["rejects", "O"]


def test_content_tells_where_the_name_does_not(tmp_path: Path) -> None:
    assert words(read(tmp_path, "a", '{"tokens": ["New York"]}\n')) == [["New York"]]
    assert words(read(tmp_path, "b.txt", "task,worker,token,label\nx,w,Yes,O\n")) == [["Yes"]]
    assert words(read(tmp_path, "c.tsv", "New York\tB-LOC\nis\tO\n")) == [["New York", "is"]]
    io.write(Crowd.of({"w": [["O"]]}, [["Yes"]]), tmp_path / "d", "parquet")
    assert words(read_unlabelled(tmp_path / "d")) == [["Yes"]]


def test_conll_keeps_ids_documents_and_tokens(tmp_path: Path) -> None:
    text = "token ann\n# doc = d\n# id = x\nNew\u00a0York B-LOC\n#a O\n\n# id = y\nYes\u2028 O\n"
    corpus = read(tmp_path, "a.conll", text)
    assert words(corpus) == [["New\u00a0York", "#a"], ["Yes\u2028"]]
    assert corpus.sentence_ids.to_pylist() == ["x", "y"]
    assert document_names(corpus) == ["d", "d"]


@pytest.mark.parametrize("top", ["", "# token\n", "# token ann bob\n", "# scheme = none\n"])
def test_conll_with_one_column(top: str, tmp_path: Path) -> None:
    text = top + "# id = x\nNew\u00a0York\r\n# \r\n\r\ntoken\n"
    corpus = read(tmp_path, "a.conll", text)
    assert words(corpus) == [["New\u00a0York", "#"], ["token"]]
    assert corpus.sentence_ids.to_pylist() == ["x", "1"]


def test_conll_tags_are_passed_over(tmp_path: Path) -> None:
    odd = "".join(f"w{i} {tag}\n" for i, tag in enumerate(["B-X", "I-X"] * 50 + ["Q-", "-"]))
    assert len(words(read(tmp_path, "a.conll", odd))[0]) == 102
    many = "".join(f"w O{i}\n" for i in range(300))  # more labels than a crowd can have
    assert len(words(read(tmp_path, "a.conll", many))[0]) == 300
    assert words(read(tmp_path, "a.bio", "New York\tO\nis\n\t\nit\t\tO\n")) == [
        ["New York", "is"], ["it"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("a.conll", "EU O\nrejects\n", "a.conll:2: 1 column where the lines before have 2"),
        ("a.conll", "Ann\nNew York\n", "a.conll:2: 2 columns where the lines before have 1"),
        ("a.conll", "EU\tO\n\tO\n", "a.conll:2: the token is empty"),
        ("a.conll", "# id = x\nEU\n\n# id = x\nEU\n", "a.conll:4: sentence id 'x' is given twice"),
        ("a.conll", "# id = x\n", "a.conll: the file has no tokens"),
        ("a.txt", " \n", "a.txt: the file is empty"),
        ("a.jsonl", '{"id": "x"}', 'a.jsonl:1: a record needs "tokens" or "text"; got "id"'),
        ("a.jsonl", '\n{"tokens": [1]}', 'a.jsonl:2: "tokens" must be strings'),
        ("a.jsonl", "[]", "a.jsonl:1: a line must hold one JSON object"),
        ("a.jsonl", '{"id": 1, "text": "a"}\n' * 2, "a.jsonl:2: sentence id '1' is given twice"),
        ("a.csv", "some,prose\n", "a.csv:1: column 'task' is missing"),
        ("a.csv", "task,worker,label\nx,w,cat\n", "a.csv: the table holds no tokens"),
    ],
)
def test_faults(name: str, text: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, name, text)
    assert str(error.value).removeprefix(f"{tmp_path}{os.sep}").startswith(fault)


def test_format_is_checked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="format must be one of text, conll"):
        read(tmp_path, "a.txt", "Yes", "prose")
    with pytest.raises(InputError, match="jsonl is a file; got a folder"):
        read_unlabelled(tmp_path, "jsonl")


def test_jsonl_keeps_everything_but_annotations(tmp_path: Path) -> None:
    text = (
        '{"id": 7, "doc": "d", "tokens": ["Ann", "ran"], "text": "Ann\u2028 ran", '
        '"offsets": [[0, 3], [5, 8]]}\r\n'
        '{"id": null, "tokens": null, "text": "Bob\x85left", "scheme": "none", '
        '"annotations": {"w": [{"start": 1, "end": 99}]}}\n'
        '{"tokens": ["New York"], "annotations": {"w": ["Q", 3, []]}}\n'
    )
    corpus = read(tmp_path, "a.jsonl", text)
    assert words(corpus) == [["Ann", "ran"], ["Bob", "left"], ["New York"]]
    assert corpus.sentence_ids.to_pylist() == ["7", "1", "2"]
    assert document_names(corpus) == ["d", "", ""]
    assert corpus.texts.to_pylist() == ["Ann\u2028 ran", "Bob\x85left", None]
    assert corpus.char_starts.tolist() == [0, 5, 0, 4, -1]
    assert corpus.char_ends.tolist() == [3, 8, 3, 8, -1]


def test_labels_go_back_to_the_characters(tmp_path: Path) -> None:
    text = '{"id": "x", "tokens": ["Ann", "ran"], "text": "Ann  ran", "offsets": [[0, 3], [5, 8]]}'
    corpus = read(tmp_path, "a.jsonl", text)
    crowd = Crowd.build(corpus, ["O", "B-X"], ["w"], *(np.array(x) for x in ([0], [0], [0, 1])),
                        "iob2")  # fmt: skip
    io.write(crowd, tmp_path / "b.jsonl")
    assert '{"start": 5, "end": 8, "label": "X"}' in (tmp_path / "b.jsonl").read_text()


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.parquet", "a.pq"])
@pytest.mark.parametrize("level", ["token", "span"])
def test_tables(name: str, level: str, tmp_path: Path) -> None:
    crowd = Crowd.of(
        {"ann": [["B-X", "O"], None], "bob": [["O", "O"], ["O"]]},
        [["Ann", "ran"], ["Yes"]],
        ids=["x", "y"],
    )
    io.write(crowd, tmp_path / name, level=level)
    corpus = read_unlabelled(tmp_path / name)
    assert words(corpus) == [["Ann", "ran"], ["Yes"]]
    assert corpus.sentence_ids.to_pylist() == ["x", "y"]


def test_labels_of_tables_are_passed_over(tmp_path: Path) -> None:
    rows = "x,w,0,EU,B-X\nx,w,0,EU,I-X\nx,v,1,is,Q-\nx,,1,is,-\n"
    corpus = read(tmp_path, "a.csv", "task,worker,token_index,token,label\n" + rows)
    assert words(corpus) == [["EU", "is"]]
    rows = "x,w,5,99,X,EU is\nx,w,q,,,\n"
    corpus = read(tmp_path, "a.csv", "task,worker,start,end,label,text\n" + rows)
    assert words(corpus) == [["EU", "is"]]
    assert corpus.texts.to_pylist() == ["EU is"]


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "ann.conll").write_text("# scheme = none\nEU B-X\nis -\n")
    (tmp_path / "bob.conll").write_text("EU I-X\nis Q-\n")
    assert words(read_unlabelled(tmp_path)) == [["EU", "is"]]


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="needs /dev/fd")
def test_a_pipe_is_read_once() -> None:
    for text, found in (("Ann ran.\n", 3), ('{"tokens": ["Ann", "ran"]}', 2), ("EU O\n" * 2, 2)):
        out, into = os.pipe()
        os.write(into, text.encode())
        os.close(into)
        assert read_unlabelled(f"/dev/fd/{out}").n_tokens == found
        os.close(out)
    out, into = os.pipe()
    os.write(into, b"task,worker,token,label\nx,w,Yes,O\n")
    os.close(into)
    with pytest.raises(InputError, match="give --format csv"):
        read_unlabelled(f"/dev/fd/{out}")
    os.close(out)
