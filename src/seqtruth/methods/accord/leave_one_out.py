"""Choosing without gold: whose labels would an annotator who was not heard have given?

Each annotator is left out in turn, labels are chosen from what the others and all other sources say,
and compared with theirs: strict span F1, all annotators together. Tables and trusts stay as they are,
so that this costs one pass of dynamic programming for each way to choose. Copies of the one left out
are not heard either, and what nobody else saw is not judged: there nobody would be heard but a predictor.

Rules cannot judge: one that says nothing about a span has not denied it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from seqtruth.data.spans import extract
from seqtruth.kernels.arrays import F64, I32, I64, Tags
from seqtruth.kernels.chain import viterbi
from seqtruth.methods.abstention import MOST_TYPES, Silence
from seqtruth.methods.accord.annotators import stretch_chain
from seqtruth.methods.accord.opinions import Opinion
from seqtruth.methods.accord.options import sequential_weight
from seqtruth.methods.dependence import Copies
from seqtruth.methods.marked import Marked, Totals

#: Differences of F1 below this do not count.
STEP = 0.005
#: Digits of F1 that are looked at at all.
DIGITS = 3
#: Differences of F1 above this do where annotators miss much; and where nobody can tell what they miss,
#: above this share of what is missing to 1.
CLEARLY, CLEARLY_BEFORE_ONE = 0.01, 0.05
#: Sources that cover less are no judges where silence is no vote or may be none; and the same where there
#: is a single type, so that their breadth cannot tell people from rules.
COVERS, COVERS_ONE = 0.2, 0.35


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
        witness = labels.token * crowd.n_annotators + copies.witness[labels.annotator]
        number, together = np.unique(witness, return_inverse=True)
        voices = np.bincount(number // max(crowd.n_annotators, 1), minlength=len(marked.at))
        #: int64[E']: labels that can be judged: somebody else saw the token.
        self.at = np.flatnonzero(voices[labels.token] > 1)
        self.annotator = labels.annotator[self.at]
        place = marked.at[labels.token[self.at]]
        sentence = np.searchsorted(crowd.corpus.token_offsets, place, side="right")
        first = np.ones(len(place), np.bool_)
        first[1:] = (
            (np.diff(self.annotator) != 0) | (np.diff(place) != 1) | (np.diff(sentence) != 0)
        )
        self.offsets = np.append(np.flatnonzero(first), len(place)).astype(np.int64)
        self.theirs = self._spans(labels.tag[self.at])
        self.together: I64 | None = together.reshape(-1) if copies.groups else None

    def f1(self, opinion: Opinion) -> float:
        """Strict span F1 of labels chosen without the one who judges them."""
        marked, scheme = self.marked, self.marked.scheme
        scores = opinion.share * marked.evidence(opinion.table) + opinion.others[marked.at]
        own = opinion.share * marked.own_evidence(opinion.table)
        if self.together is not None:
            own = _sum_by(own, self.together)[self.together]
        chain = stretch_chain(opinion.chain.transition, scheme)
        without = scores[marked.labels.token[self.at]] - own[self.at]
        mine, who = self._spans(viterbi(without, self.offsets, chain))
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
        return key.astype(np.int64), self.annotator[begin]


def may_judge(totals: Totals, silence: Silence) -> bool:
    """Can annotators who are left out judge labels?

    Not where nobody overlaps. Where most of what is claimed is of types on which silence is no vote, or
    where it is not known what silence means, only if these seem to be people who miss much: each speaks
    of most types (or there is one only), and they find a good part of what others find.
    """
    if not totals.overlap:
        return False
    if silence.known.any() and not mostly_open(totals, silence):
        return True
    claims = totals.claims.sum(axis=0)
    covers = float(np.average(silence.coverage.mean(axis=0), weights=claims + 1e-9))
    if len(claims) == 1:
        return covers >= COVERS_ONE
    return totals.breadth > MOST_TYPES and (covers >= COVERS or not silence.known.any())


def mostly_open(totals: Totals, silence: Silence) -> bool:
    """Whether most of what is claimed is of types that are known to be open."""
    claims = totals.claims.sum(axis=0)
    return bool((claims * (silence.open & silence.known)).sum() > 0.5 * claims.sum())


def choose(scores: Mapping[str, float], heard: str, margin: float = -STEP) -> str:
    """The option to believe, by the F1 of each; the first of equals, which is the simplest.

    A predictor is heard unless annotators contradict it: they miss the same hard things, which it finds
    and they cannot confirm. Beside it stands the model of the annotators, or the mixture of both, that is
    best with it.

    Parameters
    ----------
    scores : F1 by name.
    heard : ending of the names of options with a predictor.
    margin : by how much a predictor must be better to be heard, see :func:`margin_of`.

    Examples
    --------
    >>> choose({"confusion": 0.7, "sequential": 0.69, "confusion+p": 0.699, "sequential+p": 0.7}, "+p")
    'sequential+p'
    >>> choose({"confusion": 0.7, "sequential": 0.6, "confusion+p": 0.65, "sequential+p": 0.6}, "+p")
    'confusion'
    """
    scores = {name: round(f1, DIGITS) for name, f1 in scores.items()}
    with_it = [name for name in scores if name.endswith(heard)]
    without = [name for name in scores if name not in with_it]
    best = max(without, key=scores.__getitem__)
    if with_it and max(scores[name] for name in with_it) >= scores[best] + margin:
        return max(with_it, key=scores.__getitem__)
    return best


def margin_of(f1: float, judged: int, totals: Totals, silence: Silence) -> float:
    """By how much a predictor must be better than annotators alone, to be heard.

    Good judges contradict it by what is more than chance: by the standard error of their F1, and
    by :data:`STEP`. Poor ones must confirm it: where nothing is judged by three, or where they miss much,
    little is known of what they miss together.

    Parameters
    ----------
    f1 : of annotators alone.
    judged : spans that it was counted from.
    """
    if not silence.known.any():
        return CLEARLY_BEFORE_ONE * (1.0 - f1)
    if mostly_open(totals, silence):
        return CLEARLY
    return -max(STEP, float(np.sqrt(f1 * (1.0 - f1) / max(judged, 1))))


def doubt_sequences(scores: Mapping[str, float], plain: Collection[str]) -> dict[str, float]:
    """The options among which poor judges may choose: plain ones, and the models of sequences that are
    clearly better than these, by :data:`CLEARLY_BEFORE_ONE` of what is missing to 1.

    Parameters
    ----------
    scores : F1 by name.
    plain : names of the options to begin with, which know nothing of sequences.

    Examples
    --------
    >>> doubt_sequences({"annotators": 0.2, "both": 0.2, "sequential": 0.25}, ["annotators"])
    {'annotators': 0.2, 'sequential': 0.25}
    """
    found = {name: scores[name] for name in plain if name in scores}
    best = max(found.values())
    least = best + CLEARLY_BEFORE_ONE * (1.0 - best)
    return found | {n: f1 for n, f1 in scores.items() if sequential_weight(n) > 0 and f1 >= least}


def _sum_by(values: F64, group: I64) -> F64:
    out = np.zeros((int(group.max(initial=-1)) + 1, values.shape[1]))
    np.add.at(out, group, values)
    return out
