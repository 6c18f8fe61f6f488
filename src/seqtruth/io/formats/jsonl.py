"""JSONL: one sentence a line, with tokens and tags or with text and character spans.

::

    {"id": "s1", "tokens": ["Ann", "ran"], "annotations": {"bob": ["B-PER", "O"], "eve": null}}
    {"id": "s2", "text": "Ann ran", "annotations": {"bob": [{"start": 0, "end": 3, "label": "P"}]}}

``docs/formats.md`` describes every field. Records that are as most are come in columns
(:mod:`~seqtruth.io.json_blocks`), others one by one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import KINDS
from seqtruth.errors import InputError
from seqtruth.io.formats.jsonl_records import (
    field_in,
    names_in,
    neither,
    parse_record,
    scheme_in,
    spans_in,
)
from seqtruth.io.formats.jsonl_texts import TextReader, TokensError
from seqtruth.io.from_documents import Cutting
from seqtruth.io.json_blocks import Blocks, Line, MarkRecords, TokenRecords
from seqtruth.io.records import Collector


def read_jsonl(
    path: Path, scheme: str | None = None, *, split: str = "none", overlap: str = "layers"
) -> Crowd:
    """Read a file of records; both kinds may stand in one file.

    Parameters
    ----------
    split, overlap : what to do with texts and with spans that overlap, where all records have texts; see
        :class:`~seqtruth.io.from_documents.Cutting`.
    """
    cutting = Cutting(split, overlap, scheme=scheme)
    texts = TextReader(str(path), cutting)
    try:
        for part in Blocks(path, MarkRecords):
            if isinstance(part, MarkRecords):
                texts.add_records(part)
            elif isinstance(part, Line):
                texts.add(part)
        return texts.crowd(cutting)
    except TokensError:  # found out at the first such record: most files are of one kind
        collector = Collector(str(path))
    for part in Blocks(path, TokenRecords):
        if isinstance(part, TokenRecords):
            _check_schemes(collector, part)
            collector.add_records(part)
        elif isinstance(part, Line):
            where = f"{path}:{part.number}"
            add_record(collector, parse_record(part.data, where), where)
    return collector.crowd(scheme)


def _check_schemes(collector: Collector, records: TokenRecords) -> None:
    """Note the scheme that records name; the last one counts."""
    common = records.common
    for number in np.flatnonzero(common.schemes >= 0)[::-1][:1]:
        collector.scheme = common.names[common.schemes[number]]
    for code in set(common.schemes.tolist()) - {-1}:
        if common.names[code] not in KINDS:
            line = common.lines[np.flatnonzero(common.schemes == code)[0]]
            scheme_in({"scheme": common.names[code]}, f"{collector.name}:{line}")


def add_record(collector: Collector, record: dict[str, Any], where: str) -> None:
    """Check a record of either kind and add it."""
    name, document = names_in(record, collector.n_records, where)
    annotations = field_in(record, "annotations", dict, where)
    collector.scheme = scheme_in(record, where) or collector.scheme
    if "tokens" in record:
        tokens = field_in(record, "tokens", list, where)
        if not all(isinstance(token, str) and token for token in tokens):
            raise InputError('"tokens" must be strings, none of them empty', where=where)
        text, borders = None, None
        if "offsets" in record:
            text = field_in(record, "text", str, where)
            borders = _borders(record, text, len(tokens), where)
        collector.add_tokens(name, document, tokens, annotations, where, text, borders)
    elif "text" in record:
        text = field_in(record, "text", str, where)
        marked = {
            annotator: None if spans is None else spans_in(annotator, spans, where)
            for annotator, spans in annotations.items()
        }
        collector.add_text(name, document, text, marked, where)
    else:
        raise neither(record, where)


def _borders(record: dict[str, Any], text: str, n_tokens: int, where: str) -> list[tuple[int, int]]:
    pairs = field_in(record, "offsets", list, where)
    last = 0
    for pair in pairs:
        good = isinstance(pair, list) and len(pair) == 2 and all(type(x) is int for x in pair)
        if not good or not last <= pair[0] < pair[1] <= len(text):
            raise InputError(
                '"offsets" must be [start, end] pairs inside the text, in order',
                where=where,
                got=f"{pair!r:.40}",
            )
        last = pair[1]
    if len(pairs) != n_tokens:
        raise InputError(
            f'"offsets" must have one pair per token ({n_tokens})', where=where, got=str(len(pairs))
        )
    return [(pair[0], pair[1]) for pair in pairs]
