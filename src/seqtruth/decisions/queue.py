"""The queue of a triage: sentences that people should see, why, and files of it for tools."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seqtruth.atomic import atomic_path
from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import extract
from seqtruth.decisions.merging import model_crowd
from seqtruth.decisions.model import spans_of
from seqtruth.decisions.triage import Triage
from seqtruth.errors import ParameterError
from seqtruth.io import FORMATS, target_format, write_documents
from seqtruth.io.format import DocumentFormat
from seqtruth.io.to_documents import Scores, documents_of
from seqtruth.kernels.arrays import F64
from seqtruth.result import Result

#: Tools whose files have room for the reasons.
TELLING = ("label-studio", "prodigy", "doccano", "argilla")
#: A span that so large a share of those who saw it mark, and the result does not have, is a reason.
CLAIMED = 0.3


@dataclass(frozen=True)
class Item:
    """A sentence to look at.

    Parameters
    ----------
    sentence, document, text : which one.
    expected_errors : wrong or missing spans to be expected in it.
    confidence : that all of it is right.
    spans : its spans, each with its confidence and whether it is accepted.
    reasons : why it should be seen.
    """

    sentence: str
    document: str
    text: str
    expected_errors: float
    confidence: float
    spans: tuple[dict[str, Any], ...]
    reasons: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sentence": self.sentence,
            "document": self.document,
            "text": self.text,
            "expected_errors": round(self.expected_errors, 4),
            "confidence": round(self.confidence, 4),
            "spans": list(self.spans),
            "reasons": list(self.reasons),
        }


def queue(triage: Triage, limit: int | None = None) -> list[Item]:
    """Sentences that people should see, those with most to mend first.

    Parameters
    ----------
    triage : what is accepted.
    limit : at most so many.
    """
    result = triage.result
    order = _order(triage)
    chosen = order if limit is None else order[:limit]
    crowd = None if result.crowd is None else model_crowd(result)
    found = spans_of(result)
    at = np.searchsorted(found.sequence, np.arange(result.corpus.n_sentences + 1))
    errors = _expected_errors(result)
    return [_item(triage, crowd, int(s), range(at[s], at[s + 1]), errors[s]) for s in chosen]


def write_queue(
    triage: Triage, path: str | Path, format: str | None = None, limit: int | None = None
) -> int:
    """Write the queue: CSV, JSON lines, or a tool's format with the labels as suggestions.

    Parameters
    ----------
    triage : what is accepted.
    path : where to; ``.csv`` and ``.jsonl`` say what they are.
    format : ``"csv"``, ``"jsonl"``, or a name in :data:`seqtruth.io.FORMATS`. Label Studio, Prodigy,
        doccano and Argilla show the reasons.
    limit : at most so many sentences.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    kind = format or {".csv": "csv", ".jsonl": "jsonl"}.get(suffix)
    items = queue(triage, limit)
    if kind in ("csv", "jsonl"):
        text = _csv(items) if kind == "csv" else _jsonl(items)
        with atomic_path(target) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")
        return len(items)
    if kind is not None and kind not in FORMATS:
        raise ParameterError(
            "no such format for a queue", got=repr(kind), fix=f"csv, jsonl, {', '.join(TELLING)} …"
        )
    found = target_format(target, kind)
    if not isinstance(found, DocumentFormat):
        raise ParameterError(
            f"{found.name} has no room for a queue", got=repr(found.name),
            fix=f"csv, jsonl, {', '.join(TELLING)} …",
        )  # fmt: skip
    _write_documents(triage.result, items, target, found.name)
    return len(items)


def _write_documents(result: Result, items: list[Item], path: Path, format: str) -> None:
    """Documents of the queue with the result's labels, and the reasons as remarks."""
    places = {name: k for k, name in enumerate(result.corpus.sentence_ids.to_pylist())}
    chosen = np.array([places[item.sentence] for item in items], np.int64)
    documents = np.unique(result.corpus.sentence_document[chosen])
    if result.corpus.text_starts is not None:  # whole documents, as the tool had them
        keep = np.isin(result.corpus.sentence_document, documents)
        chosen = np.flatnonzero(keep)
    tokens = np.repeat(
        np.isin(np.arange(result.corpus.n_sentences), chosen), np.diff(result.corpus.token_offsets)
    )
    part = result.take(np.sort(chosen))
    scores = Scores(
        result.token_confidence[tokens], None if result.of_span is None else result.of_span[tokens],
        result.sentence_confidence[np.sort(chosen)],
    )  # fmt: skip
    reasons: dict[str, list[str]] = {}
    whole = result.corpus.text_starts is not None
    for item in items:
        reasons.setdefault(item.document if whole else item.sentence, []).extend(item.reasons)
    name = f"seqtruth-{result.provenance.get('method', 'labels')}"
    made = (
        replace(one, remarks=tuple(reasons.get(one.id, ())))
        for one in documents_of(part.as_crowd(name), scores, "model")
    )
    write_documents(made, path, format)


