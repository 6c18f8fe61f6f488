"""WRENCH (weak supervision benchmark) and matrices of labelling functions in the same shape.

A JSON object of items, ``{"0": {"data": {"text": [tokens]}, "label": [tags], "weak_labels": ...}}``,
or a list of such items. ``weak_labels`` is a matrix by tokens (``weak_labels[token][function]``) of tags
or tag numbers; one by functions is taken as such where only that way round fits. The functions' names
stand in ``meta.json`` beside it under ``lf`` (``lf_rec`` lists the recommended ones), and what the
numbers mean in ``label.json``.

A rule that gives ``O`` found nothing, which is not the same as calling a token outside; WRENCH has no
sign for abstaining in sequences, so an ``O`` is read as "saw it and marked nothing". The number -1 is
"abstains" and leaves the token unseen. ``label`` is read as gold.

Written is a folder with ``<split>.json`` and ``meta.json``, or one file and ``meta.json`` beside it
where the name ends in ``.json`` and there is none yet.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from seqtruth.atomic import atomic_path
from seqtruth.errors import InputError, ParameterError
from seqtruth.io.documents import Document, Notes, Opinion
from seqtruth.io.files import read_text
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats.checked_values import first_of, list_at, mapping_at, shown, words_at
from seqtruth.io.formats.labelled_spans import By, Page, opinions_in
from seqtruth.io.formats.token_tags import join, tags_of_marks, tokens_of, visible
from seqtruth.io.json_records import json_records, parse_json

_SPLITS = ("train", "valid", "test")


def tell(glimpse: Glimpse) -> float:
    """By ``weak_labels`` in the items; a folder by its ``meta.json`` and files of such items."""
    if glimpse.path.is_dir():
        files = _files(glimpse.path) if (glimpse.path / "meta.json").is_file() else []
        return tell(Glimpse(files[0])) if files else 0.0
    return 0.95 if re.search(rb'"weak_labels"\s*:\s*(\[|null)', glimpse.head) else 0.0


def _files(folder: Path) -> list[Path]:
    found = sorted(path for path in folder.glob("*.json") if path.is_file())
    return [path for path in found if path.name not in ("meta.json", "label.json")]


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of a file, or of the splits in a folder."""
    given = options.pop("functions", None)
    if options:
        raise ParameterError("there is no such option here", got=", ".join(options))
    files = _files(path) if path.is_dir() else [path]
    if not files:
        raise InputError("the folder has no train.json or the like", where=str(path))
    folder = path if path.is_dir() else path.parent
    names = [x.strip() for x in given.split(",")] if isinstance(given, str) else _functions(folder)
    numbers = _numbers(folder)
    for file in files:
        for name, item, where in _items(file):
            prefix = f"{file.stem}/" if len(files) > 1 else ""
            yield _document(prefix + name, item, names, numbers, notes, where)


def _items(path: Path) -> Iterator[tuple[str, dict[str, Any], str]]:
    for number, (value, where) in enumerate(json_records(path)):
        record = mapping_at(value, "an item", where)
        if "weak_labels" in record or "data" in record:
            yield str(record.get("id", number)), record, where
            continue
        for name, item in record.items():
            yield name, mapping_at(item, f"item {name!r}", where), f"{where}, item {name}"


def _beside(folder: Path, name: str) -> Any:
    """A small JSON file beside the data; None where there is none."""
    if not (folder / name).is_file():
        return None
    try:
        return parse_json(read_text(folder / name))
    except (ValueError, RecursionError) as error:
        raise InputError("not JSON", where=str(folder / name), got=str(error)[:80]) from None


def _functions(folder: Path) -> list[str]:
    meta = _beside(folder, "meta.json")
    names = meta.get("lf") if isinstance(meta, dict) else None
    return [str(name) for name in names] if isinstance(names, list) else []


def _numbers(folder: Path) -> list[str] | None:
    """Names of tag numbers from label.json, ``{"0": "O", "1": "B-PER"}``."""
    found = _beside(folder, "label.json")
    if not isinstance(found, dict) or not found:
        return None
    named = {str(k): v for k, v in found.items()}
    if all(isinstance(v, int) for v in named.values()):
        named = {str(v): k for k, v in named.items()}
    tags = [named.get(str(number)) for number in range(len(named))]
    return [str(tag) for tag in tags] if None not in tags else None


