"""The sentences as the page's text view takes them: compact, bounded, as they are written."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import orjson
from markupsafe import Markup

from seqtruth.data.corpus import Corpus
from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import Spans, extract
from seqtruth.decisions.explain import reasons_of
from seqtruth.kernels.arrays import I64
from seqtruth.report.confidence import silent_sources
from seqtruth.result import Result

#: Sentences and characters that a page holds at most; the least confident are kept.
MAX_SENTENCES, MAX_CHARACTERS = 100_000, 30_000_000
#: Longer JSON is compressed: browsers unpack faster than they read HTML.
MAX_PLAIN = 1_000_000
#: A longer sentence or name is cut.
MAX_TEXT, MAX_NAME = 3000, 80
#: So many sentences, the least confident, come with the model's reasons; the others with votes.
MAX_REASONED = 400
#: A token less probable than this is underlined.
WEAK = 0.6
_NO_BLANK_BEFORE = frozenset(", . ; : ! ? ) ] } % ' '' ’ ” » … 's 't n't 're 've 'll 'd 'm".split())  # noqa: SIM905
_NO_BLANK_AFTER = frozenset("( [ { $ £ € # `` “ « ¿ ¡".split())  # noqa: SIM905


class Written(NamedTuple):
    """A sentence's text, and where in it each token begins and ends."""

    text: str
    starts: list[int]
    ends: list[int]


class Said(NamedTuple):
    """Spans by sequence: where each sequence's begin, and (start, end, type) of all."""

    first: list[int]
    spans: list[tuple[int, int, int]]

    @staticmethod
    def of(spans: Spans, n: int) -> Said:
        columns = (spans.start.tolist(), spans.end.tolist(), spans.type.tolist())
        first = np.searchsorted(spans.sequence, np.arange(n + 1)).tolist()
        return Said(first, list(zip(*columns, strict=True)))

    def of_row(self, number: int) -> list[tuple[int, int, int]]:
        return self.spans[self.first[number] : self.first[number + 1]]


class Embedded(NamedTuple):
    """What the page holds.

    block : the sentences as JSON that can stand inside an HTML page.
    shown, total : how many sentences it has, of how many.
    as_written : whether texts are the source's own; else blanks between tokens are a guess.
    packed : whether the block is compressed (in base 64), which much text is.
    """

    block: Markup
    shown: int
    total: int
    as_written: bool
    packed: bool


