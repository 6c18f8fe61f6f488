"""Each fault of a user's file, and the exact words it is answered with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from seqtruth import io
from seqtruth.errors import InputError, ParameterError, SeqTruthError

TWENTY = "".join(f"w{i} B-PER O\n\n" for i in range(20))
SPAN = '{"text": "ab cd", "annotations": {"w": [%s]}}'
HEAD = "task,worker,token_index,label\n"


def tagged(*tags: object, n: int | None = None) -> str:
    return json.dumps({"tokens": ["a"] * (n or len(tags)), "annotations": {"w": tags}})


FAULTS = {
    # CoNLL
    ("answers.txt", TWENTY + "x X-PER O\n"):
        "answers.txt:41: tag 'X-PER' is not IOB2; expected B-, I- or O",
    ("a.txt", "a B-PER\nb PER\nc I-PER\n"): "a.txt:2: tag 'PER' is not IOB2; expected B-, I- or O",
    ("a.txt", "a O O\nb O\n"):
        "a.txt:2: 2 columns where the lines before have 3; got 'b O'; write '?' where an annotator "
        "gave no tag",
    ("a.conll", "# token ann bob\na O O\nb O O O\n"):
        "a.conll:3: 4 columns where the header has 3; got 'b O O O'; write '?' where an annotator "
        "gave no tag",
    ("a.tsv", "a\tO\tO\nb\t\tO\n"):
        "a.tsv:2: 2 columns where the lines before have 3; got 'b\\t\\tO'; a column is empty; "
        "write '?' where an annotator gave no tag",
    ("a.conll", "a O\n# a remark\n"):
        "a.conll:2: 3 columns where the lines before have 2; got '# a remark'; comments read "
        "'# name = value'",
    ("a.txt", "abc\n"):
        "a.txt:1: a line needs a token and at least one tag; got 1 column; separate token and tags "
        "by tabs or spaces",
    ("a.conll", "# token ann ann\na O O\n"):
        "a.conll:1: annotator 'ann' has two columns; give each column its own name",
    ("a.conll", "# id = 1\na O\n\n# id = 1\nb O\n"):
        "a.conll:4: sentence id '1' is given twice; got the first on line 1; give each sentence an "
        "id of its own",
    ("a.conll", "# scheme = xyz\na O\n"):
        "a.conll: the comment '# scheme = xyz' names no scheme; known are plain, io, iob1, iob2, "
        "bioes, bilou",
    ("a.conll", "# id = 1\n"): "a.conll: the file has no tokens",
    ("a.conll", ""): "a.conll: the file is empty",
    ("a.conll", " \n\n"): "a.conll: the file is empty",
    ("a.conll", "".join(f"w t{i}\n" for i in range(3000))):
        "a.conll: at most 2048 different labels are supported; got 3000; check that the label column "
        "really holds labels",
    # encodings
    ("a.conll", b"a O\nZo\xeb O\n"):
        "a.conll:2: the file is not UTF-8; got byte 0xeb at offset 6; save the file as UTF-8",
    ("a.txt", "a O\n".encode("utf-16")[:-1]):
        "a.txt: the file is not the UTF-16 that its byte-order mark says; got truncated data; save the file "
        "as UTF-8",
    ("a.bin", b"PK\x03\x04\n\0"):
        "a.bin: cannot open the archive; got File is not a zip file; fetch or export it again",
    ("a.xyz", "hello"):
        "a.xyz: cannot tell the format; got 'hello'; give format=, one of "
        + ", ".join(io.FORMATS),
    # JSONL
    ("a.jsonl", tagged("B-PER", "O", n=1)):
        "a.jsonl:1: annotator 'w' needs one tag per token (1); got 2; write null for a tag that "
        "was not given",
    ("a.jsonl", tagged("B-PER", 3)):
        "a.jsonl:1: annotator 'w': a tag must be a string, or null; got 3",
    ("a.jsonl", tagged("O") + "\n" + tagged("B-PER", "I-PER", "X-PER")):
        "a.jsonl:2: tag 'X-PER' is not IOB2; expected B-, I- or O",
    ("a.jsonl", '{"tokens": ["a"], "annotations": {"w": ["O"], "w": ["O"]}}'):
        "a.jsonl:1: the key 'w' stands twice in one object; an annotator may label a sentence "
        "once; give a second pass a name of its own",
    ("a.jsonl", '{"id": 1, "tokens": [], "annotations": {}}\n' * 2):
        "a.jsonl:2: sentence id '1' is given twice; got the first at a.jsonl:1; give each sentence "
        "an id of its own",
    ("a.jsonl", '{"id": 1, "tokens": ["a"]}'):
        'a.jsonl:1: "annotations" must be an object; got nothing; write "annotations": {} for a '
        "sentence that nobody labelled",
    ("a.jsonl", '{"tokens": NaN}'):
        "a.jsonl:1: not valid JSON; got NaN is not JSON; write one JSON object a line",
    ("a.jsonl", "[1]"):
        "a.jsonl:1: a line must hold one JSON object; got a list; write one JSON object a line",
    ("a.jsonl", '{"text": "\\ud800", "annotations": {}}'):
        "a.jsonl:1: text holds half a surrogate pair; write characters, not halves",
    ("a.jsonl", '{"words": 1, "annotations": {}}'):
        'a.jsonl:1: a record needs "tokens" or "text"; got "words", "annotations"',
    ("a.jsonl", SPAN % '{"start":0,"end":99,"label":"X"}'):
        "a.jsonl:1: annotator 'w': a span must lie inside the text (0 to 5) and not be empty; got "
        "0 to 99; offsets count characters, the end is exclusive",
    ("a.jsonl", SPAN % '{"start":2,"end":3,"label":"X"}'):
        "a.jsonl:1: annotator 'w': a span covers white space only; got 2 to 3",
    ("a.jsonl", SPAN % '"O"'):
        "a.jsonl:1: annotator 'w': a span needs \"start\", \"end\" and \"label\"; got 'O'",
    # tables
    ("a.csv", "task,worker\n1,2\n"):
        "a.csv:1: column 'label' is missing; got columns task, worker; a table needs the columns "
        "task, worker and label",
    ("a.csv", "task,worker,label\n"): "a.csv: the table has no rows",
    ("a.csv", "task,worker,label\n1,2,3\n1,2\n"):
        "a.csv:3: 2 columns where the header has 3; got '1,2'; check separators and quotes",
    ("a.csv", "task,worker,label\n1,2,3\n1,2,4\n"):
        "a.csv:3: annotator '2' labelled task '1' twice; keep one of the two, or add a token_index "
        "column if the task is a sequence",
    ("a.csv", HEAD + "1,w,0,O\n1,w,0,O\n"):
        "a.csv:3: annotator 'w' labelled task '1' twice; keep one of the two, or give the second "
        "pass a name of its own",
    ("a.csv", HEAD + "1,w,0,O\n1,w,2,O\n2,w,0,O\n"):
        "a.csv:2: task '1' has no row for token 1; count tokens from 0; write a row with an empty "
        "label where nobody labelled",
    ("a.csv", HEAD + "1,w,99999999999999999999,O\n"):
        "a.csv:2: token_index must be a whole number; got '99999999999999999999'",
    ("a.csv", HEAD + "1,w,999999999,O\n"):
        "a.csv:2: token_index is higher than the table has rows; got 999999999; count tokens from "
        "0 within each task",
    ("a.csv", HEAD + "1,w,-1,O\n"): "a.csv:2: token_index must not be negative; count from 0",
    ("a.csv", HEAD + ",w,0,O\n"): "a.csv:2: the task is empty",
    ("a.csv", HEAD + "1,,0,O\n"): "a.csv:2: the annotator is empty; name who gave the label",
    ("a.csv", "task,worker,token,label\n1,v,a,O\n1,w,b,O\n"):
        "a.csv:3: the token differs from the one given before for the same place; got 'b'",
    ("a.csv", HEAD + "".join(f"{i},w,0,B-PER\n" for i in range(12)) + "t,w,0,X-PER\n"):
        "a.csv:14: tag 'X-PER' is not IOB2; expected B-, I- or O",
    ("a.csv", 'task,worker,label\n1,w,"abc\n2,w,x\n'):
        "a.csv:2: the label runs over lines, as if a quotation mark were not closed; got "
        "'abc\\n2,w,x\\n'; write a quotation mark as two inside quotes, or read with quoting=False",
    ("a.csv", "task,worker,start,end,label\n1,2,0,1,X\n"):
        "a.csv: a table with spans needs a column 'text' or 'tokens'; got columns task, worker, "
        "label, start, end; start and end count characters of text, or tokens of tokens (joined by "
        "spaces)",
    ("a.csv", 'task,worker,start,end,label,text\n1,2,0,1,X,"a\nb"\n2,3,0,5,X,abc\n'):
        "a.csv:4: annotator '3': a span must lie inside the text (0 to 3) and not be empty; got 0 "
        "to 5; offsets count characters, the end is exclusive",
    ("a.csv", "task,worker,start,end,label,text\n1,2,0,,X,ab\n"):
        "a.csv:2: a span needs annotator, start, end and label; leave start, end and label empty "
        "where the annotator marked nothing",
}  # fmt: skip


@pytest.mark.parametrize(("file", "message"), FAULTS.items(), ids=lambda value: str(value)[:40])
def test_message(
    file: tuple[str, str | bytes], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content = file
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        io.read(name)
    assert str(caught.value) == message


FOLDERS = [
    (
        {"ann": "a O\nb O\n", "bob": "a O\n"},
        "f/bob.conll:1: sentence '0' has 1 token where ann.conll has 2; all annotators' files must "
        "have the same tokens",
    ),
    (
        {"ann": "# id = x\na O\n", "bob": "# id = x\nb O\n"},
        "f/bob.conll:2: sentence 'x' differs from ann.conll, which has 'a'; got 'b'; all "
        "annotators' files must have the same tokens",
    ),
    (
        {"ann": "a O\n\nb O\n", "bob": "a O\n"},
        "f/bob.conll:1: 1 sentence where ann.conll has 2; write '?' for tags not given, or put "
        "'# id = …' above each sentence",
    ),
    (
        {"ann": "a O O\n"},
        "f/ann.conll:1: a file of one annotator must have two columns, token and tag; got 3 "
        "columns; give each annotator a file, or read the file itself as conll",
    ),
    (
        {"ann": "a B-PER\n" * 9, "bob": "a B-PER\n" * 8 + "a X-PER\n"},
        "f/bob.conll:9: tag 'X-PER' is not IOB2; expected B-, I- or O",
    ),
    ({}, "f: the folder is empty; give the files themselves"),
]


@pytest.mark.parametrize(("files", "message"), FOLDERS)
def test_folder_message(
    files: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f").mkdir()
    for name, text in files.items():
        (tmp_path / "f" / f"{name}.conll").write_text(text)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as caught:
        io.read("f")
    assert str(caught.value) == message


def test_two_files_of_one_annotator(tmp_path: Path) -> None:
    for name in ("ann.conll", "ann.txt"):
        (tmp_path / name).write_text("a O\n")
    with pytest.raises(InputError, match=r"annotator 'ann' has two files; got ann.conll and ann.t"):
        io.read(tmp_path)


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"^no.txt: cannot read the file; got No such file"):
        io.read("no.txt")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"format": "xml"},
            "format must be one of conll, conll-folder, jsonl, label-matrix, csv, tsv, parquet",
        ),
        ({"scheme": "bogus"}, "scheme must be one of"),
        ({"colour": 1}, "reading conll takes no option 'colour'; it takes annotators, columns"),
        ({"columns": [5]}, "columns must be different places from 1 to 1"),
        ({"annotators": ["a", "b"]}, "annotators must be 1 different names"),
    ],
)
def test_wrong_arguments(options: dict[str, object], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_text("a O\n")
    with pytest.raises(ParameterError, match=message):
        io.read(tmp_path / "a.conll", **options)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (3, "cannot read this as a table; got int"),
        ({"task": ["a"], "worker": ["b"]}, "frame: column 'label' is missing"),
        ({"task": [None], "worker": ["b"], "label": ["O"]}, "frame: row 1: the task is empty"),
        ({"task": [["a"]], "worker": ["b"], "label": ["O"]}, "column 'task' cannot be read as tex"),
        (
            {"task": ["a"], "worker": ["b"], "token_index": [0.5], "label": ["O"]},
            "frame: row 1: token_index must be a whole number; got '0.5'",
        ),
    ],
)
def test_wrong_frames(frame: object, message: str) -> None:
    with pytest.raises(SeqTruthError, match=message):
        io.read(frame)
