"""``seqtruth compare``: several methods, each scored against the gold standard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqtruth.cli.config import Config, Settings, settings_of
from seqtruth.cli.display import print_json, progress, table
from seqtruth.cli.options import Abstain, DataDir, Json, Quiet, Seed
from seqtruth.errors import ParameterError

if TYPE_CHECKING:
    from seqtruth.comparison import MethodComparison
    from seqtruth.datasets import Dataset

FORMATS = ("text", "markdown", "latex", "json")


def compare(
    context: typer.Context,
    annotations: Annotated[list[str] | None, typer.Argument(help="The annotators' labels.")] = None,
    gold: Annotated[Path | None, typer.Option(help="The gold standard.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="demo, ner, pico, synthetic, …, instead of files.")
    ] = None,
    data_dir: DataDir = None,
    split: Annotated[str, typer.Option(help="Which sentences count; several by commas.")] = "all",
    methods: Annotated[
        str, typer.Option("--methods", "-m", help="Names, by commas or blanks.")
    ] = "mv,ds,bsc-seq,accord",
    settings: Settings = None,
    strict: Annotated[
        str, typer.Option(help="How spans are read: conlleval, b-required, or both by a comma.")
    ] = "conlleval",
    abstain: Abstain = None,
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(help="Run so many seeds; scores are means.", min=1)] = 1,
    format: Annotated[
        str, typer.Option(help="Of the table: text, markdown, latex, or json (an object a line).")
    ] = "text",
    config: Config = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run several methods and score each against the gold standard, overall and by type."""
    from seqtruth.comparison import MethodComparison, prepare, score_method
    from seqtruth.data.spans import check_reading

    if format not in FORMATS:
        raise ParameterError(f"--format must be one of {', '.join(FORMATS)}", got=repr(format))
    given = settings_of(context, settings or [])
    if abstain is not None:
        given["abstain"] = abstain
    data = _open(annotations, gold, dataset, data_dir)
    readings = strict.split(",")
    for name in split.split(","):
        if name not in data.splits:
            raise ParameterError(
                f"data set {data.name} has no split {name!r}",
                fix=f"it has {', '.join(data.splits)}",
            )
    for reading in readings:
        check_reading(reading)
    splits = {name: data.splits[name] for name in split.split(",")}
    rows = []
    for spec, chosen in prepare(methods, seed, seeds, given).items():
        with progress(f"{spec} on {data.name}", quiet):
            found = list(score_method(spec, chosen, data.crowd, data.gold, splits, readings))
        for row in found:
            rows.append(row)
            if as_json or format == "json":
                about = {"dataset": data.name, "annotators": data.crowd.n_annotators}
                print_json(row.to_dict() | about, indent=None)
    if not as_json and format != "json":
        plain = data.gold.scheme.kind == "plain"
        _show(MethodComparison(tuple(rows), data.name, plain), format)


def _show(found: MethodComparison, format: str) -> None:
    if format != "text":
        print(found.to_markdown() if format == "markdown" else found.to_latex(), end="")
        return
    tables = [(found.title, found.columns()), ("F1 by type, %", found.type_columns())]
    for title, columns in tables:
        if columns:
            table(list(columns), list(zip(*columns.values(), strict=True)), title)


def _open(
    annotations: list[str] | None, gold: Path | None, dataset: str | None, data_dir: Path | None
) -> Dataset:
    import numpy as np

    from seqtruth.datasets import Dataset, load
    from seqtruth.engine.opening import opened_crowd
    from seqtruth.io import read_gold

    if dataset is not None:
        if annotations or gold is not None:
            raise ParameterError("give either files or --dataset, not both")
        return load(dataset, data_dir)
    if not annotations or gold is None:
        raise ParameterError("give annotations and --gold, or --dataset")
    crowd = opened_crowd(annotations if len(annotations) > 1 else annotations[0])
    everything = {"all": np.ones(crowd.n_sentences, np.bool_)}
    return Dataset(Path(annotations[0]).name, crowd, read_gold(gold), everything)
