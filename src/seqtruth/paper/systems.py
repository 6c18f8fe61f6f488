"""The systems that are run: name on the page, spec, the paper's row, a lighter spec for ``--quick``."""

from __future__ import annotations

from dataclasses import dataclass

from seqtruth.paper.small_bert import WORD

#: What the paper sets where our defaults differ.
PAPER_SETTINGS = "prediction=low-confidence;class_weights=inverse;average=token;threshold=0.9"


@dataclass(frozen=True)
class System:
    """One row.

    Parameters
    ----------
    name : on the page.
    spec : as on the command line.
    paper : its row in the paper's tables, where it has one.
    light : settings for ``--quick``, put behind those of ``spec``.
    seconds : about what a run on NER takes on one core, for the estimate.
    quick_seconds : the same for ``--quick``.
    most_seeds : how many at most, where each is dear.
    """

    name: str
    spec: str
    paper: str | None = None
    light: str = ""
    seconds: float = 1.0
    quick_seconds: float | None = None
    most_seeds: int | None = None

    def words(self, quick: bool) -> str:
        """The spec to run.

        >>> System("OptSLA", "optsla", light="max_iter=2").words(quick=True)
        'optsla:max_iter=2'
        """
        if not quick or not self.light:
            return self.spec
        return f"{self.spec}{';' if ':' in self.spec else ':'}{self.light}"

    def expected(self, quick: bool) -> float:
        """Seconds a run may take on NER."""
        return self.seconds if not quick or self.quick_seconds is None else self.quick_seconds


_FEW = "max_iter=6;folds=2"

MV = System("Majority vote", "mv", "MV")
DS = System("Dawid-Skene", "ds")
HMM = System("HMM-crowd, EM", "hmm-crowd", "HMM-crowd", seconds=2)
BSC_SEQ = System("BSC-seq", "bsc-seq", "BSC-seq", seconds=2)
OPTSLA = System("OptSLA with CRF", "optsla", "OptSLA", "max_iter=2", 15, 15)
AGGSLC = System("AggSLC with CRF, our defaults", "aggslc", "AggSLC", _FEW, 150, 40)
AGGSLC_PAPER = System(
    "AggSLC with CRF, the paper's settings", f"aggslc:{PAPER_SETTINGS}", "AggSLC", "", 12
)
AGGSLC_LEARNT = System(
    "AggSLC with CRF, its weight learnt", "aggslc:prediction_weight=learnt", None, _FEW, 150, 40
)
#: A network learns for minutes where the CRF takes seconds: two folds, four rounds (two for the transformer).
_SLOW = "folds=2;max_iter=4"
AGGSLC_BILSTM = System(
    "AggSLC with BiLSTM", f"aggslc:predictor=bilstm;{_SLOW}", None, "max_iter=1", 300, 150
)
AGGSLC_BOTH = System(
    "AggSLC with CRF and BiLSTM", f"aggslc:predictor=best;{_SLOW}", None, "max_iter=1", 200, 100
)
AGGSLC_BOTH_LEARNT = System(
    "AggSLC with CRF and BiLSTM, their weight learnt",
    f"aggslc:predictor=best;{_SLOW};prediction_weight=learnt", None, "max_iter=1", 200, 100,
)  # fmt: skip
AGGSLC_TRANSFORMER = System(
    "AggSLC with a small BERT", f"aggslc:predictor={WORD};folds=2;max_iter=2", None, "max_iter=1",
    600, 400, 1,
)  # fmt: skip
DESCENT = System(
    "AggSLC with CRF, by descent", "aggslc:descent=true;tol=1e-5;max_iter=30", None,
    "max_iter=6;folds=2", 150, 40,
)  # fmt: skip
ALONE = System("AggSLC − L_pred", "aggslc:predictor=none", "AggSLC - L_pred")
UNREPAIRED = System("AggSLC − L_inc", "aggslc:decoding=none", "AggSLC - L_inc", _FEW, 120, 35)
DL_CL = System("DL-CL, VW", "dl-cl", "DL_CL", "pretrain=2;max_iter=2", 75, 40)
DL_CL_MW = System("DL-CL, MW", "dl-cl:variant=MW", "DL_CL", "pretrain=2;max_iter=2", 105, 50)
LSTM = System("LSTM-Crowd", "lstm-crowd:variant=add", None, "max_iter=4", 100, 50)
LSTM_CAT = System("LSTM-Crowd-cat", "lstm-crowd", None, "max_iter=4", 100, 50)
ACCORD = System("Accord (ours)", "accord", None, "predictor=crf;max_iter=1", 320, 40)

ACCORD_CRF = System("Accord with CRF (ours)", "accord:predictor=crf", None, "max_iter=1", 60, 40)

#: AggSLC with every prediction module, then what Accord makes of the same ones.
BEST = (
    ALONE,
    AGGSLC,
    AGGSLC_LEARNT,
    DESCENT,
    AGGSLC_BILSTM,
    AGGSLC_BOTH,
    AGGSLC_BOTH_LEARNT,
    AGGSLC_TRANSFORMER,
    ACCORD_CRF,
)

#: Table 2: everything.
ALL = (
    MV,
    DS,
    System("MACE", "mace", None, "", 4),
    System("CRH", "crh"),
    System("CATD", "catd"),
    System("CRF-MA", "crf-ma", "CRF-MA", "", 35),
    HMM,
    System("HMM-crowd, variational", "hmm-crowd:variational=true;smoothing=0.1", seconds=2),
    System("BSC, one accuracy", "bsc-acc"),
    System("BSC, spammer model", "bsc-spam", seconds=2),
    System("BSC, confusion vector", "bsc-cv"),
    System("BSC, confusion matrix", "bsc-cm"),
    BSC_SEQ,
    System("BSC-seq with text features", "bsc-seq-if", seconds=3),
    System("OptSLA without predictor", "optsla:predictor=none"),
    OPTSLA,
    AGGSLC_PAPER,
    AGGSLC,
    DL_CL,
    DL_CL_MW,
    LSTM,
    LSTM_CAT,
    ACCORD,
)

#: Table 4: the four rows in our settings and in the paper's.
ABLATIONS = (
    AGGSLC,
    UNREPAIRED,
    ALONE,
    System(
        "AggSLC − L_inc − L_pred",
        "aggslc:predictor=none;decoding=none",
        "AggSLC - (L_inc, L_pred)",
    ),
)
ABLATIONS_PAPER = (
    AGGSLC_PAPER,
    *(
        System(
            f"{one.name}, the paper's settings",
            f"{one.spec};{PAPER_SETTINGS}",
            one.paper,
            seconds=12,
        )
        for one in ABLATIONS[1:]
    ),
)
