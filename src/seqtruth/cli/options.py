"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same bytes.")]
Strict = Annotated[str, typer.Option(help="How spans are read: conlleval or b-required.")]
Scheme = Annotated[str | None, typer.Option(help="Label scheme, where not to be detected.")]
InFormat = Annotated[str | None, typer.Option("--format", help="Input format; else detected.")]
OutFormat = Annotated[str | None, typer.Option("--out-format", help="Output format; else by name.")]
Abstain = Annotated[str | None, typer.Option(help="Tag that counts as no opinion, such as O.")]
DataDir = Annotated[Path | None, typer.Option(help="Folder of ner/ and pico/ (or SEQTRUTH_DATA).")]
