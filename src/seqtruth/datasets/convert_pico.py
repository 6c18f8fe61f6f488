"""The PICO data set from its repository: abstracts, the crowd's spans, the experts' spans.

What is read, and how, is described in ``docs/datasets.md``.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from seqtruth.datasets.members import decoded, read_members
from seqtruth.datasets.tables import Table
from seqtruth.errors import InputError, MissingExtraError

_log = logging.getLogger(__name__)
GOLD_PART = "acl17-test"
PARTS = (GOLD_PART, "train", "dev", "test")
#: Whose spans are the gold standard: the first of these two experts who marked the abstract.
EXPERTS = ("AXQIZSZFYCA8T", "md2")
_ASPECT = "Participants"
_MEMBER = re.compile(
    r"(?:^|/)(?:docs/(?P<doc>\d+)\.txt"
    r"|annotations/(?P<part>[^/]+)/PICO-annos-(?P<kind>crowdsourcing|professional)\.json)$"
)

Span = tuple[int, int]
Record = dict[str, Any]
#: Splits a text into sentences of (token, first character).
Splitter = Callable[[str], Iterator[list[tuple[str, int]]]]


@dataclass(frozen=True)
class Sentence:
    """A sentence of an abstract: tokens and the characters where they begin."""

    name: str
    tokens: list[str]
    starts: list[int]


def convert(files: Mapping[str, Path]) -> dict[str, Table]:
    """Tables from the repository's archive and the experts' file."""
    texts, records = _read_archive(files["pico-data.zip"])
    experts = {
        str(record["docid"]): record for record in _records(files["experts.json"].read_bytes())
        if "docid" in record
    }  # fmt: skip
    split = sentence_splitter()
    tables: dict[str, Table] = {}
    splits, crowded = [], {}
    for part in PARTS:
        marked = _documents(records, part)
        documents = {doc: _sentences(doc, texts, split) for doc in marked}
        splits += [(one.name, part) for found in documents.values() for one in found]
        crowded[part] = (documents, marked)
        _log.info("%s: %d abstracts", part, len(documents))
    for home, parts in ((GOLD_PART, [GOLD_PART]), ("nogold", list(PARTS[1:]))):
        with_starts = home == GOLD_PART
        columns = ("sentence_id", "doc_id", "tokens") + (("char_starts",) if with_starts else ())
        tables[f"sentences_{home}.tsv.gz"] = Table(
            columns,
            [
                (one.name, doc, " ".join(one.tokens), " ".join(map(str, one.starts)))[
                    : len(columns)
                ]
                for part in parts
                for doc, found in crowded[part][0].items()
                for one in found
            ],
        )
        tables[f"annotations_{home}.tsv.gz"] = Table(
            ("sentence_id", "worker_id", "labels"),
            [row for part in parts for row in _crowd_rows(*crowded[part])],
        )
    tables["gold.tsv.gz"] = Table(
        ("sentence_id", "labels"), list(_gold_rows(crowded[GOLD_PART][0], experts))
    )
    tables["splits.tsv.gz"] = Table(("sentence_id", "split"), splits)
    return tables


def _read_archive(path: Path) -> tuple[dict[str, str], dict[tuple[str, str], list[Record]]]:
    """Texts by document number, and records by part and kind."""
    texts: dict[str, str] = {}
    records: dict[tuple[str, str], list[Record]] = {}
    for name, content in read_members(path, lambda name: _MEMBER.search(name) is not None):
        match = _MEMBER.search(name)
        assert match is not None
        if match["doc"] is not None:
            texts[match["doc"]] = decoded(content)
        elif match["part"] in PARTS:
            records[match["part"], match["kind"]] = _records(content)
    missing = [part for part in PARTS if (part, "crowdsourcing") not in records]
    if missing or not texts:
        raise InputError(
            "not the archive of PICO-data", where=str(path),
            got="no folder docs" if not texts else f"no annotations/{missing[0]}",
            fix="fetch it again with force=True",
        )  # fmt: skip
    return texts, records


def _records(content: bytes) -> list[Record]:
    """JSON objects one after the other, with or without anything between them.

    >>> _records(b'{"docid": "1"}{"docid": "2"}')
    [{'docid': '1'}, {'docid': '2'}]
    """
    text, place, found = decoded(content), 0, []
    decoder = json.JSONDecoder()
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            record, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            raise InputError("the annotations are not JSON", got=str(error)) from None
        if not isinstance(record, dict):
            raise InputError("the annotations are not JSON objects", got=type(record).__name__)
        found.append(record)
    return found


def _documents(
    records: Mapping[tuple[str, str], list[Record]], part: str
) -> dict[str, dict[str, list[Span]]]:
    """Each worker's spans by document, in the file's order.

    One edition of the crowd's file has no document numbers; its records stand in the order of the
    file beside it, which has them.
    """
    crowd = records[part, "crowdsourcing"]
    numbered = (
        crowd if all("docid" in one for one in crowd) else records.get((part, "professional"))
    )
    if numbered is None or len(numbered) != len(crowd) or not all("docid" in o for o in numbered):
        raise InputError(
            f"the crowd's spans of {part} cannot be told apart",
            got="records without document number",
        )
    return {
        str(name["docid"]): {worker: _spans(spans) for worker, spans in one[_ASPECT].items()}
        for name, one in zip(numbered, crowd, strict=True)
        if isinstance(one.get(_ASPECT), dict)
    }


def _spans(spans: Any) -> list[Span]:
    """Pairs of numbers, first to last; empty ones are left out."""
    try:
        return sorted((int(start), int(end)) for start, end in spans if int(end) > int(start))
    except (TypeError, ValueError):
        raise InputError("a span must be two numbers", got=repr(spans)[:80]) from None


def sentence_splitter() -> Splitter:
    """A blank English spaCy pipeline with its rule-based sentence splitter.

    White space makes no token, and a sentence of nothing else is none.
    """
    try:
        pipeline: Any = import_module("spacy").blank("en")
    except ImportError:
        raise MissingExtraError("spacy", "datasets", "splitting abstracts into tokens") from None
    pipeline.add_pipe("sentencizer")

    def split(text: str) -> Iterator[list[tuple[str, int]]]:
        for sentence in pipeline(text).sents:
            tokens = [(token.text, token.idx) for token in sentence if token.text.strip()]
            if tokens:
                yield tokens

    return split


def _sentences(doc: str, texts: Mapping[str, str], split: Splitter) -> list[Sentence]:
    if doc not in texts:
        raise InputError("an abstract is missing from the archive", got=f"no docs/{doc}.txt")
    return [
        Sentence(f"{doc}#{i}", [token for token, _ in tokens], [start for _, start in tokens])
        for i, tokens in enumerate(split(texts[doc]))
    ]


def label_spans(sentence: Sentence, spans: Sequence[Span]) -> list[str]:
    """Each span as B and I over the tokens it touches; a later span overwrites.

    >>> label_spans(Sentence("1#0", ["two", "old", "men"], [0, 4, 8]), [(0, 3), (4, 11)])
    ['B-PAR', 'B-PAR', 'I-PAR']
    """
    labels = ["O"] * len(sentence.tokens)
    for start, end in spans:
        edge = "B"
        for place, (token, first) in enumerate(zip(sentence.tokens, sentence.starts, strict=True)):
            if first < end and first + len(token) > start:
                labels[place], edge = f"{edge}-PAR", "I"
    return labels


def merge(spans: Sequence[Span], sentence: Sentence) -> list[str]:
    """The tokens any span touches; neighbours make one span, as experts' gold has it.

    >>> merge([(0, 3), (4, 11)], Sentence("1#0", ["two", "old", "men"], [0, 4, 8]))
    ['B-PAR', 'I-PAR', 'I-PAR']
    """
    touched = [label != "O" for label in label_spans(sentence, spans)]
    return [
        ("I-PAR" if before else "B-PAR") if here else "O"
        for before, here in zip([False, *touched], touched, strict=False)
    ]


def _crowd_rows(
    documents: Mapping[str, Sequence[Sentence]], marked: Mapping[str, Mapping[str, Sequence[Span]]]
) -> Iterator[tuple[str, str, str]]:
    for doc, sentences in documents.items():
        for sentence in sentences:
            for worker, spans in marked[doc].items():
                yield sentence.name, worker, " ".join(label_spans(sentence, spans))


def _gold_rows(
    documents: Mapping[str, Sequence[Sentence]], experts: Mapping[str, Record]
) -> Iterator[tuple[str, str]]:
    """Gold of the abstracts an expert saw; one in whom nobody marked anything has no spans."""
    for doc, sentences in documents.items():
        if doc not in experts:
            continue
        marks = experts[doc].get(_ASPECT) or {}
        spans = next((_spans(marks[name]) for name in EXPERTS if name in marks), [])
        for sentence in sentences:
            yield sentence.name, " ".join(merge(spans, sentence))
