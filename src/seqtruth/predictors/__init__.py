"""The prediction module: learn a tagger from aggregated labels and hear its opinion."""

from seqtruth.predictors.base import Predictor
from seqtruth.predictors.choice import best_predictor, choose_predictor
from seqtruth.predictors.crf.crf import CRF
from seqtruth.predictors.ensemble import Ensemble
from seqtruth.predictors.registry import PREDICTORS
from seqtruth.predictors.tagger import Tagger
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.predictors.transformer.transformer import Transformer

__all__ = [
    "CRF",
    "PREDICTORS",
    "BiLSTM",
    "Ensemble",
    "Predictor",
    "Tagger",
    "Transformer",
    "best_predictor",
    "choose_predictor",
]
