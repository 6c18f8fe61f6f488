"""JSON lines of ours, written: see :mod:`~seqtruth.io.formats.jsonl` for what a record is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.io.assemble import sentence_documents
from seqtruth.io.files import write_chunks
from seqtruth.io.text_spans import RowSpans, row_spans
from seqtruth.io.to_documents import Pieces, place_of_sentences


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
    corpus = crowd.corpus
    ids, documents = corpus.base_ids.to_pylist(), sentence_documents(corpus)
    marked, pieces = row_spans(crowd), Pieces(corpus)
    pages, _ = place_of_sentences(corpus)
    first = True
    for group in _groups(crowd, ids):
        s = group[0]
        record: dict[str, Any] = {
            "id": ids[s] if len(group) > 1 else corpus.sentence_ids[s].as_py()
        }
        if documents[s]:
            record["doc"] = documents[s]
        notes: dict[str, Any] = dict.fromkeys(crowd.annotators) if first else {}
        first = False
        if _spans_say_all(crowd, group):
            record["text"] = corpus.texts[s].as_py() if corpus.texts is not None else ""
            if corpus.text_starts is not None:
                record["offset"] = int(corpus.text_starts[s])
            for layer in group:
                _add_marks(crowd, layer, pages[s], marked, pieces, span_confidence, notes)
        else:
            _add_tags(crowd, s, record, notes, confidence)
        record["annotations"] = notes
        yield (json.dumps(record, ensure_ascii=False) + "\n").encode()


def _groups(crowd: Crowd, ids: list[str]) -> Iterator[list[int]]:
    """Sentences by their numbers; those that are layers of one and can be one record together."""
    if len(crowd.corpus.layers) == 1:
        yield from ([s] for s in range(crowd.n_sentences))
        return
    found: dict[str, list[int]] = {}
    for s, name in enumerate(ids):
        found.setdefault(name, []).append(s)
    for group in found.values():
        if _spans_say_all(crowd, group):
            yield group
        else:
            yield from ([s] for s in group)


def _spans_say_all(crowd: Crowd, group: list[int]) -> bool:
    """Whether spans in a text say everything: there is a text, no tag is missing, none is plain."""
    texts = crowd.corpus.texts
    if texts is None or crowd.scheme.kind == "plain" or not texts[group[0]].is_valid:
        return False
    for s in group:
        first, last = crowd.sentence_tags[s : s + 2]
        if (crowd.tags[first:last] < 0).any():
            return False
    return True


def _add_marks(
    crowd: Crowd,
    s: int,
    page: str,
    marked: RowSpans,
    pieces: Pieces,
    confidence: npt.NDArray[np.floating[Any]] | None,
    notes: dict[str, Any],
) -> None:
    corpus = crowd.corpus
    a, b = (int(x) for x in corpus.token_offsets[s : s + 2])
    assert corpus.char_starts is not None and corpus.char_ends is not None
    starts, ends = corpus.char_starts[a:b].tolist(), corpus.char_ends[a:b].tolist()
    sure = _rounded(confidence, a, b)
    shift = 0 if corpus.text_starts is None else int(corpus.text_starts[s])
    for r in range(int(crowd.sentence_rows[s]), int(crowd.sentence_rows[s + 1])):
        who = crowd.annotators[crowd.row_annotator[r]]
        turns = pieces.of(page, who, own=crowd.n_annotators > 1)
        spans = notes.get(who) or []
        for x, y, label in marked.of(crowd, r):
            span: dict[str, Any] = {"start": starts[x], "end": ends[y - 1], "label": label}
            if parts := turns.take(starts[x] + shift, ends[y - 1] + shift, label):
                span["pieces"] = [[c - shift, d - shift] for c, d in parts]
            if sure is not None:
                span["confidence"] = min(sure[x:y])
            spans.append(span)
        notes[who] = spans


def _add_tags(
    crowd: Crowd,
    s: int,
    record: dict[str, Any],
    notes: dict[str, Any],
    confidence: npt.NDArray[np.floating[Any]] | None,
) -> None:
    corpus, labels = crowd.corpus, [*crowd.scheme.labels, None]
    a, b = (int(x) for x in corpus.token_offsets[s : s + 2])
    text = None if corpus.texts is None else corpus.texts[s].as_py()
    record["scheme"] = crowd.scheme.kind
    record["tokens"] = corpus.words(s)
    if text is not None:
        assert corpus.char_starts is not None and corpus.char_ends is not None
        record["text"] = text
        pairs = np.stack([corpus.char_starts[a:b], corpus.char_ends[a:b]], axis=1)
        record["offsets"] = pairs.tolist()
    for r in range(int(crowd.sentence_rows[s]), int(crowd.sentence_rows[s + 1])):
        codes = crowd.tags[crowd.row_offsets[r] : crowd.row_offsets[r + 1]].tolist()
        notes[crowd.annotators[crowd.row_annotator[r]]] = [labels[code] for code in codes]
    if confidence is not None:
        record["confidence"] = _rounded(confidence, a, b)


def _rounded(column: npt.NDArray[np.floating[Any]] | None, a: int, b: int) -> list[float] | None:
    return None if column is None else [round(float(x), 6) for x in column[a:b]]
