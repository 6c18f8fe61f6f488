"""What a data set holds, in figures, and where it comes from."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqtruth.data.spans import extract
from seqtruth.datasets.catalogue import RECIPES, needs, title
from seqtruth.datasets.other_sources import SETS
from seqtruth.datasets.tables import Dataset


def describe(data: Dataset) -> dict[str, Any]:
    """Figures of a loaded data set, its splits, licence, source and citation."""
    crowd, gold = data.crowd, data.gold
    each = np.bincount(crowd.row_sentence, minlength=crowd.n_sentences)[crowd.covered]
    spans = extract(gold.tags, gold.row_offsets, gold.scheme)
    return {
        "name": data.name,
        "title": title(data.name),
        "sentences": crowd.n_sentences,
        "sentences with crowd": int(crowd.covered.sum()),
        "documents": len(crowd.corpus.documents),
        "tokens": crowd.n_tokens,
        "annotators": crowd.n_annotators,
        "annotations": crowd.n_rows,
        "per sentence": f"{each.mean():.2f} ({each.min()}-{each.max()})" if each.size else "0",
        "labels": ", ".join(sorted(crowd.scheme.labels)),
        "gold sentences": int(gold.covered.sum()),
        "gold spans": len(spans.type),
        **terms(data.name),
        "splits": [
            {"split": name, "sentences": int(mask.sum())} for name, mask in data.splits.items()
        ],
    }


def terms(name: str) -> dict[str, str]:
    """Licence, source and citation of a data set or of the text it is made of."""
    if name in SETS:
        made = SETS[name]
        licence = "as its source says; use it for research, and do not pass the text on"
        return {"licence": licence, "source": made.source, "citation": made.citation}
    recipe = RECIPES.get(needs(name))
    if recipe is None:
        return {
            "licence": "Apache-2.0, as SeqTruth",
            "source": "part of SeqTruth",
            "citation": "see CITATION.cff",
        }
    return {"licence": recipe.licence, "source": recipe.source, "citation": recipe.citation}
