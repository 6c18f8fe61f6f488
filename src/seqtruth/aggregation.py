"""The main job in one call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seqtruth.engine.opening import Readable, in_parts, opened
from seqtruth.methods.choice import DEFAULT, MethodLike, make_method
from seqtruth.metrics.align import Source
from seqtruth.result import Result


def aggregate(
    source: Readable,
    method: MethodLike = DEFAULT,
    *,
    gold: Source | None = None,
    seed: int | None = None,
    format: str | None = None,
    scheme: str | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    **settings: Any,
) -> Result:
    """Labels, annotators' reliabilities and a tagger, by the best method that is installed.

    :class:`~seqtruth.methods.Accord` with the CRF, and with the BiLSTM beside it where
    ``seqtruth[torch]`` is installed and there are 2,000 to 20,000 sentences; without a predictor where
    there is no text.

    Parameters
    ----------
    source : the annotations: a path, several paths, a pandas, Polars or Arrow table, a crowd (left
        untouched), or a crowd in parts (:func:`seqtruth.stream`), whose result stays with the data.
    method : its name, with settings where wanted (``"aggslc:folds=3"``), a class, or a method.
    gold : true labels known for some sentences: a labelling, a crowd of one, a path or a frame. They are
        kept fixed, and confidences are fitted to them.
    seed : same seed, same bytes.
    format, scheme : of files, where they are not to be found from the content.
    checkpoint, resume : as in :meth:`seqtruth.methods.Aggregator.fit`.
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
    if in_parts(source):
        chosen.check_engine("parts", known=gold is not None)
    crowd: Any = opened(source, format, scheme)
    result: Result = chosen.fit(crowd, gold, checkpoint=checkpoint, resume=resume)
    return result
