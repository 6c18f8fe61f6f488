"""The main job in one call."""

from __future__ import annotations

from pathlib import Path

from seqtruth.data.crowd import Crowd, Labelling
from seqtruth.methods.accord.accord import Accord
from seqtruth.methods.loop import Progress
from seqtruth.predictors.choice import best_predictor
from seqtruth.result import Result


def aggregate(
    crowd: Crowd,
    gold: Crowd | Labelling | None = None,
    *,
    seed: int = 0,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Result:
    """Labels, annotators' reliabilities and a tagger, by the best method that is installed.

    :class:`~seqtruth.methods.Accord`, with the CRF and the BiLSTM where ``seqtruth[torch]`` is
    installed, with the CRF alone otherwise, and without a predictor where there is no text.

    Parameters
    ----------
    crowd : the annotations; left untouched.
    gold : true labels known for some sentences; kept fixed, and confidences are fitted to them.
    seed : same seed, same bytes.
    checkpoint, resume, progress : as in :meth:`seqtruth.methods.Aggregator.fit`.

    Examples
    --------
    >>> import seqtruth as st
    >>> names = {"ann": [["B-PER", "O"]], "bob": [["B-PER", "O"]], "cat": [["O", "O"]]}
    >>> result = st.aggregate(st.Crowd.of(names, tokens=[["Ada", "ran"]]))
    >>> result.spans()[0].text
    'Ada'
    """
    predictor = best_predictor() if crowd.corpus.tokens is not None else None
    method = Accord(predictor=predictor, seed=seed)
    return method.fit(crowd, gold, checkpoint=checkpoint, resume=resume, progress=progress)
