"""Annotators as a population: a confusion matrix each, with a prior learnt from all of them.

Annotator j gives label c to a token whose true label is t with probability P_j(c | t), a row drawn
from a Dirichlet around what the population does, m[t, ·], with a strength s_t that says how much
annotators differ:

    P_j(· | t) ~ Dirichlet(s_t m[t, ·]),    E[log P_j(c | t)] = ψ(n_j[t, c] + s_t m[t, c]) - ψ(Σ_c …)

with n_j the expected counts. s_t is found by Minka's fixed point, m is the population's own counts,
backed off to what it does with all labels of a kind (right, right type, right place, neither, missed).
Where five annotators are much alike, a sixth with ten labels is taken for one of them; where they
differ, for nobody in particular. (Fifteen steps from 10: strengths far from that are approached, not
reached, which keeps small populations from extremes.)

**Where it starts decides where it ends.** From a vote in which silence counts, rules that each know a
few names all look like bad people; from one in which it does not, people who rightly leave words alone
look like rules. Which it is, is found out first (:mod:`seqtruth.methods.abstention`). An ``O`` counts in
the first vote by what it says about the types it would deny, and in full once the confusion matrices
are there: a source that seldom speaks of a type has P(O | t) near 1, and its silence weighs nothing.

**Slips.** Annotators make the same mistakes, so no label is certain however often it was given:
P' = (1 - ε) P + ε / L. Where the truth is ``O``, a label slips in as often as it is given at all, and more
often where many look (the more there are, the more of them err alike): ε min(q_c max(m / 3, 1), 1 / L), with
q_c the share of the label among all and m the annotators on a marked token. Rare labels would else need more
than two witnesses each. Claims of types on which sources are silent are excepted: there a slip would explain
away what only one source can see.

References
----------
Dawid & Skene (1979), Maximum likelihood estimation of observer error-rates using the EM algorithm,
Applied Statistics 28. doi:10.2307/2346806

Minka (2000), Estimating a Dirichlet distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.engine import Parts, Sums
from seqtruth.kernels.arrays import F64, I64, Bool, Tags
from seqtruth.kernels.chain import FORBIDDEN, Chain, Posterior, forward_backward
from seqtruth.kernels.spans import OUTSIDE
from seqtruth.kernels.special import digamma
from seqtruth.methods.abstention import MOST_TYPES, Silence
from seqtruth.methods.dependence import Copies
from seqtruth.methods.marked import Marked, Totals

#: ε: a label is given at random this often.
SLIP = 0.05
#: So many annotators are not yet taken to make the same slips.
ALIKE = 3.0
#: Power of label chain and class prior: what is legal, and half of what is usual.
CHAIN = 0.5
#: Rounds of EM; and of a crowd whose sources are silent though they speak of most types: people who miss
#: much. They err alike, and further rounds would take what only one of them sees for an error.
ROUNDS, FEW_ROUNDS = 8, 2
#: How labels can be related, see :func:`_relations`.
RIGHT, RIGHT_TYPE, RIGHT_PLACE, NEITHER, MISSED, RIGHTLY_OUTSIDE, INVENTED = range(7)


class Population(NamedTuple):
    """Annotators, as learnt.

    table : float64[W, 1, C, L], E[log P_j(c | t)], weighed by the share of a witness.
    confusion : float64[W, L, C], expected P_j(c | t).
    transition : float64[L, L], how labels follow each other.
    prior : float64[L], how often labels occur.
    posterior : float64[A, L], of the marked tokens.
    log_likelihood : float64[1], of what was said on marked tokens.
    counts : float64[W, L, C], what ``table`` was learnt from.
    """

    table: F64
    confusion: F64
    transition: F64
    prior: F64
    posterior: F64
    log_likelihood: F64
    counts: F64


class Told(NamedTuple):
    """What is known before annotators are judged.

    marked, copies, silence : who said what, who copies whom, and what ``O`` means.
    accuracy, strength : float64[W], reliabilities given by the user (nan: none), and the number of
        tokens they are worth.
    known : int64[A], true labels of marked tokens (-1: not known).
    everywhere : sums over the whole crowd, where ``marked`` is of a sample.
    """

    marked: Marked
    copies: Copies
    silence: Silence
    accuracy: F64
    strength: float
    known: I64
    everywhere: Totals | None = None

    @property
    def scheme(self) -> Scheme:
        return self.marked.scheme

    @property
    def witness(self) -> F64:
        return self.copies.weight

    @property
    def totals(self) -> Totals:
        """Sums over the marked tokens of the whole crowd."""
        return self.marked.totals if self.everywhere is None else self.everywhere


@dataclass(frozen=True, eq=False)
class Findings:
    """What was found out about a crowd, to be told of any part of it.

    Parameters
    ----------
    copies, silence, accuracy, strength : as in :class:`Told`.
    known : tag[T], labels given as true, of a crowd in memory.
    """

    copies: Copies
    silence: Silence
    accuracy: F64
    strength: float
    known: Tags | None = None

    def on(self, part: Crowd) -> Told:
        """The same of a part."""
        marked = Marked(part, self.known)
        known = known_of(marked, self.known)
        return Told(marked, self.copies, self.silence, self.accuracy, self.strength, known)


def known_of(marked: Marked, known: Tags | None) -> I64:
    """int64[A]: true labels of marked tokens (-1: not known), from those of all tokens."""
    of_marked = np.full(len(marked.at), -1) if known is None else known[marked.at]
    return np.asarray(of_marked, np.int64)


def first_vote(told: Told) -> F64:
    """float64[A, L]: shares of the votes, ``O`` weighed by the types that it would deny."""
    speakers, silent = _votes(told)
    return _known_shares(speakers, silent, told)


def settled_vote(told: Told) -> F64:
    """The same, where those who speak have settled by majority what they say: the winning label has
    all their votes.

    Were the losers' votes kept, EM could take their habit for the truth: two of five who always mark
    the word before a name, too, explain everything that the other three say (these always leave it
    out), and not the other way round (which words are marked besides, is chance).
    """
    speakers, silent = _votes(told)
    most = speakers.max(axis=1, keepdims=True)
    winners = (speakers >= most - 1e-9) & (speakers > 0)
    share = winners / np.maximum(winners.sum(axis=1, keepdims=True), 1)
    return _known_shares(share * speakers.sum(axis=1, keepdims=True), silent, told)


def _votes(told: Told) -> tuple[F64, F64]:
    """float64[A, L] and float64[A]: votes of those who mark something in the stretch, and of the ``O``
    of those who do not."""
    marked, scheme = told.marked, told.marked.scheme
    votes = np.zeros((len(marked.at), len(scheme.labels)))
    silent = np.zeros(len(marked.at))
    labels, border = marked.labels, marked.border
    weight = told.copies.weight[labels.annotator]
    np.add.at(votes, (labels.token, labels.tag), weight)
    if scheme.outside >= 0:
        named = votes.copy()
        named[:, scheme.outside] = 0.0
        share = named / np.maximum(named.sum(axis=1, keepdims=True), 1e-12)
        beside = np.bincount(labels.token[border], weight[border], minlength=len(votes))
        by_type = (told.silence.first_weight, told.silence.border_weight)
        against, cut = (share @ np.append(one, 0.0)[scheme.type_of] for one in by_type)
        silent = (votes[:, scheme.outside] - beside) * against
        votes[:, scheme.outside] = beside * cut
    return votes, silent


def _known_shares(speakers: F64, silent: F64, told: Told) -> F64:
    """float64[A, L]: shares of all votes; what is known has all of them."""
    votes = speakers.copy()
    if told.scheme.outside >= 0:
        votes[:, told.scheme.outside] += silent
    given = np.flatnonzero(told.known >= 0)
    votes[given] = 0.0
    votes[given, told.known[given]] = 1.0
    return np.asarray(votes / np.maximum(votes.sum(axis=1, keepdims=True), 1e-12))


def learn_population(told: Told, parts: Parts, tell: Callable[[Crowd], Told]) -> Population:
    """EM from the first vote: sums over the parts, in which annotators are learnt.

    Parameters
    ----------
    told : of the crowd, or of a sample of it: what the posterior is wanted of.
    parts : the crowd.
    tell : what is known of a part.
    """
    scheme = told.scheme
    sums = parts.add_up(partial(_expected, tell=tell, rates=None))
    misses = told.silence.open.any() and told.totals.breadth >= MOST_TYPES
    for _ in range(FEW_ROUNDS if misses else ROUNDS):
        counts = sums["counts"]
        a = pseudo_counts(counts, told)
        slips = slips_of(scheme, told.silence.open, counts, told.silence.voices)
        table = log_table(a, slips, told.copies.weight)
        prior = sums["prior"] + 1.0
        if scheme.outside >= 0:
            prior[scheme.outside] += sums["quiet"][0]
        prior /= prior.sum()
        transition = (_all_pairs(sums, scheme) + 5.0 * prior) * scheme.allowed
        transition /= transition.sum(axis=1, keepdims=True)
        rates = _Rates(table, prior, transition)
        sums = parts.add_up(partial(_expected, tell=tell, rates=rates))
    found = marked_posterior(told.marked, *rates, told.known)
    confusion = a / a.sum(axis=-1, keepdims=True)
    return Population(
        table, confusion, transition, prior, found.marginals.astype(np.float64),
        sums["log_likelihood"], counts,
    )  # fmt: skip


class _Rates(NamedTuple):
    """As a :class:`Population` has them."""

    table: F64
    prior: F64
    transition: F64


def _expected(part: Crowd, tell: Callable[[Crowd], Told], rates: _Rates | None) -> Sums:
    """What a part's marked tokens teach, under given rates or (None) under the first vote."""
    told = tell(part)
    marked = told.marked
    ends, quiet = marked.stretches, np.array([marked.n_quiet, len(marked.stretches) - 1])
    value = np.zeros(1)
    if rates is None:
        posterior = settled_vote(told)
        last = np.zeros(len(posterior), np.bool_)
        last[ends[1:] - 1] = True
        at = np.flatnonzero(~last)
        # neighbouring labels, were they independent
        inner = posterior[at].T @ posterior[at + 1]
        begin, end = posterior[ends[:-1]].sum(axis=0), posterior[ends[1:] - 1].sum(axis=0)
    else:
        found = marked_posterior(marked, *rates, told.known)
        posterior = found.marginals.astype(np.float64)
        inner, begin, end = found.transition, found.start, found.end
        value += found.log_normaliser.sum()
    return {
        "counts": marked.counts(posterior), "prior": posterior.sum(axis=0), "inner": inner,
        "begin": begin, "end": end, "quiet": quiet, "log_likelihood": value,
    }  # fmt: skip


