"""Why this label: who spoke for it, who against, and how much each counted.

For a token, the log odds of its label t against a rival r are, under the model of the result, the sum of

* each annotator's ``share · (table[j, ·, c, t] - table[j, ·, c, r])``,
* each other source's ``trust · (evidence[t] - evidence[r])`` (a tagger, the document, how common labels are),
* the chain's part: what the labels before and after say, log of the forward and backward messages.

Nothing is left over: the parts add up to log q(t) - log q(r). The confidence that is shown beside is that of
the result, which may be corrected (:mod:`~seqtruth.methods.accord.calibration`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.spans import extract
from seqtruth.decisions.claims import claims_of
from seqtruth.decisions.merging import model_crowd
from seqtruth.decisions.model import ask
from seqtruth.errors import DataError
from seqtruth.fitted import SILENCE, Fitted
from seqtruth.kernels.arrays import F64, I64, Bool, Tags
from seqtruth.result import Result

#: Labels less probable than this are no alternatives worth naming.
LEAST = 0.02
#: Tokens less sure than this are explained even where nobody marks them.
SURE = 0.95
#: Voices that count less are left out of the words.
NOTHING = 0.05


class Part(NamedTuple):
    """One voice: whose (``"annotator"``, ``"source"`` or ``"chain"``), what it says, what it counts."""

    kind: str
    name: str
    said: str
    weight: float


class Told(NamedTuple):
    """A reason in words: the label with its confidence, what speaks for it, what against, what else."""

    label: str
    pro: str
    contra: str
    others: str


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

    def like(self, other: TokenReason) -> bool:
        """Whether label, rival and what annotators say are the same."""
        said, theirs = (
            sorted((part.name, part.said) for part in one.parts if part.kind == "annotator")
            for one in (self, other)
        )
        return (self.label, self.rival, self.known, said) == (
            other.label, other.rival, other.known, theirs
        )  # fmt: skip

    def told(self) -> Told:
        """The same for people, in four pieces."""
        head = f"{self.label} ({self.confidence:.0%})"
        if self.known:
            return Told(head, "given as true", "", "")
        head += f", not {self.rival}"
        voices = [part for part in self.parts if abs(part.weight) >= NOTHING]
        others = [(name, share) for name, share in self.alternatives if name != self.label]
        return Told(
            head,
            _voices([part for part in voices if part.weight > 0], "for it"),
            _voices([part for part in voices if part.weight < 0], f"for {self.rival}"),
            ", ".join(f"{name} {share:.0%}" for name, share in others),
        )

    def words(self) -> str:
        """The same in a sentence."""
        told = self.told()
        text = "; ".join(filter(None, [f"{self.token}: {told.label}", told.pro, told.contra]))
        return text + (f". Else: {told.others}" if told.others else "")


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
    by_tagger : whether nobody labelled the sentence and its labels are the tagger's, which gives no reasons.
    """

    sentence: str
    document: str
    text: str
    confidence: float
    spans: tuple[dict[str, Any], ...]
    votes: dict[str, list[dict[str, Any]]]
    tokens: tuple[TokenReason, ...]
    by_tagger: bool = False

    def runs(self) -> list[tuple[TokenReason, int]]:
        """The reasons without repeats: each with the number of words after it that are alike."""
        return runs(self.tokens)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sentence": self.sentence,
            "document": self.document,
            "text": self.text,
            "confidence": self.confidence,
            "spans": list(self.spans),
            "votes": self.votes,
            "by_tagger": self.by_tagger,
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


def runs(reasons: Iterable[TokenReason]) -> list[tuple[TokenReason, int]]:
    """Reasons without repeats: each with the number of words after it that are alike.

    Parameters
    ----------
    reasons : of one sentence, in reading order.
    """
    out: list[tuple[TokenReason, int]] = []
    for one in reasons:
        if out:
            first, more = out[-1]
            if one.index == first.index + more + 1 and one.like(first):
                out[-1] = first, more + 1
                continue
        out.append((one, 0))
    return out


_PLAIN = ("index", "token", "label", "confidence", "rival", "log_odds", "known")


