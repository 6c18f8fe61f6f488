"""From a model's quotes to marks: which place is meant, and a count of those that have none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqtruth.errors import ParameterError
from seqtruth.io.documents import Mark, Notes
from seqtruth.io.formats.model_answers import Item
from seqtruth.io.formats.quoted_text import Place, Quotes

READ_OPTIONS = {
    "occurrences": "a quote that stands in several places: 'fit' (default), 'all' or 'first'",
    "fuzzy": "'no' (default), 'spelling', or a similarity between 0.5 and 1",
    "model": "the model's name, where the file does not say it",
    "report": "a file (JSON Lines) that lists every quote that was not placed as it is written",
}


class Asked:
    """What was asked for, and the list of quotes that could not be placed as they are."""

    def __init__(self, options: dict[str, object], notes: Notes, path: Path) -> None:
        for name in options:
            if name not in READ_OPTIONS:
                raise ParameterError(
                    f"language models' answers have no option {name!r}", fix=", ".join(READ_OPTIONS)
                )
        self.occurrences = options.get("occurrences") or "fit"
        if self.occurrences not in ("fit", "all", "first"):
            raise ParameterError(
                "occurrences must be 'fit', 'all' or 'first'", got=repr(self.occurrences)
            )
        self.fuzzy = _fuzzy(options.get("fuzzy") or "no")
        self.model = str(options.get("model") or path.name.partition(".")[0])
        self.notes = notes
        self.report: list[dict[str, Any]] | None = [] if options.get("report") else None

    def note(self, what: str, model: str, item: Item | None, where: str) -> None:
        """Count a quote for its model, and list it."""
        quote = None if item is None else item.quote
        self.notes.left_out(
            f"{what} of {model}", where if quote is None else f"{where}, {quote[:60]!r}"
        )
        if self.report is not None:
            label = None if item is None else item.label
            self.report.append(
                {"where": where, "model": model, "quote": quote, "label": label, "problem": what}
            )


def _fuzzy(value: object) -> str | float:
    if value in ("no", "spelling"):
        return str(value)
    try:
        number = float(str(value))
    except ValueError:
        number = 0.0
    if not 0.5 <= number <= 1:
        raise ParameterError("fuzzy must be 'no', 'spelling' or from 0.5 to 1", got=repr(value))
    return number


def marks_of(
    items: list[Item], quotes: Quotes, model: str, asked: Asked, where: str
) -> Iterator[Mark]:
    said = Counter((item.quote, item.label) for item in items)
    placed: Counter[tuple[str | None, str | None]] = Counter()
    for item in items:
        if not item.quote or not item.quote.strip():
            asked.note("item without quote", model, item, where)
        elif not item.label:
            asked.note("quote without label", model, item, where)
        else:
            key = (item.quote, item.label)
            places = _places(item, quotes, said[key], placed[key], asked)
            placed[key] += 1
            if isinstance(places, str):
                asked.note(places, model, item, where)
                continue
            for place in places:
                if quotes.text[place.start : place.end] != item.quote:
                    asked.note("exact wording of a quote (placed by likeness)", model, item, where)
                yield Mark(place.start, place.end, item.label, score=item.score)


def _places(item: Item, quotes: Quotes, said: int, number: int, asked: Asked) -> list[Place] | str:
    """Where an item is meant, or what is wrong with it.

    ``said`` is how often the model gave this quote, ``number`` how often it did before.
    """
    text = quotes.text
    hinted = _hinted(item, text, asked.fuzzy)
    if hinted is not None:
        return [hinted]
    found = quotes.places(item.quote or "")
    if isinstance(found, str):
        named = {
            "not in the text": "invented quote (not in the text)",
            "ambiguous": "ambiguous quote",
        }
        return named.get(found, f"quote {found}")
    if asked.occurrences == "all":
        return [] if number else found
    if said >= len(found):
        return [found[number]] if number < len(found) else "repeated quote"
    inside = _in_context(item, found, text)
    if inside is not None:
        return [inside]
    return [found[number]] if asked.occurrences == "first" else "ambiguous quote"


def _hinted(item: Item, text: str, fuzzy: str | float) -> Place | None:
    """The place that the answer gives, where the quote does stand there."""
    start, end = item.start, item.end
    if start is None or start < 0 or not item.quote:
        return None
    after = start + len(item.quote)
    if text[start:after] == item.quote and end in (after, None):
        return Place(start, after)
    if fuzzy != "no" and item.aligned and end is not None and start < end <= len(text):
        return Place(start, end)
    return None


def _in_context(item: Item, found: list[Place], text: str) -> Place | None:
    """The only place within the context that the model gave, if that stands once."""
    start = text.find(item.context) if item.context else -1
    if not item.context or start < 0 or text.find(item.context, start + 1) >= 0:
        return None
    end = start + len(item.context)
    inside = [place for place in found if start <= place.start and place.end <= end]
    return inside[0] if len(inside) == 1 else None
