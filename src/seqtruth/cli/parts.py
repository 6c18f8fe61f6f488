"""``seqtruth aggregate --engine stream | spark``: labels that stay where they are."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqtruth.cli.display import note, print_json, progress
from seqtruth.errors import ParameterError

if TYPE_CHECKING:
    from seqtruth.engine import Parts, PartsResult

ENGINES = ("memory", "stream", "spark")


def check_engine(engine: str, output: str | None, **unavailable: object) -> None:
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
    if output is None or not output.endswith(".parquet"):
        raise ParameterError(
            "a crowd in parts is written as Parquet", got=f"--output {output}",
            fix="give --output LABELS.parquet",
        )  # fmt: skip


def aggregate_parts(
    annotations: str,
    engine: str,
    output: str,
    method: str,
    tagger: Path | None,
    checkpoint: Path | None,
    resume: bool,
    seed: int,
    scheme: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """The main job where the data is."""
    from seqtruth.cli.outputs import check_tagger
    from seqtruth.methods import make_method

    maker = make_method(method, seed=seed)
    check_tagger(tagger, maker)
    began = time.perf_counter()
    with progress(f"{maker.name}, {engine} engine", quiet):
        parts = _open(annotations, engine, scheme)
        result = maker.fit(parts, checkpoint=checkpoint, resume=resume)
        result.write(output)
    written = [output]
    if tagger is not None and result.tagger is not None:
        result.tagger.save(tagger)
        written.append(str(tagger))
    seconds = time.perf_counter() - began
    if as_json:
        print_json(_summary(result, seconds, written))
    elif not quiet:
        note(f"{result!s} · {seconds:.1f} s")
        for path in written:
            note(f"wrote {path}")


def _open(annotations: str, engine: str, scheme: str | None) -> Parts:
    if engine == "spark":
        from seqtruth.engine.spark import SparkParts

        return SparkParts.read(annotations, scheme=scheme)
    from seqtruth.engine.streaming import ParquetParts

    return ParquetParts(annotations, scheme)


def _summary(result: PartsResult, seconds: float, written: list[str]) -> dict[str, Any]:
    facts = result.parts.facts
    return {
        **result.provenance,
        "sentences": facts.n_sentences,
        "tokens": facts.n_tokens,
        "token_annotations": facts.n_annotations,
        "rounds": len(result.history),
        "stop_reason": result.history.stop_reason,
        "seconds": round(seconds, 3),
        "annotators": list(result.annotators.ranked()),
        "written": written,
    }
