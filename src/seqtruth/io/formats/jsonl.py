"""JSONL: one sentence a line, with tokens and tags or with text and character spans.

::

    {"id": "s1", "tokens": ["Ann", "ran"], "annotations": {"bob": ["B-PER", "O"], "eve": null}}
    {"id": "s2", "text": "Ann ran", "annotations": {"bob": [{"start": 0, "end": 3, "label": "P"}]}}

``docs/formats.md`` describes every field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import KINDS
from seqtruth.errors import InputError
from seqtruth.io.assemble import sentence_documents
from seqtruth.io.files import read_text, write_chunks
from seqtruth.io.records import Collector
from seqtruth.io.text_spans import Span, row_spans


def read_jsonl(path: Path, scheme: str | None = None) -> Crowd:
    """Read a file of records; both kinds may stand in one file."""
    data = read_text(path)
    collector = Collector(str(path))
    for number, line in enumerate(data.split(b"\n"), 1):
        if line and not line.isspace():
            where = f"{path}:{number}"
            add_record(collector, parse_record(line, where), where)
    return collector.crowd(scheme)


def parse_record(line: bytes, where: str) -> dict[str, Any]:
    """The object on one line."""
    try:
        record = json.loads(line, object_pairs_hook=_no_repeats, parse_constant=_no_constant)
        if b"\\u" in line:  # a lone surrogate is not text
            json.dumps(record, ensure_ascii=False).encode()
    except _RepeatError as error:
        raise InputError(
            f"the key {str(error)!r:.60} stands twice in one object",
            where=where,
            fix="an annotator may label a sentence once; give a second pass a name of its own",
        ) from None
    except UnicodeEncodeError:
        raise InputError(
            "text holds half a surrogate pair", where=where, fix="write characters, not halves"
        ) from None
    except (ValueError, RecursionError) as error:
        raise InputError(
            "not valid JSON",
            where=where,
            got=str(error)[:80],
            fix="write one JSON object a line",
        ) from None
    if not isinstance(record, dict):
        raise InputError(
            "a line must hold one JSON object",
            where=where,
            got=_kind(record),
            fix="write one JSON object a line",
        )
    return record


class _RepeatError(Exception):
    pass


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatError(next(name for name in names if names.count(name) > 1))
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false"}
    return names.get(type(value), "null" if value is None else "a number")


def _field(record: dict[str, Any], name: str, kind: type, where: str) -> Any:
    value = record.get(name)
    if not isinstance(value, kind):
        wanted = _kind(kind())
        fix = None
        if name == "annotations" and name not in record:
            fix = 'write "annotations": {} for a sentence that nobody labelled'
        got = _kind(value) if name in record else "nothing"
        raise InputError(f'"{name}" must be {wanted}', where=where, got=got, fix=fix)
    return value


def add_record(collector: Collector, record: dict[str, Any], where: str) -> None:
    """Check a record of either kind and add it."""
    name = record.get("id", str(len(collector.ids)))
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InputError('"id" must be a string or a whole number', where=where, got=_kind(name))
    document = _field(record, "doc", str, where) if "doc" in record else ""
    annotations = _field(record, "annotations", dict, where)
    if "scheme" in record:
        kind = record["scheme"]
        if kind not in KINDS:
            fix = f"known are {', '.join(KINDS)}"
            raise InputError('"scheme" names no scheme', where=where, got=f"{kind!r:.40}", fix=fix)
        collector.scheme = kind
    if "tokens" in record:
        tokens = _field(record, "tokens", list, where)
        if not all(isinstance(token, str) and token for token in tokens):
            raise InputError('"tokens" must be strings, none of them empty', where=where)
        text, borders = None, None
        if "offsets" in record:
            text = _field(record, "text", str, where)
            borders = _borders(record, text, len(tokens), where)
        collector.add_tokens(str(name), document, tokens, annotations, where, text, borders)
    elif "text" in record:
        text = _field(record, "text", str, where)
        marked = {
            annotator: None if spans is None else _spans(annotator, spans, where)
            for annotator, spans in annotations.items()
        }
        collector.add_text(str(name), document, text, marked, where)
    else:
        raise InputError(
            'a record needs "tokens" or "text"',
            where=where,
            got=", ".join(f'"{key}"' for key in record)[:80] or "no fields",
        )


def _borders(record: dict[str, Any], text: str, n_tokens: int, where: str) -> list[tuple[int, int]]:
    pairs = _field(record, "offsets", list, where)
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


def _spans(annotator: str, spans: Any, where: str) -> list[Span]:
    if not isinstance(spans, list):
        raise InputError(
            f"annotator {annotator!r} must have a list of spans, or null",
            where=where,
            got=_kind(spans),
        )
    found = []
    for span in spans:
        if not isinstance(span, dict) or not {"start", "end", "label"} <= span.keys():
            raise InputError(
                f'annotator {annotator!r}: a span needs "start", "end" and "label"',
                where=where,
                got=f"{span!r:.60}",
            )
        start, end, label = span["start"], span["end"], span["label"]
        whole = type(start) is int and type(end) is int  # a bool is no offset
        if not whole or not isinstance(label, str) or not label:
            raise InputError(
                f"annotator {annotator!r}: a span's start and end must be whole numbers and its label "
                "a string",
                where=where,
                got=f"{span!r:.60}",
            )
        found.append(Span(start, end, label))
    return found


def write_jsonl(
    crowd: Crowd,
    path: Path,
    confidence: npt.NDArray[np.floating[Any]] | None = None,
    span_confidence: npt.NDArray[np.floating[Any]] | None = None,
) -> None:
    """Write one record per sentence.

    Sentences with a text get character spans, unless a tag is missing or the scheme is plain,
    which spans cannot say: then they get tags, and the tokens' places in the text. The first
    record lists all annotators (null for those who did not see it), so that their order stays.
    """
    if span_confidence is None:
        span_confidence = confidence
    write_chunks(path, _lines(crowd, confidence, span_confidence))


def _lines(
    crowd: Crowd,
    confidence: npt.NDArray[np.floating[Any]] | None,
    span_confidence: npt.NDArray[np.floating[Any]] | None,
) -> Iterator[bytes]:
    corpus, labels = crowd.corpus, [*crowd.scheme.labels, None]
    ids, documents = corpus.sentence_ids.to_pylist(), sentence_documents(corpus)
    texts = [None] * len(ids) if corpus.texts is None else corpus.texts.to_pylist()
    marked = row_spans(crowd)
    for s, (name, document, text) in enumerate(zip(ids, documents, texts, strict=True)):
        a, b = (int(x) for x in corpus.token_offsets[s : s + 2])
        rows = range(int(crowd.sentence_rows[s]), int(crowd.sentence_rows[s + 1]))
        record: dict[str, Any] = {"id": name}
        if document:
            record["doc"] = document
        first, last = crowd.row_offsets[rows.start], crowd.row_offsets[rows.stop]
        missing = bool((crowd.tags[first:last] < 0).any())
        notes: dict[str, Any] = dict.fromkeys(crowd.annotators) if s == 0 else {}
        if text is not None and not missing and crowd.scheme.kind != "plain":
            assert corpus.char_starts is not None and corpus.char_ends is not None
            record["text"] = text
            starts, ends = corpus.char_starts[a:b].tolist(), corpus.char_ends[a:b].tolist()
            sure = _rounded(span_confidence, a, b)
            for r in rows:
                notes[crowd.annotators[crowd.row_annotator[r]]] = [
                    {"start": starts[x], "end": ends[y - 1], "label": label}
                    | ({} if sure is None else {"confidence": min(sure[x:y])})
                    for x, y, label in marked.of(crowd, r)
                ]
        else:
            record["scheme"] = crowd.scheme.kind
            record["tokens"] = corpus.words(s)
            if text is not None:
                assert corpus.char_starts is not None and corpus.char_ends is not None
                record["text"] = text
                pairs = np.stack([corpus.char_starts[a:b], corpus.char_ends[a:b]], axis=1)
                record["offsets"] = pairs.tolist()
            for r in rows:
                codes = crowd.tags[crowd.row_offsets[r] : crowd.row_offsets[r + 1]].tolist()
                notes[crowd.annotators[crowd.row_annotator[r]]] = [labels[code] for code in codes]
            if confidence is not None:
                record["confidence"] = _rounded(confidence, a, b)
        record["annotations"] = notes
        yield (json.dumps(record, ensure_ascii=False) + "\n").encode()


def _rounded(column: npt.NDArray[np.floating[Any]] | None, a: int, b: int) -> list[float] | None:
    return None if column is None else [round(float(x), 6) for x in column[a:b]]
