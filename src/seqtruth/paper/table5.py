"""Table 5: the taggers that come out, on text that nobody labelled.

The paper does not name its text. Ours: for NER, CoNLL's testa and testb, after the crowd's labels of
the NER data set; for PICO, the 191 abstracts with gold, after the crowd's labels of 250 abstracts of
the source's part ``dev``, none of which is among them.
"""

from __future__ import annotations

from dataclasses import replace

from seqtruth.paper import systems
from seqtruth.paper.grid import Block, Section, table_jobs, table_section
from seqtruth.paper.runs import Job
from seqtruth.paper.workshop import Workshop

_OURS = replace(systems.AGGSLC, name="AggSLC's tagger (CRF)", paper="L_pred")
_ACCORD = replace(systems.ACCORD, name="Accord's tagger (ours)")
_SYSTEMS = (
    systems.DL_CL,
    systems.DL_CL_MW,
    systems.LSTM,
    systems.LSTM_CAT,
    _OURS,
    _ACCORD,
)
_CHAMPIONS = ((_ACCORD, ()), (_OURS, (systems.DL_CL, systems.DL_CL_MW)))
BLOCKS = (
    Block("ner", _SYSTEMS, _CHAMPIONS, held_out=True),
    Block("pico-dev", _SYSTEMS, _CHAMPIONS, beside="pico", held_out=True),
)


def jobs(work: Workshop) -> list[tuple[Job, float]]:
    return table_jobs(work, BLOCKS)


def section(work: Workshop) -> Section:
    n = len(set(work.material("pico-dev").crowd.corpus.sentence_document.tolist()))
    intro = (
        "The paper does not say which text its Table 5 is scored on. Here every tagger learns from\n"
        "crowd labels and is scored on text that it has not seen: CoNLL's `testa` and `testb` for NER;\n"
        f"for PICO the abstracts with gold, after {n} other abstracts (of the source's part `dev`,\n"
        "which has no gold).\n"
    )
    return table_section(work, "table5", "Table 5: the taggers", BLOCKS, intro)