def embed(result: Result, crowd: Crowd | None, probable: bool, saved: str) -> Embedded:
    """The sentences with what was found in them and who said what.

    Parameters
    ----------
    result : the aggregated labels.
    crowd : the annotations, on the result's sentences and in its scheme.
    probable : whether confidences are probabilities that were checked, and may look like it.
    saved : name of the result's file, for commands.
    """
    corpus = result.corpus
    groups, total = _groups(result)
    types = result.scheme.types if crowd is None else crowd.scheme.types
    recode = [types.index(name) for name in result.scheme.types]
    spans = extract(result.tags, corpus.token_offsets, result.scheme)
    ours = Said.of(
        spans._replace(type=np.array([*recode, 0], np.int16)[spans.type]), corpus.n_sentences
    )
    sure = np.rint(1000 * result.span_confidence()).astype(int).tolist()
    theirs = None
    if crowd is not None:
        theirs = Said.of(extract(crowd.tags, crowd.row_offsets, crowd.scheme), crowd.n_rows)
    weak = _weak(result)
    confidence = np.rint(1000 * result.sentence_confidence).astype(int).tolist()
    names = corpus.base_ids.to_pylist()
    columns: dict[str, list[Any]] = {
        name: [] for name in ("id", "doc", "text", "sure", "spans", "said", "weak")
    }
    silent = silent_sources(result)
    mute = set() if crowd is None else {w for w, n in enumerate(crowd.annotators) if n in silent}
    reasons = _reasons(result, crowd, groups)
    told: dict[int, list[list[str]]] = {}
    room = MAX_CHARACTERS
    for numbers, written in zip(groups, _texts(corpus, groups), strict=True):
        if room <= 0:
            break
        room -= len(written.text)
        s = numbers[0]
        if s in reasons:
            told[len(columns["id"])] = reasons[s]
        kept = _placed(written, [span for n in numbers for span in ours.of_row(n)])
        flags = [v for n in numbers for v in sure[ours.first[n] : ours.first[n + 1]]]
        columns["id"].append(_clip(names[s]))
        columns["doc"].append(int(corpus.sentence_document[s]))
        columns["text"].append(written.text)
        columns["sure"].append(min(confidence[n] for n in numbers))
        columns["spans"].append(
            _numbers(v for span, c in zip(kept, flags, strict=False) for v in (*span, c))
        )
        columns["said"].append(_readings(crowd, theirs, ours, numbers, written, mute))
        columns["weak"].append(_numbers(v for a, b in weak.get(s, ()) for v in _cut(written, a, b)))
    weights = dict(zip(result.annotators.names, result.annotators.weight.tolist(), strict=True))
    known = () if crowd is None else crowd.annotators
    data = {
        "types": [_clip(name) for name in types],
        "who": [_clip(name) for name in known],
        "weight": [_number(weights.get(name)) for name in known],
        "silent": [name in silent for name in known],
        "documents": [_clip(name) for name in corpus.documents],
        "probable": probable,
        "told": told,
        "explain": f"seqtruth explain {saved}" if reasons else "",
        **columns,
    }
    block = inert(data)
    packed = len(block) > MAX_PLAIN
    if packed:
        block = Markup(base64.b64encode(gzip.compress(block.encode(), 6, mtime=0)).decode())
    as_written = corpus.texts is not None or corpus.tokens is None
    return Embedded(block, len(columns["id"]), total, as_written, packed)


def _reasons(
    result: Result, crowd: Crowd | None, groups: list[list[int]]
) -> dict[int, list[list[str]]]:
    """For the least confident sentences, what ``explain`` says of their words, in pieces; by sentence."""
    if result.fitted is None or crowd is None or len(result.corpus.layers) > 1:
        return {}
    if result.crowd is None:
        result = replace(result, crowd=crowd)
    numbers = np.array([group[0] for group in groups], np.int64)
    order = np.argsort(result.sentence_confidence[numbers], kind="stable")
    least = np.sort(numbers[order[:MAX_REASONED]])
    return {
        s: [[one.token, *one.told()] for one in found]
        for s, found in zip(least.tolist(), reasons_of(result, least), strict=True)
    }


def _numbers(values: Iterable[int]) -> str:
    """Whole numbers with blanks between: browsers read one text faster than many lists."""
    return " ".join(map(str, values))


def inert(value: Any) -> Markup:
    """JSON that no HTML parser takes for anything else, whatever its texts say."""
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS).decode()
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)