def _document(
    name: str, item: dict[str, Any], names: list[str], numbers: list[str] | None,
    notes: Notes, where: str,
) -> Document:  # fmt: skip
    data = mapping_at(item.get("data", {}), "data", where)
    written = words_at(first_of(data, ("text", "tokens")), "data.text", where)
    words, counts = visible(written, notes, where)
    text, tokens = join(words)
    page = Page(text, tokens, "tokens", notes, where, counts)
    opinions: list[Opinion] = []
    rows = _by_function(list_at(item.get("weak_labels"), "weak_labels", where), len(written), where)
    for number, tags in enumerate(rows):
        annotator = names[number] if len(names) == len(rows) else f"lf{number}"
        opinions += _opinion(tags, page, By(annotator, "annotator", numbers))
    if item.get("label") is not None:
        opinions += _opinion(
            list_at(item["label"], "label", where), page, By("gold", "gold", numbers)
        )
    return Document(name, text, tuple(opinions), tokens, where=where)


def _opinion(tags: list[Any], page: Page, by: By) -> list[Opinion]:
    abstains = bool(tags) and all(tag is None or tag == -1 for tag in tags)
    return [] if abstains else opinions_in(tags, page, by)


def _by_function(matrix: list[Any], n_tokens: int, where: str) -> list[list[Any]]:
    """The matrix turned so that each row is one function's tags."""
    widths = {len(row) if isinstance(row, list) else -1 for row in matrix}
    if not matrix or -1 in widths or len(widths) > 1:
        if not matrix:
            return []
        raise InputError("weak_labels must be a matrix", where=where, got=shown(matrix))
    if len(matrix) == n_tokens:
        return [list(column) for column in zip(*matrix, strict=True)]
    if widths == {n_tokens}:
        return matrix
    raise InputError(
        "weak_labels must have a row for each token", where=where,
        got=f"{len(matrix)} rows for {n_tokens} tokens",
    )  # fmt: skip


def write(documents: Iterable[Document], path: Path, notes: Notes, **options: object) -> None:
    """Write a folder with one split and ``meta.json``."""
    split = str(options.pop("split", None) or "train")
    if options or split not in _SPLITS:
        raise ParameterError(
            f"split must be one of {', '.join(_SPLITS)}", got=repr(options or split)
        )
    documents = list(documents)
    voices = [o.annotator for d in documents for o in d.opinions if o.role != "gold"]
    names = list(dict.fromkeys(voices))
    items = {d.id: _item(d, names, notes) for d in documents}
    if len(items) < len(documents):
        raise ParameterError("two documents have the same id", fix="give each document its own")
    types = sorted({m.label for d in documents for o in d.opinions for m in o.marks})
    meta = {
        f"{split}_size": len(items), "entity_types": types, "lf": names, "num_lf": len(names),
        "num_labels": 2 * len(types) + 1, "lf_rec": names, "num_lf_rec": len(names),
        "max_length": max((item["len"] for item in items.values()), default=0),
    }  # fmt: skip
    with atomic_path(path) as folder:
        folder.mkdir()
        for name, content in ((split, items), ("meta", meta)):
            text = json.dumps(content, ensure_ascii=False, indent=4 if name == "meta" else None)
            (folder / f"{name}.json").write_bytes(text.encode() + b"\n")


def _item(document: Document, names: list[str], notes: Notes) -> dict[str, Any]:
    where, tokens = document.where or document.id, tokens_of(document)
    words = [document.text[a:b] for a, b in tokens]
    if " ".join(words) != document.text:
        notes.left_out("spacing of a text (it has tokens only)", where)
    tags: dict[str, list[Any]] = {name: ["O"] * len(words) for name in names}
    silent = set(names)
    gold: list[Any] | None = None
    for opinion in document.opinions:
        painted = tags_of_marks(opinion.marks, tokens, notes, where, opinion.seen)
        silent.discard(opinion.annotator)
        if opinion.role == "gold":
            gold = painted
        else:
            tags[opinion.annotator] = painted
        if opinion.score is not None or any(mark.score is not None for mark in opinion.marks):
            notes.left_out("score", where)
        if opinion.time is not None:
            notes.left_out("time of labelling", where)
    if document.sentences is not None:
        notes.left_out("borders of sentences in a document", where)
    if silent:
        notes.left_out("annotator who did not see the text (written as O)", where, len(silent))
    for row in (*tags.values(), *([gold] if gold else [])):
        if None in row:
            notes.left_out("part that was not seen (written as O)", where)
            row[:] = [tag or "O" for tag in row]
    matrix = [list(row) for row in zip(*tags.values(), strict=True)] if names else [[]] * len(words)
    return {"label": gold, "data": {"text": words}, "weak_labels": matrix, "len": len(words)}


FORMAT = DocumentFormat(
    "wrench",
    "WRENCH",
    tell,
    read,
    write,
    read_options={"functions": "names of the labelling functions, with commas between"},
    write_options={"split": "train, valid or test (train)"},
    cannot_carry=(
        "spacing of the text, unless tokens are joined by one blank",
        "who did not see a text, and parts not seen (there is no sign for it)",
        "overlapping and discontinuous marks, scores, times, borders of sentences",
    ),
)
