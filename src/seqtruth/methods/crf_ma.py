"""CRF-MA: a conditional random field learnt from several annotators, one of whom is right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple, cast

import numpy as np

from seqtruth import archive
from seqtruth.data.labelling import Labelling
from seqtruth.data.ragged import gather
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64, I64, Bool, Tags
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
from seqtruth.methods.base import Aggregator, check_positive
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.reliability import check_reliability, known_accuracies
from seqtruth.methods.task import Decision, Outcome, Task
from seqtruth.methods.vote.weighted import weighted_vote
from seqtruth.metrics.annotators import annotator_scores
from seqtruth.predictors.crf.crf import CRF, clamp
from seqtruth.predictors.registry import restored, settings_array
from seqtruth.predictors.tagger import Tagger
from seqtruth.schema import Column, Schema

READINGS = ("annotator", "mixture", "crf")
#: Inner steps of the update of π, and the relative change at which they stop.
MM_STEPS, MM_TOL = 200, 1e-10


@dataclass(frozen=True, kw_only=True)
class CRFMA(Aggregator):
    """A CRF, and for every sentence the question which annotator is right, by EM.

    For sentence k with words x_k, labelled by the annotators R_k, exactly one is right,

        z_k ~ Categorical(π_j / Σ_{i ∈ R_k} π_i, j ∈ R_k)
        p(y_k^j | z_k = j) = p(y_k^j | x_k, λ)   (the CRF),    p(y_k^i | z_k = j) = L^{-n_i}, i ≠ j,

    the others label at random: n_i is the number of tokens that i labelled, L the number of labels.
    Dividing by Π_{i ∈ R_k} L^{-n_i}, which does not depend on j, the E-step is

        q_k(j) ∝ π_j · p(y_k^j | x_k, λ) · L^{n_j},

    and where all label every token the last factor cancels too. Tokens that j left out are summed
    over in p(y_k^j | x_k, λ). M-step:

    - λ: the CRF is trained on every annotator's sequence with weight q_k(j). Its log likelihood is
      linear in label and label-pair counts, so one pass over each sentence with the *expected* counts
      as targets is exactly that, at the cost of one annotator. It starts from the last round's λ.
    - π maximises Σ_k Σ_j q_k(j) log(π_j / Σ_{i ∈ R_k} π_i) + log prior, a Bradley-Terry-Luce
      likelihood, by Hunter's steps

        π_j ← (m_j ρ_j + Σ_k q_k(j)) / (m_j W + Σ_{k: j ∈ R_k} 1 / Σ_{i ∈ R_k} π_i).

    The prior is Gamma with mode ρ_j / W and weight m_j sentences (for equal m a Dirichlet with
    α_j = 1 + m ρ_j). π starts from each annotator's span F1 against the majority vote. The log
    posterior of (λ, π) never falls. The annotators' weights are π, scaled to mean 1.

    Parameters
    ----------
    predictor : the CRF, untrained; its ``l2`` is the prior of λ.
    labels : what to hand back. ``"annotator"``: the sequence of the annotator most probably right;
        ``"mixture"``: the legal path of largest Σ_i log Σ_j q_k(j) [y^j_i = l]; ``"crf"``: the CRF's
        legal path. Sentences that nobody labelled get the CRF's.
    prior : m, in sentences.
    reliability : accuracy (0 to 1) of annotators known beforehand, by name: ρ_j is that over the mean
        of those given, and 1 for the others.
    reliability_strength : sentences added to m_j for those.
    max_iter, tol : at most so many rounds; stop when the log posterior moves by less than ``tol`` of
        its size.

    Notes
    -----
    *Known gold.* Known tokens are what the right annotator must have said: of those who labelled the
    sentence, only the ones with the fewest errors on them can be right, and the CRF learns the known
    labels.

    *Differs from the paper.* There π is one distribution over all annotators, π_j = Σ_k q_k(j) / K:
    that judges how much each labelled as much as how well. Ours is normalised over those who saw the
    sentence. The CRF's features are our own. What the paper hands back as labels, and its update
    of π, are stated from memory and were not checked against its text; ``labels`` offers all three.

    References
    ----------
    Rodrigues, Pereira & Ribeiro (2014), Sequence labeling with multiple annotators, Machine Learning
    95, 165-181. doi:10.1007/s10994-013-5411-2. Hunter (2004), MM algorithms for generalized
    Bradley-Terry models. doi:10.1214/aos/1079120141

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> votes = {"a": [["B-PER", "O"]], "b": [["B-PER", "O"]], "c": [["O", "O"]]}
    >>> result = CRFMA().fit(Crowd.of(votes, [["Ann", "ran"]]))
    >>> [result.scheme.labels[t] for t in result.tags]
    ['B-PER', 'O']
    """

    name: ClassVar[str] = "crf-ma"

    predictor: CRF = field(default_factory=CRF)
    labels: str = "annotator"
    prior: float = 1.0
    reliability: Mapping[str, float] | None = None
    reliability_strength: float = 20.0
    max_iter: int = 15
    tol: float = 1e-4

    @property
    def trains_tagger(self) -> bool:
        return True

    def __post_init__(self) -> None:
        check_positive(max_iter=self.max_iter, prior=self.prior)
        check_reliability(self.reliability, self.reliability_strength)
        if self.labels not in READINGS:
            raise ParameterError(
                f"labels must be one of {', '.join(READINGS)}", got=repr(self.labels)
            )

    def _fit(self, task: Task) -> Outcome:
        rows = CandidateRows.of(task)
        fit = _Fit(self, task, rows)
        if not len(rows.sentence):
            crowd = task.crowd
            empty = np.full((crowd.n_tokens, crowd.n_labels), 1.0 / crowd.n_labels, np.float32)
            nothing = Decision(np.zeros(crowd.n_tokens, crowd.tags.dtype), empty)
            return Outcome(nothing, np.ones(crowd.n_annotators))
        rules = task.rules(self.max_iter, self.tol, "log posterior")
        state, history = iterate(fit.start, fit.advance, rules, fit.schema)
        labels = Decision(*fit.read_off(state), np.ones(task.crowd.n_sentences, np.bool_))
        weight = state["pi"] / max(float(state["pi"].mean()), 1e-300)
        return Outcome(labels, weight, history, Tagger(fit.model(state), task.crowd.scheme))


class CandidateRows(NamedTuple):
    """Candidate sequences: one per (sentence, annotator), known labels laid over them.

    sentence, annotator : int64[R]; annotator is W for a known sentence that nobody labelled.
    offsets, tags : each row's tags, -1 where nothing was said.
    place : int64[A], the token each tag belongs to.
    spoken : float64[R], n_j: tags of the annotator's own.
    possible : bool[R], False for annotators whom known labels rule out.
    """

    sentence: I64
    annotator: I64
    offsets: I64
    tags: Tags
    place: I64
    spoken: F64
    possible: Bool

    @staticmethod
    def of(task: Task) -> CandidateRows:
        crowd, known = task.crowd, task.known
        tokens = crowd.corpus.token_offsets
        said = np.concatenate([[0], np.cumsum(crowd.tags >= 0)])
        chosen = np.flatnonzero(np.diff(said[crowd.row_offsets]) > 0)
        sentence = crowd.row_sentence[chosen].astype(np.int64)
        annotator = crowd.row_annotator[chosen].astype(np.int64)
        tags = crowd.tags[gather(crowd.row_offsets, chosen)[1]]
        if known is not None:
            has = np.zeros(crowd.n_sentences, np.bool_)
            owner = np.repeat(np.arange(crowd.n_sentences), np.diff(tokens))
            has[owner[known >= 0]] = True
            has[sentence] = False
            alone = np.flatnonzero(has)
            sentence = np.concatenate([sentence, alone])
            annotator = np.concatenate([annotator, np.full(len(alone), crowd.n_annotators)])
            blank = crowd.scheme.unlabelled(int(np.diff(tokens)[alone].sum()))
            tags = np.concatenate([tags, blank])
        offsets, place = gather(tokens, sentence)
        row = np.repeat(np.arange(len(sentence)), np.diff(offsets))
        free = np.ones(len(tags), np.bool_)
        possible = np.ones(len(sentence), np.bool_)
        if known is not None:
            truth = known[place]
            free = truth < 0
            errors = np.bincount(row, ~free & (tags != truth), len(sentence))
            fewest = np.full(crowd.n_sentences, np.inf)
            np.minimum.at(fewest, sentence, errors)
            possible = errors == fewest[sentence]
            tags = np.where(free, tags, truth)
        spoken = np.bincount(row, free & (tags >= 0), len(sentence)).astype(np.float64)
        return CandidateRows(sentence, annotator, offsets, tags, place, spoken, possible)


@dataclass
class _Fit:
    """One run: the round as a function from state to state."""

    method: CRFMA
    task: Task
    rows: CandidateRows

    @cached_property
    def trained(self) -> I64:
        """Sentences with at least one row."""
        return np.unique(self.rows.sentence)

    @cached_property
    def prior(self) -> tuple[F64, F64]:
        """ρ and m of every annotator."""
        accuracies = known_accuracies(self.task.crowd, self.method.reliability)
        known = ~np.isnan(accuracies)
        rho = np.ones(len(accuracies))
        if known.any():
            rho[known] = accuracies[known] / accuracies[known].mean()
        weight = self.method.prior + np.where(known, self.method.reliability_strength, 0.0)
        return rho, weight

    def schema(self) -> Schema:
        """What a state is after a round."""
        crowd = self.task.crowd
        n, n_labels = crowd.n_annotators, crowd.n_labels
        columns = {
            "pi": Column("float64", (n,), 0.0),
            "q": Column("float64", (len(self.rows.sentence),), 0.0),
            "targets": Column("float64", (crowd.n_tokens, n_labels), 0.0),
            "transitions": Column("float64", (n_labels, n_labels), 0.0),
        }
        return Schema(columns, folders=("crf",), further=self.model)

    def start(self) -> State:
        """π from span F1 against the majority vote; responsibilities from π alone."""
        crowd, known = self.task.crowd, self.task.known
        vote = weighted_vote(
            crowd, np.ones(crowd.n_annotators), np.ones(crowd.n_labels), known=known
        )
        f1 = annotator_scores(crowd, Labelling(crowd.corpus, crowd.scheme, vote.tags)).f1
        sure = np.isfinite(f1)
        pi = np.where(sure, f1, f1[sure].mean() if sure.any() else 1.0) + 0.01
        rho, weight = self.prior
        # known reliabilities pull the start towards themselves as they pull the update
        seen = np.maximum(crowd.annotator_sentences, 1.0)
        level = pi.mean()
        extra = weight - self.method.prior
        pi = (pi * seen + extra * rho * level) / (seen + extra)
        flat = np.zeros((crowd.n_tokens, crowd.n_labels))
        state, _ = self.expect(pi / pi.sum(), flat, Chain.free(crowd.n_labels))
        return state

    def advance(self, state: State) -> Round:
        """M-step, then E-step; the objective is the log posterior at the new parameters."""
        crf = self.model(state) if "crf/chain" in state else self.method.predictor.clone()
        corpus = self.task.crowd.corpus
        inside = gather(corpus.token_offsets, self.trained)[1]
        crf.fit(
            corpus[self.trained], state["targets"][inside], scheme=self.task.crowd.scheme,
            transitions=state["transitions"],
        )  # fmt: skip
        rho, weight = self.prior
        pi = update_pi(state["pi"], state["q"], self.rows, rho, weight)
        scores, chain = crf.potentials(corpus)
        new, log_likelihood = self.expect(pi, scores, chain)
        meta, arrays = crf.state()
        new |= archive.under(arrays, "crf")
        new["crf/settings"] = settings_array(meta)
        weights = [part for name, part in arrays.items() if not name.startswith("features")]
        size = sum(float((part.astype(np.float64) ** 2).sum()) for part in weights)
        parts = {
            "log likelihood": log_likelihood,
            "log prior of λ": -0.5 * crf.l2 * size,
            "log prior of π": float((weight * (rho * np.log(pi) - len(pi) * pi)).sum()),
        }
        return Round(new, sum(parts.values()), parts)

    def model(self, state: State) -> CRF:
        """The CRF of a state."""
        arrays = archive.within(state, "crf")
        return cast(CRF, restored(self.method.predictor, arrays, self.task.crowd.scheme))

    def expect(self, pi: F64, scores: F64, chain: Chain) -> tuple[State, float]:
        """E-step: responsibilities, expected label and label-pair counts, and the log likelihood."""
        rows, crowd = self.rows, self.task.crowd
        n_labels = crowd.n_labels
        whole = forward_backward(scores, crowd.corpus.token_offsets, chain).log_normaliser
        clamped = clamp(scores[rows.place], rows.tags)
        given = forward_backward(clamped, rows.offsets, chain)
        log_p = given.log_normaliser - whole[rows.sentence]
        share = np.append(pi, 1.0)[rows.annotator]
        total = np.bincount(rows.sentence, share, crowd.n_sentences)[rows.sentence]
        logs = np.log(share / total) + log_p + rows.spoken * np.log(n_labels)
        logs = np.where(rows.possible, logs, -np.inf)
        top = np.full(crowd.n_sentences, -np.inf)
        np.maximum.at(top, rows.sentence, logs)
        weights = np.exp(logs - top[rows.sentence])
        scale = np.bincount(rows.sentence, weights, crowd.n_sentences)
        q = weights / scale[rows.sentence]
        at = self.trained
        log_likelihood = float((top[at] + np.log(scale[at])).sum())
        log_likelihood -= float(rows.spoken.sum() * np.log(n_labels))
        marginals = given.marginals.astype(np.float64)
        per_tag = np.repeat(q, np.diff(rows.offsets))
        targets = np.stack(
            [
                np.bincount(rows.place, per_tag * marginals[:, k], crowd.n_tokens)
                for k in range(n_labels)
            ],
            axis=1,
        )
        pairs = forward_backward(clamped, rows.offsets, chain, q).transition
        return {"pi": pi, "q": q, "targets": targets, "transitions": pairs}, log_likelihood

    def read_off(self, state: State) -> tuple[Tags, F32]:
        """Labels and probabilities as ``labels`` says."""
        crowd, rows = self.task.crowd, self.rows
        offsets, scheme = crowd.corpus.token_offsets, crowd.scheme
        scores, chain = self.model(state).potentials(crowd.corpus)
        if self.task.known is not None:
            scores = clamp(scores, self.task.known)
        probabilities = forward_backward(scores, offsets, chain).marginals
        if self.method.labels != "crf":
            mixed = state["targets"].sum(axis=1) > 0.5
            probabilities[mixed] = state["targets"][mixed]
        logs = np.log(np.maximum(probabilities, 1e-12, dtype=np.float64))
        tags = viterbi(logs, offsets, Chain.legal(scheme.grammar))
        if self.task.known is not None:
            tags = np.where(self.task.known >= 0, self.task.known, tags)
        if self.method.labels == "annotator":
            # the last of each sentence's rows in this order is the likeliest; ties to the one whose
            # sequence has the most support, so that the order of annotators does not matter
            support = self._support(state)
            order = np.lexsort((support, np.round(state["q"], 9), rows.sentence))
            last = np.append(np.diff(rows.sentence[order]) > 0, True)
            chosen = order[last]
            part, flat = gather(rows.offsets, chosen)
            place = rows.place[flat]
            best = viterbi(clamp(scores[place], rows.tags[flat]), part, chain)
            tags[place] = best
        return tags, probabilities

    def _support(self, state: State) -> F64:
        """float64[R]: Σ_i of the mixture's log probability of each row's tags."""
        rows = self.rows
        given = state["targets"][rows.place, np.maximum(rows.tags, 0)]
        logs = np.where(rows.tags >= 0, np.log(np.maximum(given, 1e-12)), 0.0)
        row = np.repeat(np.arange(len(rows.sentence)), np.diff(rows.offsets))
        return np.round(np.bincount(row, logs, len(rows.sentence)), 6)


def update_pi(pi: F64, q: F64, rows: CandidateRows, rho: F64, weight: F64) -> F64:
    """π of the M-step, by Hunter's monotone steps from the present one.

    >>> rows = CandidateRows(*(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])), *([np.zeros(0)] * 5))
    >>> q = np.array([0.75, 0.25, 0.75, 0.25])
    >>> ones = np.ones(2)
    >>> update_pi(ones / 2, q, rows, ones, 1e-9 * ones).round(3).tolist()
    [0.75, 0.25]
    """
    n = len(pi)
    real = rows.annotator < n
    annotator, sentence = rows.annotator[real], rows.sentence[real]
    wins = np.bincount(annotator, q[real], n) + weight * rho
    for _ in range(MM_STEPS):
        total = np.bincount(sentence, pi[annotator])
        rivals = np.bincount(annotator, 1.0 / total[sentence], n)
        new = wins / (rivals + weight * n)
        settled = np.allclose(new, pi, rtol=MM_TOL, atol=0.0)
        pi = new
        if settled:
            break
    return pi