def marked_posterior(
    marked: Marked, table: F64, prior: F64, transition: F64, known: I64
) -> Posterior:
    """What annotators alone say of the marked tokens.

    Parameters
    ----------
    table, prior, transition : as a :class:`Population` has them.
    known : int64[A], true labels of marked tokens (-1: not known).
    """
    scores = marked.evidence(table) + (1 - CHAIN) * np.log(prior)
    given = np.flatnonzero(known >= 0)
    scores[given] = FORBIDDEN
    scores[given, known[given]] = 0.0
    chain = stretch_chain(tempered(transition, marked.scheme), marked.scheme)
    return forward_backward(scores, marked.stretches, chain)


class Slips(NamedTuple):
    """What is left of P, and what slips add to it: float64[L, 1] and float64[L, C]."""

    keep: F64
    floor: F64


def log_table(a: F64, slips: Slips, witness: F64) -> F64:
    """float64[W, 1, C, L]: E[log P_j(c | t)] from pseudo-counts, weighed by the share of a witness."""
    logs = np.exp(digamma(a) - digamma(a.sum(axis=-1, keepdims=True)))
    logs = np.log(np.maximum(slips.keep * logs + slips.floor, 1e-12)) * witness[:, None, None]
    return np.ascontiguousarray(logs.transpose(0, 2, 1)[:, None])


