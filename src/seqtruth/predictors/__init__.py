"""The prediction module: learn a tagger from aggregated labels and hear its opinion."""

from collections.abc import Callable

from seqtruth.predictors.base import Predictor
from seqtruth.predictors.crf import CRF
from seqtruth.predictors.tagger import Tagger

#: Predictors by the word a user types.
PREDICTORS: dict[str, Callable[[], Predictor]] = {CRF.name: CRF}

__all__ = ["CRF", "PREDICTORS", "Predictor", "Tagger"]
