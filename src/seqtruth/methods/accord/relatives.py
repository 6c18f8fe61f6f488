"""Relatives: annotators who share more of their errors than independent ones could.

Copies (:mod:`seqtruth.methods.dependence`) agree on nearly everything. Relatives do not: a model and the
same model on text of another case, gazetteers made from one source. They are right together, as all who
know their work are; what gives them away is that they are *wrong* together, in the same way. With p(t)
the posterior of the marked tokens under the population (:mod:`~seqtruth.methods.accord.annotators`) and
P_j(c | t) what j says where t is true,

    both_jk   = Σ_tokens that both saw [c_j = c_k] P(c_j is wrong)
    chance_jk = Σ_tokens that both saw Σ_t p(t) Σ_{c ≠ t} P_j(c | t) P_k(c | t)
    ρ_jk      = (both - chance) / (min(wrong_j, wrong_k) - chance)

is the share of errors that the better of the two has from what both have in common: 0 of independent
annotators, 1 of copies. An ``O`` is an error only where the source's silence is a vote. Pairs whose ρ is
surely above :data:`RELATED` (tokens of one place are wrong together, so places count) are relatives, and an
annotator with relatives is the share 1 / (1 + Σ_k ρ_jk v_jk) of a witness, where v_jk is how often k saw what
j did: m annotators who share ρ of their errors are m / (1 + (m - 1) ρ) witnesses together, as the variance
of their mean has it.

Things that are hard are hard for all, so that some of their errors agree beyond chance in any crowd
(the median of all pairs: .14 in seven language models, .05 in 35 rules, 0 in 47 crowd workers); that is
below what counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from seqtruth.data.scheme import Scheme
from seqtruth.engine import MemoryParts
from seqtruth.kernels.arrays import F64, Bool
from seqtruth.kernels.native import call
from seqtruth.methods.abstention import Silence
from seqtruth.methods.accord.annotators import Told, learn_population
from seqtruth.methods.marked import Marked

#: Share of errors in common from which on annotators are relatives.
RELATED = 0.3
#: Pairs who were wrong in fewer places tell nothing.
FEWEST = 10
#: Relatives are not looked for where their table would have more cells (labels × annotators²).
CELLS = 1 << 25
#: So many of the closest relatives are told of.
NAMED = 20


class Pair(NamedTuple):
    """Relatives.

    names : of the two.
    shared : ρ.
    errors : places in which the one who makes fewer is wrong, where both looked.
    """

    names: tuple[str, str]
    shared: float
    errors: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "annotators": list(self.names),
            "shared_errors": round(self.shared, 4),
            "errors": round(self.errors, 1),
        }


class Relatives(NamedTuple):
    """What was found.

    weight : float64[W], share of a witness that each annotator is.
    pairs : the closest.
    related : bool[W], who has relatives.
    """

    weight: F64
    pairs: tuple[Pair, ...]
    related: Bool

    def sentence(self) -> str:
        """The finding with its evidence, for people."""
        closest = self.pairs[0]
        return (
            f"{int(self.related.sum())} annotators seem to be relatives: they make the same mistakes"
            f" more often than independent ones would ({closest.names[0]} and {closest.names[1]} share"
            f" {closest.shared:.0%} of theirs) and count as fewer witnesses"
        )


def find_relatives(told: Told) -> Relatives:
    """Find annotators who make the same mistakes.

    Parameters
    ----------
    told : what is known of the crowd, copies and silence among it.

    Examples
    --------
    >>> nobody = no_relatives(2)
    >>> nobody.weight.tolist(), nobody.pairs
    ([1.0, 1.0], ())
    """
    n, n_labels = told.marked.crowd.n_annotators, len(told.scheme.labels)
    if n < 3 or n * n * n_labels > CELLS:
        return no_relatives(n)
    marked = told.marked
    posterior = learn_population(told, MemoryParts(marked.crowd), lambda part: told).posterior
    vote = _is_vote(told.silence, told.scheme)
    both, (same, wrong) = _pair_sums(marked, posterior, vote)
    chance = _by_chance(marked, posterior, vote, both)
    fewer = np.minimum(wrong, wrong.T)
    shared = np.clip((same - chance) / np.maximum(fewer - chance, 1e-9), 0.0, 1.0)
    places = fewer * marked.places / max(len(marked.at), 1)
    spread = np.sqrt(np.maximum(shared * (1 - shared), 0.04) / np.maximum(places, 1.0))
    enough = (places >= FEWEST) & ~np.eye(n, dtype=np.bool_)
    chances = np.sqrt(2.0 * np.log(max(np.count_nonzero(enough) / 2, 2)))
    kin = np.where(enough & (shared - chances * spread > RELATED), shared, 0.0)
    looked = np.maximum(np.bincount(marked.labels.annotator, minlength=n), 1)[:, None]
    weight = 1.0 / (1.0 + (kin * both.sum(axis=0) / looked).sum(axis=1))
    witness = told.copies.witness
    kin[witness[:, None] == witness] = 0.0  # copies are told of as such
    return Relatives(
        weight, _closest(kin, places, marked.crowd.annotators), np.asarray(kin.any(axis=1))
    )


def no_relatives(n_annotators: int) -> Relatives:
    """Where there are none, or nobody can tell."""
    return Relatives(np.ones(n_annotators), (), np.zeros(n_annotators, np.bool_))


def _is_vote(silence: Silence, scheme: Scheme) -> Bool:
    """bool[W, L]: whether an annotator's ``O`` is an error where the label is true."""
    silent = np.column_stack([silence.silent, np.zeros(len(silence.annotators), np.bool_)])
    vote = ~silent[:, scheme.type_of]
    if scheme.outside >= 0:
        vote[:, scheme.outside] = False  # it is right
    return np.asarray(vote)


