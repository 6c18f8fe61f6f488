"""The queue of a triage: sentences that people should see, why, and files of it for tools."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from seqtruth.atomic import atomic_path
from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import Spans
from seqtruth.decisions.cases import expected_errors, find_cases
from seqtruth.decisions.claims import Claim, claims_of
from seqtruth.decisions.merging import model_crowd
from seqtruth.decisions.model import spans_of
from seqtruth.decisions.triage import Triage
from seqtruth.errors import ParameterError
from seqtruth.io import FORMATS, target_format, write_documents
from seqtruth.io.format import DocumentFormat
from seqtruth.io.formats.delimited import safe_cell
from seqtruth.io.to_documents import Scores, documents_of
from seqtruth.kernels.arrays import F64, I64
from seqtruth.result import Result

#: Tools whose files have room for the reasons.
TELLING = ("label-studio", "prodigy", "doccano", "argilla")
#: A span that so large a share of those who saw it mark, and the result does not have, is a reason.
CLAIMED = 0.3
#: Words named where only what is not marked is in doubt.
DOUBTS = 2


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
    order = _order(triage)
    return _items(triage, order if limit is None else order[:limit])


def _items(triage: Triage, chosen: I64) -> list[Item]:
    result = triage.result
    crowd = None if result.crowd is None else model_crowd(result)
    found = spans_of(result)
    at = np.searchsorted(found.sequence, np.arange(result.corpus.n_sentences + 1))
    errors = _expected_errors(result)
    return [_item(triage, crowd, int(s), found, range(at[s], at[s + 1]), errors[s]) for s in chosen]


def sample(triage: Triage, n: int, seed: int = 0) -> list[Item]:
    """Sentences drawn at random, to be checked: their true labels are what promises can rest on.

    Those of a queue will not do: there, the labels are worse than elsewhere.

    Parameters
    ----------
    triage : whose sentences; known ones are passed over.
    n : how many, or all where there are fewer.
    seed : same seed, same sentences.
    """
    result = triage.result
    there = result.labelled & ~triage.known & (np.diff(result.corpus.token_offsets) > 0)
    drawn = np.random.default_rng(seed).permutation(np.flatnonzero(there))[:n]
    return _items(triage, np.sort(drawn))


def write_queue(
    triage: Triage,
    path: str | Path,
    format: str | None = None,
    limit: int | None = None,
    items: list[Item] | None = None,
) -> int:
    """Write the queue: CSV, JSON lines, or a tool's format with the labels as suggestions.

    Parameters
    ----------
    triage : what is accepted.
    path : where to; ``.csv`` and ``.jsonl`` say what they are.
    format : ``"csv"``, ``"jsonl"``, or a name in :data:`seqtruth.io.FORMATS`. Label Studio, Prodigy,
        doccano and Argilla show the reasons.
    limit : at most so many sentences.
    items : these, such as a :func:`sample`, and not the queue.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    kind = format or {".csv": "csv", ".jsonl": "jsonl"}.get(suffix)
    items = queue(triage, limit) if items is None else items
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
    rank = {id_: place for place, id_ in enumerate(reasons)}  # documents in the order of the queue
    made = [
        replace(one, remarks=tuple(reasons.get(one.id, ())))
        for one in documents_of(part.as_crowd(name), scores, "model")
    ]
    write_documents(sorted(made, key=lambda one: rank.get(one.id, len(rank))), path, format)


def _order(triage: Triage) -> np.ndarray:
    result = triage.result
    errors = _expected_errors(result)
    see = np.flatnonzero(
        result.labelled & ~triage.settled & (np.diff(result.corpus.token_offsets) > 0)
    )
    return see[np.argsort(-errors[see], kind="stable")]


def half_of_errors(triage: Triage) -> int:
    """How many sentences of the queue hold half of the errors to be expected in it; 0 where none is.

    Parameters
    ----------
    triage : what is accepted.
    """
    errors = np.cumsum(_expected_errors(triage.result)[_order(triage)])
    if not len(errors) or errors[-1] < 0.5:
        return 0
    return int(np.searchsorted(errors, errors[-1] / 2)) + 1


