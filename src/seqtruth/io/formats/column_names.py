"""What people call their columns: which of a record's keys is the text, the annotator, the labels.

Names are compared without case, and with blanks, hyphens and dots as underscores. A reader that finds
two meanings takes the first of the list, and every choice can be overruled by an option.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from seqtruth.errors import InputError
from seqtruth.io.documents import Role

IDS = (
    "id", "doc_id", "document_id", "docid", "doc", "document", "sentence_id", "sent_id", "example_id",
    "text_id", "uid", "guid", "uuid", "task_id", "task", "item_id", "item", "record_id", "key", "idx",
    "index", "file", "filename", "file_name", "sentence_#", "sentence_number", "sentence_no", "sent",
)  # fmt: skip
TEXTS = (
    "text", "sentence", "document_text", "doc_text", "full_text", "raw_text", "content", "context",
    "passage", "body", "document", "raw", "source", "sentence_text", "input",
)  # fmt: skip
TOKENS = (
    "tokens",
    "words",
    "token_list",
    "word_list",
    "tokenized_text",
    "token",
    "word",
    "sentence",
)
ANNOTATORS = (
    "annotator", "worker", "annotator_id", "worker_id", "user", "username", "user_name", "user_id",
    "annotated_by", "annotator_name", "coder", "coder_id", "rater", "rater_id", "labeler", "labeller",
    "completed_by", "created_by", "workerid", "annotatorid",
)  # fmt: skip
#: Names of label columns, the likelier first; also with an annotator before or after.
TAGS = (
    "ner_tags", "ner_tag", "ner", "bio_tags", "bio", "iob_tags", "iob", "iob2", "tags", "tag", "labels",
    "label", "annotations", "annotation", "entities", "spans", "answers", "answer",
    "annotators", "workers",
)  # fmt: skip
SPANS = (
    "spans", "entities", "labels", "label", "annotations", "annotation", "ner", "ents", "marks",
    "named_entities", "ner_spans", "tags", "highlights", "answers", "mentions",
    "annotators", "workers",
)  # fmt: skip
STARTS = (
    "start", "start_offset", "begin", "start_char", "char_start", "startoffset", "start_index",
    "start_idx", "start_pos", "from", "offset_start", "span_start", "beginoffset", "begin_offset",
    "start_character", "startindex", "charstart", "offset",
)  # fmt: skip
ENDS = (
    "end", "end_offset", "stop", "end_char", "char_end", "endoffset", "end_index", "end_idx", "end_pos",
    "to", "offset_end", "span_end", "endoffset", "end_character", "endindex", "charend",
)  # fmt: skip
LABELS = (
    "label", "type", "tag", "entity", "entity_type", "category", "class", "labels", "entity_group",
    "ner_tag", "ner", "name", "span_label", "entity_label", "kind", "concept",
)  # fmt: skip
SURFACES = (
    "span_text", "surface", "mention", "covered_text", "span", "entity_text", "quote", "text_span",
    "marked_text", "value", "phrase", "word", "term", "text",
)  # fmt: skip
LENGTHS = ("length", "len", "span_length")
SCORES = ("score", "confidence", "probability", "prob")
ROLES = ("role",)
_GOLD = frozenset(
    (
        "gold", "goldstandard", "gold_standard", "truth", "ground_truth", "groundtruth", "true", "gt",
        "reference", "ref", "curated", "curation", "curator", "consensus", "adjudicated",
        "adjudication", "oracle",
    )
)  # fmt: skip


@lru_cache(4096)
def plain(name: str) -> str:
    """A name as it is compared.

    >>> plain("Start Offset"), plain("\ufeffDoc.ID")
    ('start_offset', 'doc_id')
    """
    text = name.strip().strip("\ufeff").lower()
    return re.sub(r"[\s\-.]+", "_", text)


def find(names: Mapping[str, str], wanted: Iterable[str]) -> str | None:
    """The column that has the first of the wanted names; ``names`` maps plain names to columns."""
    return next((names[name] for name in wanted if name in names), None)


def plain_names(columns: Iterable[str]) -> dict[str, str]:
    """Columns by their plain names; the first of two with the same."""
    found: dict[str, str] = {}
    for column in columns:
        found.setdefault(plain(column), column)
    return found


def chosen(option: object, name: str, columns: Iterable[str], where: str) -> list[str]:
    """Columns named by an option, as a list or with commas between; they must be there."""
    if option is None:
        return []
    if isinstance(option, str):
        wanted = [part.strip() for part in option.split(",") if part.strip()]
    else:
        wanted = [str(part) for part in option] if isinstance(option, Iterable) else [str(option)]
    there = list(columns)
    for column in wanted:
        if column not in there:
            raise InputError(
                f"{name}: there is no column {column!r}", where=where,
                got=f"columns {', '.join(map(str, there))}"[:160],
            )  # fmt: skip
    return wanted


def role_of(name: str) -> Role:
    """``gold`` where a name says so."""
    return "gold" if plain(name) in _GOLD else "annotator"


class LabelColumn(NamedTuple):
    """A column of labels: its name, whose it is ("" where it does not say), and the role."""

    column: str
    annotator: str
    role: Role


def label_columns(columns: Iterable[str], bases: Iterable[str]) -> list[LabelColumn]:
    """The columns of the likeliest kind of labels: ``ner_tags``, ``ner_tags_bob``, ``bob_labels``.

    A column without an annotator beside others that have one is what they were merged into.

    >>> [x.annotator for x in label_columns(["id", "pos_tags", "ner_tags_1", "ner_tags_2"], TAGS)]
    ['1', '2']
    """
    columns = list(columns)
    for base in bases:
        pattern = re.compile(
            rf"(?:(?P<before>.+)_)?{re.escape(base)}(?:_?(?P<after>\d+|(?<=_).+))?"
        )
        found = []
        for column in columns:
            match = pattern.fullmatch(plain(column))
            if match and not (match["before"] in _OTHER_LAYERS or match["after"] in _OTHER_LAYERS):
                found.append((column, _owner(column, base, match)))
        if found:
            merged = len(found) > 1
            return [
                LabelColumn(column, name, "gold" if merged and not name else role_of(name))
                for column, name in found
            ]
    return []


#: Layers that stand beside entities in the same tables and mean something else.
_OTHER_LAYERS = frozenset(
    (
        "pos",
        "chunk",
        "upos",
        "xpos",
        "dep",
        "lemma",
        "morph",
        "srl",
        "coarse_pos",
        "names",
        "id",
        "ids",
    )
)


#: What stands beside the word for labels and is no annotator.
_NOBODY = frozenset(
    (
        "word",
        "words",
        "token",
        "tokens",
        "entity",
        "entities",
        "ner",
        "seq",
        "sequence",
        "target",
        "span",
    )
)


def is_other_layer(column: str) -> bool:
    """Whether a column is of another layer by its name: ``chunk``, ``pos_tag``.

    >>> is_other_layer("chunk_tags"), is_other_layer("position")
    (True, False)
    """
    return any(part in _OTHER_LAYERS for part in plain(column).split("_"))


def _owner(column: str, base: str, match: re.Match[str]) -> str:
    """The annotator's name in a column's, as it is written there."""
    before, after = match["before"], match["after"]
    name = after or before or ""
    if name in _NOBODY:
        return ""
    if len(plain(column)) != len(column):  # blanks were taken off or put together
        return name
    place = match.span("after" if after else "before")
    return column[place[0] : place[1]] if name else ""


def normalised(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record under plain names; the first of two with the same."""
    found: dict[str, Any] = {}
    for key, value in record.items():
        found.setdefault(plain(key), value)
    return found
