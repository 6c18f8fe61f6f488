"""Gamma, through the package ``pygamma-agreement``."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.spans import extract
from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.kernels.arrays import F64
from seqtruth.metrics.agreement.drawing import Draws, Estimate
from seqtruth.metrics.bootstrap import knows_documents

#: Random continua that expected disorder is estimated from.
SAMPLES = 30


def gamma(
    crowd: Crowd, documents: int = 20, n_resamples: int = 500, level: float = 0.95, seed: int = 0
) -> Estimate:
    """Mean gamma of some documents, with an interval over these.

    Gamma aligns the spans of all annotators at the least cost of position and type, and compares it with that
    of random continua. It takes seconds a document; hence only some are measured, drawn by ``seed``.

    Parameters
    ----------
    crowd : the annotators' labels.
    documents : how many documents (sentences, where there are none) are measured; those on which fewer than
        two annotators mark anything have no gamma.
    n_resamples, level, seed : of the interval, as for :func:`~seqtruth.metrics.agreement.agreement`.

    References
    ----------
    Mathet, Widlöcher and Métivier (2015), "The unified and holistic method gamma (γ) for inter-annotator
    agreement measure and alignment". https://doi.org/10.1162/COLI_a_00227
    Titeux and Riad (2021), "pygamma-agreement". https://doi.org/10.21105/joss.02989
    """
    if documents < 1:
        raise ParameterError("gamma needs at least one document", got=str(documents))
    logging.getLogger().addFilter(_no_solver_advice)
    try:
        values = _of_documents(crowd, documents, seed)
    finally:
        logging.getLogger().removeFilter(_no_solver_advice)
    if not len(values):
        return Estimate(float("nan"))
    draws = Draws.of(len(values), n_resamples, level, seed)
    again = draws.column(values) / len(values)
    low, high = draws.interval(again)
    return Estimate(float(values.mean()), float(low), float(high))


def _no_solver_advice(record: logging.LogRecord) -> bool:
    """The package recommends another solver once a call."""
    return "CBC solver" not in record.getMessage()


def _of_documents(crowd: Crowd, documents: int, seed: int) -> F64:
    try:
        from pyannote.core import Segment
        from pygamma_agreement import CombinedCategoricalDissimilarity, Continuum
    except ImportError as error:
        raise MissingExtraError("pygamma-agreement", "gamma", "gamma") from error
    spans = extract(crowd.tags, crowd.row_offsets, crowd.scheme)
    corpus = crowd.corpus
    whole = knows_documents(corpus)
    sentence = crowd.row_sentence[spans.sequence].astype(np.int64)
    home = corpus.sentence_document[sentence] if whole else sentence
    shift = corpus.token_offsets[sentence]
    who = crowd.row_annotator[spans.sequence]
    pairs = np.unique(np.stack([home, who]), axis=1)
    names, heads = np.unique(pairs[0], return_counts=True)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(names[heads >= 2])[:documents]
    measure = CombinedCategoricalDissimilarity(delta_empty=1, alpha=3, beta=1)
    found: list[float] = []
    for document in np.sort(chosen).tolist():
        continuum: Any = Continuum()
        for k in np.flatnonzero(home == document).tolist():
            start = int(shift[k] + spans.start[k])
            end = int(shift[k] + spans.end[k])
            kind = crowd.scheme.types[spans.type[k]]
            continuum.add(crowd.annotators[who[k]], Segment(start, end), kind)
        state = np.random.get_state()  # noqa: NPY002 - the package draws from NumPy's global state
        np.random.seed(seed)  # noqa: NPY002
        try:
            found.append(float(continuum.compute_gamma(measure, n_samples=SAMPLES).gamma))
        finally:
            np.random.set_state(state)  # noqa: NPY002
    return np.array(found)
