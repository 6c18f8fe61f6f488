"""``seqtruth agreement``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seqtruth.cli.display import harmless, note, progress
from seqtruth.cli.options import (
    Abstain,
    InFormat,
    Json,
    Overlap,
    Quiet,
    Scheme,
    Seed,
    Split,
    Strict,
    reading_options,
)
from seqtruth.cli.options import Reading as ReadingOptions
from seqtruth.cli.outputs import check_distinct, check_files
from seqtruth.errors import DataError, ParameterError

if TYPE_CHECKING:
    from seqtruth.data.crowd import Crowd


def agreement(
    annotations: Annotated[
        list[str], typer.Argument(help="The annotators' labels, in files; or a saved result.")
    ],
    as_json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables in Markdown.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Tables in LaTeX (booktabs).")] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write there, not on stdout.")
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Draws of documents for the intervals; 0 for none.")
    ] = 500,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    gamma: Annotated[
        int, typer.Option(min=0, help="Documents on which gamma is measured as well (slow).")
    ] = 0,
    abstain: Abstain = "auto",
    strict: Strict = "conlleval",
    seed: Seed = 0,
    format: InFormat = None,
    scheme: Scheme = None,
    split: Split = None,
    overlap: Overlap = None,
    reading: ReadingOptions = None,
    quiet: Quiet = False,
) -> None:
    """How far annotators agree: alpha, kappa, AC1, span F1; by type, by pair, by document."""
    from seqtruth.archive import is_archive
    from seqtruth.inter_annotator import agreement as measure
    from seqtruth.io import read

    if as_json + markdown + latex > 1:
        raise ParameterError("give one of --json, --markdown and --latex")
    check_files(output)
    check_distinct(output, inputs=annotations)
    with progress("agreement", quiet):
        if len(annotations) == 1 and is_archive(annotations[0]):
            crowd = _crowd_of(annotations[0])
        else:
            crowd = read(annotations, format, scheme, **reading_options(reading, split, overlap))
        found = measure(crowd, abstain, strict, resamples, level, seed, gamma)
    if as_json:
        text = json.dumps(found.to_dict(), indent=1, allow_nan=False) + "\n"
    else:
        text = found.tables("markdown" if markdown else "latex" if latex else "text")
    if output is None:
        print(text if as_json else harmless(text), end="")
    else:
        from seqtruth.io.files import write_chunks

        write_chunks(output, [text.encode()])
        note(f"wrote {output}")


def _crowd_of(path: str) -> Crowd:
    """The labels that a saved result was made from."""
    from seqtruth.result import Result

    crowd = Result.load(path).crowd
    if crowd is None:
        raise DataError(
            "the result does not know the labels it was made from", where=path,
            fix="name the files of labels",
        )  # fmt: skip
    return crowd
