"""Files of several annotators or documents, joined: by ids, by texts, by the names of files and folders."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.errors import DataWarning, InputError

TEXTS = ("Ann met Bob.", "Zoe\u0301 ran.", "Nobody came.")


def read(*paths: Path) -> tuple[Crowd, str]:
    """The crowd of files, and what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        crowd = io.read(list(paths))
    return crowd, " ".join(str(warning.message) for warning in caught)


def tasks(path: Path, first: int, user: int, day: int, order: tuple[int, ...] = (0, 1, 2)) -> Path:
    """A Label Studio export of a project of one's own."""

    def annotation(place: int) -> dict[str, Any]:
        value = {"start": 0, "end": 3, "labels": ["PER"]}
        result = {"from_name": "l", "to_name": "text", "type": "labels", "value": value}
        time = f"2024-01-0{day}T00:00:0{place}Z"
        return {"completed_by": user, "result": [result], "updated_at": time}

    found = [
        {"id": first + n, "data": {"text": TEXTS[n]}, "annotations": [annotation(n)]} for n in order
    ]
    path.write_text(json.dumps(found))
    return path


def test_projects_of_their_own_are_joined_by_texts(tmp_path: Path) -> None:
    ann, bob = tasks(tmp_path / "ann.json", 1, 7, 1), tasks(tmp_path / "bob.json", 101, 8, 1)
    crowd, said = read(ann, bob)
    assert crowd.annotators == ("7", "8")
    assert crowd.corpus.documents == ("1", "2", "3")
    assert crowd.n_rows == 6
    assert "3 × id of a document (another file has its text under another one)" in said


def test_files_that_count_in_another_order_are_joined_by_texts(tmp_path: Path) -> None:
    for name, order in (("ann", (0, 1, 2)), ("bob", (2, 0, 1))):
        lines = [json.dumps({"text": TEXTS[n], "label": [[0, 3, "PER"]]}) for n in order]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    crowd, _ = read(tmp_path / "ann.jsonl", tmp_path / "bob.jsonl")
    assert crowd.annotators == ("ann", "bob")
    assert (len(crowd.corpus.documents), crowd.n_rows) == (3, 6)


def test_a_text_that_another_file_happens_to_have_joins_nothing(tmp_path: Path) -> None:
    for name, texts in (
        ("train", ("Yes.", "Ann ran.", "Bob sat.")),
        ("test", ("Yes.", "A.", "B.")),
    ):
        lines = [json.dumps({"text": text, "label": [[0, 1, "X"]]}) for text in texts]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    crowd, _ = read(tmp_path / "train.jsonl", tmp_path / "test.jsonl")
    assert len(crowd.corpus.documents) >= 5  # "Yes." has one id, and one text, in both


def test_user_1_of_two_installations_is_two_people(tmp_path: Path) -> None:
    ann, bob = tasks(tmp_path / "ann.json", 1, 1, 1), tasks(tmp_path / "bob.json", 1, 1, 2)
    crowd, said = read(ann, bob)
    assert crowd.annotators == ("ann/1", "bob/1")
    assert crowd.n_rows == 6
    assert "number of a user who is another one in another file (1)" in said


def test_user_1_of_two_exports_of_a_project_is_one(tmp_path: Path) -> None:
    old, new = tasks(tmp_path / "old.json", 1, 1, 1), tasks(tmp_path / "new.json", 1, 1, 1)
    crowd, said = read(old, new)
    assert crowd.annotators == ("1",)
    assert crowd.n_rows == 3
    assert "earlier opinion of an annotator on the same text" in said


def conll(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


FIRST, SECOND = "Ann B-PER\nran O\n", "Bob B-PER\nsat O\n\nYes O\n"


@pytest.mark.parametrize("layout", ["{annotator}/{document}.conll", "{document}/{annotator}.conll"])
def test_folders_of_annotators_or_documents(tmp_path: Path, layout: str) -> None:
    for annotator in ("ann", "bob"):
        for document, text in (("d1", FIRST), ("d2", SECOND)):
            conll(tmp_path, layout.format(annotator=annotator, document=document), text)
    conll(tmp_path, layout.format(annotator="ann", document="d3"), "Zoe B-PER\n")
    crowd = io.read(tmp_path)
    assert crowd.annotators == ("ann", "bob")
    assert crowd.corpus.documents == ("d1", "d2", "d3")
    assert crowd.corpus.sentence_ids.to_pylist() == ["d1/0", "d2/0", "d2/1", "d3/0"]
    assert crowd.n_rows == 7


def test_parts_that_count_from_nought_are_put_one_after_the_other(tmp_path: Path) -> None:
    one = conll(tmp_path, "one.conll", "Ann B-PER O\nran O O\n")
    two = conll(tmp_path, "two.conll", "Bob B-PER B-PER\n")
    crowd, _ = read(one, two)
    assert crowd.annotators == ("1", "2")
    assert crowd.corpus.sentence_ids.to_pylist() == ["one/0", "two/0"]
    assert crowd.corpus.documents == ("one", "two")


def test_files_of_one_text_that_differ_somewhere_are_refused(tmp_path: Path) -> None:
    one = conll(tmp_path, "ann.conll", SECOND + "\nNo O\n")
    two = conll(tmp_path, "bob.conll", SECOND + "\nNay O\n")
    with pytest.raises(InputError, match=re.escape("sentence '2': a sentence has other tokens")):
        io.read([one, two])


def test_one_id_for_two_texts_is_said(tmp_path: Path) -> None:
    for name, text in (("one", "Ann met Bob."), ("two", "Something else, entirely.")):
        (tmp_path / f"{name}.jsonl").write_text(
            json.dumps({"id": 1, "text": text, "label": [[0, 3, "X"]]})
        )
    crowd, said = read(tmp_path / "one.jsonl", tmp_path / "two.jsonl")
    assert crowd.corpus.documents == ("1", "two/1")
    assert "1 × id of a document that another file has for another text" in said