def explain(result: Result, sentence: str | int) -> Explanation:
    """Why a sentence has the labels it has.

    Parameters
    ----------
    result : with its model and crowd.
    sentence : its id, or its number.
    """
    s = find_sentence(result, sentence)
    reasons = next(reasons_of(result, np.array([s])))
    corpus = result.corpus
    sure = result.span_confidence()
    found = extract(result.tags, corpus.token_offsets, result.scheme)
    here = np.flatnonzero(found.sequence == s)
    words = corpus.glued(s)
    spans = tuple(
        {
            "label": result.scheme.types[found.type[k]],
            "start": int(found.start[k]),
            "end": int(found.end[k]),
            "text": "".join(words[found.start[k] : found.end[k]]).strip(),
            "confidence": float(sure[k]),
        }
        for k in here
    )
    return Explanation(
        corpus.sentence_ids[s].as_py(),
        corpus.documents[int(corpus.sentence_document[s])],
        "".join(words).strip(),
        float(result.sentence_confidence[s]),
        spans,
        _votes(result, s, words),
        tuple(reasons),
        bool(_by_tagger(result, np.array([s]))[0]),
    )


def _by_tagger(result: Result, sentences: I64) -> Bool:
    """bool[N]: whether the labels of some sentences are the tagger's alone: nobody labelled or knew any."""
    if result.tagger is None:
        return np.zeros(len(sentences), np.bool_)
    judged = result.labelled[sentences] & ~model_crowd(result).covered[sentences]
    known = None if result.fitted is None else result.fitted.known
    if known is not None:
        told = np.concatenate([[0], np.cumsum(known >= 0)])[result.corpus.token_offsets]
        judged &= np.diff(told)[sentences] == 0
    return judged


def find_sentence(result: Result, sentence: str | int) -> int:
    """Number of a sentence by its id, its document's where that is all of it, or its own number.

    Parameters
    ----------
    result : whose sentence.
    sentence : id, document or number.
    """
    ids = result.corpus.sentence_ids.to_pylist()
    if isinstance(sentence, str) and sentence in ids:
        return int(ids.index(sentence))
    if isinstance(sentence, str) and sentence in result.corpus.documents:
        document = result.corpus.documents.index(sentence)
        (inside,) = np.nonzero(
            (result.corpus.sentence_document == document) & (result.corpus.sentence_layer == 0)
        )
        if len(inside) == 1:
            return int(inside[0])
        raise DataError(
            "the document has several sentences", got=repr(sentence),
            fix=f"name one of {', '.join(ids[s] for s in inside[:10])}",
        )  # fmt: skip
    number = int(sentence) if str(sentence).isdigit() else -1
    if 0 <= number < len(ids):
        return number
    near = [name for name in ids if str(sentence) in name][:3]
    raise DataError(
        "no such sentence", got=repr(sentence),
        fix=f"such as {', '.join(near or ids[:3])}, or a number from 0 to {len(ids) - 1}",
    )  # fmt: skip


def _votes(result: Result, s: int, words: list[str]) -> dict[str, list[dict[str, Any]]]:
    crowd = model_crowd(result)
    return {
        crowd.annotators[who]: [
            {"label": kind, "start": i, "end": j, "text": "".join(words[i:j]).strip()}
            for i, j, kind in spans
        ]
        for who, spans in claims_of(crowd, s)
    }


class _Sentence(NamedTuple):
    """One sentence as the model sees it: a row of tags for each annotator, scores, posteriors, known tags."""

    words: list[str]
    annotators: list[int]
    rows: Tags
    tokens: I64
    scores: F64
    posterior: F64
    known: Tags


def reasons_of(result: Result, sentences: I64) -> Iterator[list[TokenReason]]:
    """For each of some sentences, why the tokens that anybody marks or that are in doubt have their labels.

    Parameters
    ----------
    result : with its model and crowd.
    sentences : their numbers.
    """
    asked = ask(result, sentences)
    crowd, offsets, fitted = asked.crowd, asked.offsets.tolist(), asked.fitted
    posterior = asked.marginals().astype(np.float64)
    known = np.full(len(asked.tokens), -1) if fitted.known is None else fitted.known[asked.tokens]
    judged = _by_tagger(result, sentences)
    for k, s in enumerate(sentences.tolist()):
        a, b = offsets[k], offsets[k + 1]
        first, last = (int(row) for row in crowd.sentence_rows[k : k + 2])
        if judged[k]:
            yield []
            continue
        tags = crowd.tags[crowd.row_offsets[first] : crowd.row_offsets[last]]
        yield _reasons(
            result,
            fitted,
            _Sentence(
                result.corpus.words(s), crowd.row_annotator[first:last].tolist(),
                tags.reshape(last - first, b - a), asked.tokens[a:b], asked.scores[a:b],
                posterior[a:b], known[a:b],
            ),
        )  # fmt: skip