class Beforehand(Protocol):
    """What is known of annotators beforehand, as :class:`Told` has it."""

    @property
    def scheme(self) -> Scheme: ...

    @property
    def witness(self) -> F64: ...

    @property
    def accuracy(self) -> F64: ...

    @property
    def strength(self) -> float: ...


def pseudo_counts(counts: F64, told: Beforehand) -> F64:
    """float64[W, L, C]: each annotator's counts and what the population lends them."""
    mean = population_mean((counts * told.witness[:, None, None]).sum(axis=0), told.scheme)
    a = counts + strength_of(counts, mean)[None, :, None] * mean
    told_of = np.flatnonzero(~np.isnan(told.accuracy))
    if len(told_of):
        right = np.eye(len(mean))
        wrong = np.where(right > 0, 0.0, mean)
        wrong /= np.maximum(wrong.sum(axis=1, keepdims=True), 1e-12)
        said = told.accuracy[told_of, None, None]
        a[told_of] += told.strength * (said * right + (1 - said) * wrong)
    return np.asarray(a)


def strength_of(counts: F64, mean: F64) -> F64:
    """float64[L]: strengths of Dirichlet priors with given means, learnt from the population.

    Fifteen steps of Minka's fixed point from 10, drawn weakly to it where there is little to learn from.

    Parameters
    ----------
    counts : float64[W, L, C].
    mean : float64[L, C].

    Examples
    --------
    Annotators who are all alike lend each other much, others little:

    >>> alike, apart = np.full((20, 1, 2), 10.0), np.array([[[20.0, 0]], [[0, 20.0]]] * 10)
    >>> mean = np.array([[0.5, 0.5]])
    >>> bool(strength_of(alike, mean)[0] > 10 > strength_of(apart, mean)[0])
    True
    """
    first, low, high, pull = 10.0, 0.3, 300.0, 0.05
    strength, total = np.full(mean.shape[:-1], first), counts.sum(axis=-1)
    for _ in range(15):
        a = strength[..., None] * mean + 1e-10
        up = (mean * (digamma(counts + a) - digamma(a))).sum(axis=-1).sum(axis=0)
        down = (digamma(total + strength) - digamma(strength)).sum(axis=0)
        strength = np.clip(strength * (up + pull) / (down + pull * strength / first), low, high)
    return np.asarray(strength)


