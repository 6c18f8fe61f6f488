"""What a person should know before trusting labels, in sentences."""

from __future__ import annotations

import numpy as np

from seqtruth.kernels.arrays import F64, Tags
from seqtruth.methods.accord.annotators import Told
from seqtruth.plural import count

#: An annotator who says another type this often, and was seen this often, has switched labels.
MOSTLY, OFTEN = 0.6, 20
#: So many findings of one kind are named one by one.
NAMED = 5


def all_notices(told: Told, tags: Tags, confusion: F64, heard: bool) -> list[str]:
    """Everything there is to say.

    Parameters
    ----------
    told : what is known of the annotators.
    tags : tag[T], the labels chosen.
    confusion : float64[W, L, C], P(label given | label chosen).
    heard : whether a predictor took part.
    """
    said = [told.silence.sentence()] if told.silence.found else []
    if told.silence.open.any():
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
    said += _overlap(told)
    said += _single_speakers(told)
    said += _switched(told, confusion)
    if heard:
        said += _against_all(told, tags)
    return said


def _overlap(told: Told) -> list[str]:
    """Is there anything to compare annotators by?"""
    marked, n = told.marked, told.marked.crowd.n_annotators
    if n < 2 or not len(marked.at):
        return []
    if (marked.voices < 2).all():
        return [
            "no marked token was labelled by two annotators: nothing can be learnt about"
            " reliabilities, labels are taken as they are and confidences are guesses"
        ]
    if not told.silence.known.any():
        said = [
            "too few tokens are labelled by three annotators: how precise a claim is that only one"
            " makes is assumed, not learnt"
        ]
    else:
        said = []
    shared = marked.voices[marked.labels.token] > 1
    alone = np.bincount(marked.labels.annotator[shared], minlength=n) == 0
    spoke = np.bincount(marked.labels.annotator, minlength=n) > 0
    names = [marked.crowd.annotators[j] for j in np.flatnonzero(alone & spoke)]
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
        who = np.flatnonzero(marked.claims[:, k])
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
        if k != m and marked.claims[j, m] >= OFTEN:
            said.append(
                f"{marked.crowd.annotators[j]} mostly says {scheme.types[m]} where the result has"
                f" {scheme.types[k]}: they may have switched the labels"
            )
    return said[:NAMED]


def _against_all(told: Told, tags: Tags) -> list[str]:
    """Tokens labelled although no annotator marks them."""
    quiet = np.ones(len(tags), np.bool_)
    quiet[told.marked.at] = False
    seen = np.repeat(told.marked.crowd.covered, np.diff(told.marked.crowd.corpus.token_offsets))
    named = (tags >= 0) & (tags != told.marked.scheme.outside)
    n = int((quiet & seen & named).sum())
    if not n or told.marked.scheme.outside < 0:
        return []
    return [
        f"{count(n, 'token')} {'is' if n == 1 else 'are'} labelled by the predictor although no"
        " annotator marks them"
    ]
