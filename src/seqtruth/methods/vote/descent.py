"""AggSLC as block coordinate descent proper: no step can raise F, so it halts.

As printed, the method does not descend: Eq 10's weights leave the constraint of eq 1, the labels are
made consistent outside the objective, and ξ moves with Y*. (With ξ a function of Y* there is nothing
to descend to: uniform y* have ξ = 0, hence F = 0, the least value F can have.) Here F is one function,

    F = Σ_j w_j Σ_k ξ_k Σ_i U[y^j_i] H(y^j_i, y*_i)  +  w_dl Σ_k ξ_k Σ_i H_U(ŷ_i, y*_i)
        + 2 Σ_k Σ_i l_inc(z_{i-1}, z_i)  +  Σ_k ξ_k Σ_i Σ_l β_i[l] (-log y*_i[l])

over soft y*_i, paths z_i ∈ argmax y*_i, weights and predictions, and every block is minimised exactly:

- ξ_k is the confidence of sentence k in the first vote, and stays;
- **weights** minimise F over w ≥ 0 with Σ_j n_j exp(-w_j) ≤ Σ_j n_j / J (the predictor one of the J;
  n_j what j labelled, so that eq 1's constraint is kept where all labelled alike, and who labelled much
  is not judged by more). The minimiser is w_j = max(0, log(λ n_j / loss_j)), λ by water-filling;
- **labels**: for a path through z, the best y*_i with z_i on top is the vote, with z_i and the labels
  above it levelled (:func:`cost_of_labels`); dynamic programming finds the path whose costs and
  inconsistencies are least in sum;
- **predictions** by the models trained on the present labels are taken only where they lower F.

β is a small pseudo-vote (:data:`PSEUDO_VOTE`) that keeps logarithms finite; known labels have large ones.
The labels given out are those of the best legal path.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.engine import Parts, Remembered, Sums
from seqtruth.kernels.arrays import F32, F64, I64, Tags
from seqtruth.kernels.chain import Chain, viterbi
from seqtruth.methods.loop import Round, State
from seqtruth.methods.task import Decision
from seqtruth.methods.vote.labeller import Labeller
from seqtruth.methods.vote.objective import SMALLEST_LOSS
from seqtruth.methods.vote.prediction import PredictionModule, Predictions

#: Votes that every label has, and that a label all annotators give has besides.
PSEUDO_VOTE = 1e-3
#: Votes that a label given as true has.
KNOWN_VOTES = 1e3
#: Cost of a label other than one given as true: more than any forbidden pair's, since a label given as
#: true may itself be against the grammar.
RULED_OUT = 1e12
#: A sentence on whose every token the first vote is tied still counts this much.
LEAST_CONFIDENCE = 1e-3
#: L_inc counts each forbidden pair from both of its ends (Eq 6).
PENALTY = 2.0


def descent_weights(losses: F64, counts: F64) -> F64:
    """float64[J]: the least Σ_j w_j losses_j over w ≥ 0 with Σ_j n_j exp(-w_j) ≤ Σ_j n_j / J.

    Parameters
    ----------
    losses, counts : loss_j and n_j; who labelled nothing (n_j = 0) gets weight 0.

    Examples
    --------
    >>> descent_weights(np.array([1.0, 3.0]), np.array([10.0, 10.0])).round(3).tolist()  # log 4, log 4/3
    [1.386, 0.288]
    """
    weights = np.zeros(len(losses))
    said = counts > 0
    means, n = np.maximum(losses[said] / counts[said], SMALLEST_LOSS), counts[said]
    if not len(n):
        return weights
    budget = n.sum() / max(len(n), 2)
    order = np.argsort(-means)
    # the first k of them have weight 0: they use up their n, the others n_j means_j / λ
    zeroed = np.concatenate([[0.0], np.cumsum(n[order])])[:-1]
    others = np.cumsum((n * means)[order][::-1])[::-1]
    left = budget - zeroed
    scale = np.divide(others, left, out=np.full(len(n), np.inf), where=left > 0)
    fits = np.flatnonzero(means[order] <= scale)[0]
    weights[said] = np.maximum(0.0, np.log(scale[fits] / means))
    return weights


def cost_of_labels(votes: F64) -> F64:
    """float64[T, L]: by how much -Σ_l v[l] log y[l] rises where label l has to be on top of y.

    The best y with l on top levels l with the labels that stay above the level: y = m / Σ v for those
    in the pool P, m their mean vote, and v / Σ v elsewhere. The rise is Σ_{c ∈ P} v_c log(v_c / m).

    Examples
    --------
    >>> cost_of_labels(np.array([[3.0, 1.0, 0.5]])).round(3).tolist()
    [[0.0, 0.523, 0.991]]
    """
    order = np.argsort(-votes, axis=1, kind="stable")
    ranked = np.take_along_axis(votes, order, axis=1)
    rank = np.argsort(order, axis=1, kind="stable")
    entropy = votes * np.log(votes)
    of_ranked = np.take_along_axis(entropy, order, axis=1)
    # the pool of l: itself and the k largest above it, k the smallest that leaves nobody above
    total, logs = votes.copy(), entropy.copy()
    size = np.ones(votes.shape)
    for k in range(votes.shape[1] - 1):
        rises = (rank > k) & (ranked[:, k, None] > total / size)
        if not rises.any():
            break
        total += np.where(rises, ranked[:, k, None], 0.0)
        logs += np.where(rises, of_ranked[:, k, None], 0.0)
        size += rises
    return np.maximum(logs - total * np.log(total / size), 0.0)


def levelled(votes: F64, path: I64) -> F64:
    """float64[T, L]: the best y with ``path`` on top."""
    top = np.take_along_axis(votes, path[:, None], axis=1)
    above = votes > top
    level, size = top[:, 0].copy(), np.ones(len(votes))
    kept = np.zeros(votes.shape, np.bool_)
    while True:  # the largest of those left joins the pool while it stands above the level
        open_ = np.where(above & ~kept, votes, -np.inf)
        best = open_.argmax(axis=1)
        highest = open_[np.arange(len(votes)), best]
        joins = highest > level
        if not joins.any():
            break
        level = np.where(joins, (level * size + np.where(joins, highest, 0.0)) / (size + 1), level)
        size += joins
        kept[np.flatnonzero(joins), best[joins]] = True
    pooled = kept.copy()
    np.put_along_axis(pooled, path[:, None], True, axis=1)
    found = np.where(pooled, level[:, None], votes)
    soft: F64 = found / found.sum(axis=1, keepdims=True)
    return soft


class Given(NamedTuple):
    """What does not change of a part: a tag's token, label, annotator and ξ U, and β.

    of_token : float64[T], ξ of each token's sentence.
    ruled_out : float64[T, L] (or 0), large for labels other than one given as true.
    """

    place: I64
    tag: I64
    annotator: I64
    unit: F64
    pseudo: F64
    of_token: F64
    ruled_out: F64


class Aggregate(NamedTuple):
    """The Y* step on a part: path, y*, and the confidence by which sentences are chosen to learn from."""

    tags: Tags
    probabilities: F32
    confidence: F64
    soft: F64


@dataclass(frozen=True, eq=False)
class DescentLabeller:
    """Labels of a part from weights and predictions.

    Parameters
    ----------
    given : what does not change.
    weights, w_dl, predictions : of the annotators and the predictor.
    units : float64[L], U.
    legal : only legal paths, as for the labels given out.
    """

    given: Remembered[Given]
    weights: F64
    units: F64
    w_dl: float = 0.0
    predictions: Predictions | None = None
    legal: bool = False

    @cached_property
    def vote(self) -> Remembered[Aggregate]:
        """The Y* step on a part."""
        return Remembered(self._vote)

    def _vote(self, part: Crowd) -> Aggregate:
        given = self.given(part)
        shape = part.n_tokens, part.n_labels
        cells = given.place * shape[1] + given.tag
        by = self.weights[given.annotator] * self.units[given.tag]
        votes = np.bincount(cells, by, shape[0] * shape[1]).reshape(shape) + given.pseudo
        if self.predictions is not None:
            votes += self.w_dl * self.units * self.predictions.on(part)[0]
        grammar, penalty = part.scheme.grammar, 0.0 if self.legal else np.exp(-PENALTY)
        chain = Chain(*(np.where(weight > 0, 1.0, penalty) for weight in Chain.legal(grammar)))
        costs = given.of_token[:, None] * cost_of_labels(votes) + given.ruled_out
        tags = viterbi(-costs, part.corpus.token_offsets, chain)
        soft = levelled(votes, tags.astype(np.int64))
        return Aggregate(tags, soft.astype(np.float32), _confidence(soft, part), soft)

    def __call__(self, part: Crowd) -> Decision:
        found = self.vote(part)
        judged = None if self.predictions is None else self.predictions.on(part)[1]
        return Decision(found.tags, found.probabilities, judged)


def _confidence(soft: F64, part: Crowd) -> F64:
    """float64[S]: mean of the largest less the second largest probability (Eq 4)."""
    ranked = np.sort(soft, axis=1)
    margin = ranked[:, -1] - (ranked[:, -2] if soft.shape[1] > 1 else 0.0)
    offsets = part.corpus.token_offsets
    sums = np.concatenate([[0.0], np.cumsum(margin)])
    return np.diff(sums[offsets]) / np.maximum(np.diff(offsets), 1)


def _given(part: Crowd, first: Labeller, units: F64, known: Tags | None) -> Given:
    lengths = np.diff(part.corpus.token_offsets)
    row_lengths = np.diff(part.row_offsets)
    place = gather(part.corpus.token_offsets, part.row_sentence.astype(np.int64))[1]
    annotator = np.repeat(part.row_annotator.astype(np.int64), row_lengths)
    said = part.tags >= 0
    place, annotator, tag = place[said], annotator[said], part.tags[said].astype(np.int64)
    confidence = np.maximum(first.vote(part).confidence, LEAST_CONFIDENCE)
    of_token = np.repeat(confidence, lengths)
    shape = part.n_tokens, part.n_labels
    counts = np.bincount(place * shape[1] + tag, minlength=shape[0] * shape[1]).reshape(shape)
    heard = counts.sum(axis=1, keepdims=True)
    pseudo = PSEUDO_VOTE * (1.0 + counts / np.maximum(heard, 1))
    if part.scheme.outside >= 0:
        pseudo[heard[:, 0] == 0, part.scheme.outside] += PSEUDO_VOTE
    ruled_out = np.zeros((1, 1))
    if known is not None:
        fixed = np.flatnonzero(known >= 0)
        pseudo[fixed, known[fixed]] += KNOWN_VOTES
        ruled_out = np.zeros(shape)
        ruled_out[fixed] = RULED_OUT
        ruled_out[fixed, known[fixed]] = 0.0
    return Given(place, tag, annotator, of_token[place] * units[tag], pseudo, of_token, ruled_out)


def _losses(part: Crowd, now: DescentLabeller) -> Sums:
    """Each annotator's loss and n_j, what is left of F, and the number of inconsistencies."""
    given, found = now.given(part), now.vote(part)
    logs = -np.log(found.soft)
    losses = np.bincount(
        given.annotator, given.unit * logs[given.place, given.tag], part.n_annotators
    )
    counts = np.bincount(given.annotator, given.unit, part.n_annotators)
    pseudo = float(given.of_token @ (given.pseudo * logs).sum(axis=1))
    return {
        "losses": losses, "counts": counts, "pseudo": np.array([pseudo]),
        "illegal": np.array([inconsistencies(found.tags, part)]),
    }  # fmt: skip


