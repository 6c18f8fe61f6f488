"""The loop of the HMM family: worker model × sequence model × what the text says.

The true tags t of a sentence follow a Markov chain (or are independent), each annotator's tags follow
his worker model, the words may be emitted from the tags, and a predictor may add log evidence e:

    log p(t, c, x) = log π[t_1] + Σ_i log τ[t_{i-1}, t_i] + Σ_i Σ_j log p(c^j_i | c^j_{i-1}, t_i)
                     + Σ_i log ρ[t_i, x_i] + Σ_i e[i, t_i]

Every parameter is a Dirichlet (:mod:`seqtruth.methods.bayes.dirichlet`), read as a distribution
(variational Bayes) or as a point (EM). One round: logarithms of the parameters → forward-backward
(:func:`seqtruth.kernels.estep.crowd_expectations`) → expected counts → parameters. The objective of a
round is that of the parameters it began with, log normaliser plus one term per parameter, and never
decreases. Transitions that the scheme forbids have no mass at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine import Labels, Parts, Sums
from seqtruth.errors import ParameterError
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64, I8, I32, I64
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.estep import Expectations, crowd_expectations, crowd_viterbi
from seqtruth.kernels.jit import kernel
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.vote import weighted_vote
from seqtruth.methods.base import Outcome, Task
from seqtruth.methods.bayes import dirichlet
from seqtruth.methods.bayes.word_emissions import Words
from seqtruth.methods.bayes.worker_models import WorkerModel, information
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.parts import PartsOutcome, PartsTask, chosen

SEQUENCES = ("markov", "independent", "uniform")
#: Log evidence is kept above this, so that a predictor's 0 is strong and not final.
LEAST_EVIDENCE = -50.0


#: Further log evidence [T, L] on the tokens of a crowd, or how to find it on a part of one.
Evidence = F32 | Callable[[Crowd], F32]


class Tables(NamedTuple):
    """Parameters as the E-step reads them: log annotator table, chain weights, log evidence."""

    annotators: F64
    start: F64
    transition: F64 | None
    evidence: Evidence | None

    def on(self, part: Crowd) -> tuple[F64, F64, F64 | None, F32 | None]:
        """The four, with the evidence on this part."""
        said = self.evidence(part) if callable(self.evidence) else self.evidence
        return self.annotators, self.start, self.transition, said


@dataclass(frozen=True, eq=False)
class CrowdHMM:
    """One model on one crowd: pure functions from state (pseudo-counts by name) to state.

    Parameters
    ----------
    crowd, known : annotations, and true labels that are given (-1: not given) and stay fixed. A crowd
        in parts has no known labels and no words, and its evidence is found part by part.
    annotators : the worker model.
    accuracy : float64[W], reliabilities known beforehand (nan: none).
    sequence : ``"markov"``, ``"independent"`` (a class prior for every token) or ``"uniform"``.
    chain : prior pseudo-counts of each start and transition (or class).
    words, word : the text's features, and the prior pseudo-count of each value.
    variational : distributions over the parameters, or (EM) points.

    Examples
    --------
    A predictor in the loop (``evidence`` its log probabilities [T, L]) is a matter of::

        model = CrowdHMM(crowd, Sequential(diagonal=4.0))
        state = model.start()
        for _ in range(rounds):
            state = model.advance(state, evidence).state
        posterior, tags = model.expect(state, evidence).posterior, model.decode(state, evidence)
    """

    crowd: Crowd | Parts
    annotators: WorkerModel
    known: I8 | None = None
    accuracy: F64 | None = None
    sequence: str = "markov"
    chain: float = 1.0
    words: Words | None = None
    word: float = 0.1
    variational: bool = True

    def __post_init__(self) -> None:
        if self.sequence not in SEQUENCES:
            raise ParameterError(
                f"sequence must be one of {', '.join(SEQUENCES)}", got=repr(self.sequence)
            )

    @cached_property
    def prior(self) -> State:
        """Pseudo-counts before anything is seen."""
        scheme, n_annotators = self.crowd.scheme, self.crowd.n_annotators
        nothing = np.full(n_annotators, np.nan)
        known = nothing if self.accuracy is None else self.accuracy
        state = dict(self.annotators.prior(scheme, known))
        if self.sequence == "independent":
            state["start"] = np.full(len(scheme.labels), self.chain)
        if self.sequence == "markov":
            state["start"] = self.chain * scheme.start
            state["transition"] = self.chain * scheme.allowed
        if self.words is not None:
            state |= self.words.prior(len(scheme.labels), self.word)
        return state

    def start(self, beginning: Evidence | None = None) -> State:
        """Parameters to begin with: the prior, or what posteriors [T, L] (a vote) would teach."""
        if beginning is None:
            return self.prior
        crowd = self.crowd
        width = crowd.n_labels if self.annotators.previous else 1
        flat = np.zeros((crowd.n_annotators, width, crowd.n_labels, crowd.n_labels))
        even = np.full(crowd.n_labels, 1.0 / crowd.n_labels)
        if self.sequence == "markov":
            legal = Chain.legal(crowd.scheme)
            begin, moves = even * legal.start, legal.transition / crowd.n_labels
        else:
            begin, moves = even, None
        if callable(beginning):
            vote: Evidence = partial(_log_of, beginning)
        else:
            vote = _log(beginning)
        found = self._expect(Tables(flat, begin, moves, vote), self.words is not None)
        return self._update(found, self._logs(self.prior))

    def expect(
        self, state: State, evidence: Evidence | None = None, keep_posterior: bool = True
    ) -> Expectations:
        """Posteriors of the tags and expected counts under these parameters."""
        return self._expect(self.tables(state, evidence), keep_posterior)

    def _expect(self, tables: Tables, keep_posterior: bool) -> Expectations:
        if isinstance(self.crowd, Crowd):
            return crowd_expectations(
                self.crowd, *tables.on(self.crowd), self.known, keep_posterior
            )
        sums = self.crowd.add_up(partial(_expected_sums, tables=tables))
        nothing = np.zeros((0, self.crowd.n_labels), np.float32)
        log_likelihood = float(sums.pop("log_likelihood")[0])
        return Expectations(nothing, **sums, log_likelihood=log_likelihood)

    def advance(self, state: State, evidence: Evidence | None = None) -> Round:
        """One round; the objective is that of ``state``."""
        found = self.expect(state, evidence, keep_posterior=self.words is not None)
        parts = {"labels": found.log_likelihood}
        for name, prior in self.prior.items():
            term = dirichlet.objective_term(state[name], prior, self.variational)
            part = _PARTS.get(name.partition("/")[0], "annotators")
            parts[part] = parts.get(part, 0.0) + term
        new = self._update(found, self._logs(state))
        return Round(new, sum(parts.values()), parts)

    def decode(self, state: State, evidence: Evidence | None = None) -> I8:
        """The best legal path of every sentence (the best tag of every token without a chain)."""
        assert isinstance(self.crowd, Crowd)
        return _decode(self.crowd, self.tables(state, evidence), self.known)

    def outcome(self, state: State, history: History, evidence: Evidence | None = None) -> Outcome:
        """What an aggregator hands back: tags, posteriors, annotators' confusions and weights."""
        found = self.expect(state, evidence)
        confusion = self.annotators.confusion(state, self.prior, self.crowd.n_labels)
        weight = information(confusion, found.prior)
        return Outcome(
            self.decode(state, evidence), found.posterior, weight, history,
            confusion=confusion.astype(np.float32),
        )  # fmt: skip

    def outcome_on_parts(self, state: State, history: History) -> PartsOutcome:
        """The same for a crowd in parts, whose labels are made where the parts are."""
        found = self.expect(state)
        confusion = self.annotators.confusion(state, self.prior, self.crowd.n_labels)
        return PartsOutcome(
            partial(_label, tables=self.tables(state)), information(confusion, found.prior), history,
            confusion=confusion.astype(np.float32),
        )  # fmt: skip

    def tables(self, state: State, evidence: Evidence | None = None) -> Tables:
        """Logarithms of the parameters, laid out for the E-step."""
        logs, n_labels = self._logs(state), self.crowd.n_labels
        start, transition = np.full(n_labels, 1.0 / n_labels), None
        if self.sequence == "independent":
            start = np.exp(logs["start"])
        if self.sequence == "markov":
            scheme = self.crowd.scheme
            start = np.where(scheme.start, np.exp(logs["start"]), 0.0)
            transition = np.where(scheme.allowed, np.exp(logs["transition"]), 0.0)
        said = evidence
        if evidence is not None and not callable(evidence):
            said = np.maximum(evidence, np.float32(LEAST_EVIDENCE))
        if self.words is not None:
            text = self.words.evidence(logs)
            said = text if said is None or callable(said) else said + text
        return Tables(self.annotators.table(logs, n_labels), start, transition, said)

    def _logs(self, state: State) -> State:
        return {name: dirichlet.logs(state[name], self.variational) for name in self.prior}

    def _update(self, found: Expectations, logs: State) -> State:
        counts = dict(self.annotators.counts(found.annotators, logs))
        if self.sequence == "independent":
            counts["start"] = found.prior
        if self.sequence == "markov":
            counts["start"], counts["transition"] = found.start, found.transition
        if self.words is not None:
            counts |= self.words.counts(found.posterior)
        return {name: prior + counts[name] for name, prior in self.prior.items()}


