"""What ``seqtruth info`` tells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqtruth._version import __version__
from seqtruth.cli.display import cell

if TYPE_CHECKING:
    from seqtruth.data.crowd import Crowd
    from seqtruth.metrics.agreement import Agreement

#: How many annotators, and how many pairs of them, are shown.
MOST, PAIRS = 40, 10


def installation() -> dict[str, Any]:
    import importlib.util

    import numba
    import numpy
    import pyarrow

    from seqtruth.io import FORMATS
    from seqtruth.kernels.jit import kernels_are_cached
    from seqtruth.kernels.threads import threads
    from seqtruth.methods import METHODS

    extras = [
        name for name in ("torch", "transformers", "pyspark") if importlib.util.find_spec(name)
    ]
    return {
        "seqtruth": __version__,
        "methods": ", ".join(METHODS),
        "formats": ", ".join(FORMATS),
        "threads": threads(),
        "kernels": "compiled and cached" if kernels_are_cached() else "compiled at first use",
        "extras": ", ".join(extras) or "none",
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "numba": numba.__version__,
        "pyarrow": pyarrow.__version__,
    }


def saved(path: Path) -> dict[str, Any]:
    """A saved result or tagger."""
    from seqtruth import archive
    from seqtruth.predictors import Tagger
    from seqtruth.result import Result

    if archive.kind_of(path) != "tagger":
        result = Result.load(path)
        tagger = None if result.tagger is None else getattr(result.tagger.predictor, "name", "own")
        return {"result": str(result), **result.provenance, "tagger": tagger or "none"}
    Tagger.load(path)  # which says so where anything in it does not fit
    meta, arrays = archive.load(path, "tagger")
    return {
        "tagger": meta["predictor"],
        "scheme": meta["scheme"],
        "labels": ", ".join(meta["labels"]),
        "parameters": sum(array.size for array in arrays.values() if array.dtype.kind == "f"),
        "settings": meta["settings"],
    }


def labels(path: Path, format: str | None, scheme: str | None) -> dict[str, Any]:
    """A file of annotations."""
    import numpy as np

    from seqtruth.io import detect_format, read
    from seqtruth.metrics import agreement

    crowd = read(path, format, scheme)
    bare = ~crowd.covered & (np.diff(crowd.corpus.token_offsets) > 0)  # no tokens lack no labels
    facts: dict[str, Any] = {
        "format": format or detect_format(path),
        "scheme": crowd.scheme.kind,
        "sentences": crowd.n_sentences,
        "tokens": crowd.n_tokens,
        "documents": len(crowd.corpus.documents),
        "annotators": crowd.n_annotators,
        "annotations": crowd.n_rows,
        "unlabelled sentences": int(bare.sum()),
        "labels": ", ".join(crowd.scheme.labels),
        "digest": crowd.digest(),
    }
    found = agreement(crowd)
    if crowd.n_annotators > 1:
        facts["agreement (tokens)"] = round(float(found.observed), 4)
        facts["Krippendorff's alpha"] = round(float(found.alpha), 4)
        facts["agreement (span F1)"] = round(float(found.span_f1), 4)
    facts["each annotator"] = _each(crowd, found)
    facts["closest pairs"] = _closest(found)
    return facts


def _each(crowd: Crowd, found: Agreement) -> list[dict[str, Any]]:
    """Sentences of each annotator and mean span F1 with the others, those who agree most first."""
    import numpy as np

    sentences = np.bincount(crowd.row_annotator, minlength=crowd.n_annotators)
    rows = [
        {
            "annotator": name,
            "sentences": int(sentences[w]),
            "span F1": round(found.of_annotator(name)["span_f1"], 4),
        }
        for w, name in enumerate(crowd.annotators)
    ]
    return sorted(rows, key=lambda row: (-np.nan_to_num(row["span F1"], nan=-1), row["annotator"]))


def _closest(found: Agreement) -> list[dict[str, Any]]:
    """Pairs who agree most, so that copies stand out.

    Where there are many pairs, those who share fewer tokens than the median pair are left out: two
    who met once agree perfectly by chance.
    """
    import numpy as np

    pairs = found.pairs
    usable = ~np.isnan(pairs.span_f1)
    if len(pairs) > PAIRS:
        usable &= pairs.tokens >= np.median(pairs.tokens)
    chosen = np.flatnonzero(usable)
    order = np.lexsort((-pairs.tokens[chosen], -pairs.span_f1[chosen]))
    return [
        {
            "first": found.annotators[pairs.first[k]],
            "second": found.annotators[pairs.second[k]],
            "tokens": int(pairs.tokens[k]),
            "span F1": round(float(pairs.span_f1[k]), 4),
        }
        for k in chosen[order][:PAIRS]
    ]


def show(facts: dict[str, Any]) -> None:
    """Facts for people: single ones first, then each list in columns."""
    single = {key: value for key, value in facts.items() if not isinstance(value, list)}
    wide = max(map(len, single))
    for key, value in single.items():
        print(f"{key:<{wide}}  {value}")
    for key, rows in facts.items():
        if isinstance(rows, list) and rows:
            print(f"\n{key}")
            _columns([list(rows[0]), *([_text(v) for v in row.values()] for row in rows[:MOST])])
            if len(rows) > MOST:
                print(f"  … and {len(rows) - MOST:,} more (--json lists all)")


def _text(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) and value == value else cell(value)


def _columns(rows: list[list[str]]) -> None:
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            text.rjust(w) if name in ("sentences", "tokens", "span F1") else text.ljust(w)
            for text, w, name in zip(row, wide, rows[0], strict=True)
        ]
        print("  " + "  ".join(cells).rstrip())
