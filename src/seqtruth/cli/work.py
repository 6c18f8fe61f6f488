"""What the commands do between parsing and printing."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqtruth._version import __version__
from seqtruth.cli.display import Memory, note, progress
from seqtruth.errors import InputError, ParameterError

if TYPE_CHECKING:
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
    spec: str, method: Any, data: Dataset, split: str, strict: str, abstain: str | None, quiet: bool
) -> dict[str, Any]:
    from dataclasses import replace

    from seqtruth.metrics import evaluate as score

    if abstain is not None:
        method = replace(method, abstain=abstain)
    memory, began = Memory(), time.perf_counter()
    with progress(f"{spec} on {data.name}", quiet):
        result = method.fit(data.crowd)
    seconds, peak = time.perf_counter() - began, memory.peak()
    found = score(result, data.gold, sentences=data.splits[split], strict=strict)
    return {
        "method": spec,
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "strict": strict,
        "seconds": round(seconds, 3),
        "peak_mib": None if peak != peak else round(peak, 1),
        "split": split,
        "sentences": found.n_sentences,
        "stop_reason": result.trace.stop_reason,
    }


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
