"""Every figure of the paper's Tables 2 to 5, and its two correlations, in per cent as printed.

Sabetpour, Kulkarni, Xie & Li (2021), Truth discovery in sequence labels from crowds, ICDM.
doi:10.48550/arXiv.2109.04470
"""

from __future__ import annotations

from typing import NamedTuple


class Triple(NamedTuple):
    """Precision, recall, F1."""

    precision: float
    recall: float
    f1: float


class Figures(NamedTuple):
    """A row on one data set; the paper's CRF-MA has no relaxed scores."""

    strict: Triple
    relaxed: Triple | None


def _row(*values: float) -> Figures:
    return Figures(Triple(*values[:3]), Triple(*values[3:]) if len(values) > 3 else None)


#: (table, data set) -> the table's rows by name.
TABLES: dict[tuple[str, str], dict[str, Figures]] = {
    ("table2", "ner"): {
        "MV": _row(79.9, 55.3, 65.4, 93.17, 81.98, 85.02),
        "CRF-MA": _row(80.29, 51.20, 62.53),
        "HMM-crowd": _row(77.40, 72.29, 74.76, 89.54, 88.55, 87.67),
        "BSC-seq": _row(80.3, 73.72, 76.87, 94.70, 86.40, 90.36),
        "OptSLA": _row(79.42, 77.59, 78.49, 91.31, 92.01, 90.54),
        "AggSLC": _row(83.02, 78.69, 80.79, 92.64, 92.47, 91.63),
    },
    ("table2", "pico"): {
        "MV": _row(65.21, 43.23, 51.99, 94.42, 89.42, 89.60),
        "HMM-crowd": _row(46.56, 49.59, 48.03, 79.53, 93.89, 86.11),
        "BSC-seq": _row(55.56, 51.70, 53.56, 84.53, 94.12, 89.07),
        "OptSLA": _row(64.61, 49.17, 55.84, 92.28, 93.76, 90.84),
        "AggSLC": _row(64.03, 52.62, 57.77, 92.20, 95.15, 93.65),
    },
    ("table3", "synthetic"): {
        "MV": _row(79.03, 39.41, 52.6, 95.85, 70.68, 77.81),
        "HMM-crowd": _row(63.60, 57.43, 60.36, 85.16, 80.66, 81.38),
        "BSC-seq": _row(71.42, 49.93, 58.77, 85.10, 74.48, 79.44),
        "OptSLA": _row(83.08, 48.88, 61.55, 96.48, 76.42, 82.46),
        "AggSLC": _row(80.37, 59.0, 68.05, 95.08, 81.38, 85.45),
    },
    ("table4", "ner"): {
        "AggSLC": _row(83.02, 78.69, 80.79, 92.64, 92.47, 91.63),
        "AggSLC - L_inc": _row(80.96, 77.36, 79.12, 91.65, 90.02, 90.83),
        "AggSLC - L_pred": _row(73.13, 68.01, 70.48, 86.45, 87.42, 86.93),
        "AggSLC - (L_inc, L_pred)": _row(72.47, 64.62, 68.32, 85.58, 86.16, 85.87),
    },
    ("table4", "pico"): {
        "AggSLC": _row(64.03, 52.62, 57.77, 92.20, 95.15, 93.65),
        "AggSLC - L_inc": _row(56.23, 51.10, 53.55, 90.63, 93.85, 92.21),
        "AggSLC - L_pred": _row(64.27, 48.20, 55.09, 92.68, 92.85, 92.76),
        "AggSLC - (L_inc, L_pred)": _row(56.07, 48.48, 52.00, 90.18, 93.26, 91.69),
    },
    ("table5", "ner"): {
        "DL_CL": _row(66.00, 59.30, 62.40, 82.45, 79.79, 78.80),
        "L_pred": _row(70.95, 77.16, 73.93, 84.01, 91.31, 87.51),
    },
    ("table5", "pico"): {
        "DL_CL": _row(25.73, 47.65, 33.41, 77.71, 92.10, 79.73),
        "L_pred": _row(38.9, 46.69, 42.44, 78.51, 91.73, 84.60),
    },
}

#: Annotators' weights against their strict F1; the paper does not say on which data set.
PEARSON, SPEARMAN = 0.79, 0.87


def figures(table: str, data: str, row: str | None) -> Figures | None:
    """The paper's row, where it has one.

    >>> figures("table2", "ner", "MV").strict.f1
    65.4
    """
    return None if row is None else TABLES.get((table, data), {}).get(row)
