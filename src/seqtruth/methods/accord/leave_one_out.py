"""Choosing without gold: whose labels would an annotator who was not heard have given?

Each annotator is left out in turn, labels are chosen from what the others and all other sources say,
and compared with theirs: strict span F1, all annotators together. Tables and trusts stay as they are,
so that this costs one pass of dynamic programming for each way to choose. Copies of the one left out
are not heard either.

It cannot judge where silence is no vote: a rule that says nothing about a span has not denied it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F64, I32, I64, Tags
from seqtruth.kernels.chain import viterbi
from seqtruth.methods.abstention import MOST_TYPES, Silence
from seqtruth.methods.accord.annotators import stretch_chain
from seqtruth.methods.accord.opinions import Opinion
from seqtruth.methods.dependence import Copies
from seqtruth.methods.marked import Marked

#: Differences of F1 below this do not count.
STEP = 0.005
#: Differences of F1 above this do where only pairs of annotators can be compared.
CLEARLY = 0.01
#: Sources that cover less of a single type are no judges where nothing is known about silence.
COVERS = 0.35


class LeaveOneOut:
    """The annotators as judges.

    Parameters
    ----------
    marked : who said what.
    copies : who is not heard together with whom.
    """

    def __init__(self, marked: Marked, copies: Copies) -> None:
        self.marked, self.weight = marked, copies.weight
        labels, crowd = marked.labels, marked.crowd
        place = marked.at[labels.token]
        sentence = np.searchsorted(crowd.corpus.token_offsets, place, side="right")
        first = np.ones(len(place), np.bool_)
        first[1:] = (
            (np.diff(labels.annotator) != 0) | (np.diff(place) != 1) | (np.diff(sentence) != 0)
        )
        self.offsets = np.append(np.flatnonzero(first), len(place)).astype(np.int64)
        self.theirs = self._spans(labels.tag)
        witness = copies.witness
        self.together: I64 | None = None
        if copies.groups:
            key = labels.token * crowd.n_annotators + witness[labels.annotator]
            self.together = np.unique(key, return_inverse=True)[1].reshape(-1)

    def f1(self, opinion: Opinion) -> float:
        """Strict span F1 of labels chosen without the one who judges them."""
        marked, scheme = self.marked, self.marked.scheme
        scores = opinion.share * marked.evidence(opinion.table) + opinion.others[marked.at]
        own = opinion.share * marked.own_evidence(opinion.table)
        if self.together is not None:
            own = _sum_by(own, self.together)[self.together]
        chain = stretch_chain(opinion.chain.transition, scheme)
        tags = viterbi(scores[marked.labels.token] - own, self.offsets, chain)
        mine, who = self._spans(tags)
        n = marked.crowd.n_annotators
        hits = np.bincount(who[np.isin(mine, self.theirs[0])], minlength=n)
        named = np.bincount(who, minlength=n) + np.bincount(self.theirs[1], minlength=n)
        total = float((self.weight * named).sum())
        return 2.0 * float((self.weight * hits).sum()) / total if total else 0.0

    def _spans(self, tags: Tags) -> tuple[I64, I32]:
        """Keys of spans, and whose they are."""
        found = extract(tags, self.offsets, self.marked.scheme, "conlleval")
        first = self.offsets[found.sequence]
        begin, end = first + found.start, first + found.end
        n_types = max(1, len(self.marked.scheme.types))
        key = (begin * (len(tags) + 1) + end) * n_types + found.type.astype(np.int64)
        return key.astype(np.int64), self.marked.labels.annotator[begin]


def may_judge(marked: Marked, silence: Silence) -> bool:
    """Can annotators who are left out judge labels?

    Not where most of what is claimed is of types on which silence is no vote, nor where nobody
    overlaps, nor where it is not known what silence means and each speaks of few types only.
    """
    if (marked.voices < 2).all():
        return False
    claims = marked.claims.sum(axis=0)
    if (claims * (silence.open & silence.known)).sum() > 0.5 * claims.sum():
        return False
    if silence.known.any():
        return True
    if len(marked.scheme.types) > 1:
        return marked.breadth >= MOST_TYPES
    return bool(np.average(silence.coverage.mean(axis=0), weights=claims + 1e-9) >= COVERS)


def choose(scores: Mapping[str, float], heard: str, pairs: bool = False) -> str:
    """The option to believe, by the F1 of each.

    A predictor is heard unless annotators contradict it (its best option is more than :data:`STEP`
    below the best without it): they miss the same hard things, which a predictor finds and they
    cannot confirm. Beside it stands one of the annotators' models, not their mean, which annotators like
    better than it deserves: the one that is better with the predictor.

    Parameters
    ----------
    scores : F1 by name.
    heard : ending of the names of options with a predictor.
    pairs : nothing is judged by three, so that nobody knows what annotators miss together; a predictor
        must then be better by :data:`CLEARLY`.

    Examples
    --------
    >>> choose({"confusion": 0.7, "sequential": 0.69, "confusion+p": 0.699, "sequential+p": 0.7}, "+p")
    'sequential+p'
    >>> choose({"confusion": 0.7, "sequential": 0.6, "confusion+p": 0.65, "sequential+p": 0.6}, "+p")
    'confusion'
    """
    with_it = [name for name in scores if name.endswith(heard)]
    without = [name for name in scores if name not in with_it]
    best = max(without, key=scores.__getitem__)
    least = scores[best] + (CLEARLY if pairs else -STEP)
    if with_it and max(scores[name] for name in with_it) >= least:
        return max((n for n in with_it if n != "both" + heard), key=scores.__getitem__)
    return best


def _sum_by(values: F64, group: I64) -> F64:
    out = np.zeros((int(group.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(out, group, values)
    return out
