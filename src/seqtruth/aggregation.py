"""The main job in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.methods.choice import DEFAULT, MethodLike, make_method
from seqtruth.methods.loop import Progress
from seqtruth.result import Result


def aggregate(
    crowd: Crowd,
    method: MethodLike = DEFAULT,
    *,
    gold: Crowd | Labelling | None = None,
    seed: int | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **settings: Any,
) -> Result:
    """Labels, annotators' reliabilities and a tagger, by the best method that is installed.

    :class:`~seqtruth.methods.Accord`, with the CRF and the BiLSTM where ``seqtruth[torch]`` is
    installed, with the CRF alone otherwise, and without a predictor where there is no text.

    Parameters
    ----------
    crowd : the annotations; left untouched.
    method : its name, with settings where wanted (``"aggslc:folds=3"``), a class, or a method.
    gold : true labels known for some sentences; kept fixed, and confidences are fitted to them.
    seed : same seed, same bytes.
    checkpoint, resume, progress : as in :meth:`seqtruth.methods.Aggregator.fit`.
    settings : the method's own, by name.

    Examples
    --------
    >>> import seqtruth as st
    >>> names = {"ann": [["B-PER", "O"]], "bob": [["B-PER", "O"]], "cat": [["O", "O"]]}
    >>> result = st.aggregate(st.Crowd.of(names, tokens=[["Ada", "ran"]]), "ds", max_iter=20)
    >>> result.spans()[0].text
    'Ada'
    """
    chosen = make_method(method, settings, seed)
    return chosen.fit(crowd, gold, checkpoint=checkpoint, resume=resume, progress=progress)
