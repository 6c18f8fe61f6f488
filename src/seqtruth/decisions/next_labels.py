"""Where one more label helps most, and whose.

Under the model a token has the true label t with probability q(t), and annotator j would say c with
probability P_j(c | t). Heard as far as annotators are (share), q becomes q_c ∝ q · P_j(c | ·)^share. What a
label is expected to take away of the risk 1 - Σ_k q(k)² is

    gain = Σ_c P(c) Σ_k q_c(k)² - Σ_k q(k)²,    P(c) = Σ_t q(t) P_j(c | t)

where k says whether a span of which type begins at the token, so that a long span counts once. The gain
of a sentence is that of its tokens. Annotators miss the same things, so here they are heard by half at
most (:data:`HEARD`): else a sentence on which two agree would seem to have nothing left to find.

Where the rest of the document is heard, tokens of one word in one document share an answer: a sentence also
gains a part of what its like cases would, and once it is chosen they have that much less to gain. Sentences
are chosen one after the other by gain for the cost, each with the annotator who is worth most there; a
second label of a sentence counts what the first left over.

Somebody who is always right leaves nothing over: what such a reviewer settles at the review desk is simply
the number of errors to be expected (:func:`seqtruth.decisions.cases.expected_errors`). F1 follows from what
is left in the same way for both (:func:`seqtruth.decisions.model.f1_left`).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.decisions.costs import Costs, costs_of
from seqtruth.decisions.merging import model_crowd
from seqtruth.decisions.model import ask, expected_f1, f1_left, model_of
from seqtruth.errors import ParameterError
from seqtruth.fitted import SILENCE
from seqtruth.kernels.arrays import F32, F64, I64
from seqtruth.kernels.spans import BEGIN, SINGLE
from seqtruth.methods.accord.opinions import DOCUMENT
from seqtruth.methods.bayes.sequence_model import label_scores
from seqtruth.result import Result

#: Tokens surer than this have nothing to gain.
SURE = 0.99
#: Annotators' evidence counts this much at most when it is asked what is left to find.
HEARD = 0.5
#: Share of an answer that like cases take over, where the document is heard.
SPREADS = 0.3
#: Tokens worked on at a time.
CHUNK = 4096
#: Share of its gain that a sentence has left after one more label.
LEFT = 0.5


class Suggestion(NamedTuple):
    """One label to ask for.

    sentence, document, text : where.
    annotator : whom to ask.
    gain : expected reduction of the risk, in errors.
    cost : of this label.
    question : what is in doubt, in words.
    alike : sentences that share the question, and are settled in part with it.
    """

    sentence: str
    document: str
    annotator: str
    gain: float
    cost: float
    question: str
    alike: tuple[str, ...]
    text: str


@dataclass(frozen=True, eq=False)
class Plan:
    """What to label next, best first.

    Parameters
    ----------
    suggestions : the labels to ask for.
    risk : expected number of errors now, as the model has it: the sum of 1 - Σ_k q(k)² over all tokens, of
        which the gains take away their share.
    f1 : F1 that the result's confidences promise now.
    """

    suggestions: tuple[Suggestion, ...]
    risk: float
    f1: float

    def curve(self, points: int = 10) -> list[dict[str, float]]:
        """What the first labels are expected to buy: labels, cost, errors left, F1.

        Parameters
        ----------
        points : how many steps to show.
        """
        gains = np.cumsum([0.0, *(one.gain for one in self.suggestions)])
        costs = np.cumsum([0.0, *(one.cost for one in self.suggestions)])
        at = np.unique(np.linspace(0, len(gains) - 1, points + 1).round().astype(int))
        left = np.maximum(self.risk - gains, 0.0) / max(self.risk, 1e-12)
        return [
            {
                "labels": int(k),
                "cost": float(costs[k]),
                "expected_errors": float(self.risk * left[k]),
                "expected_f1": f1_left(self.f1, float(left[k])),
            }
            for k in at
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "labels": [one._asdict() for one in self.suggestions],
            "curve": self.curve(),
            "expected_f1": self.f1,
        }


def next_labels(
    result: Result,
    n: int = 100,
    *,
    costs: Any = None,
    candidates: Crowd | None = None,
    budget: float | None = None,
) -> Plan:
    """The labels that are expected to help most.

    Parameters
    ----------
    result : with its model and crowd.
    n : how many labels.
    costs : what annotators cost and how much they have time for: a file (TOML or CSV), a mapping, or
        :class:`~seqtruth.decisions.costs.Costs`. Without it, all who are in the crowd may be asked for
        anything that they have not labelled, at the same price.
    candidates : a crowd whose rows are the only labels that can be had (what they say is not looked at).
    budget : stop where the next label would cost more than is left.
    """
    if n < 1:
        raise ParameterError("n must be a whole number from 1", got=str(n))
    crowd = model_crowd(result)
    worth = _Worth(result, crowd, costs_of(costs, crowd))
    chosen = tuple(worth.choose(n, candidates, budget))
    return Plan(chosen, worth.risk, expected_f1(result))


def gains_of(q: F64, confusion: F64, share: float, outcome: I64 | None = None) -> F64:
    """float64[N, W]: what each annotator's label is expected to take away of each token's risk.

    Parameters
    ----------
    q : float64[N, L], probabilities of the labels now.
    confusion : float64[W, L, C], P_j(c | t).
    share : how much annotators' evidence counts.
    outcome : int64[L], what each label amounts to; every label by itself where not given.

    Examples
    --------
    A good annotator settles a doubt, a spammer does not:

    >>> good, spam = np.eye(2) * 0.8 + 0.1, np.full((2, 2), 0.5)
    >>> gains_of(np.array([[0.5, 0.5]]), np.array([good, spam]), 1.0).round(2).tolist()
    [[0.32, 0.0]]
    """
    heard = np.maximum(confusion, 1e-9) ** share
    n_labels = q.shape[1]
    amounts = np.eye(n_labels) if outcome is None else np.eye(int(outcome.max()) + 1)[outcome]
    n_outcomes = amounts.shape[1]
    # float64[W, L, K · C]: what each answer leaves of a label, by what the label amounts to
    left = (amounts[None, :, :, None] * heard[:, :, None, :]).reshape(len(heard), n_labels, -1)
    out = np.empty((len(q), len(confusion)))
    for a in range(0, len(q), CHUNK):
        here = q[a : a + CHUNK]
        now = ((here @ amounts) ** 2).sum(axis=1)
        for w, said in enumerate(confusion):
            joint = (here @ left[w]).reshape(len(here), n_outcomes, -1)
            total = np.maximum(joint.sum(axis=1), 1e-300)
            squares = np.einsum("nkc,nkc->nc", joint, joint) / total**2
            out[a : a + CHUNK, w] = np.einsum("nc,nc->n", here @ said, squares) - now
    return np.maximum(out, 0.0)


def _begins(scheme: Scheme) -> I64:
    """int64[L]: 0 for labels that begin no span, else a number for each type that begins there."""
    begins = np.isin(scheme.roles, (BEGIN, SINGLE))
    if not begins.any():
        return np.arange(len(scheme.labels))
    return np.where(begins, scheme.type_of.astype(np.int64) + 1, 0)


class _Worth:
    """What labels are worth: gains by sentence and annotator, and which sentences share a question."""

    def __init__(self, result: Result, crowd: Crowd, costs: Costs) -> None:
        self.result, self.crowd, self.costs = result, crowd, costs
        fitted = model_of(result)
        asked = ask(result)
        asked = asked._replace(scores=asked.scores - fitted.of_sources(asked.tokens, (SILENCE,)))
        share = min(fitted.share, HEARD)
        if share < fitted.share:
            less = (fitted.share - share) * label_scores(asked.crowd, fitted.table)
            asked = asked._replace(scores=asked.scores - less)
        self.marginals: F32 = asked.marginals()
        self.open = np.flatnonzero(self.marginals.max(axis=1) < SURE)
        sentence = np.repeat(np.arange(crowd.n_sentences), np.diff(crowd.corpus.token_offsets))
        self.sentence: I64 = sentence[self.open]
        confusion = result.annotators.confusion
        assert confusion is not None  # all who keep a model have one
        begins = _begins(result.scheme)
        amounts = np.eye(int(begins.max()) + 1, dtype=np.float32)[begins]
        squares = ((self.marginals @ amounts) ** 2).sum(axis=1, dtype=np.float64)
        doubt = np.maximum(1.0 - squares, 0.0)
        self.risk_of = np.bincount(sentence, doubt, crowd.n_sentences).astype(np.float64)
        self.risk = float(self.risk_of.sum())
        q = self.marginals[self.open].astype(np.float64)
        by_token = gains_of(q, confusion.astype(np.float64), share, begins)
        self.by_token = by_token
        self.gain = np.zeros((crowd.n_sentences, crowd.n_annotators))
        np.add.at(self.gain, self.sentence, by_token)
        self.group = self._groups(any(source.name == DOCUMENT for source in fitted.sources))

    def _groups(self, heard: bool) -> dict[int, I64]:
        """For each sentence in doubt the others of its document in which the same words are."""
        corpus = self.crowd.corpus
        if not heard or corpus.tokens is None:
            return {}
        words = corpus.tokens.take(self.open).to_pylist()
        document = corpus.sentence_document[self.sentence]
        places: dict[tuple[int, str], list[int]] = {}
        for k, (where, word) in enumerate(zip(document.tolist(), words, strict=True)):
            places.setdefault((where, word), []).append(int(self.sentence[k]))
        alike: dict[int, set[int]] = {}
        for together in places.values():
            if len(together) > 1:
                for s in together:
                    alike.setdefault(s, set()).update(together)
        return {s: np.array(sorted(found - {s})) for s, found in alike.items() if found - {s}}

    def _allowed(self, candidates: Crowd | None) -> F64:
        """float64[S, W]: gain for the cost where a label can be had, else 0."""
        crowd = self.crowd
        value = self.gain / self.costs.of_sentences(crowd)
        value[crowd.row_sentence, crowd.row_annotator] = 0.0  # who has labelled it has
        value[:, ~self.costs.available(crowd.annotators)] = 0.0
        if candidates is None:
            return value
        allowed = np.zeros(value.shape, np.bool_)
        places = crowd.corpus.find(candidates.corpus.sentence_ids)[candidates.row_sentence]
        number = {name: w for w, name in enumerate(crowd.annotators)}
        who = np.array([number.get(name, -1) for name in candidates.annotators] or [0])
        annotator = who[candidates.row_annotator]
        here = (places >= 0) & (annotator >= 0)
        allowed[places[here], annotator[here]] = True
        return np.where(allowed, value, 0.0)

    def choose(
        self, n: int, candidates: Crowd | None, budget: float | None
    ) -> Sequence[Suggestion]:
        """The best labels one after the other."""
        value, left = self._allowed(candidates), np.ones(self.crowd.n_sentences)
        prices, spent, asked = (
            self.costs.of_sentences(self.crowd),
            0.0,
            self.costs.remaining(self.crowd),
        )
        best = value.max(axis=1, initial=0.0)
        bonus = {s: SPREADS * best[others].sum() for s, others in self.group.items()}
        queue = [(-(best[s] + bonus.get(s, 0.0)), s) for s in np.flatnonzero(best > 0).tolist()]
        heapq.heapify(queue)
        found: list[Suggestion] = []
        rest = self.risk_of.copy()
        while queue and len(found) < n:
            key, s = heapq.heappop(queue)
            open_now = np.where(asked > 0, value[s], 0.0)
            w = int(np.argmax(open_now))
            now = left[s] * (open_now[w] + bonus.get(s, 0.0))
            if open_now[w] <= 0:
                continue
            if now < -key * (1 - 1e-9):  # less than it was when it was put there: look again later
                heapq.heappush(queue, (-now, s))
                continue
            price = float(prices[s, w])
            if budget is not None and spent + price > budget:
                continue
            spent += price
            asked[w] -= 1
            gain = rest[s] * min(left[s] * self.gain[s, w] / max(self.risk_of[s], 1e-12), 1.0)
            rest[s] -= gain  # every label takes its share of what those before it left
            found.append(self._suggestion(s, w, float(gain), price))
            value[s, w] = 0.0
            left[s] *= LEFT
            for other in self.group.get(s, ()):
                left[other] *= 1.0 - SPREADS
            heapq.heappush(queue, (-left[s] * (value[s].max() + bonus.get(s, 0.0)), s))
        return found

    def _suggestion(self, s: int, w: int, gain: float, price: float) -> Suggestion:
        corpus = self.crowd.corpus
        ids = corpus.sentence_ids
        return Suggestion(
            ids[s].as_py(),
            corpus.documents[int(corpus.sentence_document[s])],
            self.crowd.annotators[w],
            gain,
            price,
            self._question(s, w),
            tuple(ids[int(other)].as_py() for other in self.group.get(s, ())),
            "".join(corpus.glued(s)).strip(),
        )

    def _question(self, s: int, w: int) -> str:
        """What is in doubt: the token with most to gain, and its two likeliest labels."""
        at = np.arange(*np.searchsorted(self.sentence, [s, s + 1]))
        k = at[np.argmax(self.by_token[at, w])]
        token = int(self.open[k])
        both = np.argsort(-self.marginals[token], kind="stable")[:2].tolist()
        corpus = self.crowd.corpus
        word = corpus.words(s)[token - int(corpus.token_offsets[s])]
        named = _in_words(self.result.scheme, *both)
        first, second = (
            f"{name} ({self.marginals[token, label]:.0%})"
            for name, label in zip(named, both, strict=True)
        )
        return f"{word}: {first} or {second}?"


def _in_words(scheme: Scheme, first: int, second: int) -> tuple[str, str]:
    """Two labels as a person would tell them apart.

    >>> rules = Scheme.of("iob2", ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"])
    >>> _in_words(rules, rules.index("B-PER"), rules.index("O"))
    ('PER', 'nothing')
    >>> _in_words(rules, rules.index("I-PER"), rules.index("B-PER"))
    ('more of the PER before it', 'a new PER')
    """
    if scheme.kind == "plain":
        return scheme.labels[first], scheme.labels[second]
    kinds = [int(scheme.type_of[label]) for label in (first, second)]
    same, out = kinds[0] == kinds[1], []
    for label, kind in zip((first, second), kinds, strict=True):
        if kind < 0:
            out.append("nothing")
        elif not same:
            out.append(scheme.types[kind])
        elif scheme.roles[label] in (BEGIN, SINGLE):
            out.append(f"a new {scheme.types[kind]}")
        else:
            out.append(f"more of the {scheme.types[kind]} before it")
    return (out[0], out[1]) if out[0] != out[1] else (scheme.labels[first], scheme.labels[second])


def by_annotator(plan: Plan) -> Mapping[str, int]:
    """How many labels of a plan each annotator is asked for."""
    found: dict[str, int] = {}
    for one in plan.suggestions:
        found[one.annotator] = found.get(one.annotator, 0) + 1
    return dict(sorted(found.items(), key=lambda entry: -entry[1]))