def _pair_sums(marked: Marked, posterior: F64, vote: Bool) -> tuple[F64, F64]:
    """float64[L, W, W] and float64[2, W, W]: expected labels of tokens that both saw; expected errors that
    both make, and those of the first where the second looked."""
    labels, n = marked.labels, marked.crowd.n_annotators
    order = np.lexsort((labels.annotator, labels.token))
    token, annotator, tag = labels.token[order], labels.annotator[order], labels.tag[order]
    wrong = 1.0 - posterior[token, tag]
    silent = np.flatnonzero(tag == marked.scheme.outside)
    wrong[silent] = (posterior[token[silent]] * vote[annotator[silent]]).sum(axis=1)
    starts = np.append(np.flatnonzero(np.append(True, np.diff(token) > 0)), len(token))
    both = np.zeros((posterior.shape[1], n, n))
    counts = np.zeros((2, n, n))
    call("add_kinship", annotator, tag, wrong, starts, posterior[token[starts[:-1]]], both, counts)
    return both, counts


def _by_chance(marked: Marked, posterior: F64, vote: Bool, both: F64) -> F64:
    """float64[W, W]: errors that pairs would have in common if they erred independently."""
    labels, outside = marked.labels, marked.scheme.outside
    n_labels = posterior.shape[1]
    rate = np.zeros((marked.crowd.n_annotators, n_labels, n_labels))
    call("add_marked_counts", labels, posterior, rate)
    rate /= np.maximum(rate.sum(axis=2, keepdims=True), 1e-9)
    rate[:, np.arange(n_labels), np.arange(n_labels)] = 0.0
    if outside >= 0:
        rate[:, :, outside] *= vote
    return np.asarray(sum(both[t] * (rate[:, t] @ rate[:, t].T) for t in range(n_labels)))


def _closest(kin: F64, errors: F64, names: tuple[str, ...]) -> tuple[Pair, ...]:
    upper = np.triu(kin, 1)
    first, second = np.unravel_index(
        np.argsort(-upper, axis=None, kind="stable")[:NAMED], kin.shape
    )
    return tuple(
        Pair((names[j], names[k]), float(upper[j, k]), float(errors[j, k]))
        for j, k in zip(first.tolist(), second.tolist(), strict=True)
        if upper[j, k] > 0
    )
