"""The table of agreement in docs/agreement.md: ``python tools/agreement_page.py`` prints it.

Data sets that are not on this machine are left out (``SEQTRUTH_DATA``).
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import seqtruth as st
from seqtruth.errors import SeqTruthError
from seqtruth.text_tables import markdown_table

SETS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("demo", {}), ("ner", {}), ("pico", {"unlabelled": True}), ("essays", {}), ("bambara", {}),
    ("ncbi-disease", {}), ("bc5cdr", {}), ("conll-rules", {}),
)  # fmt: skip
MEASURES = {
    "alpha": "alpha", "alpha_u": "alpha_U", "fleiss_kappa": "Fleiss", "cohen_kappa": "Cohen",
    "ac1": "AC1", "span_f1": "span F1", "span_f1_overlap": "partial F1",
}  # fmt: skip


def main() -> None:
    columns: dict[str, list[Any]] = {"data": [], "annotators": [], "labels": [], "silent": []}
    columns |= {name: [] for name in MEASURES.values()} | {"alpha, 95 %": [], "CPU s": []}
    st.agreement(st.datasets.load("demo").crowd[:20], n_resamples=2)  # kernels are compiled once
    for name, options in SETS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                crowd = st.datasets.load(name, **options).crowd
        except SeqTruthError:
            continue
        start = time.process_time()
        found = st.agreement(crowd)
        columns["CPU s"].append(round(time.process_time() - start, 1))
        columns["data"].append(name + (" (all)" if options else ""))
        columns["annotators"].append(crowd.n_annotators)
        columns["labels"].append(len(crowd.tags))
        columns["silent"].append(len(found.silent))
        for measure, title in MEASURES.items():
            columns[title].append(found.overall[measure].value)
        alpha = found.overall["alpha"]
        columns["alpha, 95 %"].append(f"{alpha.low:.2f} to {alpha.high:.2f}")
    print(markdown_table("", columns).strip())


if __name__ == "__main__":
    main()
