"""Language models' answers: JSON with quoted text instead of offsets, beside the text in question.

One object a text (a line each, or in an array)::

    {"id": "7", "text": "Jane met Bob.", "models": {
        "gpt": [{"text": "Jane", "label": "PER"}],
        "llama": "Here it is: ```json {\\"PER\\": [\\"Bob\\"]} ```"}}

or a line for each text and model, joined by ``id`` or text (gone through twice, so that a document
leaves memory with its last line)::

    {"text": "Jane met Bob.", "model": "gpt", "answer": [{"quote": "Jane", "type": "PER"}]}

and what ``langextract`` saves (``extractions`` with ``extraction_text`` and ``extraction_class``).

- The models stand under ``models``, ``answers``, ``predictions``, ``outputs`` or ``responses``; the text
  under ``text``, ``document``, ``content``, ``input`` or ``sentence``.
- An answer is a list of objects with a quote (``text``, ``quote``, ``span``, ``entity`` ...) and a label
  (``label``, ``type``, ``class`` ...); an object of quotes by type; pairs ``["Jane", "PER"]``; or a
  string that holds one of these, in a code fence or in prose. ``null`` and the empty string are "was
  not asked"; ``[]`` is "saw it and marked nothing"; an answer without JSON is left out and noted.
- A quote that stands once in the text is that place. One that stands in several is placed if the model
  said it as often as it stands there, gave offsets that are right, or a ``context`` that decides;
  otherwise it is ambiguous and left out, or as ``occurrences=`` says: ``all`` or ``first``.
- A quote that does not stand in the text is left out; ``fuzzy="spelling"`` also finds it with other
  blanks, case, accents, quotation marks and dashes, ``fuzzy=0.9`` also by similarity, and then believes
  the places that ``langextract`` found. Quotes so placed are counted, too.

What was left out is counted for each model; ``report=`` names a file that lists every such quote. What
else a model said (reasons, attributes) is not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Mark, Notes, Opinion
from seqtruth.io.files import write_chunks
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import first_of, name_of, shown
from seqtruth.io.formats.gathered import Gathered
from seqtruth.io.formats.model_answers import Item, Unreadable, items_of
from seqtruth.io.formats.plain_marks import UniqueIds, contiguous, note_borders
from seqtruth.io.formats.quoted_text import Place, Quotes
from seqtruth.io.json_records import json_line, json_records, records_in

TEXT = ("text", "document", "content", "input", "sentence")
MODELS = ("models", "answers", "predictions", "outputs", "responses")
ANSWER = (
    "answer",
    "output",
    "response",
    "completion",
    "extractions",
    "entities",
    "spans",
    "prediction",
)
READ_OPTIONS = {
    "occurrences": "a quote that stands in several places: 'fit' (default), 'all' or 'first'",
    "fuzzy": "'no' (default), 'spelling', or a similarity between 0.5 and 1",
    "model": "the model's name, where the file does not say it",
    "report": "a file (JSON Lines) that lists every quote that was not placed as it is written",
}


class _Asked:
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


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    asked = _Asked(options, notes, path)
    last = {_key(value): place for place, (value, _) in enumerate(json_records(path))}
    gathered: dict[bytes, Gathered] = {}
    ids = UniqueIds(notes)
    for place, (value, where) in enumerate(json_records(path)):
        key = _key(value)
        text = _text(value, where)
        name = name_of(first_of(value, ("id", "document_id", "doc_id"))) or str(place + 1)
        document = gathered.setdefault(key, Gathered(name))
        document.add(text, None, where)
        for opinion in _opinions(value, text, where, asked):
            document.add(text, opinion, where)
        if last.get(key) == place:
            done = gathered.pop(key).document()
            yield replace(done, id=ids.take(done.id, where))
    if not last:
        raise InputError("the file holds no answers", where=str(path))
    if asked.report is not None:
        write_chunks(Path(str(options["report"])), map(json_line, asked.report))


def _key(value: object) -> bytes:
    """What the lines of one document share."""
    if not isinstance(value, dict):
        return b""
    name = name_of(first_of(value, ("id", "document_id", "doc_id")))
    text = first_of(value, TEXT)
    shared = f"id {name}" if name is not None else f"text {text if isinstance(text, str) else ''}"
    return blake2b(shared.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _text(value: object, where: str) -> str:
    if not isinstance(value, dict):
        raise InputError("a record of answers must be an object", where=where, got=shown(value))
    text = first_of(value, TEXT)
    if not isinstance(text, str):
        raise InputError(
            "no text beside the answers", where=where, got=shown(value),
            fix=f"put the text that the models were asked about under one of {', '.join(TEXT)}",
        )  # fmt: skip
    return text


def _opinions(record: dict[str, Any], text: str, where: str, asked: _Asked) -> Iterator[Opinion]:
    quotes = Quotes(text, where, asked.fuzzy)
    for model, answer in _answers(record, where, asked):
        try:
            items = items_of(answer)
        except Unreadable as error:
            asked.note(f"unreadable answer ({error})", model, None, where)
            continue
        if items is not None:
            marks = _marks(items, quotes, model, asked, where)
            yield Opinion(model, tuple(marks), role="model")


def _answers(record: dict[str, Any], where: str, asked: _Asked) -> Iterator[tuple[str, Any]]:
    models = next((record[key] for key in MODELS if isinstance(record.get(key), dict)), None)
    name = name_of(first_of(record, ("model", "model_name", "model_id", "annotator")))
    if models is not None and name is None:
        yield from ((model or asked.model, answer) for model, answer in models.items())
        return
    listed = next((record[key] for key in MODELS if isinstance(record.get(key), list)), None)
    if name is None and listed and all(isinstance(one, dict) and "model" in one for one in listed):
        for one in listed:
            yield name_of(one["model"]) or asked.model, first_of(one, (*ANSWER, *MODELS))
        return
    key = next((key for key in (*ANSWER, *MODELS) if key in record), None)
    if key is None:
        raise InputError(
            "no answers beside the text", where=where, got=", ".join(map(repr, list(record)[:10])),
            fix="put them under 'models', an object of answers by model",
        )  # fmt: skip
    yield name or asked.model, record[key]


def _marks(
    items: list[Item], quotes: Quotes, model: str, asked: _Asked, where: str
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


def _places(item: Item, quotes: Quotes, said: int, number: int, asked: _Asked) -> list[Place] | str:
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


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    if options:
        raise ParameterError(f"language models' answers have no option {next(iter(options))!r}")
    write_chunks(path, (_line(document, notes) for document in documents))


def _line(document: Document, notes: Notes) -> bytes:
    where = document.where or document.id
    note_borders(document, notes)
    models: dict[str, list[dict[str, Any]]] = {}
    for opinion in document.opinions:
        if opinion.role != "model":
            notes.left_out(f"role of an opinion ({opinion.role})", where)
        models[opinion.annotator] = [
            _quoted(document.text, mark) for mark in contiguous(opinion, notes, where)
        ]
    return json_line({"id": document.id, "text": document.text, "models": models})


def _quoted(text: str, mark: Mark) -> dict[str, Any]:
    quoted: dict[str, Any] = {
        "text": text[mark.start : mark.end], "label": mark.label, "start": mark.start, "end": mark.end,
    }  # fmt: skip
    return quoted if mark.score is None else {**quoted, "score": mark.score}


def tell(glimpse: Glimpse) -> float:
    head = glimpse.head
    if head.lstrip()[:1] not in (b"{", b"["):
        return 0.0
    if b'"extraction_text"' in head and b'"extraction_class"' in head:
        return 0.97
    try:
        first = next(records_in([head], ""), None)
    except InputError:
        return 0.0
    record = first.value if first is not None else None
    if not isinstance(record, dict) or not isinstance(first_of(record, TEXT), str):
        return 0.0
    models = next((record[key] for key in MODELS if isinstance(record.get(key), dict)), None)
    if models is not None:
        return 0.9 if any(map(_is_answer, models.values())) else 0.0
    named = name_of(first_of(record, ("model", "model_name", "model_id"))) is not None
    return 0.85 if named and any(_is_answer(record.get(key)) for key in ANSWER) else 0.0


def _is_answer(answer: object) -> bool:
    """Whether this may be an answer with quotes, and not spans by offsets."""
    try:
        items = items_of(answer)
    except Unreadable:
        return False
    return bool(items) and any(item.quote and item.label for item in items or ())


FORMAT = DocumentFormat(
    name="language-models",
    title="language models' answers",
    tell=tell,
    read=read,
    write=write,
    read_options=READ_OPTIONS,
    cannot_carry=(
        "the pieces of a discontinuous mark as one mark",
        "which part of a text was seen",
        "borders of tokens and sentences",
        "who is an annotator or gold: all become models",
        "scores of opinions, and times",
    ),
    suffixes=(".answers.jsonl",),
)
