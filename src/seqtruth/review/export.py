"""The labels, the decisions and the audit trail as files."""

from __future__ import annotations

import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.labelling import Labelling
from seqtruth.errors import DataWarning, ParameterError, SeqTruthError
from seqtruth.io import FORMATS, write, write_documents
from seqtruth.io.documents import Document
from seqtruth.io.format import DocumentFormat
from seqtruth.io.to_documents import documents_of
from seqtruth.plural import count
from seqtruth.review.desk import Desk

#: ``labels``: all sentences, decisions in them. ``decisions``: what people decided, as gold.
WHAT = ("labels", "decisions")
#: How gold is written as gold, where that is not usual.
AS_GOLD: dict[str, dict[str, Any]] = {"label-studio": {"opinions": "annotations"}}

#: How files end whose format has no ending of its own.
ENDINGS = {
    "webanno-tsv": ".tsv", "cas-json": ".json", "spacy-json": ".json", "gliner": ".json",
    "bioc": ".xml", "wide-table": ".csv",
}  # fmt: skip


class Exported(NamedTuple):
    """A file to hand out, the folder to remove afterwards, and what the format could not carry."""

    path: Path
    folder: Path
    notes: list[str]


def writable() -> dict[str, str]:
    """Names and titles of the formats that can be written."""
    return {name: FORMATS[name].title for name in FORMATS if FORMATS[name].write is not None}


def export(desk: Desk, format: str, what: str = "labels") -> Exported:
    """Write a file of a format; a folder is packed into a zip.

    Parameters
    ----------
    desk : whose labels.
    format : a name in :data:`seqtruth.io.FORMATS`.
    what : one of :data:`WHAT`.
    """
    if format not in writable():
        raise ParameterError(f"a format is one of {', '.join(writable())}", got=repr(format))
    if what not in WHAT:
        raise ParameterError(f"one of {', '.join(WHAT)}", got=repr(what))
    suffix = next(iter(FORMATS[format].suffixes), ENDINGS.get(format, ""))
    folder = Path(tempfile.mkdtemp(prefix="seqtruth-export-"))
    target = folder / f"{what}{suffix}"
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", DataWarning)
            notes = _write(desk, format, what, target)
        notes += [str(one.message) for one in said if issubclass(one.category, DataWarning)]
        if target.is_dir():
            packed = shutil.make_archive(str(folder / what), "zip", target)
            return Exported(Path(packed), folder, notes)
        return Exported(target, folder, notes)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, SeqTruthError) and error.where == str(target):  # a folder that is gone
            raise type(error)(
                error.what, where=target.name, got=error.got, fix=error.fix
            ) from None  # fmt: skip
        raise


def _write(desk: Desk, format: str, what: str, target: Path) -> list[str]:
    """Write the file; what should be known about it."""
    found, options = FORMATS[format], AS_GOLD.get(format, {})
    if what == "labels":
        write(desk.labels(), target, format)
    elif not isinstance(found, DocumentFormat) or found.carries_parts:
        write(desk.gold(), target, format, **options)
    else:
        documents, left = finished(desk)
        if not documents:
            raise ParameterError(
                f"{found.title} cannot say that only a part of a text was judged, and in every text"
                " something is still open",
                got=f"{count(left, 'text')} with decisions",
                fix="decide the rest of one, or export to JSON lines, which keeps parts",
            )
        write_documents(documents, target, format, **options)
        told = f"{count(len(documents), 'text')} where all that was in doubt is decided, as gold"
        return [told + (f"; left out {left} where something is still open." if left else ".")]
    return []


def finished(desk: Desk) -> tuple[list[Document], int]:
    """Texts with decisions and nothing in doubt any more, whole; and how many others have decisions.

    Tools' files cannot say that somebody judged a part of a text only: what nobody looked at would become
    "nothing is here", as gold.
    """
    labels = desk.labels()
    _, text = np.unique(labels.corpus.base_ids.to_pylist(), return_inverse=True)
    is_open = (
        np.bincount(text, desk.in_doubt())[text] > 0
    )  # a text is open where one layer of it is
    tags = labels.tags.copy()
    tags[np.repeat(is_open, np.diff(labels.corpus.token_offsets))] = -1
    whole = Labelling(labels.corpus, labels.scheme, tags)
    kept, left = [], 0
    both = (documents_of(one.as_crowd("truth"), role="gold") for one in (whole, desk.gold()))
    for document, decided in zip(*both, strict=True):
        if not decided.opinions:
            continue
        if document.opinions and all(one.seen is None for one in document.opinions):
            kept.append(document)
        else:
            left += 1
    return kept, left
