"""What ``seqtruth info`` tells."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqtruth._version import __version__
from seqtruth.cli.display import harmless
from seqtruth.text_tables import cell

if TYPE_CHECKING:
    from seqtruth.data.crowd import Crowd
    from seqtruth.metrics.agreement import Agreement

#: How many annotators, and how many pairs of them, are shown.
MOST, PAIRS = 40, 10
#: Where two annotators meet more often than this, pairs are not held against each other (it takes minutes).
MOST_MEETINGS = 20_000_000


def installation() -> dict[str, Any]:
    import importlib.util

    import numpy
    import pyarrow

    from seqtruth.io import FORMATS
    from seqtruth.kernels.native import built
    from seqtruth.kernels.threads import threads
    from seqtruth.methods import METHODS
    from seqtruth.predictors import PREDICTORS

    extras = [
        name for name in ("torch", "transformers", "pyspark") if importlib.util.find_spec(name)
    ]
    return {
        "seqtruth": __version__,
        "methods": list(METHODS),
        "predictors": list(PREDICTORS),
        "formats": list(FORMATS),
        "threads": threads(),
        "kernels": built(),
        "extras": extras,
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "pyarrow": pyarrow.__version__,
    }


def saved(path: Path) -> dict[str, Any]:
    """A saved result, tagger or checkpoint."""
    from seqtruth import archive
    from seqtruth.errors import InputError
    from seqtruth.predictors import Tagger
    from seqtruth.result import Result

    kind = archive.kind_of(path)
    if kind == "checkpoint":
        return _checkpoint(path)
    if kind not in ("result", "tagger"):
        said = "it is damaged" if kind is None else "it says it is something else"
        raise InputError(
            f"this is no saved result, tagger or checkpoint, or {said}", where=str(path),
            got=None if kind is None else repr(kind)[:100], fix="save it again",
        )  # fmt: skip
    if kind == "result":
        result = Result.load(path)
        tagger = None if result.tagger is None else getattr(result.tagger.predictor, "name", "own")
        return {"result": str(result), **result.provenance, "tagger": tagger or "none"}
    tagger = Tagger.load(path)  # which says so where anything in it does not fit
    meta, arrays = archive.load(path, "tagger")
    return {
        "tagger": meta["predictor"],
        "scheme": meta["scheme"],
        "labels": list(meta["labels"]),
        **(
            {"layers": [list(part.scheme.labels) for _, part in tagger.layers]}
            if tagger.layers
            else {}
        ),
        "parameters": sum(array.size for array in arrays.values() if array.dtype.kind == "f"),
        "settings": meta["settings"],
    }


def _checkpoint(path: Path) -> dict[str, Any]:
    """Which run a checkpoint is of, and how far that is."""
    import json

    from seqtruth import archive
    from seqtruth.errors import InputError
    from seqtruth.history import History

    meta, _ = archive.load(path, "checkpoint")
    try:
        history = History.from_dict(meta["history"])
        version, method, parameters, digest = json.loads(meta["fingerprint"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"the checkpoint is damaged ({error!r})", where=str(path)) from None
    return {
        "checkpoint": str(method),
        "seqtruth": str(version),
        "rounds": len(history),
        history.measure: history.objective[-1] if history.steps else "none",
        "parameters": parameters,
        "input": str(digest),
    }


def labels(
    paths: list[str], format: str | None, scheme: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """Files of annotations."""
    import numpy as np

    from seqtruth.io import detect_format, read
    from seqtruth.metrics import agreement
    from seqtruth.metrics.agreement import krippendorff_alpha

    crowd = read(paths, format, scheme, **options)
    corpus = crowd.corpus
    bare = ~crowd.covered & (np.diff(crowd.corpus.token_offsets) > 0)  # no tokens lack no labels
    facts: dict[str, Any] = {
        "format": format or ("standard input" if "-" in paths else detect_format(paths)),
        "scheme": crowd.scheme.kind,
        "sentences": corpus.n_base_sentences,
        "tokens": int(np.diff(corpus.token_offsets)[corpus.sentence_layer == 0].sum()),
        "documents": len(corpus.documents),
        "annotators": crowd.n_annotators,
        "annotations": crowd.n_rows,
        "unlabelled_sentences": int(bare.sum()),
        "labels": list(crowd.scheme.labels),
        **({"layers": len(corpus.layers)} if len(corpus.layers) > 1 else {}),
        "digest": crowd.digest(),
    }
    if _meetings(crowd) > MOST_MEETINGS:
        facts["krippendorff_alpha"] = round(krippendorff_alpha(crowd), 4)
        facts["agreement"] = f"not counted: annotators meet more than {MOST_MEETINGS:,} times"
        return facts
    found = agreement(crowd)
    if crowd.n_annotators > 1:
        facts["token_agreement"] = round(float(found.observed), 4)
        facts["krippendorff_alpha"] = round(float(found.alpha), 4)
        facts["span_f1"] = round(float(found.span_f1), 4)
    facts["each_annotator"] = _each(crowd, found)
    facts["closest_pairs"] = _closest(found)
    return facts


def _meetings(crowd: Crowd) -> int:
    """How often two annotators labelled the same sentence."""
    import numpy as np

    rows = np.diff(crowd.sentence_rows).astype(np.int64)
    return int((rows * (rows - 1) // 2).sum())


def _each(crowd: Crowd, found: Agreement) -> list[dict[str, Any]]:
    """Sentences of each annotator and mean span F1 with the others, those who agree most first."""
    import numpy as np

    sentences = crowd.annotator_sentences
    span_f1 = found.of_each("span_f1")
    rows = [
        {
            "annotator": name,
            "sentences": int(sentences[w]),
            "span_f1": round(float(span_f1[w]), 4),
        }
        for w, name in enumerate(crowd.annotators)
    ]
    return sorted(rows, key=lambda row: (-np.nan_to_num(row["span_f1"], nan=-1), row["annotator"]))


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
            "span_f1": round(float(pairs.span_f1[k]), 4),
        }
        for k in chosen[order][:PAIRS]
    ]


#: How people are told what a key means, where it is not the key with spaces.
_WORDS = {
    "token_agreement": "agreement (tokens)",
    "krippendorff_alpha": "Krippendorff's alpha",
    "span_f1": "span F1",
}
_NUMBERS = ("sentences", "tokens", "span_f1")


def show(facts: dict[str, Any]) -> None:
    """Facts for people: single ones first, then each table in columns."""
    tables = {key: rows for key, rows in facts.items() if _is_table(rows)}
    single = {_word(key): _line(value) for key, value in facts.items() if key not in tables}
    wide = max(map(len, single))
    for key, value in single.items():
        print(harmless(f"{key:<{wide}}  {value}"))
    for key, rows in tables.items():
        print(f"\n{_word(key)}")
        _columns(rows[:MOST])
        if len(rows) > MOST:
            print(f"  … and {len(rows) - MOST:,} more (--json lists all)")


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _word(key: str) -> str:
    return _WORDS.get(key, key.replace("_", " "))


def _line(value: Any) -> Any:
    return (", ".join(map(str, value)) or "none") if isinstance(value, list) else value


def _text(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) and value == value else cell(value)


def _columns(rows: list[dict[str, Any]]) -> None:
    lines = [[_word(key) for key in rows[0]], *([_text(v) for v in row.values()] for row in rows)]
    wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [
            text.rjust(w) if key in _NUMBERS else text.ljust(w)
            for text, w, key in zip(line, wide, rows[0], strict=True)
        ]
        print(harmless("  " + "  ".join(cells).rstrip()))
