"""The Y* step of AggSLC in one compiled pass: weighted vote, legal path, confidence, losses.

Every sum in it adds up over sentences, so that parts can be worked on apart. Each sentence goes one of
two ways, with the same outcome: by its contested tokens alone (:func:`_vote_while_legal`,
:func:`_repair_contested`), skipping those on which all agree, or by all of them (:func:`_vote_on_all`),
where there is a predictor, a known label or a draw to be heard on every token.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F32, F64, U64, Bool, Tags, tag_dtype
from seqtruth.kernels.chain import Chain
from seqtruth.kernels.contested import (
    Contested,
    add_losses,
    contested_space,
    find_contested,
    loss_of,
    spread,
    swap,
    vote_on_contested,
)
from seqtruth.kernels.grammar import Grammar, inconsistency
from seqtruth.kernels.jit import inlined, kernel
from seqtruth.kernels.recursions import PaddedChain
from seqtruth.kernels.repair import NONE, Repairer, mode, repair_sentence, repairer
from seqtruth.kernels.threads import chunk_bounds, map_chunks
from seqtruth.kernels.ties import order, pick
from seqtruth.kernels.views import CrowdView, longest_sentence, most_rows

#: The worst annotator has weight 0 (Eq 10, "max"); where they are the only one, their vote still counts.
LEAST_WEIGHT = 1e-12


class Prediction(NamedTuple):
    """A predictor's say.

    probabilities : float32[T, L].
    given : bool[S], the sentences on which it speaks.
    weight : how much it counts, beside the annotators' weights.
    """

    probabilities: F32
    given: Bool
    weight: float


class Ballot(NamedTuple):
    """How votes are counted and made a path.

    weights : float64[W], of the annotators.
    class_weights : float64[L], U.
    prediction : the predictor as one more annotator; of length 0 where there is none.
    known : tag[T], labels given as true (-1: none), which stay as they are; of length 0 where none is.
    how : number of the decoding (:mod:`seqtruth.kernels.repair`).
    legal : logarithms of the chain that the grammar allows.
    preference, rank : tag[L], labels in the order in which ties prefer them, and each one's place in it.
    random : whether ties are drawn instead.
    keys : uint64[S], of the sentences, for draws; of length 1 where nothing is drawn.
    """

    weights: F64
    class_weights: F64
    prediction: Prediction
    known: Tags
    how: int
    legal: PaddedChain
    preference: Tags
    rank: Tags
    random: bool
    keys: U64


class Vote(NamedTuple):
    """Outcome of one pass.

    tags : tag[T], the labels after the consistency module; -1 where nobody voted.
    probabilities : float32[T, L], the soft aggregate y*; [0, L] where not to be kept.
    confidence : float64[S], ξ of every sentence (Eq 4).
    losses : float64[W], Σ_k ξ_k Σ_i H(y^j, y*) of each annotator, as in L_agg.
    stake_losses, stakes : float64[W], the same sum over the tokens at stake, and their number: those
        where the annotator or the aggregate names an entity (every token for plain tags).
    prediction_loss : as ``losses``, of the predictor.
    illegal : number of forbidden transitions left (each counts twice in L_inc, Eq 6).
    """

    tags: Tags
    probabilities: F32
    confidence: F64
    losses: F64
    stake_losses: F64
    stakes: F64
    prediction_loss: float
    illegal: int

    @property
    def sums(self) -> F64:
        """float64[3, W]: all that the weight step needs, and all that parts need to add up."""
        return np.stack([self.losses, self.stake_losses, self.stakes])


def ballot(
    grammar: Grammar,
    weights: F64,
    class_weights: F64,
    *,
    decoding: str,
    ties: str,
    keys: U64 | None,
    prediction: Prediction | None,
    known: Tags | None,
) -> Ballot:
    """Names of decodings and rules become numbers, and what is absent becomes arrays of length 0."""
    n_labels = len(class_weights)
    preference = order(ties, grammar.is_entity)
    rank = np.empty_like(preference)
    rank[preference] = np.arange(n_labels)
    silent = Prediction(np.zeros((0, n_labels), np.float32), np.zeros(0, np.bool_), 0.0)
    return Ballot(
        np.maximum(weights, LEAST_WEIGHT),
        class_weights,
        prediction or silent,
        np.zeros(0, preference.dtype) if known is None else known,
        mode(decoding),
        Chain.legal(grammar).logs().rows(),
        preference,
        rank,
        ties == "random",
        np.zeros(1, np.uint64) if keys is None else keys,
    )


def count_votes(crowd: CrowdView, by: Ballot, probabilities: bool = True) -> Vote:
    """The Y* step (Eq 12) and everything measured on its outcome, in one pass.

    ``probabilities`` says whether to keep y*, the only thing here that takes 4 L bytes a token.
    """
    n_tokens, n_annotators = int(crowd.token_offsets[-1]), len(by.weights)
    n_labels = len(by.class_weights)
    tags = np.empty(n_tokens, tag_dtype(n_labels))
    soft = np.empty((n_tokens if probabilities else 0, n_labels), np.float32)
    confidence = np.empty(len(crowd.token_offsets) - 1)

    def run(a: int, b: int) -> tuple[F64, F64]:
        losses, sums = np.zeros((3, n_annotators)), np.zeros(2)
        _vote_chunk(crowd, a, b, by, _Out(tags, soft, confidence, losses, sums, np.zeros(2)))
        return losses, sums

    losses, sums = np.zeros((3, n_annotators)), np.zeros(2)
    for part, more in map_chunks(run, chunk_bounds(crowd.token_offsets)):
        losses += part
        sums += more
    return Vote(
        tags, soft, confidence, losses[0], losses[1], losses[2], float(sums[0]), int(sums[1])
    )


class _Out(NamedTuple):
    """Where a chunk's outcome goes; all but ``sums`` as in :class:`Vote`.

    losses : float64[3, W].
    sums : float64[2], the predictor's loss and the number of forbidden transitions.
    pending : float64[2], number of contested tokens and their margin, of a sentence that has been voted
        on and waits for its repair; -1 where there is none.
    """

    tags: Tags
    y: F32
    xi: F64
    losses: F64
    sums: F64
    pending: F64


class _Space(NamedTuple):
    """Work space for one sentence.

    voted : tag[n], the vote's labels before the consistency module.
    y, loss : float64[n, L].
    """

    voted: Tags
    y: F64
    loss: F64
    repairer: Repairer


@kernel
def _vote_chunk(crowd: CrowdView, first: int, last: int, by: Ballot, out: _Out) -> None:
    longest = longest_sentence(crowd.token_offsets, first, last)
    n_labels = len(by.class_weights)
    space = _Space(
        np.empty(longest, by.preference.dtype),
        np.empty((longest, n_labels)),
        np.empty((longest, n_labels)),
        repairer(by.how, by.legal, longest, by.preference),
    )
    on = contested_space(longest, most_rows(crowd.sentence_rows, first, last), by.preference)
    s = first
    while s < last:
        s = _vote_while_legal(crowd, s, last, by, on, out)
        if s < last:
            if out.pending[0] >= 0.0:
                _repair_contested(crowd, s, by, on, space, out)
            else:
                _vote_on_all(crowd, s, by, on.path, space, out)
            s += 1


@kernel
def _vote_while_legal(
    crowd: CrowdView, s: int, last: int, by: Ballot, on: Contested, out: _Out
) -> int:
    """Sentences s … by their contested tokens, up to the first that needs more; returns which that is.

    It needs more where its path has to be repaired, where a token has no vote at all, and where every
    token must be looked at. There is no call for that in here: the compiler would no longer see that
    references to the arrays need not be counted, and most sentences would pay for the few.
    """
    out.pending[0] = -1.0
    if by.random or len(by.known):
        return s
    while s < last:
        if len(by.prediction.given) > 0 and by.prediction.given[s]:
            return s
        if crowd.tag_offsets[s + 1] == crowd.tag_offsets[s]:
            return s
        n = crowd.token_offsets[s + 1] - crowd.token_offsets[s]
        found = find_contested(crowd, s, on)
        margin = vote_on_contested(crowd, s, by.weights, by.class_weights, by.rank, found, on)
        if margin < 0.0:
            return s
        illegal = inconsistency(on.path, n, crowd.grammar)
        if illegal > 0 and by.how != NONE:
            out.pending[0], out.pending[1] = found, margin
            return s
        _keep(crowd, s, (n - found + margin) / n, illegal, found, on, out)
        s += 1
    return s


@kernel
def _repair_contested(
    crowd: CrowdView, s: int, by: Ballot, on: Contested, space: _Space, out: _Out
) -> None:
    """The sentence that :func:`_vote_while_legal` left pending, its path made legal."""
    n, found = crowd.token_offsets[s + 1] - crowd.token_offsets[s], int(out.pending[0])
    xi = (n - found + out.pending[1]) / n
    space.voted[:n] = on.path[:n]
    spread(space.voted, n, found, on, space.y, 0)
    key = by.keys[s if len(by.keys) > 1 else 0]
    repair_sentence(space.y, n, space.repairer, crowd.grammar, key, on.path)
    found = swap(space.voted, n, crowd.sentence_rows[s + 1] - crowd.sentence_rows[s], found, on)
    _keep(crowd, s, xi, inconsistency(on.path, n, crowd.grammar), found, on, out)


@inlined
def _keep(
    crowd: CrowdView, s: int, xi: float, illegal: int, found: int, on: Contested, out: _Out
) -> None:
    """Write down what the vote on contested tokens has come to."""
    n, a = crowd.token_offsets[s + 1] - crowd.token_offsets[s], crowd.token_offsets[s]
    out.sums[1] += illegal
    out.xi[s] = xi
    for i in range(n):
        out.tags[a + i] = on.path[i]
    if len(out.y):
        spread(on.path, n, found, on, out.y, a)
    add_losses(crowd, s, xi, found, on, out.losses)


@kernel
def _vote_on_all(
    crowd: CrowdView, s: int, by: Ballot, path: Tags, space: _Space, out: _Out
) -> None:
    """One sentence with all labels of all its tokens; its labels are made in ``path`` tag[≥ n]."""
    hint = len(by.prediction.given) > 0 and by.prediction.given[s]
    y, grammar = space.y, crowd.grammar
    n, a = crowd.token_offsets[s + 1] - crowd.token_offsets[s], crowd.token_offsets[s]
    key = by.keys[s if len(by.keys) > 1 else 0]
    _add_votes(crowd, s, hint, by, y)
    any_vote = _normalise(y, n, by, key, grammar.outside, path)
    if len(by.known):
        for i in range(n):
            if by.known[a + i] >= 0:
                any_vote = True
                y[i] = 0.0
                y[i, by.known[a + i]] = 1.0
                path[i] = by.known[a + i]
    space.voted[:n] = path[:n]
    if by.how != NONE and any_vote and inconsistency(path, n, grammar) > 0:
        repair_sentence(y, n, space.repairer, grammar, key, path)
    if len(by.known):  # what is known stays, even where it breaks the scheme
        for i in range(n):
            if by.known[a + i] >= 0:
                path[i] = by.known[a + i]
    margin = 0.0
    for i in range(n):
        new, old = path[i], space.voted[i]
        if new != old:
            y[i, new], y[i, old] = y[i, old], y[i, new]
        margin += _margin(y, i)
    xi = margin / n if n else 0.0
    out.xi[s] = xi if any_vote else 0.0
    out.sums[1] += inconsistency(path, n, grammar) if any_vote else 0
    if len(out.y):
        out.y[a : a + n] = y[:n]
    for i in range(n):
        out.tags[a + i] = path[i] if any_vote else -1
        for k in range(y.shape[1]):
            space.loss[i, k] = loss_of(y[i, k])
    _add_all_losses(crowd, s, xi, path, space.loss, out.losses)
    if hint:
        loss = 0.0
        for i in range(n):
            for k in range(y.shape[1]):
                loss += by.prediction.probabilities[a + i, k] * space.loss[i, k]
        out.sums[0] += xi * loss


@inlined
def _add_votes(crowd: CrowdView, s: int, hint: bool, by: Ballot, y: F64) -> None:
    """Weights of those who gave each label, annotators and predictor, into float64[n, L]."""
    n, a = crowd.token_offsets[s + 1] - crowd.token_offsets[s], crowd.token_offsets[s]
    at, y[:n] = crowd.tag_offsets[s], 0.0
    for r in range(crowd.sentence_rows[s], crowd.sentence_rows[s + 1]):
        weight = by.weights[crowd.row_annotator[r]]
        for i in range(n):
            tag = crowd.tags[at + i]
            if tag >= 0:
                y[i, tag] += weight
        at += n
    if hint:
        for i in range(n):
            for k in range(y.shape[1]):
                y[i, k] += by.prediction.weight * by.prediction.probabilities[a + i, k]


@inlined
def _normalise(y: F64, n: int, by: Ballot, key: np.uint64, outside: int, path: Tags) -> bool:
    """Class-weighted votes to probabilities and the winning label; says whether anybody voted."""
    anybody = False
    n_labels = len(by.class_weights)
    for i in range(n):
        total = 0.0
        for k in range(n_labels):
            y[i, k] *= by.class_weights[k]
            total += y[i, k]
        if total > 0.0:
            anybody = True
            for k in range(n_labels):
                y[i, k] /= total
            path[i] = pick(y[i], by.preference, by.random, key, i)
        else:
            for k in range(n_labels):
                y[i, k] = 1.0 / n_labels
            path[i] = outside
    return anybody


@inlined
def _margin(y: F64, i: int) -> float:
    """Probability of token i's most likely label minus that of the second (Eq 4)."""
    top, second = 0.0, 0.0
    for k in range(y.shape[1]):
        if y[i, k] > top:
            second = top
            top = y[i, k]
        elif y[i, k] > second:
            second = y[i, k]
    return top - second


@inlined
def _add_all_losses(
    crowd: CrowdView, s: int, xi: float, path: Tags, losses_of: F64, losses: F64
) -> None:
    """Add the annotators' losses, of labels whose loss is in ``losses_of`` float64[n, L]."""
    n, at = crowd.token_offsets[s + 1] - crowd.token_offsets[s], crowd.tag_offsets[s]
    for r in range(crowd.sentence_rows[s], crowd.sentence_rows[s + 1]):
        loss, stake_loss, stakes = 0.0, 0.0, 0
        for i in range(n):
            tag = crowd.tags[at + i]
            if tag >= 0:
                loss += losses_of[i, tag]
                if crowd.grammar.is_entity[tag] or crowd.grammar.is_entity[path[i]]:
                    stake_loss += losses_of[i, tag]
                    stakes += 1
        at += n
        annotator = crowd.row_annotator[r]
        losses[0, annotator] += xi * loss
        losses[1, annotator] += xi * stake_loss
        losses[2, annotator] += stakes
