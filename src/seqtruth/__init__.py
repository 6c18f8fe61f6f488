"""SeqTruth: labels you can trust from many unreliable annotators of the same sequences.

Names are imported when first used, so that ``import seqtruth`` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from seqtruth._version import __version__

if TYPE_CHECKING:
    from seqtruth import datasets, io, metrics, predictors
    from seqtruth.aggregation import aggregate
    from seqtruth.comparison import compare
    from seqtruth.data.corpus import Corpus
    from seqtruth.data.crowd import Crowd
    from seqtruth.data.labelling import Labelling
    from seqtruth.data.scheme import Scheme
    from seqtruth.engine import stream
    from seqtruth.errors import SeqTruthError
    from seqtruth.inter_annotator import agreement
    from seqtruth.io import convert, read, write
    from seqtruth.methods import (
        BSC,
        CATD,
        CRFMA,
        CRH,
        MACE,
        Accord,
        AggSLC,
        BSCSeq,
        BSCSeqIF,
        CrowdLayer,
        DawidSkene,
        HMMCrowd,
        LSTMCrowd,
        MajorityVote,
        OptSLA,
    )
    from seqtruth.metrics import evaluate
    from seqtruth.predictors import Tagger, Transformer
    from seqtruth.result import Result
    from seqtruth.simulation import simulate

_HOMES = {
    "Accord": "methods",
    "AggSLC": "methods",
    "BSC": "methods",
    "BSCSeq": "methods",
    "BSCSeqIF": "methods",
    "CATD": "methods",
    "CRFMA": "methods",
    "CRH": "methods",
    "Corpus": "data.corpus",
    "Crowd": "data.crowd",
    "CrowdLayer": "methods",
    "DawidSkene": "methods",
    "HMMCrowd": "methods",
    "LSTMCrowd": "methods",
    "Labelling": "data.labelling",
    "MACE": "methods",
    "MajorityVote": "methods",
    "OptSLA": "methods",
    "Result": "result",
    "Scheme": "data.scheme",
    "SeqTruthError": "errors",
    "Tagger": "predictors",
    "Transformer": "predictors",
    "aggregate": "aggregation",
    "agreement": "inter_annotator",
    "compare": "comparison",
    "convert": "io",
    "evaluate": "metrics",
    "read": "io",
    "simulate": "simulation",
    "stream": "engine",
    "write": "io",
}
_ROOMS = (
    "datasets", "decisions", "engine", "errors", "io", "methods", "metrics", "predictors", "report",
    "simulation", "testing",
)  # fmt: skip

__all__ = [
    "BSC",
    "CATD",
    "CRFMA",
    "CRH",
    "MACE",
    "Accord",
    "AggSLC",
    "BSCSeq",
    "BSCSeqIF",
    "Corpus",
    "Crowd",
    "CrowdLayer",
    "DawidSkene",
    "HMMCrowd",
    "LSTMCrowd",
    "Labelling",
    "MajorityVote",
    "OptSLA",
    "Result",
    "Scheme",
    "SeqTruthError",
    "Tagger",
    "Transformer",
    "__version__",
    "aggregate",
    "agreement",
    "compare",
    "convert",
    "datasets",
    "evaluate",
    "io",
    "metrics",
    "predictors",
    "read",
    "simulate",
    "stream",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"seqtruth.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return importlib.import_module(f"seqtruth.{name}")
    raise AttributeError(f"module 'seqtruth' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
