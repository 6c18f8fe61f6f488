"""What a person should know before trusting labels, in sentences."""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64, Tags
from seqtruth.methods.accord.annotators import Told
from seqtruth.methods.accord.relatives import Relatives
from seqtruth.methods.marked import Marked
from seqtruth.plural import count

#: An annotator who says another type this often, and was seen this often, has switched labels.
MOSTLY, OFTEN = 0.6, 20
#: Said where the text told annotators apart.
BY_TEXT = (
    "agreement cannot tell here who is reliable: each annotator was judged by a tagger that learnt from the"
    " others, and it is heard beside them"
)
#: So many findings of one kind are named one by one.
NAMED = 5


def all_notices(
    told: Told, relatives: Relatives, confusion: F64, against: int, by_text: bool = False
) -> list[str]:
    """Everything there is to say.

    Parameters
    ----------
    told : what is known of the annotators.
    relatives : who shares errors with whom.
    confusion : float64[W, L, C], P(label given | label chosen).
    against : tokens that a predictor labelled although no annotator marks them
        (:func:`against_all`).
    by_text : whether the text told annotators apart (:mod:`~seqtruth.methods.accord.by_text`).
    """
    said = [told.silence.sentence()] if told.silence.found else []
    if told.silence.found and told.silence.open.any():
        names = [
            name for name, yes in zip(told.silence.types, told.silence.open, strict=True) if yes
        ]
        listed = ", ".join(names[:NAMED]) + (" and others" if len(names) > NAMED else "")
        said.append(
            f"sources that are silent cannot confirm each other: confidences of {listed} are cautious"
            " guesses, no promises"
        )
    said += [group.sentence() for group in told.copies.groups[:NAMED]]
    if len(told.copies.groups) > NAMED:
        said.append(f"{len(told.copies.groups) - NAMED} more groups of copies were found")
    if relatives.pairs:
        said.append(relatives.sentence())
    if told.copies.noise:
        said.append(
            f"{', '.join(told.copies.noise)}: nobody confirms their marks, and these follow nothing in the"
            " text; they are not heard"
        )
    said += _overlap(told) if not by_text else [BY_TEXT]
    said += _single_speakers(told)
    said += _switched(told, confusion)
    if against:
        said.append(
            f"{count(against, 'token')} {'is' if against == 1 else 'are'} labelled by the predictor"
            " although no annotator marks them"
        )
    return said


def _overlap(told: Told) -> list[str]:
    """Is there anything to compare annotators by?"""
    totals, annotators = told.totals, told.marked.crowd.annotators
    if len(annotators) < 2 or not totals.spoken.any():
        return []
    if not totals.overlap:
        return [
            "no marked token was labelled by two annotators: nothing can be learnt about"
            " reliabilities, labels are taken as they are and confidences are guesses"
        ]
    if not told.silence.known.any():
        said = [
            "too few tokens are labelled by three annotators: how precise a claim is that only one"
            " makes is assumed, not learnt, and confidences are cautious guesses"
        ]
    else:
        said = []
    names = [annotators[j] for j in np.flatnonzero((totals.shared == 0) & (totals.spoken > 0))]
    if names:
        listed = ", ".join(names[:NAMED]) + (" and others" if len(names) > NAMED else "")
        said += [
            f"{count(len(names), 'annotator')} never overlap with anybody ({listed}): nothing can be"
            " learnt about their reliability"
        ]
    return said


def _single_speakers(told: Told) -> list[str]:
    """Types that only one annotator speaks of."""
    marked = told.marked
    if marked.crowd.n_annotators < 2 or marked.scheme.outside < 0:
        return []
    said = []
    for k, name in enumerate(marked.scheme.types):
        who = np.flatnonzero(told.totals.claims[:, k])
        if len(who) == 1:
            said.append(
                f"only {marked.crowd.annotators[who[0]]} speaks of {name}: nobody can confirm it"
            )
    if len(said) > NAMED:
        return [
            *said[:NAMED],
            f"{len(said) - NAMED} more types are spoken of by one annotator only",
        ]
    return said


def _switched(told: Told, confusion: F64) -> list[str]:
    """Annotators who mostly say one type where the result has another."""
    marked, scheme = told.marked, told.marked.scheme
    said = []
    n_types = len(scheme.types)
    types = np.zeros((len(scheme.labels), n_types))
    inside = np.flatnonzero(scheme.type_of >= 0)
    types[inside, scheme.type_of[inside]] = 1.0
    share = np.einsum("wlc,lk,cm->wkm", confusion, types / np.maximum(types.sum(axis=0), 1), types)
    for j, k, m in np.argwhere(share > MOSTLY):
        if k != m and told.totals.claims[j, m] >= OFTEN:
            said.append(
                f"{marked.crowd.annotators[j]} mostly says {scheme.types[m]} where the result has"
                f" {scheme.types[k]}: they may have switched the labels"
            )
    return said[:NAMED]


def against_all(marked: Marked, tags: Tags) -> int:
    """How many tokens are labelled although no annotator marks them."""
    if marked.scheme.outside < 0:
        return 0
    quiet = np.ones(len(tags), np.bool_)
    quiet[marked.at] = False
    seen = np.repeat(marked.crowd.covered, np.diff(marked.crowd.corpus.token_offsets))
    named = (tags >= 0) & (tags != marked.scheme.outside)
    return int((quiet & seen & named).sum())
