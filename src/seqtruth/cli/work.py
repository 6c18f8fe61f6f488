"""What the commands do between parsing and printing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqtruth.cli.display import note, progress, table
from seqtruth.errors import ParameterError

if TYPE_CHECKING:
    from seqtruth.datasets import Dataset
    from seqtruth.methods import Aggregator
    from seqtruth.metrics import Calibration


def open_dataset(
    annotations: Path | None, gold: Path | None, dataset: str | None, data_dir: Path | None
) -> Dataset:
    import numpy as np

    from seqtruth.datasets import Dataset, load
    from seqtruth.io import read

    if dataset is not None:
        if annotations is not None or gold is not None:
            raise ParameterError("give either files or --dataset, not both")
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
    from functools import partial

    import numpy as np

    from seqtruth.metrics import evaluate as score
    from seqtruth.paper.cost import measured

    results, seconds, peaks = [], [], []
    for method in methods:
        chosen = method if abstain is None else replace(method, abstain=abstain)
        with progress(f"{spec} on {data.name}", quiet):
            result, cost = measured(partial(chosen.fit, data.crowd))
        results.append(result)
        seconds.append(cost.seconds)
        peaks.append(cost.peak_mib)
    for split in splits:
        for strict in readings:
            found = [
                score(result, data.gold, sentences=data.splits[split], strict=strict)
                for result in results
            ]
            f1 = [one.f1 for one in found]
            honest = [one.calibration for one in found if one.calibration is not None]
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
                "annotators": data.crowd.n_annotators,
                "seeds": len(methods),
                "f1_spread": float(np.std(f1, ddof=1)) if len(f1) > 1 else None,
                "stop_reason": results[0].history.stop_reason,
                **_mean_honesty(honest),
            }


def _mean_honesty(found: list[Calibration]) -> dict[str, Any]:
    """Calibration errors (None where a confidence is no probability) and F1 of surest sentences."""
    import numpy as np

    errors: dict[str, Any] = {}
    for kind in ("token", "span", "sentence"):
        scores = [getattr(one, kind) for one in found]
        known = [score.ece for score in scores if score is not None]
        errors[kind] = float(np.mean(known)) if known else None
    surest = {
        f"{rows[0].share:g}": float(np.mean([row.f1 for row in rows]))
        for rows in zip(*(one.selective for one in found), strict=True)
    }
    return {"calibration_error": errors, "f1_of_surest": surest}


def show_scores(rows: list[dict[str, Any]], data: Dataset) -> None:
    """The rows of :func:`measure` as a table; what is the same in all of them goes to the title."""
    plain = data.gold.scheme.kind == "plain"
    title = [f"{data.name}: tags, %" if plain else f"{data.name}: strict spans, %"]
    columns: dict[str, list[Any]] = {"method": [row["method"] for row in rows]}
    for name, key in (("split", "split"), ("read as", "strict")):
        if len({row[key] for row in rows}) > 1:
            columns[name] = [row[key] for row in rows]
        elif key == "split" or not plain:
            title.append(f"{name} {rows[0][key]}")
    for name, key in (("precision", "precision"), ("recall", "recall"), ("F1", "f1")):
        columns[name] = [100 * row[key] for row in rows]
    seeds = rows[0]["seeds"]
    title.append(f"{seeds} seed{'' if seeds == 1 else 's'}")
    if rows[0]["f1_spread"] is not None:
        columns["±"] = [100 * row["f1_spread"] for row in rows]
    columns["seconds"] = [row["seconds"] for row in rows]
    table(list(columns), list(zip(*columns.values(), strict=True)), " · ".join(title))


def first_use(quiet: bool = False) -> None:
    """Say so where kernels have to be compiled, when it happens."""
    from seqtruth.kernels.jit import when_compiling

    text = "first use: compiling kernels for this machine (up to half a minute, once)"
    when_compiling(None if quiet else lambda: note(text))
