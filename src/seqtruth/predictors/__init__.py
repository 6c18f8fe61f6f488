"""The prediction module: learn a tagger from aggregated labels and hear its opinion."""

from collections.abc import Callable

from seqtruth.predictors.base import Predictor
from seqtruth.predictors.bilstm import BiLSTM
from seqtruth.predictors.crf import CRF
from seqtruth.predictors.tagger import Tagger
from seqtruth.predictors.transformer import Transformer

#: Predictors by the word a user types.
PREDICTORS: dict[str, Callable[..., Predictor]] = {
    CRF.name: CRF,
    BiLSTM.name: BiLSTM,
    Transformer.name: Transformer,
}

__all__ = ["CRF", "PREDICTORS", "BiLSTM", "Predictor", "Tagger", "Transformer"]
