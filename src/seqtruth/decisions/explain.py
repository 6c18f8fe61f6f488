"""Why this label: who spoke for it, who against, and how much each counted.

For a token, the log odds of its label t against a rival r are, under the model of the result, the sum of

* each annotator's ``share · (table[j, ·, c, t] - table[j, ·, c, r])``,
* each other source's ``trust · (evidence[t] - evidence[r])`` (a tagger, the document, how common labels are),
* the chain's part: what the labels before and after say, log of the forward and backward messages.

Nothing is left over: the parts add up to log q(t) - log q(r). The confidence that is shown beside is that of
the result, which may be corrected (:mod:`~seqtruth.methods.accord.calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.spans import extract
from seqtruth.decisions.merging import model_crowd
from seqtruth.decisions.model import Asked, ask
from seqtruth.errors import DataError
from seqtruth.kernels.arrays import F64, Tags
from seqtruth.result import Result

#: Labels less probable than this are no alternatives worth naming.
LEAST = 0.02
#: Tokens less sure than this are explained even where nobody marks them.
SURE = 0.95


class Part(NamedTuple):
    """One voice: whose (``"annotator"``, ``"source"`` or ``"chain"``), what it says, what it counts."""

    kind: str
    name: str
    said: str
    weight: float


@dataclass(frozen=True)
class TokenReason:
    """Why a token has its label.

    Parameters
    ----------
    index, token, label : which one.
    confidence : the result's, of this label.
    rival : the likeliest other label under the model.
    log_odds : of the label against the rival; the sum of all parts.
    parts : who counted how much, the weightiest first.
    alternatives : labels and their probabilities under the model, the likeliest first.
    known : whether the label was given as true.
    """

    index: int
    token: str
    label: str
    confidence: float
    rival: str
    log_odds: float
    parts: tuple[Part, ...]
    alternatives: tuple[tuple[str, float], ...]
    known: bool

    def words(self) -> str:
        """The same in a sentence."""
        head = f"{self.token}: {self.label} ({self.confidence:.0%})"
        if self.known:
            return f"{head}, given as true"
        told = [
            _voices([part for part in self.parts if part.weight > 0.005], "for it"),
            _voices([part for part in self.parts if part.weight < -0.005], f"for {self.rival}"),
        ]
        others = ", ".join(
            f"{name} {share:.0%}" for name, share in self.alternatives if name != self.label
        )
        text = "; ".join([head, *filter(None, told)])
        return text + (f". Else: {others}" if others else "")


@dataclass(frozen=True)
class Explanation:
    """Why a sentence has its labels.

    Parameters
    ----------
    sentence, document, text : which one.
    confidence : of the whole sentence.
    spans : the result's spans in it: type, words, confidence.
    votes : what each annotator marked in it, by name.
    tokens : the reasons, of tokens that anybody marks or that are in doubt.
    """

    sentence: str
    document: str
    text: str
    confidence: float
    spans: tuple[dict[str, Any], ...]
    votes: dict[str, list[dict[str, Any]]]
    tokens: tuple[TokenReason, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sentence": self.sentence,
            "document": self.document,
            "text": self.text,
            "confidence": self.confidence,
            "spans": list(self.spans),
            "votes": self.votes,
            "tokens": [
                {
                    **{k: getattr(one, k) for k in _PLAIN},
                    "parts": [part._asdict() for part in one.parts],
                    "alternatives": dict(one.alternatives),
                    "words": one.words(),
                }
                for one in self.tokens
            ],
        }


_PLAIN = ("index", "token", "label", "confidence", "rival", "log_odds", "known")


def explain(result: Result, sentence: str | int) -> Explanation:
    """Why a sentence has the labels it has.

    Parameters
    ----------
    result : with its model and crowd.
    sentence : its id, or its number.
    """
    s = find_sentence(result, sentence)
    asked = ask(result, np.array([s]))
    corpus = result.corpus
    a, b = (int(x) for x in corpus.token_offsets[s : s + 2])
    sure = result.span_confidence()
    found = extract(result.tags, corpus.token_offsets, result.scheme)
    here = np.flatnonzero(found.sequence == s)
    words = corpus.words(s)
    spans = tuple(
        {
            "label": result.scheme.types[found.type[k]],
            "start": int(found.start[k]),
            "end": int(found.end[k]),
            "text": " ".join(words[found.start[k] : found.end[k]]),
            "confidence": float(sure[k]),
        }
        for k in here
    )
    return Explanation(
        corpus.sentence_ids[s].as_py(),
        corpus.documents[int(corpus.sentence_document[s])],
        " ".join(words),
        float(result.sentence_confidence[s]),
        spans,
        _votes(result, s, words),
        tuple(_reasons(result, asked, result.tags[a:b], words, s)),
    )


def find_sentence(result: Result, sentence: str | int) -> int:
    """Number of a sentence by its id, or by its number where no id is like it.

    Parameters
    ----------
    result : whose sentence.
    sentence : id or number.
    """
    ids = result.corpus.sentence_ids.to_pylist()
    if isinstance(sentence, str) and sentence in ids:
        return int(ids.index(sentence))
    number = int(sentence) if str(sentence).isdigit() else -1
    if 0 <= number < len(ids):
        return number
    near = [name for name in ids if str(sentence) in name][:3]
    raise DataError(
        "no such sentence", got=repr(sentence),
        fix=f"such as {', '.join(near or ids[:3])}, or a number below {len(ids):,}",
    )  # fmt: skip


def _votes(result: Result, s: int, words: list[str]) -> dict[str, list[dict[str, Any]]]:
    crowd = model_crowd(result)
    out: dict[str, list[dict[str, Any]]] = {}
    for row in range(*(int(x) for x in crowd.sentence_rows[s : s + 2])):
        tags = crowd.tags[crowd.row_offsets[row] : crowd.row_offsets[row + 1]]
        found = extract(tags, np.array([0, len(tags)]), crowd.scheme)
        out[crowd.annotators[crowd.row_annotator[row]]] = [
            {"label": crowd.scheme.types[k], "start": int(i), "end": int(j), "text": " ".join(words[i:j])}
            for i, j, k in zip(found.start, found.end, found.type, strict=True)
        ]  # fmt: skip
    return out


def _reasons(
    result: Result, asked: Asked, tags: Tags, words: list[str], s: int
) -> list[TokenReason]:
    """Reasons for tokens that anybody marks or that are in doubt."""
    crowd, fitted, n = asked.crowd, asked.fitted, len(words)
    rows = crowd.tags.reshape(-1, n) if n else np.zeros((0, 0), crowd.tags.dtype)
    posterior = asked.marginals().astype(np.float64)
    known = np.full(n, -1) if fitted.known is None else fitted.known[asked.tokens]
    before, after = _messages(asked, known)
    outside, labels = result.scheme.outside, result.scheme.labels
    out = []
    for i in range(n):
        marked = ((rows[:, i] >= 0) & (rows[:, i] != outside)).any() or tags[i] not in (outside, -1)
        if tags[i] < 0 or not (marked or posterior[i].max() < SURE):
            continue
        label = int(tags[i])
        q = posterior[i].copy()
        q[label] = -1.0
        rival = int(np.argmax(q))
        parts = [*_annotators(asked, rows, i, label, rival), *_sources(asked, i, label, rival)]
        flow = before[i] + after[i]
        parts.append(Part("chain", "the labels beside it", "", float(flow[label] - flow[rival])))
        alternatives = sorted(
            ((labels[k], float(posterior[i, k])) for k in np.flatnonzero(posterior[i] >= LEAST)),
            key=lambda pair: -pair[1],
        )
        token = int(asked.tokens[i])
        out.append(
            TokenReason(
                i, words[i], labels[label], float(result.token_confidence[token]), labels[rival],
                float(sum(part.weight for part in parts)),
                tuple(sorted(parts, key=lambda part: -abs(part.weight))),
                tuple(alternatives), bool(known[i] >= 0),
            )
        )  # fmt: skip
    return out


def _annotators(asked: Asked, rows: Tags, i: int, label: int, rival: int) -> list[Part]:
    crowd, fitted = asked.crowd, asked.fitted
    by_previous, outside = fitted.table.shape[1] > 1, crowd.scheme.outside
    out = []
    for row, annotator in enumerate(crowd.row_annotator.tolist()):
        tag = int(rows[row, i])
        if tag < 0:
            continue
        previous = int(rows[row, i - 1]) if by_previous and i else outside
        previous = (previous if previous >= 0 else outside) if by_previous else 0
        said = fitted.table[annotator, previous, tag]
        weight = fitted.share * float(said[label] - said[rival])
        out.append(Part("annotator", crowd.annotators[annotator], crowd.scheme.labels[tag], weight))
    return out


def _sources(asked: Asked, i: int, label: int, rival: int) -> list[Part]:
    fitted, token = asked.fitted, int(asked.tokens[i])
    labels = asked.crowd.scheme.labels
    out = []
    if fitted.usual[label] != fitted.usual[rival]:
        out.append(Part("source", "usual", "", float(fitted.usual[label] - fitted.usual[rival])))
    for source in fitted.sources:
        said = source.evidence[token].astype(np.float64)
        best = labels[int(np.argmax(said))] if np.ptp(said) else ""
        out.append(
            Part("source", source.name, best, source.trust * float(said[label] - said[rival]))
        )
    return out


def _messages(asked: Asked, known: np.ndarray) -> tuple[F64, F64]:
    """Logarithms of what labels before and after each token say of it (forward and backward messages)."""
    logs = asked.fitted.chain.logs()
    scores = asked.scores.copy()
    given = np.flatnonzero(known >= 0)
    scores[given] = -1e9
    scores[given, known[given]] = 0.0
    n = len(scores)
    before, after = np.zeros_like(scores), np.zeros_like(scores)
    for i in range(n):
        before[i] = logs.start if i == 0 else _mix(before[i - 1] + scores[i - 1], logs.transition.T)
    for i in range(n - 1, -1, -1):
        after[i] = logs.end if i == n - 1 else _mix(after[i + 1] + scores[i + 1], logs.transition)
    return before, after


def _mix(values: F64, transition: F64) -> F64:
    total = transition + values
    top = total.max(axis=1)
    return np.asarray(top + np.log(np.exp(total - top[:, None]).sum(axis=1)))


def _voices(parts: list[Part], side: str) -> str:
    names = {"usual": "how common it is", "document": "the rest of the document"}
    told = [
        f"{names.get(part.name, part.name)} {abs(part.weight):.1f}"
        + (f" ({part.said})" if part.kind == "annotator" else "")
        for part in parts[:8]
    ]
    more = f" and {len(parts) - 8} more" if len(parts) > 8 else ""
    return f"{side}: {', '.join(told)}{more}" if told else ""
