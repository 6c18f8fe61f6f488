"""Every method under one roof: ``METHODS`` maps the word a user types to the class."""

from seqtruth.aggregators.accord import Accord
from seqtruth.aggregators.aggslc import AggSLC
from seqtruth.aggregators.base import Aggregator
from seqtruth.aggregators.bsc import BSC, BSCCM, BSCCV, BSCAcc, BSCSeq, BSCSeqIF, BSCSpam
from seqtruth.aggregators.catd import CATD
from seqtruth.aggregators.crf_ma import CRFMA
from seqtruth.aggregators.crh import CRH
from seqtruth.aggregators.crowd_layer import CrowdLayer
from seqtruth.aggregators.dawid_skene import DawidSkene
from seqtruth.aggregators.default import aggregate
from seqtruth.aggregators.hmm_crowd import HMMCrowd
from seqtruth.aggregators.lstm_crowd import LSTMCrowd
from seqtruth.aggregators.mace import MACE
from seqtruth.aggregators.majority import MajorityVote
from seqtruth.aggregators.optsla import OptSLA

METHODS: dict[str, type[Aggregator]] = {
    method.name: method
    for method in (
        MajorityVote,
        DawidSkene,
        MACE,
        CRH,
        CATD,
        CRFMA,
        HMMCrowd,
        BSCSeq,
        BSCSeqIF,
        BSCCM,
        BSCCV,
        BSCSpam,
        BSCAcc,
        OptSLA,
        AggSLC,
        CrowdLayer,
        LSTMCrowd,
        Accord,
    )
}

__all__ = [
    "BSC",
    "BSCCM",
    "BSCCV",
    "CATD",
    "CRFMA",
    "CRH",
    "MACE",
    "METHODS",
    "Accord",
    "AggSLC",
    "Aggregator",
    "BSCAcc",
    "BSCSeq",
    "BSCSeqIF",
    "BSCSpam",
    "CrowdLayer",
    "DawidSkene",
    "HMMCrowd",
    "LSTMCrowd",
    "MajorityVote",
    "OptSLA",
    "aggregate",
]
