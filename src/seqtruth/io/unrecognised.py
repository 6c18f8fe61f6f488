"""What is said of a file that is of no format: what it looks like, and which file would do instead."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from typing import NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.chunks import as_utf8
from seqtruth.io.files import check_text, read_bytes
from seqtruth.io.format import Glimpse


class Likeness(NamedTuple):
    """A file that belongs to a tool and holds no labels: how it is known, what it is, what to give."""

    pattern: re.Pattern[bytes]
    what: str
    fix: str


def _known(pattern: bytes, what: str, fix: str) -> Likeness:
    return Likeness(re.compile(pattern, re.DOTALL), what, fix)


#: By the first bytes, the first that fits.
LIKENESSES = (
    _known(
        rb".*<typeSystemDescription\b", "a UIMA type system",
        "give the .xmi or .json of the document, which this file describes",
    ),
    _known(
        rb"\s*<View\b.*(toName|<Text|<HyperText|<Image)", "a labelling configuration of Label Studio",
        "give the project's export (JSON, JSON-MIN, CSV or TSV)",
    ),
    _known(rb".*<!ENTITY\s+name\b|.*<!ELEMENT\b", "a DTD, the task of MAE", "give the .xml files"),
    _known(
        rb'\s*\{.*"annotation_sets"\s*:', "a document of gatenlp", "save it in GATE as XML, which is read",
    ),
    _known(
        rb'\s*\{.*("_data_files"|"_fingerprint"|"splits"\s*:\s*\[\s*"|"features"\s*:\s*\{)',
        "a part of a Hugging Face dataset's folder", "give the folder, which is read as a whole",
    ),
    _known(
        rb'\s*\{\s*("lf"|"num_labels"|"entity_types"|"train_size")\s*:', "the meta.json of a WRENCH dataset",
        "give train.json, valid.json or test.json, or the folder",
    ),
    _known(
        rb'\s*\{.*"custom_id".*"response"', "batch answers of a language model, without the texts",
        'put each text beside its answer: {"id", "text", "model", "answer"} a line',
    ),
    _known(
        rb'\s*\{.*"choices".*"message"', "an answer of a language model, without the text",
        'put the text beside it: {"id", "text", "model", "answer"} a line',
    ),
    _known(
        rb'\s*[\[{].{0,300}?"text"\s*:\s*".{0,3000}?"(labels?|cats)"\s*:\s*(\[\s*"|\{\s*"\w+"\s*:\s*[\d.]|")',
        "labels of whole texts (classification)", "SeqTruth is about labels of stretches of text",
    ),
    _known(rb'\s*\{.*"nbformat"', "a Jupyter notebook", "give the file with the labels"),
    _known(
        rb'\s*\{.*"(images|categories)"\s*:\s*\[.*"annotations"\s*:\s*\[', "COCO, labels of pictures",
        "SeqTruth is about labels of text",
    ),
    _known(
        rb'\s*\{.*"sentences".*"(sidS|charS)"\s*:', "an export of Datasaur",
        "Datasaur also exports CoNLL, which is read",
    ),
    _known(
        rb'\s*[\[{].*"(documentName|entityLabel)"\s*:', "an export of UBIAI",
        "UBIAI also exports spaCy JSON and IOB (CoNLL), which are read",
    ),
    _known(
        rb"(?:#[^\n]*\n)*1(?:-\d+)?\t[^\t\n]+\t[^\t\n]+\t[A-Z]+\t", "CoNLL-U, syntax without labels of spans",
        "give a file with a token and tags on each line",
    ),
    _known(
        rb"(?:INPUT|OUTPUT|ASSIGNMENT):\w+\t|.{0,300}\tASSIGNMENT:", "results of Toloka",
        "rename its columns to task, worker, text, start, end and label, with a span a row",
    ),
    _known(rb"\s*<(!DOCTYPE\s+)?html\b", "a web page", "give the file that the tool exports"),
    _known(
        rb"7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|BZh[1-9]1AY|\xfd7zXZ\0|\x28\xb5\x2f\xfd|.{257}ustar",
        "an archive that is not opened here", "unpack it, and give what is inside; zip and gzip are read",
    ),
    _known(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file", "save the sheet as CSV"),
    _known(rb"\x89PNG|\xff\xd8\xff|GIF8", "a picture", "SeqTruth is about labels of text"),
    _known(rb"%PDF-", "a PDF", "give the file that the tool exports"),
    _known(rb"\x80[\x02-\x05]", "a Python pickle, which can run code and is never opened",
           "save it as JSON, CSV or Parquet"),
    _known(rb"SQLite format 3\0", "an SQLite database (as Prodigy and doccano keep inside)",
           "export from the tool: prodigy db-out, or doccano's export"),
)  # fmt: skip


#: Archives of office programs, by a member of theirs.
_OFFICE = {
    "xl/workbook.xml": ("an Excel workbook", "save the sheet as CSV"),
    "word/document.xml": ("a Word document", "give the file that the tool exports"),
    "content.xml": ("an OpenDocument file", "save the sheet as CSV"),
}


def unrecognised(glimpse: Glimpse, known: Callable[[], str]) -> InputError:
    """The refusal of a file that no format knows; ``known`` lists the names of formats."""
    path, head = glimpse.path, glimpse.head.lstrip()
    got = f"{head[:40].decode('utf-8', 'replace')!r}"
    for likeness in LIKENESSES:
        if head and likeness.pattern.match(glimpse.head):
            return InputError(
                f"not recognised as annotations; it looks like {likeness.what}", where=str(path),
                fix=likeness.fix,
            )  # fmt: skip
    if path.is_dir():
        got = "a folder"
        if not any(path.iterdir()):
            return InputError(
                "the folder is empty", where=str(path), fix="give the files themselves"
            )
    elif glimpse.tree is not None:
        names = list(glimpse.tree)
        for member, (what, fix) in _OFFICE.items():
            if member in names:
                return InputError(
                    f"not recognised as annotations; it looks like {what}", where=str(path), fix=fix
                )
        if not names:
            return InputError("the archive is empty", where=str(path), fix="export it again")
        if _is_saved(glimpse):
            return InputError(
                "this is a saved result or tagger, not annotations", where=str(path),
                fix="load it with Result.load or Tagger.load",
            )  # fmt: skip
        if names and all(name.lower().endswith(".zip") for name in names):
            return InputError(
                "the archive holds only archives", where=str(path), got=", ".join(names[:3]),
                fix="unpack it, and name those inside, one or several",
            )  # fmt: skip
        if names:
            got = f"an archive of {', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
    else:
        check_text(as_utf8(read_bytes(path), str(path)), path)
        if not head or re.fullmatch(rb"[\[{]\s*[\]}]\s*", head):
            return InputError(
                "the file is empty" if not head else "the file holds nothing", where=str(path),
                got=None if not head else got, fix="export it again, with the annotations",
            )  # fmt: skip
        if keys := _keys(head):
            got = f"JSON with the keys {', '.join(keys)}"
    return InputError(
        "cannot tell the format", where=str(path), got=got,
        fix=f"give format=, one of {known()}",
    )  # fmt: skip


def _keys(head: bytes) -> list[str]:
    """The first keys of JSON; nothing where it is something else."""
    if head[:1] not in (b"{", b"["):
        return []
    found = re.findall(rb'"(\w[\w .-]{0,30})"\s*:', head[:4096])
    return list(dict.fromkeys(key.decode("utf-8", "replace") for key in found))[:6]


def _is_saved(glimpse: Glimpse) -> bool:
    try:
        with zipfile.ZipFile(glimpse.path) as file:
            return b'"seqtruth-' in file.read("meta.json")[:200]
    except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return False
