"""``seqtruth reproduce``: the paper's tables and figures beside ours."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seqtruth.cli.display import note, print_json, progress, table
from seqtruth.errors import InputError


def reproduce(
    what: Annotated[
        str,
        typer.Argument(
            help="all, table2 … table5, figure-weights, figure-convergence, best; leak; or regimes.",
            show_default=False,
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="One seed and lighter settings: minutes, not hours.")
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(help="Run so many seeds where one matters (3; 1 if --quick).", min=1),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for page, tables, plots and runs.")
    ] = Path("seqtruth-reproduction"),
    data_dir: Annotated[
        Path | None, typer.Option(help="Folder of ner/ and pico/ (or SEQTRUTH_DATA).")
    ] = None,
    kept: Annotated[
        bool, typer.Option("--kept", help="Make no runs: write the page of those that are there.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Compute the paper's tables and figures anew and put them beside the paper's own.

    ``leak`` asks what a tagger that had seen the gold would give; ``regimes`` is ours: every method on every
    kind of crowd, and what the default loses.

    Runs are kept in the output folder: interrupted, call it again and it goes on.
    """
    from seqtruth.methods import make_method
    from seqtruth.paper import Workshop, check_part
    from seqtruth.paper import reproduce as run

    check_part(what)
    if output.exists() and not output.is_dir():
        raise InputError("not a folder", where=str(output), fix="give another --output")
    work = Workshop(
        output, lambda spec, seed: make_method(spec, seed=seed), quick,
        seeds or (1 if quick else 3), data_dir,
        watch=lambda title: progress(title, quiet),
        say=(lambda text: None) if quiet else note,
        kept_only=kept,
    )  # fmt: skip
    try:
        report = run(what, work)
    except KeyboardInterrupt:
        note(f"{work.made} new runs are kept in {output}; the same command goes on from there")
        raise
    if as_json:
        print_json({**report._asdict(), "files": [str(path) for path in report.files]})
    else:
        if report.claims:
            table(
                ["the paper's claim", "paper", "ours", "verdict"],
                [[one["text"], one["paper"], one["ours"],
                  "holds" if one["holds"] else "does not hold"] for one in report.claims],
            )  # fmt: skip
        for spec, why in report.not_run.items():
            note(f"{spec}: {why}")
    if not as_json and not quiet:
        note(f"wrote {report.files[0]} and {len(report.files) - 1} files beside it")
    if report.failed:
        for job, why in report.failed.items():
            note(f"error: {job}: {why}")
        raise typer.Exit(1)