def fit(
    model: CrowdHMM, task: Task, begin: Callable[[], State], max_iter: int, tol: float
) -> Outcome:
    """Rounds from ``begin()`` until nothing changes, through the house's loop."""
    state, history = iterate(begin, model.advance, task.rules(max_iter, tol, _measure(model)))
    return model.outcome(state, history)


def fit_parts(
    model: CrowdHMM, task: PartsTask, begin: Callable[[], State], max_iter: int, tol: float
) -> PartsOutcome:
    """The same on a crowd in parts."""
    state, history = iterate(begin, model.advance, task.rules(max_iter, tol, _measure(model)))
    return model.outcome_on_parts(state, history)


def _measure(model: CrowdHMM) -> str:
    return "lower bound" if model.variational else "log likelihood"


def majority(task: Task) -> F32:
    """[T, L]: shares of the votes, known labels among them: where most methods begin."""
    return shares(task.crowd, task.known)


def shares(crowd: Crowd, known: I8 | None = None) -> F32:
    """[T, L]: shares of the votes."""
    ones = np.ones(crowd.n_annotators)
    return weighted_vote(crowd, ones, np.ones(crowd.n_labels), known=known).probabilities


def posteriors(part: Crowd, tables: Tables) -> F32:
    """[T, L]: what these parameters say of a part's tokens."""
    return crowd_expectations(part, *tables.on(part)).posterior


