"""The loop of the HMM family: worker model × sequence model × what the text says.

The true tags t of a sentence follow a Markov chain (or are independent), each annotator's tags follow
their worker model, the words may be emitted from the tags, and a predictor may add log evidence e:

    log p(t, c, x) = log π[t_1] + Σ_i log τ[t_{i-1}, t_i] + Σ_i Σ_j log p(c^j_i | c^j_{i-1}, t_i)
                     + Σ_i log ρ[t_i, x_i] + Σ_i e[i, t_i]

Every parameter is a Dirichlet (:mod:`seqtruth.methods.bayes.dirichlet`), read as a distribution
(variational Bayes) or as a point (EM). One round: logarithms of the parameters → forward-backward
(:func:`seqtruth.kernels.estep.expected_counts`) → expected counts → parameters. The objective of a
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
from seqtruth.engine import Parts, Remembered, Sums, as_parts
from seqtruth.errors import ParameterError
from seqtruth.fitted import SILENCE, Fitted, Source
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64, Bool, Tags
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.estep import best_paths, expected_counts
from seqtruth.kernels.native import Packed, call
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.methods.abstention import possible_labels, without_silence
from seqtruth.methods.bayes import dirichlet
from seqtruth.methods.bayes.word_emissions import WordFeatures
from seqtruth.methods.bayes.worker_models import WorkerModel, information
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.task import Decision, Outcome, Task
from seqtruth.methods.vote.weighted import weighted_vote
from seqtruth.schema import Schema, like

SEQUENCES = ("markov", "independent", "uniform")
#: Log evidence is kept above this, so that a predictor's 0 is strong and not final.
LEAST_EVIDENCE = -50.0
#: Log evidence that no number of annotators outweighs.
OUT_OF_THE_QUESTION = -1e6
#: Log probability of a label that never occurs.
UNSEEN = -700.0


#: Further log evidence [T, L] on the tokens of a crowd, or how to find it on a part of one.
Evidence = F32 | Callable[[Crowd], F32]


class Tables(NamedTuple):
    """Parameters as the E-step reads them: log annotator table, chain weights, log evidence, and what
    is possible at all."""

    annotators: F64
    start: F64
    transition: F64 | None
    evidence: Evidence | None
    possible: Callable[[Crowd], Bool] | None = None

    def on(self, part: Crowd) -> tuple[F64, F64, F64 | None, F32 | None]:
        """The four, with the evidence on this part."""
        said = self.evidence(part) if callable(self.evidence) else self.evidence
        if self.possible is not None:
            shape = part.n_tokens, part.n_labels
            said = np.zeros(shape, np.float32) if said is None else said
            said = np.where(self.possible(part), said, np.float32(OUT_OF_THE_QUESTION))
        return self.annotators, self.start, self.transition, said


@dataclass(frozen=True, eq=False)
class CrowdHMM:
    """One model on one crowd: pure functions from state (pseudo-counts by name) to state.

    Parameters
    ----------
    crowd : the annotations, whole or in parts.
    known : true labels that are given (-1: not given) and stay fixed. Known labels, words, and
        evidence as an array are for a crowd in memory.
    annotators : the worker model.
    accuracy : float64[W], reliabilities known beforehand (nan: none).
    sequence : ``"markov"``, ``"independent"`` (a class prior for every token) or ``"uniform"``.
    chain : prior pseudo-counts of each start and transition (or class).
    words, word : the text's features, and the prior pseudo-count of each value.
    variational : distributions over the parameters, or (EM) points.
    silent : bool[W, K], whose ``O`` is no vote (:class:`~seqtruth.methods.abstention.Silence`). It stays
        a label that annotators give, so that *who* speaks tells of the type; but where somebody
        speaks and every ``O`` is silence, the truth is of a type that is claimed, and where nobody
        does it is ``O``.
        Else, lone claims would teach the model that they are wrong, and ``O`` would swallow them
        round by round.

    Examples
    --------
    A predictor in the loop (``evidence`` its log probabilities [T, L]) is a matter of::

        model = CrowdHMM(crowd, Sequential(diagonal=4.0))
        state = model.start()
        for _ in range(rounds):
            state = model.advance(state, evidence).state
        posterior, tags = model.posterior(state, evidence), model.decode(state, evidence)
    """

    crowd: Crowd | Parts
    annotators: WorkerModel
    known: Tags | None = None
    accuracy: F64 | None = None
    sequence: str = "markov"
    chain: float = 1.0
    words: WordFeatures | None = None
    word: float = 0.1
    variational: bool = True
    silent: Bool | None = None

    def __post_init__(self) -> None:
        if self.sequence not in SEQUENCES:
            raise ParameterError(
                f"sequence must be one of {', '.join(SEQUENCES)}", got=repr(self.sequence)
            )

    @cached_property
    def parts(self) -> Parts:
        """The crowd, in one part or many."""
        return as_parts(self.crowd)

    @cached_property
    def _possible(self) -> Callable[[Crowd], Bool] | None:
        return (
            None
            if self.silent is None
            else Remembered(partial(possible_labels, silent=self.silent))
        )

    @cached_property
    def prior(self) -> State:
        """Pseudo-counts before anything is seen."""
        scheme, n_annotators = self.crowd.scheme, self.crowd.n_annotators
        nothing = np.full(n_annotators, np.nan)
        known = nothing if self.accuracy is None else self.accuracy
        state = dict(self.annotators.prior(scheme, known))
        if self.silent is not None and self.silent.any():
            state = self.annotators.expecting_silence(state, scheme, self.silent)
        if self.sequence == "independent":
            state["start"] = np.full(len(scheme.labels), self.chain)
        if self.sequence == "markov":
            state["start"] = self.chain * scheme.start
            state["transition"] = self.chain * scheme.allowed
        if self.words is not None:
            state |= self.words.prior(len(scheme.labels), self.word)
        return state

    def schema(self) -> Schema:
        """What a state is: pseudo-counts, shaped like the prior's."""
        return Schema(like(self.prior, low=0.0))

    def start(self, beginning: Evidence | None = None) -> State:
        """Parameters to begin with: the prior, or what posteriors [T, L] (a vote) would teach."""
        if beginning is None:
            return self.prior
        crowd = self.crowd
        width = crowd.n_labels if self.annotators.previous else 1
        flat = np.zeros((crowd.n_annotators, width, crowd.n_labels, crowd.n_labels))
        even = np.full(crowd.n_labels, 1.0 / crowd.n_labels)
        if self.sequence == "markov":
            legal = Chain.legal(crowd.scheme.grammar)
            begin, moves = even * legal.start, legal.transition / crowd.n_labels
        else:
            begin, moves = even, None
        if callable(beginning):
            vote: Evidence = partial(_log_of, beginning)
        else:
            vote = _log(beginning)
        found = self.expect_under(Tables(flat, begin, moves, vote))
        return self._update(found, self.prior)

    def expect(self, state: State, evidence: Evidence | None = None) -> Sums:
        """Expected counts under these parameters, and the log likelihood, added up over the parts.

        As in :class:`~seqtruth.kernels.estep.Expectations`; those of the words are ``words/…``.
        """
        return self.expect_under(self.tables(state, evidence))

    def expect_under(self, tables: Tables) -> Sums:
        """The same where the tables of these parameters are there already."""
        return self.parts.add_up(
            partial(_expected_sums, tables=tables, known=self.known, words=self.words)
        )

    def advance(self, state: State, evidence: Evidence | None = None) -> Round:
        """One round; the objective is that of ``state``."""
        found = self.expect(state, evidence)
        parts = {"labels": float(found["log_likelihood"][0])}
        for name, prior in self.prior.items():
            term = dirichlet.objective_term(state[name], prior, self.variational)
            part = _PARTS.get(name.partition("/")[0], "annotators")
            parts[part] = parts.get(part, 0.0) + term
        new = self.update(found, state)
        return Round(new, sum(parts.values()), parts)

    def posterior(self, state: State, evidence: Evidence | None = None) -> F32:
        """[T, L]: what these parameters say of a crowd in memory."""
        return posteriors(self.parts.whole, self.tables(state, evidence), self.known)

    def decode(self, state: State, evidence: Evidence | None = None) -> Tags:
        """The best legal path of every sentence (the best tag of every token without a chain)."""
        return _decode(self.parts.whole, self.tables(state, evidence), self.known)

    def judge_under(self, tables: Tables) -> tuple[Sums, Decision]:
        """Expected counts, labels and posteriors of a crowd in memory, in one pass."""
        crowd = self.parts.whole
        sums, posterior = _expected(crowd, tables, self.known, True)
        return sums, Decision(_decode(crowd, tables, self.known), posterior)

    def outcome(self, state: State, history: History, evidence: Evidence | None = None) -> Outcome:
        """What an aggregator hands back: labels, annotators' confusions and weights."""
        tables = self.tables(state, evidence)
        found = self.expect_under(tables)
        confusion = self.annotators.confusion(state, self.prior, self.crowd.n_labels)
        return Outcome(
            partial(_label, tables=tables, known=self.known),
            information(confusion, found["prior"]), history, confusion=confusion.astype(np.float32),
            fitted=self.fitted(tables, found, evidence) if self.parts.in_memory else None,
        )  # fmt: skip

    def fitted(self, tables: Tables, found: Sums, evidence: Evidence | None = None) -> Fitted:
        """The model as a result keeps it, with the sums that were found under its parameters."""
        crowd, n = self.parts.whole, self.crowd.n_labels
        table, start, moves, said = tables.on(crowd)
        free = Chain.free(n)
        with np.errstate(divide="ignore"):
            usual = np.maximum(np.log(start), UNSEEN) if moves is None else np.zeros(n)
        chain = free if moves is None else Chain(start, moves, free.end)
        kept = ("annotators", "start", "transition", "prior")
        sums = {name: found[name] for name in kept}
        nothing = np.full(crowd.n_annotators, np.nan)
        sums["accuracy"] = nothing if self.accuracy is None else self.accuracy
        if self.silent is not None:
            sums["silent"] = self.silent.astype(np.int8)
        name = "words" if self.silent is None else SILENCE
        sources = () if said is None else (Source(name, 1.0, said),)
        settings = {"words": self.words is not None or evidence is not None}
        table = table if table.min(initial=0.0) >= UNSEEN else np.maximum(table, UNSEEN)
        return Fitted("chain", table, 1.0, chain, usual, sources, self.known, sums, settings)

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
        table = self.annotators.table(logs, n_labels)
        return Tables(table, start, transition, said, self._possible)

    def _logs(self, state: State) -> State:
        return {
            name: dirichlet.logs(state[name], self.variational, prior)
            for name, prior in self.prior.items()
        }

    def update(self, found: Sums, state: State) -> State:
        """Parameters from expected counts, which were found under ``state``."""
        return self._update(found, state)

    def _update(self, found: Sums, state: State) -> State:
        # with many annotators all of these are large: none is made that is not asked for
        logs = self._logs(state) if self.annotators.counts_by_logs else {}
        counts = found | self.annotators.counts(found["annotators"], logs)
        if self.sequence == "independent":
            counts["start"] = found["prior"]
        return {name: prior + counts[name] for name, prior in self.prior.items()}