def _reasons(result: Result, fitted: Fitted, here: _Sentence) -> list[TokenReason]:
    before, after = _messages(fitted, here)
    outside, labels = result.scheme.outside, result.scheme.labels
    tags, sure = result.tags[here.tokens], result.token_confidence[here.tokens]
    marked = ((here.rows >= 0) & (here.rows != outside)).any(axis=0) | (
        (tags >= 0) & (tags != outside)
    )
    doubt = here.posterior.max(axis=1, initial=0.0) < SURE
    out = []
    for i in np.flatnonzero((tags >= 0) & (marked | doubt)).tolist():
        label = int(tags[i])
        q = here.posterior[i].copy()
        q[label] = -1.0
        rival = int(np.argmax(q))
        parts = [
            *_annotators(result, fitted, here, i, label, rival),
            *_sources(fitted, labels, int(here.tokens[i]), label, rival),
        ]
        flow = before[i] + after[i]
        parts.append(Part("chain", "the labels beside it", "", float(flow[label] - flow[rival])))
        likely = np.flatnonzero(here.posterior[i] >= LEAST)
        alternatives = sorted(
            ((labels[k], float(here.posterior[i, k])) for k in likely), key=lambda pair: -pair[1]
        )
        out.append(
            TokenReason(
                i, here.words[i], labels[label], float(sure[i]), labels[rival],
                float(sum(part.weight for part in parts)),
                tuple(sorted(parts, key=lambda part: -abs(part.weight))),
                tuple(alternatives), bool(here.known[i] >= 0),
            )
        )  # fmt: skip
    return out


def _annotators(
    result: Result, fitted: Fitted, here: _Sentence, i: int, label: int, rival: int
) -> list[Part]:
    by_previous, scheme = fitted.table.shape[1] > 1, result.scheme
    out = []
    for row, annotator in enumerate(here.annotators):
        tag = int(here.rows[row, i])
        if tag < 0:
            continue
        previous = int(here.rows[row, i - 1]) if by_previous and i else scheme.outside
        previous = (previous if previous >= 0 else scheme.outside) if by_previous else 0
        said = fitted.table[annotator, previous, tag]
        weight = fitted.share * float(said[label] - said[rival])
        out.append(
            Part("annotator", result.annotators.names[annotator], scheme.labels[tag], weight)
        )
    return out


def _sources(
    fitted: Fitted, labels: tuple[str, ...], token: int, label: int, rival: int
) -> list[Part]:
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


def _messages(fitted: Fitted, here: _Sentence) -> tuple[F64, F64]:
    """Logarithms of what labels before and after each token say of it (forward and backward messages)."""
    logs = fitted.chain.logs()
    scores = here.scores.copy()
    given = np.flatnonzero(here.known >= 0)
    scores[given] = -1e9
    scores[given, here.known[given]] = 0.0
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


#: What sources beside the annotators are called; all others are predictors.
_NAMES = {
    "usual": "how common it is",
    "document": "the rest of the document",
    "words": "the words",
    SILENCE: "that nobody claims otherwise",
}
#: What counts so much leaves no choice.
_DECIDES = 1e3


def _voices(parts: list[Part], side: str) -> str:
    told = [_voice(part) for part in parts[:8]]
    more = f" and {len(parts) - 8} more" if len(parts) > 8 else ""
    return f"{side}: {', '.join(told)}{more}" if told else ""


def _voice(part: Part) -> str:
    name = part.name
    if part.kind == "source":
        name = _NAMES.get(name, f"the predictor {name}")
    if abs(part.weight) >= _DECIDES:
        return f"{name} (decides)"
    return f"{name} {abs(part.weight):.1f}" + (
        f" ({part.said})" if part.kind == "annotator" else ""
    )
