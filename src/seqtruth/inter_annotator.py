"""``st.agreement``: how far annotators agree, once it is known whose ``O`` is an opinion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.engine.opening import Readable, opened_crowd
from seqtruth.kernels.arrays import Bool
from seqtruth.methods.abstention import understand_silence
from seqtruth.metrics.agreement import Agreement
from seqtruth.metrics.agreement import agreement as measure


def agreement(
    crowd: Readable,
    abstain: str | None = "auto",
    strict: str = "conlleval",
    n_resamples: int = 500,
    level: float = 0.95,
    seed: int = 0,
    gamma: int = 0,
) -> Agreement:
    """Agreement of annotators with each other: over all, by type, by pair, by document, with intervals.

    Over tokens: the share that agrees, Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's AC1. Over
    spans: Krippendorff's unitising alpha_U and pairwise F1 (strict, partial by overlap, by ends alone).
    Sentences and tokens that somebody did not label are missing, not ``O``; marks that overlap are compared
    on all layers.

    Parameters
    ----------
    crowd : the annotators' labels: a crowd, a path or a frame.
    abstain : whose ``O`` is silence. ``"auto"``: found from the data, as methods do; ``None`` or ``"none"``:
        nobody's; a tag, such as ``"O"``: it is no opinion, whoever gives it.
    strict : how spans are read, ``conlleval`` or ``b-required``.
    n_resamples : how often documents are drawn again for the intervals; 0 for none.
    level : confidence of the intervals.
    seed : of the draws.
    gamma : on how many documents gamma is measured as well (some seconds each; needs ``pygamma-agreement``).

    Examples
    --------
    >>> tokens = [["Ann", "met", "Bo"], ["Bo", "ran"]]
    >>> tags = {"a": [["B-PER", "O", "B-PER"], ["B-PER", "O"]], "b": [["B-PER", "O", "O"], ["B-PER", "O"]]}
    >>> found = agreement(Crowd.of(tags, tokens), n_resamples=0)
    >>> round(found.alpha, 3), round(found.span_f1, 3)
    (0.64, 0.8)
    """
    given = opened_crowd(crowd)
    if abstain not in (None, "auto", "none"):
        given = given.abstaining(abstain)
    silent = silent_on(given) if abstain == "auto" else None
    found = measure(given, strict, silent, n_resamples, level, seed)
    if gamma:
        from seqtruth.metrics.agreement.gamma import gamma as aligned

        extra = aligned(given, gamma, n_resamples, level, seed)
        found = replace(found, overall={**found.overall, "gamma": extra})
    return found


def silent_on(crowd: Crowd) -> Bool | None:
    """bool[W, K]: whose ``O`` is no opinion on which type; None where everybody's is one.

    Parameters
    ----------
    crowd : the annotators' labels.
    """
    if crowd.scheme.outside < 0 or crowd.n_annotators < 2:
        return None
    if len(crowd.corpus.layers) == 1:
        silent = understand_silence(crowd).silent
        return silent if silent.any() else None
    silent = np.zeros((crowd.n_annotators, len(crowd.scheme.types)), np.bool_)
    for layer in range(len(crowd.corpus.layers)):
        part = crowd[crowd.corpus.sentence_layer == layer]
        kinds = part.scheme.type_of[part.tags[part.tags >= 0]]
        here = np.unique(kinds[kinds >= 0])
        silent[:, here] |= understand_silence(part).silent[:, here]
    return silent if silent.any() else None
