"""Tables with a row per quote: the text, whose it is, the quoted words and their label, and no offsets.

::

    id,text,model,quote,label
    7,Jane met Bob.,gpt,Jane,PER
    7,Jane met Bob.,llama,,

A row without quote and label says "saw it and marked nothing".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from seqtruth.io.formats import column_names as names
from seqtruth.io.formats.checked_values import name_of

_QUOTES = (
    "quote", "quoted_text", "entity_text", "span_text", "mention", "surface", "span", "phrase", "entity",
)  # fmt: skip
_LABELS = ("label", "type", "entity_type", "category", "class", "tag")
_WHO = ("model", "model_name", "model_id", *names.ANNOTATORS)


class QuoteColumns(NamedTuple):
    text: str
    quote: str
    label: str
    who: str | None
    id: str | None


def quote_columns(columns: Iterable[str], rows: list[dict[str, Any]]) -> QuoteColumns | None:
    """Which column is what; None where it is another table, or most quotes are not in their texts."""
    known = names.plain_names(columns)
    text, quote = names.find(known, names.TEXTS), names.find(known, _QUOTES)
    label = names.find(known, _LABELS)
    if text is None or quote is None or label is None or names.find(known, names.STARTS):
        return None
    pairs = [(row[text], str(row[quote])) for row in rows if row.get(quote) and row.get(text)]
    there = sum(isinstance(said, str) and part in said for said, part in pairs)
    if not pairs or 2 * there < len(pairs):
        return None
    return QuoteColumns(text, quote, label, names.find(known, _WHO), names.find(known, names.IDS))


def quote_records(
    rows: Iterable[tuple[dict[str, Any], str]], columns: QuoteColumns
) -> Iterator[tuple[dict[str, Any], str]]:
    """A record with the quotes of a text and model, when all rows are read."""
    found: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
    texts: dict[str, str] = {}
    for row, where in rows:
        text = row.get(columns.text)
        name = name_of(row[columns.id]) if columns.id and row.get(columns.id) is not None else None
        if name is not None and not text:
            text = texts.get(name)  # it stands in an earlier row
        if not isinstance(text, str):
            continue
        if name is not None:
            texts.setdefault(name, text)
        who = name_of(row[columns.who]) if columns.who else None
        record: dict[str, Any] = {"text": text, "entities": []}
        record |= {"id": name} if name is not None else {}
        record |= {"model": who} if who is not None else {}
        record, _ = found.setdefault((name or text, who or ""), (record, where))
        if row.get(columns.quote):
            record["entities"].append({"text": row[columns.quote], "label": row.get(columns.label)})
    yield from found.values()