def _order(triage: Triage) -> np.ndarray:
    result = triage.result
    errors = _expected_errors(result)
    see = np.flatnonzero(
        result.labelled & ~triage.settled & (np.diff(result.corpus.token_offsets) > 0)
    )
    return see[np.argsort(-errors[see], kind="stable")]


def _expected_errors(result: Result) -> F64:
    """float64[S]: spans expected to be wrong, and the doubt about the surest of what was passed over."""
    found, n = spans_of(result), result.corpus.n_sentences
    wrong = np.bincount(found.sequence, 1.0 - result.span_confidence(), minlength=n)
    outside = (result.tags >= 0) & ~result.scheme.is_entity[result.tags]
    doubt = np.where(outside, 1.0 - result.token_confidence, 0.0)
    most = np.zeros(n)
    np.maximum.at(most, np.repeat(np.arange(n), np.diff(result.corpus.token_offsets)), doubt)
    return np.asarray(wrong + most)


def _item(triage: Triage, crowd: Crowd | None, s: int, numbers: range, errors: float) -> Item:
    result, found = triage.result, spans_of(triage.result)
    words = result.corpus.words(s)
    spans = tuple(
        {
            "label": result.scheme.types[found.type[k]],
            "start": int(found.start[k]),
            "end": int(found.end[k]),
            "text": " ".join(words[found.start[k] : found.end[k]]),
            "confidence": round(float(triage.spans.confidence[k]), 4),
            "accepted": bool(triage.spans.accepted[k]),
        }
        for k in numbers
    )
    corpus = result.corpus
    return Item(
        corpus.sentence_ids[s].as_py(),
        corpus.documents[int(corpus.sentence_document[s])],
        " ".join(words),
        float(errors),
        float(triage.sentences.confidence[s]),
        spans,
        tuple(_reasons(spans, _claims(crowd, s), words, 0 if crowd is None else _seen(crowd, s))),
    )


def _seen(crowd: Crowd, s: int) -> int:
    return int(crowd.sentence_rows[s + 1] - crowd.sentence_rows[s])


def _claims(crowd: Crowd | None, s: int) -> dict[tuple[int, int, str], int]:
    """How many annotators mark each span."""
    out: dict[tuple[int, int, str], int] = {}
    if crowd is None:
        return out
    for row in range(*(int(x) for x in crowd.sentence_rows[s : s + 2])):
        tags = crowd.tags[crowd.row_offsets[row] : crowd.row_offsets[row + 1]]
        found = extract(tags, np.array([0, len(tags)]), crowd.scheme)
        for i, j, k in zip(found.start, found.end, found.type, strict=True):
            key = int(i), int(j), crowd.scheme.types[k]
            out[key] = out.get(key, 0) + 1
    return out


def _reasons(
    spans: tuple[dict[str, Any], ...],
    claims: dict[tuple[int, int, str], int],
    words: list[str],
    seen: int,
) -> list[str]:
    out = []
    ours = {(span["start"], span["end"], span["label"]) for span in spans}
    for span in spans:
        if span["accepted"]:
            continue
        key = span["start"], span["end"], span["label"]
        text = f"{span['label']} “{span['text']}” is {span['confidence']:.0%} sure"
        if seen:
            text += f": {claims.get(key, 0)} of {seen} mark it so"
        rivals = [
            f"{count} say {kind} “{' '.join(words[i:j])}”"
            for (i, j, kind), count in sorted(claims.items(), key=lambda entry: -entry[1])
            if i < key[1] and j > key[0] and (i, j, kind) != key
        ]
        out.append(text + (f", {', '.join(rivals[:3])}" if rivals else ""))
    for (i, j, kind), count in sorted(claims.items(), key=lambda entry: -entry[1]):
        passed = not any(i < b and j > a for a, b, _ in ours)
        if passed and count >= CLAIMED * seen:
            out.append(
                f"nothing is marked where {count} of {seen} say {kind} “{' '.join(words[i:j])}”"
            )
    return out or ["the sentence as a whole is not sure enough"]


def _csv(items: list[Item]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["sentence", "document", "expected_errors", "confidence", "text", "spans", "reasons"]
    )
    for item in items:
        spans = "; ".join(
            f"{one['label']} {one['text']} ({one['confidence']:.2f})" for one in item.spans
        )
        row = [
            item.sentence, item.document, f"{item.expected_errors:.3f}", f"{item.confidence:.3f}",
            item.text, spans, "; ".join(item.reasons),
        ]  # fmt: skip
        writer.writerow([_harmless(cell) for cell in row])
    return out.getvalue()


def _harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell[:1] in ("=", "+", "@", "\t", "\r") else cell


def _jsonl(items: list[Item]) -> str:
    return "".join(json.dumps(item.to_dict(), ensure_ascii=False) + "\n" for item in items)
