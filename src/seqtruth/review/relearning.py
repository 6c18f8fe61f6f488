"""A process of its own that fits anew: ``python -m seqtruth.review.relearning RESULT KNOWN OUT HOW``.

The server goes on answering beside it. Nothing is handed over but files.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from dataclasses import replace

import numpy as np

from seqtruth.data.labelling import Labelling
from seqtruth.errors import DataError
from seqtruth.result import Result
from seqtruth.review.learning import tried


def main(source: str, known: str, target: str, how: str) -> None:
    """Read a saved result (with its crowd) and known tags, fit, and save.

    Parameters
    ----------
    source : the saved result.
    known : tags of all tokens as a ``.npy`` file, -1 where nothing is known.
    target : where to save.
    how : ``update``, or ``refit`` for everything anew, predictor included.
    """
    with suppress(OSError, AttributeError):
        os.nice(10)
    result = Result.load(source)
    if result.crowd is None:
        raise DataError("the result does not know who said what", where=source)
    tags = np.load(known, allow_pickle=False)
    labels = Labelling(result.corpus, result.scheme, tags)
    found, trial = tried(result, result.crowd, labels, refit=how == "refit")
    about = {**found.provenance, "trial": {**trial._asdict(), "helps": trial.helps}}
    replace(found, provenance=about).save(target, crowd=True)  # explained by who said what


if __name__ == "__main__":
    main(*sys.argv[1:])