def inconsistencies(tags: Tags, part: Crowd) -> int:
    """How many starts, pairs and ends the grammar forbids."""
    grammar, offsets = part.scheme.grammar, part.corpus.token_offsets
    first, last = offsets[:-1], offsets[1:] - 1
    full = last >= first
    inside = np.ones(max(len(tags) - 1, 0), np.bool_)
    inside[first[full & (first > 0)] - 1] = False
    pairs = ~grammar.allowed.astype(np.bool_)[tags[:-1], tags[1:]] & inside
    starts = ~grammar.start.astype(np.bool_)[tags[first[full]]]
    ends = ~grammar.end.astype(np.bool_)[tags[last[full]]]
    return int(pairs.sum() + starts.sum() + ends.sum())


def _prediction_loss(part: Crowd, predictions: Predictions, now: DescentLabeller) -> Sums:
    """The predictor's loss against the present y*, and its n."""
    given, soft = now.given(part), now.vote(part).soft
    counted = now.units * predictions.on(part)[0]
    loss = float(given.of_token @ (counted * -np.log(soft)).sum(axis=1))
    return {"loss": np.array([loss]), "count": np.array([given.of_token @ counted.sum(axis=1)])}


class Descent:
    """One run: blocks in turn, the state being weights and models."""

    def __init__(
        self, parts: Parts, first: Labeller, units: F64, module: PredictionModule | None,
        prior: tuple[F64, F64], keep_models: bool,
    ) -> None:  # fmt: skip
        self.parts, self.module, self.prior = parts, module, prior
        self.keep_models = keep_models
        given = Remembered(partial(_given, first=first, units=units, known=first.known))
        self.units = units
        self._first = DescentLabeller(given, np.ones(parts.n_annotators), units)
        self._now: DescentLabeller | None = None

    def start(self) -> State:
        """The plain vote."""
        self._now = self._first
        return {"weights": self._first.weights}

    def labeller(self, state: State) -> DescentLabeller:
        """What makes the labels of a state."""
        if self._now is None:  # the state is from a checkpoint
            self._now = replace(self._first, weights=state["weights"])
            if self.module is not None:
                found = self.module.restore(state)
                self._now = replace(self._now, w_dl=float(state["w_dl"][0]), predictions=found)
        return self._now

    def advance(self, state: State) -> Round:
        """Predictions, weights, labels."""
        before = self.labeller(state)
        taught, confident = self.learn(before)
        weighed = self.weigh(taught, before)
        now = self._now = replace(weighed)  # its labels are made anew, by the new weights
        terms = self.terms(now, now)
        new: State = {"weights": now.weights}
        if now.predictions is not None and self.module is not None:
            new["w_dl"] = np.array([now.w_dl])
            if self.keep_models:
                new |= self.module.state(now.predictions)
        # it is F that says when to stop: weights may still move where no label does
        return Round(new, sum(terms.values()), terms, None, confident)

    def learn(self, before: DescentLabeller) -> tuple[Predictions | None, int]:
        """Predictions by models that go on learning from the present labels, where they are closer."""
        if self.module is None:
            return None, 0
        old = before.predictions
        kept = None if old is None else replace(old, models=deepcopy(old.models))
        new, confident = self.module.learn(before, kept)
        if old is None or self._distance(new, before)[0] <= self._distance(old, before)[0]:
            return new, confident
        return old, confident

    def _distance(self, predictions: Predictions, now: DescentLabeller) -> tuple[float, float]:
        found = self.parts.add_up(partial(_prediction_loss, predictions=predictions, now=now))
        return float(found["loss"][0]), float(found["count"][0])

    def weigh(self, predictions: Predictions | None, labels: DescentLabeller) -> DescentLabeller:
        """The weights that suit these labels best."""
        found = self.parts.add_up(partial(_losses, now=labels))
        losses, counts = found["losses"] + self.prior[0], found["counts"] + self.prior[1]
        if predictions is not None:
            loss, count = self._distance(predictions, labels)
            losses, counts = np.append(losses, loss), np.append(counts, count)
        weights = descent_weights(losses, counts)
        n = self.parts.n_annotators
        return replace(
            labels, weights=weights[:n], w_dl=float(weights[n:].sum()), predictions=predictions
        )

    def terms(self, by: DescentLabeller, labels: DescentLabeller) -> dict[str, float]:
        """F in its parts, with the weights and predictions of one and the labels of another."""
        found = self.parts.add_up(partial(_losses, now=labels))
        terms = {"L_agg": float(by.weights @ (found["losses"] + self.prior[0])), "L_pred": 0.0}
        if by.predictions is not None:
            terms["L_pred"] = by.w_dl * self._distance(by.predictions, labels)[0]
        terms["L_inc"] = PENALTY * float(found["illegal"][0])
        terms["pseudo-votes"] = float(found["pseudo"][0])
        return terms