def _expected_errors(result: Result) -> F64:
    """float64[S]: what the review desk would put first."""
    crowd = None if result.crowd is None else model_crowd(result)
    return expected_errors(find_cases(result, crowd), result.corpus.n_sentences)


def _item(
    triage: Triage, crowd: Crowd | None, s: int, found: Spans, numbers: range, errors: float
) -> Item:
    result = triage.result
    words = result.corpus.glued(s)
    spans = tuple(
        {
            "label": result.scheme.types[found.type[k]],
            "start": int(found.start[k]),
            "end": int(found.end[k]),
            "text": "".join(words[found.start[k] : found.end[k]]).strip(),
            "confidence": round(float(triage.spans.confidence[k]), 4),
            "accepted": bool(triage.spans.accepted[k]),
        }
        for k in numbers
    )
    corpus = result.corpus
    return Item(
        corpus.sentence_ids[s].as_py(),
        corpus.documents[int(corpus.sentence_document[s])],
        "".join(words).strip(),
        float(errors),
        float(triage.sentences.confidence[s]),
        spans,
        tuple(
            _reasons(spans, _claims(crowd, s), words, 0 if crowd is None else _seen(crowd, s))
            or _doubts(result, s, words)
        ),
    )


def _seen(crowd: Crowd, s: int) -> int:
    return int(crowd.sentence_rows[s + 1] - crowd.sentence_rows[s])


def _claims(crowd: Crowd | None, s: int) -> Counter[Claim]:
    """How many annotators mark each span."""
    spans = [] if crowd is None else [span for _, found in claims_of(crowd, s) for span in found]
    return Counter(spans)


def _reasons(
    spans: tuple[dict[str, Any], ...],
    claims: dict[tuple[int, int, str], int],
    words: list[str],
    seen: int,
) -> list[str]:
    """What is not sure enough, the least sure first, and what was passed over."""
    out = []
    ours = {(span["start"], span["end"], span["label"]) for span in spans}
    for span in sorted(spans, key=lambda one: one["confidence"]):
        if span["accepted"]:
            continue
        key = span["start"], span["end"], span["label"]
        text = f"{span['label']} “{span['text']}” is {span['confidence']:.0%} sure"
        if seen:
            n = claims.get(key, 0)
            text += f": {n or 'none'} of {seen} {'marks' if n == 1 else 'mark'} it so"
        rivals = [
            f"{_say(count)} {kind} “{''.join(words[i:j]).strip()}”"
            for (i, j, kind), count in sorted(claims.items(), key=lambda entry: -entry[1])
            if i < key[1] and j > key[0] and (i, j, kind) != key
        ]
        out.append(text + (f", {', '.join(rivals[:3])}" if rivals else ""))
    for (i, j, kind), count in sorted(claims.items(), key=lambda entry: -entry[1]):
        passed = not any(i < b and j > a for a, b, _ in ours)
        if passed and count >= CLAIMED * seen:
            out.append(
                f"nothing is marked where {count} of {seen} {'says' if count == 1 else 'say'}"
                f" {kind} “{''.join(words[i:j]).strip()}”"
            )
    return out


def _say(count: int) -> str:
    return f"{count} {'says' if count == 1 else 'say'}"


def _doubts(result: Result, s: int, words: list[str]) -> list[str]:
    """Words outside all spans of which that is least sure."""
    a, b = (int(x) for x in result.corpus.token_offsets[s : s + 2])
    tags = result.tags[a:b]
    outside = np.flatnonzero((tags >= 0) & ~result.scheme.is_entity[tags])
    sure = result.token_confidence[a:b]
    least = outside[np.argsort(sure[outside], kind="stable")][:DOUBTS]
    told = [
        f"nothing is marked at “{words[i].strip()}”, which is {sure[i]:.0%} sure"
        for i in least.tolist()
        if sure[i] < 0.995
    ]
    return told or ["the sentence as a whole is not sure enough"]


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
        writer.writerow([safe_cell(cell) for cell in row])
    return out.getvalue()


def _jsonl(items: list[Item]) -> str:
    return "".join(json.dumps(item.to_dict(), ensure_ascii=False) + "\n" for item in items)