def fit(
    model: CrowdHMM, task: Task, begin: Callable[[], State], max_iter: int, tol: float
) -> Outcome:
    """Rounds from ``begin()`` until nothing changes, through the house's loop."""
    rules = task.rules(max_iter, tol, _measure(model))
    state, history = iterate(begin, model.advance, rules, model.schema)
    return model.outcome(state, history)


def _measure(model: CrowdHMM) -> str:
    return "lower bound" if model.variational else "log likelihood"


def majority(task: Task) -> Callable[[Crowd], F32]:
    """The shares of the votes on a part, known labels among them: where most methods begin."""
    return partial(shares, known=task.known, silent=task.silent)


def shares(part: Crowd, known: Tags | None = None, silent: Bool | None = None) -> F32:
    """[T, L]: shares of the votes; silence is none."""
    if silent is not None:
        part = without_silence(part, silent)
    ones = np.ones(part.n_annotators)
    return weighted_vote(part, ones, np.ones(part.n_labels), known=known).probabilities


def posteriors(part: Crowd, tables: Tables, known: Tags | None = None) -> F32:
    """[T, L]: what these parameters say of a part's tokens."""
    return expected_counts(part.view, *tables.on(part), known).posterior


def _expected_sums(
    part: Crowd, tables: Tables, known: Tags | None, words: WordFeatures | None
) -> Sums:
    sums, posterior = _expected(part, tables, known, words is not None)
    return sums if words is None else sums | words.counts(posterior)


