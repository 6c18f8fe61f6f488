"""Every method under one roof: ``METHODS`` maps the word a user types to the class."""

from seqtruth.methods.accord.accord import Accord
from seqtruth.methods.base import Aggregator
from seqtruth.methods.bayes.bsc import BSC, BSCCM, BSCCV, BSCAcc, BSCSeq, BSCSeqIF, BSCSpam
from seqtruth.methods.bayes.dawid_skene import DawidSkene
from seqtruth.methods.bayes.hmm_crowd import HMMCrowd
from seqtruth.methods.bayes.mace import MACE
from seqtruth.methods.choice import make_method
from seqtruth.methods.crf_ma import CRFMA
from seqtruth.methods.neural.crowd_layer import CrowdLayer
from seqtruth.methods.neural.lstm_crowd import LSTMCrowd
from seqtruth.methods.registry import METHODS
from seqtruth.methods.vote.aggslc import AggSLC
from seqtruth.methods.vote.catd import CATD
from seqtruth.methods.vote.crh import CRH
from seqtruth.methods.vote.majority import MajorityVote
from seqtruth.methods.vote.optsla import OptSLA

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
    "make_method",
]
