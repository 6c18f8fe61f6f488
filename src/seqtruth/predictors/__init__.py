"""The prediction module: learn a tagger from aggregated labels and hear its opinion."""

from seqtruth.predictors.base import Predictor
from seqtruth.predictors.crf import CRF
from seqtruth.predictors.tagger import Tagger

__all__ = ["CRF", "Predictor", "Tagger"]
