"""``seqtruth aggregate``: the main job, in memory, streamed or by Spark."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from seqtruth.cli.config import Config, Settings, config_of, settings_of
from seqtruth.cli.display import note, print_json, progress
from seqtruth.cli.options import (
    Abstain,
    Gold,
    InFormat,
    Json,
    OutFormat,
    Overlap,
    Quiet,
    Reading,
    SafeCells,
    Scheme,
    Seed,
    Split,
    Writing,
    reading_options,
    writing_options,
)
from seqtruth.cli.outputs import (
    check_checkpoint,
    check_distinct,
    check_files,
    check_labels,
    check_tagger,
    check_writing,
    print_labels,
    rehearse,
    summary,
    write_outputs,
)
from seqtruth.errors import ParameterError

ENGINES = ("memory", "stream", "spark")


def aggregate(
    context: typer.Context,
    annotations: Annotated[
        list[str], typer.Argument(help="The annotators' labels; several files are one crowd.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Labels; CoNLL on stdout where not given.")
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help="Name, also with settings: 'aggslc:folds=3'.")
    ] = "accord",
    settings: Settings = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Save the whole result, with who said what.")
    ] = None,
    tagger: Annotated[Path | None, typer.Option(help="Save the trained tagger.")] = None,
    gold: Gold = None,
    abstain: Abstain = None,
    checkpoint: Annotated[Path | None, typer.Option(help="Keep every finished round here.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint.")] = False,
    engine: Annotated[
        str, typer.Option(help="memory; stream: a Parquet table larger than it; spark: a cluster.")
    ] = "memory",
    seed: Seed = 0,
    config: Config = None,
    format: InFormat = None,
    out_format: OutFormat = None,
    split: Split = None,
    overlap: Overlap = None,
    reading: Reading = None,
    writing: Writing = None,
    safe_cells: SafeCells = False,
    scheme: Scheme = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Turn many annotators' labels into one labelling, a trust list and a tagger."""
    from seqtruth.methods import make_method

    if resume and checkpoint is None:
        raise ParameterError("--resume needs --checkpoint")
    given = settings_of(context, settings or [])
    if abstain is not None:
        given["abstain"] = abstain
    chosen = make_method(method, given, seed)
    tag = None if abstain in ("auto", "none") else abstain
    _check_engine(engine, annotations, output, report=report, save=save, gold=gold, abstain=tag)
    if engine != "memory":
        chosen.check_engine(engine, gold is not None)
    target = None if output is None else Path(output)
    if engine == "memory":
        out_format = check_labels(target, out_format)
    how_written = writing_options(writing, safe_cells)
    check_writing(out_format if engine == "memory" else "parquet", how_written)
    check_checkpoint(checkpoint)
    check_files(report, save, tagger, target if engine == "stream" else None)
    check_distinct(target, report, save, tagger, inputs=(*annotations, gold))
    check_tagger(tagger, chosen)
    with progress("reading", quiet):
        how = reading_options(reading, split, overlap)
        crowd = _open(annotations, engine, format, scheme, how)
    if engine == "memory" and not (as_json and target is None):
        rehearse(crowd, target, out_format, how_written)
    check_tagger(tagger, chosen.resolved(_has_text(crowd)))
    began = time.perf_counter()
    with progress(f"{chosen.name} on {crowd}" if engine == "memory" else chosen.name, quiet):
        keep: dict[str, Any] = {"checkpoint": checkpoint, "resume": resume}
        result: Any = chosen.fit(crowd, _truth(gold, scheme), **keep, tagger=bool(tagger or save))
        if (said := config_of(context)) is not None:
            result = replace(result, provenance={**result.provenance, "config": said})
        files = (target if engine == "memory" else output, out_format, report, save, tagger)
        written = write_outputs(result, *files, options=how_written)
    seconds = time.perf_counter() - began
    if as_json:
        print_json(summary(result, seconds, written))
    elif output is None:
        print_labels(result.as_crowd())
    if not quiet and not as_json:
        note("\n".join([f"{result!s} · {seconds:.1f} s", *(f"wrote {path}" for path in written)]))


def _truth(gold: Path | None, scheme: str | None) -> Any:
    """True labels from a file, or what was decided at a review desk."""
    if gold is None:
        return None
    if gold.is_dir() and (gold / "decisions.sqlite").is_file():
        from seqtruth.review.server import known_labels

        return known_labels(gold)
    from seqtruth.io import read_gold

    return read_gold(gold, scheme=scheme)


def _check_engine(
    engine: str, annotations: list[str], output: str | None, **unavailable: object
) -> None:
    """Raise, before anything is read, for what cannot be had of a crowd in parts."""
    if engine not in ENGINES:
        raise ParameterError(f"--engine must be one of {', '.join(ENGINES)}", got=repr(engine))
    if engine == "memory":
        return
    for option, value in unavailable.items():
        if value is not None:
            raise ParameterError(
                f"--{option.replace('_', '-')} needs the whole crowd in memory",
                fix="leave it out, or --engine memory",
            )
    if len(annotations) != 1:
        raise ParameterError(
            f"--engine {engine} reads one table", got=f"{len(annotations)} names",
            fix="name a folder of Parquet files, or a pattern in quotes",
        )  # fmt: skip
    if output is None or not output.endswith(".parquet"):
        raise ParameterError(
            "a crowd in parts is written as Parquet", got=f"--output {output}",
            fix="give --output LABELS.parquet",
        )  # fmt: skip


def _open(
    annotations: list[str],
    engine: str,
    format: str | None,
    scheme: str | None,
    options: dict[str, Any],
) -> Any:
    if engine == "spark":
        from seqtruth.engine.spark import SparkParts

        return SparkParts.read(annotations[0], scheme=scheme)
    if engine == "stream":
        from seqtruth.engine import stream

        return stream(annotations[0], scheme)
    from seqtruth.engine.opening import opened_crowd

    source = annotations if len(annotations) > 1 else annotations[0]
    return opened_crowd(source, format, scheme, **options)


def _has_text(crowd: Any) -> bool:
    from seqtruth.data.crowd import Crowd

    return crowd.corpus.tokens is not None if isinstance(crowd, Crowd) else crowd.facts.has_text
