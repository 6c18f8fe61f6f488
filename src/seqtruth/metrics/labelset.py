"""Label-set score: does a sentence get the right *set* of labels, wherever they stand?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from seqtruth.data.labelling import Labelling
from seqtruth.kernels.arrays import Tags
from seqtruth.metrics.align import check_aligned
from seqtruth.metrics.score import Averages, ratio
from seqtruth.metrics.sentences import Sentences, choose


def label_set_scores(
    result: Labelling, gold: Labelling, sentences: Sentences | None = None
) -> Averages:
    r"""Overlap of the sets of labels present in each sentence, averaged over sentences.

    With :math:`P_s` and :math:`G_s` the sets of labels (``O`` included) that occur in sentence
    :math:`s` of the result and the gold,

    .. math:: p_s = |P_s \cap G_s| / |P_s|, \quad r_s = |P_s \cap G_s| / |G_s|, \quad
              f_s = 2 |P_s \cap G_s| / (|P_s| + |G_s|),

    and each is averaged over the sentences that have gold.

    Parameters
    ----------
    result, gold : the two labellings.
    sentences : score these only.

    Notes
    -----
    This is the closest definition found to the "relaxed" columns of the AggSLC paper. It does not
    ask where a label stands, and every sentence with an ``O`` on both sides earns something, so it
    is kind to systems that find little. Read :func:`~seqtruth.metrics.token.token_scores` instead.

    References
    ----------
    Sabetpour et al. (2021), "Truth Discovery in Sequence Labels from Crowds".
    https://doi.org/10.48550/arXiv.2109.04470

    Examples
    --------
    >>> from seqtruth.data.crowd import Crowd
    >>> both = Crowd.of({"result": [["O", "O"]], "gold": [["B-PER", "O"]]}, tokens=[["Ann", "ran"]])
    >>> scores = label_set_scores(both.labelling(0), both.labelling(1))
    >>> scores.precision, scores.recall, round(scores.f1, 3)
    (1.0, 0.5, 0.667)
    """
    check_aligned(result, gold)
    chosen = choose(gold.corpus, sentences)
    ours = _label_sets(np.where(gold.tags < 0, gold.tags.dtype.type(-1), result.tags), gold)[chosen]
    theirs = _label_sets(gold.tags, gold)[chosen]
    has_gold = theirs.any(axis=1)
    ours, theirs = ours[has_gold], theirs[has_gold]
    if not len(theirs):
        return Averages(0.0, 0.0, 0.0)
    common, p, g = (ours & theirs).sum(axis=1), ours.sum(axis=1), theirs.sum(axis=1)
    return Averages(
        float(ratio(common, p).mean()),
        float(ratio(common, g).mean()),
        float(ratio(2 * common, p + g).mean()),
    )


def _label_sets(tags: Tags, like: Labelling) -> npt.NDArray[np.bool_]:
    """bool[S, L]: does the label occur in the sentence?"""
    offsets = like.corpus.token_offsets
    present = np.zeros((like.corpus.n_sentences, len(like.scheme.labels)), np.bool_)
    sentence = np.repeat(np.arange(like.corpus.n_sentences), np.diff(offsets))
    known = tags >= 0
    present[sentence[known], tags[known]] = True
    return present
