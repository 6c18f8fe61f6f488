"""What every format must do, as checks that any of them, also a user's own, can be put through."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.errors import SeqTruthError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.format import DocumentFormat, Format, Glimpse
from seqtruth.testing.material import ConformanceError, small_crowd

#: Files that are no format's; a reader refuses them and does not stumble.
GARBAGE = (
    b"",
    b"\x00\x01\x02",
    b"\xff\xfe\x00",
    b'{"a": [1, {',
    b"<x><y>",
    b"a\tb\n\n\nc",
    b"[]",
    b"PK\x03\x04",
)


def check_format(form: Format) -> None:
    """Put a format through all checks: what it wrote it reads back, and bad files are refused politely.

    Parameters
    ----------
    form : a :class:`~seqtruth.io.format.CrowdFormat` or :class:`~seqtruth.io.format.DocumentFormat`.

    Raises
    ------
    ConformanceError
        At the first rule that is broken.

    Examples
    --------
    >>> from seqtruth.io import FORMATS
    >>> check_format(FORMATS["conll"])
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _garbage_is_refused(form, Path(folder))
        if form.write is None:
            return
        if isinstance(form, DocumentFormat):
            _documents_come_back(form, Path(folder))
        else:
            _crowds_come_back(form, Path(folder))


def _demand(condition: object, what: str, form: Format) -> None:
    if not condition:
        raise ConformanceError(what, where=form.name)


def _place(form: Format, folder: Path, name: str) -> Path:
    return folder / (name + (form.suffixes[0] if form.suffixes else ""))


def _garbage_is_refused(form: Format, folder: Path) -> None:
    for number, content in enumerate(GARBAGE):
        path = _place(form, folder, f"garbage{number}")
        path.write_bytes(content)
        sure = form.tell(Glimpse(path))
        _demand(0 <= sure <= 1, "tell must answer from 0 to 1", form)
        try:
            _read(form, path)
        except SeqTruthError:
            continue
        except Exception as error:
            raise ConformanceError(
                f"a bad file made it stumble ({type(error).__name__}: {error})",
                where=form.name, got=repr(content), fix="raise InputError with the place",
            ) from error  # fmt: skip


def _read(form: Format, path: Path) -> Any:
    if isinstance(form, DocumentFormat):
        return list(form.read(path, Notes()))
    return form.read(path, None)


def _write(form: Format, thing: Any, path: Path) -> bytes:
    """What is written, twice over: the same bytes."""
    found = []
    for _ in range(2):
        write: Any = form.write
        if isinstance(form, DocumentFormat):
            write(iter(thing), path, Notes())
        else:
            write(thing, path)
        if path.is_dir():
            found.append(
                b"".join(one.read_bytes() for one in sorted(path.rglob("*")) if one.is_file())
            )
            if len(found) == 1:
                path = path.with_name(path.name + "-again")
        else:
            found.append(path.read_bytes())
    _demand(found[0] == found[1], "the same content gave different bytes", form)
    return found[0]


def _crowds_come_back(form: Format, folder: Path) -> None:
    crowd = small_crowd(n_sentences=12)
    before = crowd.digest()
    path = _place(form, folder, "crowd")
    _write(form, crowd, path)
    _demand(crowd.digest() == before, "writing changed the crowd", form)
    again = _read(form, path)
    _demand(isinstance(again, Crowd), "read must give a crowd", form)
    _demand(again.n_sentences == crowd.n_sentences, "sentences were lost", form)
    words = [again.corpus.words(s) == crowd.corpus.words(s) for s in range(crowd.n_sentences)]
    _demand(all(words), "tokens came back different", form)
    _demand(sorted(again.annotators) == sorted(crowd.annotators), "annotators were lost", form)
    _demand(_said(again) == _said(crowd), "labels came back different", form)
    _demand(form.tell(Glimpse(path)) > 0, "tell does not know what it wrote itself", form)


def _said(crowd: Crowd) -> dict[tuple[int, str], list[str | None]]:
    """Everybody's labels by sentence and annotator."""
    names = np.array([*crowd.scheme.labels, None], object)
    return {
        (int(s), crowd.annotators[w]): names[crowd.tags[a:b]].tolist()
        for s, w, a, b in zip(
            crowd.row_sentence, crowd.row_annotator, crowd.row_offsets[:-1], crowd.row_offsets[1:],
            strict=True,
        )
    }  # fmt: skip


def _documents_come_back(form: DocumentFormat, folder: Path) -> None:
    texts = ("Ann Lee saw Oslo .", "Ida left .", "Nobody — saw 😀 Brno ?")
    documents = [
        Document(f"d{n}", text, (Opinion("ann", marks),))
        for n, (text, marks) in enumerate(
            zip(texts, ((Mark(0, 7, "PER"), Mark(12, 16, "LOC")), (), (Mark(15, 19, "LOC"),)), strict=True)
        )
    ]  # fmt: skip
    path = _place(form, folder, "documents")
    _write(form, documents, path)
    again = _read(form, path)
    _demand([one.text for one in again] == list(texts), "texts came back different", form)
    for ours, theirs in zip(documents, again, strict=True):
        marks = [
            sorted((m.start, m.end, m.label) for opinion in one.opinions for m in opinion.marks)
            for one in (ours, theirs)
        ]
        _demand(marks[0] == marks[1], "marks came back different", form)
    _demand(form.tell(Glimpse(path)) > 0, "tell does not know what it wrote itself", form)
