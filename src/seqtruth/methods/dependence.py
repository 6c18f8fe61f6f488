"""Copies and relatives: annotators who are fewer witnesses than they seem.

Five prompts of one language model, a rule and its edited version, or one person under five names
agree with each other whether they are right or wrong. Careful people agree, too, but only because
both are right, and then they agree with everybody else who is. So two numbers are counted for every
pair, before anything is known about the truth:

* *rate*: tokens with the same label among those that either marks;
* *stand*: the same, among tokens that both mark and on which a third contradicts one of them.

Two annotators are linked where they agree on nearly everything (:data:`COPY`), or where they mark
mostly the same places and stand together against all others (near-copies, which drop or add some).
Agreeing is no offence: two careful people also agree on nearly everything. Of independent annotators
with accuracies a_i, a pair agrees about a_i a_j of the time, so that what a group G shares with others
k and l, and these with each other, foretells how often its members should agree,

    a_G² ≈ Σ_kl rate(G, k) rate(G, l) / Σ_kl rate(k, l)    (k and l not linked)

Linked annotators are copies if they disagree with each other at most half as often as that, beyond
chance, and at most half as often as with the others. The members of a group count together as one witness.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from seqtruth.kernels.arrays import F64, I64, Bool
from seqtruth.kernels.native import call
from seqtruth.methods.marked import Marked

#: Share of tokens on which two annotators must agree to be linked.
COPY = 0.97
#: How far below that the lower confidence bound may be.
MARGIN = 0.05
#: Fewer tokens than this say nothing about a pair.
FEWEST = 20
#: Among more annotators than this, copies are not looked for (their pairs would not fit into memory).
MOST = 2000
#: Near-copies mark the same label on at least this share of the tokens that either marks.
COMMON_PLACES = 0.5
#: Copies disagree with each other at most this often, compared with what is expected of them.
RATHER = 0.5
#: With a single annotator besides them, nothing is expected; copies then agree on this share.
IDENTICAL = 0.995


class Group(NamedTuple):
    """Copies of one another.

    members : their numbers, in order.
    names : their names.
    agreement : share of ``tokens`` on which they give the same label.
    others : the same, of a member and anybody else.
    tokens : on how many tokens, for a pair.
    """

    members: I64
    names: tuple[str, ...]
    agreement: float
    others: float
    tokens: int

    def sentence(self) -> str:
        """The finding with its evidence, for people."""
        return (
            f"{', '.join(self.names)} seem to be copies: they agree on {self.agreement:.0%} of"
            f" {self.tokens:,} tokens, and with others on {self.others:.0%};"
            " they are counted as one witness"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "annotators": list(self.names),
            "agreement": round(self.agreement, 4),
            "agreement_with_others": round(self.others, 4),
            "tokens": self.tokens,
        }


class Copies(NamedTuple):
    """What was found.

    weight : float64[W], share of a witness that each annotator is.
    groups : the copies.
    noise : names of annotators who are no witnesses at all
        (:mod:`~seqtruth.methods.accord.learnable`).
    """

    weight: F64
    groups: tuple[Group, ...] = ()
    noise: tuple[str, ...] = ()

    @property
    def leaders(self) -> Bool:
        """bool[W]: one of each group, and all who are in none; no noise."""
        lead = self.weight > 0
        for group in self.groups:
            lead[group.members[1:]] = False
        return lead

    @property
    def witness(self) -> I64:
        """int64[W]: the number of the witness each annotator is (part of)."""
        number = np.arange(len(self.weight))
        for group in self.groups:
            number[group.members] = group.members[0]
        return number


def find_copies(marked: Marked) -> Copies:
    """Find annotators who copy each other.

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> people = {"a": [["B-X", "B-Y"]] * 30, "b": [["B-X", "B-X"]] * 30, "c": [["B-Y", "B-X"]] * 30}
    >>> crowd = Crowd.of(people | {"c2": people["c"]}, [["u", "v"]] * 30)
    >>> [group.names for group in find_copies(Marked(crowd)).groups]
    [('c', 'c2')]
    """
    return copies_among(marked.crowd.annotators, pair_sums(marked))


def copies_among(annotators: tuple[str, ...], sums: F64) -> Copies:
    """The copies among annotators, from what :func:`pair_sums` counts.

    Parameters
    ----------
    annotators : their names.
    sums : float64[4, W, W], added up over all parts of a crowd.
    """
    n = len(annotators)
    weight, groups = np.ones(n), []
    if not sums.any():
        return Copies(weight)
    pairs = _Pairs(*(sums + sums.transpose(0, 2, 1)))
    exact, near = _linked(pairs)
    for who in _components(exact | near):
        out = np.setdiff1d(np.arange(n), who)
        if len(who) < 2 or not len(out):
            continue
        whole = bool(exact[np.ix_(who, who)].any())
        hits, count = (pairs.same, pairs.either) if whole else (pairs.together, pairs.disputed)
        inside, n_inside = _agreement(hits, count, who, who)
        tokens = n_inside / (len(who) * (len(who) - 1) / 2)  # pairs share their tokens
        cross, n_cross = _agreement(hits, count, who, out)
        independent = _independent(hits, count, who, out, exact | near)
        if n_cross < FEWEST or 1 - inside > RATHER * (1 - cross):
            continue
        if independent is None:
            if not whole or inside < IDENTICAL:  # one bad annotator makes friends of all others
                continue
        elif not _too_few(tokens * (1 - inside), tokens * (1 - independent), n):
            continue
        weight[who] = 1.0 / len(who)
        names = tuple(annotators[j] for j in who)
        groups.append(Group(who, names, inside, cross, int(tokens)))
    return Copies(weight, tuple(groups))


def _too_few(seen: float, expected: float, n_annotators: int) -> bool:
    """Whether disagreements are fewer than half of those expected, beyond chance (there are as many
    chances as pairs)."""
    z = np.sqrt(2.0 * np.log(max(n_annotators * (n_annotators - 1) / 2, 2)))
    fewest = RATHER * expected
    return bool(seen <= fewest - z * np.sqrt(fewest))


def _independent(hits: F64, count: F64, who: I64, out: I64, linked: Bool) -> float | None:
    """How often members of a group would agree if they were independent; None where nobody can tell."""
    rate = hits[np.ix_(who, out)].sum(axis=0) / np.maximum(count[np.ix_(who, out)].sum(axis=0), 1)
    pair = np.triu(~linked[np.ix_(out, out)] & (count[np.ix_(out, out)] >= FEWEST), 1)
    k, m = np.nonzero(pair)
    agreed = hits[out[k], out[m]].sum()
    if not agreed:
        return None
    return min(float((count[out[k], out[m]] * rate[k] * rate[m]).sum() / agreed), 1.0)


def _agreement(hits: F64, count: F64, some: I64, others: I64) -> tuple[float, float]:
    """Share of tokens on which pairs agree, one of them from each side, and how many these are."""
    half = 0.5 if some is others else 1.0  # nobody is paired with themselves, all others twice
    total = half * float(count[np.ix_(some, others)].sum())
    return half * float(hits[np.ix_(some, others)].sum()) / max(total, 1.0), total


class _Pairs(NamedTuple):
    """float64[W, W] each: tokens that either marks, and those with the same label; tokens that both
    mark and on which a third contradicts one of them, and those on which the two agree."""

    either: F64
    same: F64
    disputed: F64
    together: F64


def pair_sums(marked: Marked) -> F64:
    """float64[4, W, W]: how often pairs agree, each counted on one side of the diagonal; nothing where
    copies are not looked for."""
    n = marked.crowd.n_annotators
    if not 3 <= n <= MOST:
        return np.zeros((4, 0, 0))
    order = np.lexsort((marked.labels.annotator, marked.labels.token))
    token, annotator = marked.labels.token[order], marked.labels.annotator[order]
    starts = np.append(np.flatnonzero(np.append(True, np.diff(token) > 0)), len(token))
    counts = np.zeros((4, n, n))
    tag = marked.labels.tag[order]
    call("add_dependence", annotator, tag, starts, marked.scheme.outside, counts)
    return counts


def _linked(pairs: _Pairs) -> tuple[Bool, Bool]:
    """bool[W, W] twice: pairs that agree on everything; pairs that stand together."""
    n = len(pairs.same)
    z = np.sqrt(2.0 * np.log(max(n * (n - 1) / 2, 2)))  # as many pairs, as many chances

    def sure(hits: F64, count: F64) -> Bool:
        share = hits / np.maximum(count, 1)
        spread = z * np.sqrt(np.maximum(share * (1 - share), 0.04) / np.maximum(count, 1))
        return np.asarray((share >= COPY) & (share - spread > COPY - MARGIN) & (count >= FEWEST))

    common = pairs.same / np.maximum(pairs.either, 1) >= COMMON_PLACES
    return sure(pairs.same, pairs.either), sure(pairs.together, pairs.disputed) & common


def _components(linked: Bool) -> list[I64]:
    """Groups of annotators that are linked, directly or through others."""
    group = np.arange(len(linked))
    for j, m in np.argwhere(np.triu(linked, 1)):
        group[group == group[m]] = group[j]
    return [np.flatnonzero(group == g) for g in np.unique(group)]
