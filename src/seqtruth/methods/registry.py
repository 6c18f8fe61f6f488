"""Methods by name: ours, and those of other packages."""

from __future__ import annotations

from seqtruth.methods.accord.accord import Accord
from seqtruth.methods.base import Aggregator
from seqtruth.methods.bayes.bsc import BSCCM, BSCCV, BSCAcc, BSCSeq, BSCSeqIF, BSCSpam
from seqtruth.methods.bayes.dawid_skene import DawidSkene
from seqtruth.methods.bayes.hmm_crowd import HMMCrowd
from seqtruth.methods.bayes.mace import MACE
from seqtruth.methods.crf_ma import CRFMA
from seqtruth.methods.neural.crowd_layer import CrowdLayer
from seqtruth.methods.neural.lstm_crowd import LSTMCrowd
from seqtruth.methods.vote.aggslc import AggSLC
from seqtruth.methods.vote.catd import CATD
from seqtruth.methods.vote.crh import CRH
from seqtruth.methods.vote.majority import MajorityVote
from seqtruth.methods.vote.optsla import OptSLA
from seqtruth.plugins import Registry

_OURS: tuple[type[Aggregator], ...] = (
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
#: Methods by the word a user types; other packages add theirs as entry points ``seqtruth.methods``.
METHODS: Registry[type[Aggregator]] = Registry(
    "seqtruth.methods", "method", {kind.name: kind for kind in _OURS}, ("fit", "name")
)
