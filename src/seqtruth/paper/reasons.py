"""Why figures differ from the paper's, as far as we know."""

from __future__ import annotations

from importlib import resources

from seqtruth.paper.paper import TABLES
from seqtruth.paper.scores import Row

#: Further from the paper's F1 than this many points is worth a reason.
FAR = 1.0

_NETWORK = (
    "another network under the crowd layer (ours is stronger), and the paper does not name its text"
)
_CRF = "a CRF where the paper has BERT, and the paper does not name its text"
#: (table, method's word, data set) -> reason; ``*`` stands for any.
_REASONS: dict[tuple[str, str, str], str] = {
    ("table3", "*", "*"): "other annotators than the paper's, and their silence heard as such",
    ("table5", "dl-cl", "*"): _NETWORK,
    ("table5", "aggslc", "*"): _CRF,
    ("*", "mv", "pico"): "another tokenisation and an unstated tie rule, which alone moves it by points",
    ("*", "mv", "ner"): "the reading: `b-required` on `nguyen_test` gives the paper's row",
    ("*", "crf-ma", "ner"): "copied from its authors' paper; features and sentences may differ",
    ("*", "hmm-crowd", "*"): "smoothing described in words only; the variational version is another row",
    ("*", "bsc-seq", "ner"): "the paper mixes evaluation sets; with text features ours is above it",
    ("*", "bsc-seq", "pico"): "priors: ours were chosen on the even documents, the paper states none",
    ("*", "optsla", "ner"): "its tagger's training is not known, its 4,515 sentences are others",
    ("*", "optsla", "pico"): "a CRF in place of its BiLSTM, another tokenisation",
    ("*", "aggslc", "ner"): "comes out with a tagger taught by gold (`seqtruth reproduce leak`)",
    ("*", "aggslc", "pico"): "a CRF where the paper has BERT, another tokenisation",
}  # fmt: skip
_PAPER_SETTINGS = (
    "the paper's class weights (inverse frequency) over-fire where O is most of the tokens"
)
_NO_TAGGER = (
    "no tagger is involved: class weights and averaging are ours, chosen on the tuning half"
)


def reason(row: Row) -> str:
    """Why a row is where it is; our best guess where nobody can know."""
    word = row.spec.partition(":")[0]
    if row.table in ("table2", "table4") and word == "aggslc":
        if "class_weights=inverse" in row.spec:
            return _PAPER_SETTINGS
        if "predictor=none" in row.spec:
            return _NO_TAGGER
    for table in (row.table, "*"):
        for method in (word, "*"):
            for data in (row.data, "*"):
                if found := _REASONS.get((table, method, data)):
                    return found
    return "not known"


def harmonic(table: str, data: str) -> tuple[list[str], list[str]]:
    """Rows of a table whose relaxed F1 is the harmonic mean of P and R, and those where it is not.

    >>> harmonic("table2", "ner")
    (['BSC-seq'], ['MV', 'HMM-crowd', 'OptSLA', 'AggSLC'])
    """
    found: tuple[list[str], list[str]] = ([], [])
    for name, figures in TABLES[table, data].items():
        if figures.relaxed is not None:
            p, r, f1 = figures.relaxed
            found[abs(2 * p * r / (p + r) - f1) > 0.02].append(name)
    return found


def not_comparable() -> str:
    """What no run can make comparable."""
    text = resources.files(__package__).joinpath("not_comparable.md").read_text(encoding="utf-8")
    all_yes = sum(len(harmonic(*key)[0]) for key in TABLES)
    all_no = sum(len(harmonic(*key)[1]) for key in TABLES)
    yes, no = harmonic("table2", "ner")
    return text.format(n_yes=all_yes, n_no=all_no, yes=", ".join(yes), no=", ".join(no))
