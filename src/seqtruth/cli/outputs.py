"""Where results go: refused before the work begins, or written whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqtruth.errors import DataError, InputError, ParameterError

if TYPE_CHECKING:
    from seqtruth.data.crowd import Crowd
    from seqtruth.methods import Aggregator
    from seqtruth.result import Result


#: Formats that are written as a folder.
FOLDERS = ("conll-folder", "brat")


def check_labels(output: Path | None, out_format: str | None) -> str | None:
    """Format of the labels to be written, found before hours of work; None is CoNLL on stdout."""
    from seqtruth.io import FORMATS, target_format

    known = ", ".join(name for name in FORMATS if FORMATS[name].write is not None)
    if out_format is not None and out_format not in FORMATS:
        raise ParameterError(f"--to must be one of {known}", got=repr(out_format))
    if output is None:
        if out_format not in (None, "conll"):
            raise ParameterError(
                f"--to {out_format} needs a file", fix="give --output; stdout is conll only"
            )
        return None
    if out_format is None and output.is_dir():
        raise ParameterError(
            "a folder does not tell the format", where=str(output), fix=f"give --to, one of {known}"
        )
    try:
        out_format = target_format(output, out_format).name
    except ParameterError as error:
        raise ParameterError(
            error.what, where=error.where, got=error.got, fix=f"give --to, one of {known}"
        ) from None
    if out_format not in FOLDERS:
        check_files(output)
    else:
        _check_parent(output)
        if output.exists() and (not output.is_dir() or any(output.iterdir())):
            raise InputError(
                "cannot write a folder there: something is there already", where=str(output),
                fix="choose a new name, or empty the folder",
            )  # fmt: skip
    return out_format


def check_writing(out_format: str | None, options: dict[str, Any]) -> None:
    """Raise where the format has no such options; None is standard output, which has none."""
    from seqtruth.io import FORMATS

    known = () if out_format is None else tuple(FORMATS[out_format].write_options or ())
    for name in options:
        if name in known:
            continue
        flag = "--safe-cells" if name == "safe_cells" else f"--write {name}=…"
        tables = [one for one in FORMATS if "safe_cells" in (FORMATS[one].write_options or ())]
        raise ParameterError(
            f"{flag} is not for {'standard output' if out_format is None else out_format}",
            fix=f"it is for {', '.join(tables)}" if name == "safe_cells"
            else f"there is {', '.join(known)}" if known else "leave it out",
        )  # fmt: skip


def check_files(*paths: Path | None) -> None:
    """Raise where a file could not be written."""
    for path in filter(None, paths):
        _check_parent(path)
        if path.is_dir():
            raise InputError(
                "cannot write a file there: it is a folder", where=str(path), fix="name a file"
            )


def check_distinct(*paths: Path | None, inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise where two outputs would be one file, or one would take the place of an input."""
    given = [path for path in inputs if path is not None]
    seen: set[str] = set()
    for path in paths:
        if path is not None and any(_is_of(path, one) for one in given):
            raise ParameterError(
                "an output would take the place of the input", got=str(path),
                fix="choose another name",
            )  # fmt: skip
        if path is None or _is_device(path):
            continue  # devices may be written twice
        if (real := os.path.realpath(path)) in seen:
            raise ParameterError("two outputs have one name", got=str(path))
        seen.add(real)


def _is_of(path: Path, given: str | Path) -> bool:
    """Whether a path is an input, of the files that a pattern stands for, or in a folder that is one."""
    real = os.path.realpath(path)
    if any(mark in str(given) for mark in "*?[") and not Path(given).exists():
        return any(os.path.realpath(one) == real for one in glob(str(given), recursive=True))
    folder = os.path.realpath(given)
    return real == folder or (
        os.path.isdir(folder) and os.path.exists(real) and Path(real).is_relative_to(folder)
    )


def _check_parent(path: Path) -> None:
    if not path.parent.is_dir():
        raise InputError(
            "cannot write there: no such folder", where=str(path),
            fix=f"make the folder {path.parent} first",
        )  # fmt: skip
    real = Path(os.path.realpath(path))  # files are made beside what they replace
    if not _is_device(real) and not os.access(real.parent, os.W_OK | os.X_OK):
        raise InputError(
            "cannot write there: the folder is not yours to write to", where=str(path),
            fix="choose another folder",
        )  # fmt: skip


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def check_checkpoint(folder: Path | None) -> None:
    """Raise where rounds could not be kept."""
    if folder is None:
        return
    there = folder
    while not there.exists() and there != there.parent:
        there = there.parent
    if there.is_dir() and not os.access(there, os.W_OK | os.X_OK):
        raise InputError(
            "cannot keep rounds there: the folder is not yours to write to", where=str(folder),
            fix="choose another folder for the checkpoint",
        )  # fmt: skip


#: Sentences that a writer might refuse: empty tokens, blanks, control characters, what looks like a header.
_ODD = r"^$|[\s\x00-\x1f\x7f]|^#|^-DOCSTART"
#: Rehearsed are the first sentences and the first odd ones.
_USUAL, _ODDEST = 20, 1000