def population_mean(counts: F64, scheme: Scheme) -> F64:
    """float64[L, C]: what the population does, backed off by two observations a row to what it does
    with all labels of a kind."""
    relation, outside = _relations(scheme), scheme.roles == OUTSIDE
    usual = np.zeros(counts.shape)
    for rows, kinds in ((~outside, range(5)), (outside, (RIGHTLY_OUTSIDE, INVENTED))):
        seen = np.array([counts[rows][relation[rows] == kind].sum() for kind in kinds])
        seen += [1.0, *[0.25] * (len(kinds) - 1)]
        for kind, share in zip(kinds, seen / seen.sum(), strict=True):
            cells = (relation == kind) & rows[:, None]
            usual += np.where(cells, share / np.maximum(cells.sum(axis=1, keepdims=True), 1), 0.0)
    mean = counts + 2.0 * usual / np.maximum(usual.sum(axis=1, keepdims=True), 1e-12)
    mean = np.maximum(mean, 1e-9)
    return np.asarray(mean / mean.sum(axis=1, keepdims=True))


def tempered(transition: F64, scheme: Scheme) -> F64:
    """Transitions to the power :data:`CHAIN`; what the scheme forbids has none."""
    return np.where(scheme.allowed, np.maximum(transition, 1e-12) ** CHAIN, 0.0)


def stretch_chain(transition: F64, scheme: Scheme) -> Chain:
    """The chain of a stretch between tokens that are ``O``."""
    n, outside = len(scheme.labels), scheme.outside
    if outside < 0:
        return Chain(np.ones(n), transition, np.ones(n))
    return Chain(transition[outside].copy(), transition, transition[:, outside].copy())


def slips_of(scheme: Scheme, open_types: Bool, counts: F64, voices: float) -> Slips:
    """How annotators slip, by the true label.

    Parameters
    ----------
    open_types : bool[K], types whose silence is no vote (:class:`~seqtruth.methods.abstention.Silence`).
        A claim of these is hardly ever a slip.
    counts : float64[W, L, C], labels given.
    voices : how many look at a token that anybody marks.
    """
    n, outside = len(scheme.labels), scheme.outside
    floor = np.full((n, n), SLIP / n)
    if outside >= 0:
        given = counts.sum(axis=(0, 1))
        usual = given / max(given.sum(), 1e-9) * max(voices / ALIKE, 1.0)
        floor[outside] = SLIP * np.minimum(usual, 1.0 / n)
        open_labels: Bool = np.append(open_types, False)[scheme.type_of]
        floor[outside, open_labels] = 0.0
    return Slips(1.0 - floor.sum(axis=1, keepdims=True), floor)


def _relations(scheme: Scheme) -> I64:
    """int64[L, C]: how the label given is related to the true one."""
    same_type = scheme.type_of[:, None] == scheme.type_of
    same_place = scheme.roles[:, None] == scheme.roles
    out = np.where(same_type, RIGHT_TYPE, np.where(same_place, RIGHT_PLACE, NEITHER))
    np.fill_diagonal(out, RIGHT)
    if scheme.outside >= 0:
        out[:, scheme.outside], out[scheme.outside] = MISSED, INVENTED
        out[scheme.outside, scheme.outside] = RIGHTLY_OUTSIDE
    return np.asarray(out, np.int64)


def _all_pairs(sums: Sums, scheme: Scheme) -> F64:
    """Pairs inside the stretches, and those with the ``O`` around them."""
    inner, outside = sums["inner"].copy(), scheme.outside
    if outside >= 0:
        inner[outside] += sums["begin"]
        inner[:, outside] += sums["end"]
        quiet, stretches = sums["quiet"]
        inner[outside, outside] += max(0, quiet - stretches - 1)
    return inner
