"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")]
Strict = Annotated[str, typer.Option(help="How spans are read: conlleval or b-required.")]
Scheme = Annotated[str | None, typer.Option(help="Label scheme, where not to be detected.")]
InFormat = Annotated[str | None, typer.Option("--from", help="Input format; else detected.")]
OutFormat = Annotated[str | None, typer.Option("--to", help="Output format; else by name.")]
Split = Annotated[
    str | None, typer.Option(help="Documents of tools: sentences (usual), lines or none.")
]
Overlap = Annotated[
    str | None, typer.Option(help="Marks that overlap: layers (usual), longest or error.")
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--read", metavar="KEY=VALUE", help="For the reader, such as layer=NER, roles=gold."
    ),
]
Writing = Annotated[
    list[str] | None,
    typer.Option("--write", metavar="KEY=VALUE", help="For the writer, such as comments=false."),
]
SafeCells = Annotated[
    bool,
    typer.Option("--safe-cells", help="In tables, disarm cells that a spreadsheet would run."),
]
Gold = Annotated[
    Path | None,
    typer.Option("--gold", "--known", help="True labels of some sentences, or a review desk."),
]
Abstain = Annotated[
    str | None,
    typer.Option(help="Whose O is silence: auto (usual; found from the data), none, or a tag: O."),
]
DataDir = Annotated[Path | None, typer.Option(help="Folder of ner/ and pico/ (or SEQTRUTH_DATA).")]


def reading_options(
    pairs: list[str] | None, split: str | None = None, overlap: str | None = None
) -> dict[str, Any]:
    """Options of a reader or writer: numbers, lists, true and false as JSON has them, all else as text."""
    from seqtruth.methods.choice import parse_pairs

    named = {"split": split, "overlap": overlap}
    found: dict[str, Any] = {name: value for name, value in named.items() if value is not None}
    for key, value in parse_pairs(pairs or []).items():
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found


def writing_options(pairs: list[str] | None, safe_cells: bool) -> dict[str, Any]:
    """Options of a writer."""
    return reading_options(pairs) | ({"safe_cells": True} if safe_cells else {})
