"""Opens saved files one after the other and says what came of each: a program of its own, because what
must not happen is a crash, which no test survives.

A line of standard input names what to do and a file; a line of standard output answers.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import seqtruth as st
from seqtruth.errors import SeqTruthError
from seqtruth.methods import (
    CRFMA,
    CRH,
    MACE,
    Accord,
    Aggregator,
    AggSLC,
    BSCSeq,
    CrowdLayer,
    DawidSkene,
    HMMCrowd,
    LSTMCrowd,
    OptSLA,
)  # fmt: skip
from seqtruth.predictors import CRF, BiLSTM

WORDS = ["Ada", "Lovelace", "met", "Charles", "in", "London", "."]


def crowd() -> st.Crowd:
    """What checkpoints are of: small, with text, and annotators who differ."""
    return st.datasets.load("demo").crowd[:40]


def checkpointed() -> dict[str, Aggregator]:
    """Methods that keep rounds, all families, with few and fast rounds."""
    crf = CRF(max_iter=3, further_iter=2)
    found: list[Aggregator] = [
        DawidSkene(max_iter=3, tol=0.0),
        MACE(max_iter=3, tol=0.0),
        HMMCrowd(max_iter=3, tol=0.0),
        BSCSeq(max_iter=3, tol=0.0),
        CRH(max_iter=3, tol=0.0),
        OptSLA(max_iter=3, tol=0.0),
        AggSLC(predictor=crf, max_iter=3, folds=2, tol=0.0),
        CRFMA(predictor=crf, max_iter=3, tol=0.0),
        Accord(predictor=crf, max_iter=2, folds=2),
    ]
    named = {method.name: method for method in found}
    named["low-confidence"] = AggSLC(
        predictor=crf, max_iter=3, prediction="low-confidence", tol=0.0
    )
    if importlib.util.find_spec("torch"):
        net = BiLSTM(hidden=4, vectors="none")
        named["dl-cl"] = CrowdLayer(predictor=net, pretrain=1, max_iter=1)
        named["lstm-crowd"] = LSTMCrowd(predictor=net, width=3, max_iter=2)
        named["bilstm"] = AggSLC(
            predictor=replace(net, epochs=1, further_epochs=1), max_iter=2, folds=2
        )
    return named


def opened(kind: str, path: Path) -> None:
    """Open a file and use all of it."""
    if kind in ("result", "fitted"):
        found = st.Result.load(path)
        str(found), str(found.history), found.spans(), found.span_confidence()
        if found.fitted is not None and found.crowd is not None:
            with contextlib.suppress(
                SeqTruthError
            ):  # opened it was; that it does not go on is no fault
                found.update(withdraw=[found.crowd.annotators[0]])
    elif kind == "tagger":
        st.Tagger.load(path).tag(WORDS)
    else:
        method = checkpointed()[kind]
        method.fit(crowd(), checkpoint=path.parent, resume=True)


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        kind, _, path = line.rstrip("\n").partition(" ")
        try:
            opened(kind, Path(path))
            print("read", flush=True)
        except SeqTruthError as error:
            print("refused", str(error).encode("unicode_escape").decode(), flush=True)


if __name__ == "__main__":
    main()