def _expected(
    part: Crowd, tables: Tables, known: Tags | None, keep_posterior: bool
) -> tuple[Sums, F32]:
    found = expected_counts(part.view, *tables.on(part), known, keep_posterior)
    sums = {
        "annotators": found.annotators,
        "start": found.start,
        "transition": found.transition,
        "prior": found.prior,
        "log_likelihood": np.array([found.log_likelihood]),
    }
    return sums, found.posterior


def _decode(crowd: Crowd, tables: Tables, known: Tags | None) -> Tags:
    end = crowd.scheme.end.astype(np.float64)
    annotators, start, transition, evidence = tables.on(crowd)
    return best_paths(crowd.view, annotators, start, transition, end, evidence, known)


def _label(part: Crowd, tables: Tables, known: Tags | None) -> Decision:
    return Decision(_decode(part, tables, known), posteriors(part, tables, known))


def _log(posterior: F32, out: F32 | None = None) -> F32:
    found = np.maximum(posterior, np.float32(dirichlet.SMALLEST), out=out)
    return np.asarray(np.log(found, out=found))


def _log_of(beginning: Callable[[Crowd], F32], part: Crowd) -> F32:
    made = beginning(part)
    return _log(made, made)


#: Which part of the objective a parameter's term belongs to; all others are the annotators'.
_PARTS = {"start": "chain", "transition": "chain", "words": "text"}


def label_scores(crowd: Crowd, table: F64) -> F64:
    """[T, L]: Σ_j table[j, c^j_{i-1}, c^j_i, l], what all annotators say of each token."""
    scores = np.zeros((crowd.n_tokens, table.shape[3]))
    view, flat = Packed(crowd.view), table.reshape(-1, *table.shape[2:])
    map_chunks(
        lambda a, b: call("add_label_scores", view, a, b, flat, table.shape[1], scores),
        chunk_bounds(crowd.view.token_offsets),
    )
    return scores