def rehearse(
    crowd: Crowd, output: Path | None, out_format: str | None, options: dict[str, Any]
) -> None:
    """Write a little of what will be written, to nowhere, so that nobody waits for labels that cannot be.

    Parameters
    ----------
    crowd : the annotations; its sentences with odd tokens or names are tried.
    output, out_format : where labels will go and how; None is standard output.
    options : of the writer.
    """
    import tempfile
    import warnings

    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from seqtruth.data.labelling import Labelling
    from seqtruth.io import write
    from seqtruth.io.formats.conll.columns import check_writable

    corpus, odd = crowd.corpus, np.zeros(crowd.n_sentences, np.bool_)
    if not crowd.n_tokens:
        return
    if corpus.tokens is not None:
        strange = pc.match_substring_regex(corpus.tokens, _ODD).to_numpy(zero_copy_only=False)
        odd = np.diff(np.concatenate([[0], np.cumsum(strange)])[corpus.token_offsets]) > 0
    odd |= pc.match_substring_regex(corpus.sentence_ids, _ODD).to_numpy(zero_copy_only=False)
    documents = pa.array(corpus.documents, pa.large_string())
    named = pc.match_substring_regex(documents, _ODD).to_numpy(zero_copy_only=False)
    odd |= named[corpus.sentence_document]
    first = np.arange(min(_USUAL, crowd.n_sentences))
    part = corpus[np.union1d(first, np.flatnonzero(odd)[:_ODDEST])]
    if not part.n_tokens:
        return
    tags = np.full(part.n_tokens, max(crowd.scheme.outside, 0), crowd.tags.dtype)
    labels = Labelling(part, crowd.scheme, tags)
    if output is None:
        check_writable(labels.as_crowd())
        return
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            write(labels, Path(folder) / output.name, out_format, **options)
        except (InputError, DataError) as error:
            where = None if error.where is None else error.where.replace(folder, str(output.parent))
            raise type(error)(error.what, where=where, got=error.got, fix=error.fix) from None


def check_tagger(tagger: Path | None, method: Aggregator) -> None:
    """Raise where a tagger is asked for and the method will train none."""
    if tagger is not None and not method.trains_tagger:
        raise ParameterError(
            "--tagger: the method trains no tagger", got=method.name,
            fix="choose one with a predictor, such as accord on a corpus with text",
        )  # fmt: skip


def write_outputs(
    result: Any,
    output: Path | str | None,
    out_format: str | None,
    report: Path | None,
    save: Path | None,
    tagger: Path | None,
    scores: Any = None,
    options: dict[str, Any] | None = None,
) -> list[str]:
    """Write what was asked for, all of it or nothing; returns the names. ``options`` are the writer's."""
    from seqtruth.atomic import together

    with together():
        if output is not None:
            # of a crowd in parts: Parquet, in a place that need not be on this machine
            how = () if isinstance(output, str) else (out_format,)
            result.write(output, *how, **(options or {}))
        if report is not None:
            name = {} if save is None else {"saved": save.name}  # for the commands on the page
            result.report(report, scores=scores, **name)
        if save is not None:
            result.save(save, crowd=result.crowd is not None)
        if tagger is not None and result.tagger is not None:
            result.tagger.save(tagger)
    return [str(path) for path in (output, report, save, tagger) if path is not None]


def summary(result: Any, seconds: float, written: list[str]) -> dict[str, Any]:
    """What a run was and gave, for machines."""
    from seqtruth.result import Result

    return {
        **result.provenance,
        **(_of_result(result) if isinstance(result, Result) else _of_parts(result)),
        "rounds": len(result.history),
        "stop_reason": result.history.stop_reason,
        "seconds": round(seconds, 3),
        "annotators": list(result.annotators.ranked()),
        "warnings": list(result.warnings),
        "written": written,
    }


def _of_result(result: Result) -> dict[str, Any]:
    from seqtruth.data.spans import extract

    return {
        "sentences": result.corpus.n_sentences,
        "unlabelled": int((~result.labelled).sum()),
        "spans": len(extract(result.tags, result.corpus.token_offsets, result.scheme).start),
    }


def _of_parts(result: Any) -> dict[str, Any]:
    facts = result.parts.facts
    return {
        "sentences": facts.n_sentences,
        "tokens": facts.n_tokens,
        "token_annotations": facts.n_annotations,
    }


def print_labels(crowd: Crowd) -> None:
    """CoNLL on standard output, refused where it would not read back as it is.

    On a terminal, control characters are shown and not obeyed; a pipe or file gets what there is.
    """
    from seqtruth.cli.display import harmless
    from seqtruth.io.formats.conll.columns import check_writable, conll_chunks

    if crowd.n_tokens:
        check_writable(crowd)
    shown = sys.stdout.isatty()
    for chunk in conll_chunks(crowd):
        if shown:
            chunk = harmless(chunk.decode()).encode()
        sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()
