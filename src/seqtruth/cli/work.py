"""What the commands do between parsing and printing."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqtruth._version import __version__
from seqtruth.cli.display import Memory, note, progress, table
from seqtruth.errors import InputError, ParameterError

if TYPE_CHECKING:
    from seqtruth.aggregators import Aggregator
    from seqtruth.data import Crowd
    from seqtruth.datasets import Dataset
    from seqtruth.result import Result


def installation() -> dict[str, Any]:
    import importlib.util

    import numba
    import numpy
    import pyarrow

    from seqtruth.aggregators import METHODS
    from seqtruth.compiled import kernels_are_cached, threads
    from seqtruth.io import FORMATS

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


def describe(path: Path, format: str | None, scheme: str | None) -> dict[str, Any]:
    from seqtruth.io import detect_format, read
    from seqtruth.metrics import agreement

    crowd = read(path, format, scheme)
    facts: dict[str, Any] = {
        "format": format or detect_format(path),
        "scheme": crowd.scheme.kind,
        "sentences": crowd.n_sentences,
        "tokens": crowd.n_tokens,
        "documents": len(crowd.corpus.documents),
        "annotators": crowd.n_workers,
        "annotations": crowd.n_rows,
        "unlabelled sentences": int((~crowd.covered).sum()),
        "labels": ", ".join(crowd.scheme.labels),
        "digest": crowd.digest(),
    }
    if crowd.n_workers > 1:
        found = agreement(crowd)
        facts["agreement (tokens)"] = round(float(found.observed), 4)
        facts["Krippendorff's alpha"] = round(float(found.alpha), 4)
        facts["agreement (span F1)"] = round(float(found.span_f1), 4)
    return facts


def open_dataset(
    annotations: Path | None, gold: Path | None, dataset: str | None, data_dir: Path | None
) -> Dataset:
    import numpy as np

    from seqtruth.datasets import Dataset, load
    from seqtruth.io import read

    if dataset is not None:
        return load(dataset, data_dir)
    if annotations is None or gold is None:
        raise ParameterError("give annotations and --gold, or --dataset")
    crowd = read(annotations)
    return Dataset(
        annotations.name, crowd, read(gold), {"all": np.ones(crowd.n_sentences, np.bool_)}
    )


def measure(
    spec: str,
    methods: list[Aggregator],
    data: Dataset,
    splits: list[str],
    readings: list[str],
    abstain: str | None,
    quiet: bool,
) -> Iterator[dict[str, Any]]:
    """Fit each of the methods (one a seed) once; a row of mean scores per split and reading."""
    from dataclasses import replace

    import numpy as np

    from seqtruth.metrics import evaluate as score

    results, seconds, peaks = [], [], []
    for method in methods:
        memory, began = Memory(), time.perf_counter()
        with progress(f"{spec} on {data.name}", quiet):
            results.append(
                (method if abstain is None else replace(method, abstain=abstain)).fit(data.crowd)
            )
        seconds.append(time.perf_counter() - began)
        peaks.append(memory.peak())
    for split in splits:
        for strict in readings:
            found = [
                score(result, data.gold, sentences=data.splits[split], strict=strict)
                for result in results
            ]
            f1 = [one.f1 for one in found]
            yield {
                "method": spec,
                "precision": float(np.mean([one.precision for one in found])),
                "recall": float(np.mean([one.recall for one in found])),
                "f1": float(np.mean(f1)),
                "strict": strict,
                "seconds": round(float(np.mean(seconds)), 3),
                "peak_mib": None if np.isnan(peaks).any() else round(max(peaks), 1),
                "dataset": data.name,
                "split": split,
                "sentences": found[0].n_sentences,
                "seeds": len(methods),
                "f1_spread": float(np.std(f1, ddof=1)) if len(f1) > 1 else None,
                "stop_reason": results[0].trace.stop_reason,
            }


def show_scores(rows: list[dict[str, Any]], name: str) -> None:
    """The rows of :func:`measure` as a table."""
    unknown = float("nan")
    table(
        ["method", "split", "read as", "precision", "recall", "F1", "±", "seconds", "peak MiB"],
        [
            [r["method"], r["split"], r["strict"],
             *(100 * r[key] for key in ("precision", "recall", "f1")),
             unknown if r["f1_spread"] is None else 100 * r["f1_spread"], r["seconds"],
             unknown if r["peak_mib"] is None else r["peak_mib"]]
            for r in rows
        ],
        f"{name}: strict spans, %",
    )  # fmt: skip


def write_outputs(
    result: Result,
    crowd: Crowd,
    output: Path | None,
    out_format: str | None,
    report: Path | None,
    save: Path | None,
    tagger: Path | None,
    scores: Any = None,
) -> list[str]:
    """Write what was asked for, each file whole or not at all."""
    if tagger is not None and result.tagger is None:
        raise ParameterError("the method trained no tagger", fix="choose one with a predictor")
    if output is not None:
        result.write(output, out_format)
    if report is not None:
        result.report(report, crowd=crowd, scores=scores)
    if save is not None:
        result.save(save)
    if tagger is not None and result.tagger is not None:
        result.tagger.save(tagger)
    return [str(path) for path in (output, report, save, tagger) if path is not None]


def summary(result: Result, seconds: float, written: list[str]) -> dict[str, Any]:
    return {
        **result.provenance,
        "sentences": result.corpus.n_sentences,
        "unlabelled": int((~result.labelled).sum()),
        "spans": len(result.spans()),
        "rounds": len(result.trace),
        "stop_reason": result.trace.stop_reason,
        "seconds": round(seconds, 3),
        "annotators": list(result.workers),
        "written": written,
    }


def print_labels(crowd: Crowd) -> None:
    from seqtruth.io.conll import conll_chunks

    for chunk in conll_chunks(crowd):
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


def open_labels(path: Path) -> Any:
    if is_archive(path):
        from seqtruth.result import Result

        return Result.load(path)
    return path


def is_archive(path: Path) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def check_writable(*paths: Path | None) -> None:
    """Find out before hours of work that a result could not be written."""
    for path in paths:
        if path is not None and not path.parent.is_dir():
            raise InputError(
                "cannot write there: no such folder", where=str(path),
                fix=f"make the folder {path.parent} first",
            )  # fmt: skip


def first_use(quiet: bool) -> None:
    from seqtruth.compiled import kernels_are_cached

    if not quiet and not kernels_are_cached():
        note("first use: compiling kernels for this machine (about half a minute, once)")