def _number(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else round(value, 4)


def _groups(result: Result) -> tuple[list[list[int]], int]:
    """Numbers of each labelled sentence on all its layers, in order, and how many there are.

    Where there are too many, the least confident.
    """
    corpus = result.corpus
    worth = result.labelled & (np.diff(corpus.token_offsets) > 0)
    if len(corpus.layers) == 1:
        numbers = np.flatnonzero(worth)
        total = len(numbers)
        if total > MAX_SENTENCES:
            order = np.argsort(result.sentence_confidence[numbers], kind="stable")
            numbers = np.sort(numbers[order[:MAX_SENTENCES]])
        return [[n] for n in numbers.tolist()], total
    together: dict[str, list[int]] = {}
    for number, name in enumerate(corpus.base_ids.to_pylist()):
        if worth[number]:
            together.setdefault(name, []).append(number)
    every = list(together.values())
    if len(every) > MAX_SENTENCES:
        every.sort(key=lambda group: min(result.sentence_confidence[group]))
        every = sorted(every[:MAX_SENTENCES])
    return every, len(together)


def _texts(corpus: Corpus, groups: list[list[int]]) -> Iterator[Written]:
    """The text of each sentence as it is written, or its tokens with blanks where they usually are."""
    offsets = corpus.token_offsets.tolist()
    if corpus.texts is not None and corpus.char_starts is not None and corpus.char_ends is not None:
        starts, ends = corpus.char_starts.tolist(), corpus.char_ends.tolist()
        for group in groups:
            text = corpus.texts[group[0]].as_py()
            a, b = offsets[group[0]], offsets[group[0] + 1]
            if text is not None:
                yield Written(_clip(text, MAX_TEXT), starts[a:b], ends[a:b])
            else:
                yield _joined(corpus.words(group[0]))
        return
    words = None if corpus.tokens is None else corpus.tokens.to_pylist()
    for group in groups:
        a, b = offsets[group[0]], offsets[group[0] + 1]
        yield _joined(words[a:b] if words is not None else [str(i + 1) for i in range(b - a)])


def _joined(words: list[str]) -> Written:
    parts, starts, ends = [], [], []
    at, glue, quoted = 0, True, False
    for word in words:
        closes = word == '"' and quoted
        if not (glue or closes or word in _NO_BLANK_BEFORE):
            parts.append(" ")
            at += 1
        starts.append(at)
        parts.append(word)
        at += len(word)
        ends.append(at)
        if word == '"':
            quoted = not quoted
        glue = word in _NO_BLANK_AFTER or (word == '"' and quoted)
        if at > MAX_TEXT:
            break
    return Written(_clip("".join(parts), MAX_TEXT), starts, ends)


def _cut(written: Written, a: int, b: int) -> tuple[int, int]:
    """Characters of the tokens from ``a`` to ``b``; an empty stretch where the text was cut before."""
    if a >= len(written.starts):
        return (0, 0)
    end = written.ends[min(b, len(written.ends)) - 1]
    start = min(written.starts[a], len(written.text))
    return start, min(end, len(written.text))


def _placed(written: Written, spans: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    return [(*_cut(written, a, b), kind) for a, b, kind in spans]


def _readings(
    crowd: Crowd | None,
    theirs: Said | None,
    ours: Said,
    numbers: list[int],
    written: Written,
    mute: Container[int],
) -> str:
    """``annotators:spans`` of each different reading, with ``|`` between; ``=`` for the result's spans.

    Silence (of those who are ``mute``) and a denial are different readings.
    """
    if crowd is None or theirs is None:
        return ""
    by_annotator: dict[int, list[tuple[int, int, int]]] = {}
    rows, owner, labelled = crowd.sentence_rows, crowd.row_annotator, crowd.row_labelled
    for n in numbers:
        for row in range(int(rows[n]), int(rows[n + 1])):
            if labelled[row]:
                by_annotator.setdefault(int(owner[row]), []).extend(theirs.of_row(row))
    wanted = sorted(span for n in numbers for span in ours.of_row(n))
    groups: dict[tuple[tuple[tuple[int, int, int], ...], bool], list[int]] = {}
    for annotator, spans in by_annotator.items():
        quiet = annotator in mute and sorted(spans) != wanted
        groups.setdefault((tuple(sorted(spans)), quiet), []).append(annotator)
    order = sorted(
        ((spans, who) for (spans, _), who in groups.items()),
        key=lambda item: (list(item[0]) != wanted, -len(item[1])),
    )
    return "|".join(
        _numbers(who)
        + (
            ":="
            if list(spans) == wanted
            else ":" + _numbers(v for one in _placed(written, list(spans)) for v in one)
        )
        for spans, who in order
    )


def _weak(result: Result) -> dict[int, list[tuple[int, int]]]:
    """Tokens of each sentence whose label is improbable."""
    at: I64 = np.flatnonzero((result.token_confidence < WEAK) & (result.tags >= 0))
    sentence = np.searchsorted(result.corpus.token_offsets, at, side="right") - 1
    place = at - result.corpus.token_offsets[sentence]
    found: dict[int, list[tuple[int, int]]] = {}
    for s, token in zip(sentence.tolist(), place.tolist(), strict=True):
        found.setdefault(s, []).append((token, token + 1))
    return found


def _clip(text: str, length: int = MAX_NAME) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