def _expected_sums(part: Crowd, tables: Tables) -> Sums:
    found = crowd_expectations(part, *tables.on(part), keep_posterior=False)
    return {
        "annotators": found.annotators,
        "start": found.start,
        "transition": found.transition,
        "prior": found.prior,
        "log_likelihood": np.array([found.log_likelihood]),
    }


def _decode(crowd: Crowd, tables: Tables, known: I8 | None) -> I8:
    end = crowd.scheme.end.astype(np.float64)
    annotators, start, transition, evidence = tables.on(crowd)
    return crowd_viterbi(crowd, annotators, start, transition, end, evidence, known)


def _label(part: Crowd, tables: Tables) -> Labels:
    return chosen(part, _decode(part, tables, None), posteriors(part, tables))


def _log(posterior: F32) -> F32:
    return np.log(np.maximum(posterior, np.float32(dirichlet.SMALLEST)))


def _log_of(beginning: Callable[[Crowd], F32], part: Crowd) -> F32:
    return _log(beginning(part))


#: Which part of the objective a parameter's term belongs to; all others are the annotators'.
_PARTS = {"start": "chain", "transition": "chain", "words": "text"}


def label_scores(crowd: Crowd, table: F64) -> F64:
    """[T, L]: Σ_j table[j, c^j_{i-1}, c^j_i, l], what all annotators say of each token."""
    scores = np.zeros((crowd.n_tokens, table.shape[3]))
    first_tag = crowd.sentence_tags
    outside = max(crowd.scheme.outside, 0)
    offsets = crowd.corpus.token_offsets

    def run(a: int, b: int) -> None:
        _label_scores(
            crowd.tags, first_tag, offsets, crowd.sentence_rows, crowd.row_annotator, a, b, table,
            outside, scores,
        )  # fmt: skip

    map_chunks(run, chunk_bounds(offsets))
    return scores


@kernel
def _label_scores(
    tags: I8,
    first_tag: I64,
    offsets: I64,
    sentence_rows: I64,
    row_annotator: I32,
    first: int,
    last: int,
    table: F64,
    outside: int,
    scores: F64,
) -> None:
    by_previous = table.shape[1] > 1
    for s in range(first, last):
        a, n = offsets[s], offsets[s + 1] - offsets[s]
        for r in range(sentence_rows[s], sentence_rows[s + 1]):
            at, annotator = first_tag[s] + (r - sentence_rows[s]) * n, row_annotator[r]
            previous = outside if by_previous else 0
            for i in range(n):
                tag = tags[at + i]
                if tag >= 0:
                    for k in range(table.shape[3]):
                        scores[a + i, k] += table[annotator, previous, tag, k]
                if by_previous:
                    previous = tag if tag >= 0 else outside
