"""Sentences for a tagger: what the normal readers read, and files without tags beside.

Files go through the normal readers up to the point where these look at the tags, so that ids,
documents, texts and offsets come along and no tag, whatever it says, is a fault.
"""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

from seqtruth.data.corpus import Corpus
from seqtruth.errors import InputError
from seqtruth.io.assemble import make_corpus
from seqtruth.io.chunks import as_utf8
from seqtruth.io.files import check_text, read_bytes, read_text
from seqtruth.io.formats.conll.folder import folder_columns
from seqtruth.io.formats.conll.text import Sheet, parse_lines
from seqtruth.io.formats.jsonl import add_record
from seqtruth.io.formats.jsonl_records import parse_record
from seqtruth.io.longtable.sources import REQUIRED, header, load_delimited, load_parquet
from seqtruth.io.longtable.table import read_source
from seqtruth.io.own_formats import OWN, suffix_of
from seqtruth.io.records import Collector

KINDS = ("text", *(found.name for found in OWN))
_BY_SUFFIX = {suffix: found.name for found in OWN for suffix in found.suffixes}
_TAG = re.compile(r"O|[BIESLU]-\S+")
#: Columns of a table that say something about labels.
_LABELLING = ("worker", "label", "start", "end")


def read_unlabelled(path: str | Path, format: str | None = None) -> Corpus:
    """Read sentences to be tagged; whatever labels the file has are passed over.

    Parameters
    ----------
    path : a file or folder in any format of :data:`seqtruth.io.FORMATS`, where CoNLL may also have
        the tokens only, and JSONL no ``annotations``. A name with another ending, and ``.txt``, is
        plain text with one sentence on a line, which we tokenise, unless its content is plainly
        JSONL, a table or CoNLL columns with tags.
    format : ``"text"`` or a name in :data:`seqtruth.io.FORMATS`, where the name does not tell.

    Raises
    ------
    InputError
        With file, line, what was found and what to do.
    """
    path = Path(path)
    if format is None:
        suffix = suffix_of(path)
        known = _BY_SUFFIX.get(suffix) if suffix not in (".txt", ".tsv") else None
        format = "conll-folder" if path.is_dir() else known
        return _read_by_content(path) if format is None else _read(path, format)
    if format not in KINDS:
        raise InputError(f"format must be one of {', '.join(KINDS)}", got=repr(format))
    if path.is_dir() and format != "conll-folder":
        raise InputError(f"{format} is a file", where=str(path), got="a folder")
    return _read(path, format)


def _read(path: Path, format: str) -> Corpus:
    if format == "conll-folder":
        return folder_columns(path)[0].corpus
    if format in ("csv", "tsv", "parquet"):
        return _from_table(path, format)
    return _from_text(path, read_text(path), format)


def _read_by_content(path: Path) -> Corpus:
    """Read a file whose name leaves a doubt; its content is read once, as it may be a pipe."""
    data = read_bytes(path)
    kind = None
    if data[:4] == b"PAR1":
        kind = "parquet"
    else:
        data = as_utf8(data, str(path))
        check_text(data, path)
        if not data.strip():
            raise InputError("the file is empty", where=str(path))
        for name, delimiter in (("csv", ","), ("tsv", "\t")):
            if set(REQUIRED) <= set(header(data.lstrip(), delimiter)):
                kind = name
    if kind is not None:
        if not path.is_file():
            raise InputError(
                f"{kind} cannot be told from text here",
                where=str(path),
                fix=f"give format={kind!r}, or a file named .{kind}",
            )
        return _from_table(path, kind)
    if re.match(rb"\{\s*[\"}]", data.lstrip()):
        return _from_text(path, data, "jsonl")
    is_conll = suffix_of(path) == ".tsv" or _has_tags(path, data)
    return _from_text(path, data, "conll" if is_conll else "text")


def _has_tags(path: Path, data: bytes) -> bool:
    """Whether text is plainly CoNLL columns: the last one of every line is a tag."""
    try:
        sheet = parse_lines(path, data)
    except InputError:
        return False
    last = {sheet.labels[code] for code in set(sheet.codes[:, -1].tolist()) if code >= 0}
    return len(sheet.tokens) > 1 and bool(last) and all(_TAG.fullmatch(tag) for tag in last)


def _from_text(path: Path, data: bytes, format: str) -> Corpus:
    if format == "conll":
        return _corpus(parse_lines(path, data, tags=False))
    collector = Collector(str(path))
    for number, line in enumerate(data.split(b"\n"), 1):
        text, where = line.decode().strip(), f"{path}:{number}"
        if format == "text" and text:
            collector.add_text(str(collector.n_records), "", text, {}, where)
        elif text:
            record = parse_record(line, where)
            # A field that is null is one that is not there, as frames write it.
            kept = {k: v for k, v in record.items() if v is not None and k != "scheme"}
            add_record(collector, kept | {"annotations": {}}, where)
    return collector.corpus()


def _corpus(sheet: Sheet) -> Corpus:
    return make_corpus(
        str(sheet.path), sheet.token_offsets, sheet.ids, sheet.tokens, sheet.documents
    )


def _from_table(path: Path, format: str) -> Corpus:
    """A table whose rows only say that the tokens or the texts are there."""
    if format == "parquet":
        source = load_parquet(path)
    else:
        source = load_delimited(path, None if format == "csv" else "\t")
    table = source.table
    for name in _LABELLING:
        if source.has(name):
            nothing = pa.nulls(table.num_rows, pa.large_string())
            table = table.set_column(table.column_names.index(name), name, nothing)
    corpus = read_source(source._replace(table=table), None).corpus
    if corpus.tokens is None:
        raise InputError(
            "the table holds no tokens to be tagged",
            where=str(path),
            fix="add the columns token_index and token, or start, end and text",
        )
    return corpus
