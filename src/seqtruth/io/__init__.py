"""Reading and writing: one format a file, read and write side by side.

=============  =========================================  ===================================
format         names                                      module
=============  =========================================  ===================================
conll          .conll .txt .bio .iob .iob2 .bioes .bilou  :mod:`seqtruth.io.formats.conll.columns`
conll-folder   a folder                                   :mod:`seqtruth.io.formats.conll.folder`
jsonl          .jsonl .ndjson .json                       :mod:`seqtruth.io.formats.jsonl`
csv, tsv       .csv .tsv                                  :mod:`seqtruth.io.longtable.table`
parquet        .parquet .pq                               :mod:`seqtruth.io.longtable.table`
=============  =========================================  ===================================

Text files may be packed (``.gz``). ``docs/formats.md`` shows an example of each.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd, Labelling
from seqtruth.errors import InputError, ParameterError
from seqtruth.io.files import check_text, read_bytes
from seqtruth.io.formats.conll.columns import read_conll, write_conll
from seqtruth.io.formats.conll.folder import read_conll_folder, write_conll_folder
from seqtruth.io.formats.jsonl import read_jsonl, write_jsonl
from seqtruth.io.longtable.sources import REQUIRED, header
from seqtruth.io.longtable.table import read_csv, read_frame, read_parquet, read_tsv, write_table
from seqtruth.result import Result

__all__ = ["FORMATS", "Format", "detect_format", "read", "write"]

Confidence = npt.NDArray[np.floating[Any]] | None


@dataclass(frozen=True)
class Format:
    """A file format.

    Parameters
    ----------
    name : what ``format=`` takes.
    suffixes : endings of file names.
    read, write : ``read(path, scheme, **options)`` and ``write(crowd, path, **options)``.
    read_options, write_options : further options of the two.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., Crowd]
    write: Callable[..., None]
    read_options: tuple[str, ...] = ()
    write_options: tuple[str, ...] = ()


_CONFIDENCES = ("confidence", "span_confidence")
_WITH_LEVEL = (*_CONFIDENCES, "level")
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        found.name: found
        for found in (
            Format(
                "conll",
                (".conll", ".txt", ".bio", ".iob", ".iob2", ".bioes", ".bilou"),
                read_conll,
                write_conll,
                ("annotators", "columns"),
                ("comments",),
            ),
            Format("conll-folder", (), read_conll_folder, write_conll_folder),
            Format(
                "jsonl",
                (".jsonl", ".ndjson", ".json"),
                read_jsonl,
                write_jsonl,
                (),
                _CONFIDENCES,
            ),
            Format(
                "csv",
                (".csv",),
                read_csv,
                partial(write_table, kind="csv"),
                ("quoting",),
                _WITH_LEVEL,
            ),
            Format(
                "tsv",
                (".tsv",),
                read_tsv,
                partial(write_table, kind="tsv"),
                ("quoting",),
                _WITH_LEVEL,
            ),
            Format(
                "parquet",
                (".parquet", ".pq"),
                read_parquet,
                partial(write_table, kind="parquet"),
                (),
                _WITH_LEVEL,
            ),
        )
    }
)
#: Format by ending of the name.
BY_SUFFIX = {suffix: found.name for found in FORMATS.values() for suffix in found.suffixes}


def read(
    source: Any, format: str | None = None, scheme: str | None = None, **options: Any
) -> Crowd:
    """Read a crowd from a file, a folder or a frame.

    Parameters
    ----------
    source : a path, or a pandas, Polars or Arrow table.
    format : a name in :data:`FORMATS`; found by the file's name and content where not given.
    scheme : the scheme of the tags; detected where not given.
    options : see the format's reader, for instance ``columns=[-1]`` for CoNLL.

    Raises
    ------
    InputError
        With file, line, what was found and what to do.
    """
    if not isinstance(source, str | os.PathLike):
        if format is not None or options:
            raise ParameterError("a frame takes neither a format nor options")
        return read_frame(source, scheme)
    path = Path(source)
    if format is None:
        format = detect_format(path)
    found = _known(format)
    _check_options(found.name, "reading", options, found.read_options)
    if path.is_dir() and format != "conll-folder":
        raise InputError(f"{format} is a file", where=str(path), got="a folder")
    return found.read(path, scheme, **options)


def write(
    crowd: Crowd | Labelling,
    path: str | os.PathLike[str],
    format: str | None = None,
    confidence: Confidence = None,
    span_confidence: Confidence = None,
    **options: Any,
) -> None:
    """Write a crowd, whole or not at all.

    Parameters
    ----------
    crowd : what to write: a crowd, a labelling, or a result, which brings its confidences along.
    path : where to; the name tells the format, unless ``format`` does. An empty folder, or a name
        that ends in ``/``, gets one CoNLL file per annotator.
    confidence : one number per token, written where the format has room (JSONL and tables).
    span_confidence : likewise, that of the span a token is in, where spans are written; without it a
        span has the smallest ``confidence`` in it.
    options : see the format's writer, for instance ``comments=False`` for CoNLL.
    """
    if isinstance(crowd, Result):
        confidence = crowd.token_confidence if confidence is None else confidence
        span_confidence = crowd.of_span if span_confidence is None else span_confidence
    if isinstance(crowd, Labelling):
        crowd = crowd.as_crowd()
    target = Path(path)
    if format is None and (target.is_dir() or os.fspath(path).endswith(("/", os.sep))):
        format = "conll-folder"
    if format is None:
        suffix = suffix_of(target)
        if suffix not in BY_SUFFIX:
            raise ParameterError(
                "cannot tell the format from the name",
                where=str(target),
                got=f"ending {suffix!r}",
                fix="give format=, one of " + ", ".join(FORMATS),
            )
        format = BY_SUFFIX[suffix]
    found = _known(format)
    _check_options(found.name, "writing", options, found.write_options)
    for name, column in zip(_CONFIDENCES, (confidence, span_confidence), strict=True):
        if column is not None and np.shape(column) != (crowd.n_tokens,):
            raise ParameterError(
                f"{name} must have {crowd.n_tokens} entries", got=str(np.shape(column))
            )
        if column is not None and name in found.write_options:
            options[name] = column
    found.write(crowd, target, **options)


def detect_format(path: Path) -> str:
    """Name of a file's format, by its name and, where that leaves a doubt, by its content."""
    if path.is_dir():
        return "conll-folder"
    suffix = suffix_of(path)
    if suffix in BY_SUFFIX and suffix not in (".tsv", ".txt", ".json"):
        return BY_SUFFIX[suffix]
    data = read_bytes(path)
    if data[:4] == b"PAR1":
        return "parquet"
    check_text(data, path)
    head = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if re.match(rb"\{\s*[\"}]", head):
        return "jsonl"
    for kind, delimiter in (("csv", ","), ("tsv", "\t")):
        if set(REQUIRED) <= set(header(head, delimiter)):
            return kind
    if suffix in BY_SUFFIX and suffix != ".tsv":
        return BY_SUFFIX[suffix]
    first = head.split(b"\n", 1)[0].split()
    if len(first) > 1 or first[:1] == [b"-DOCSTART-"]:
        return "conll"
    raise InputError(
        "cannot tell the format",
        where=str(path),
        got=f"{head[:40].decode('utf-8', 'replace')!r}" if head else "an empty file",
        fix=f"give format=, one of {', '.join(FORMATS)}",
    )


def suffix_of(path: Path) -> str:
    """Ending of a file's name, in small letters and without ``.gz``."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _known(name: str) -> Format:
    if name not in FORMATS:
        raise ParameterError(f"format must be one of {', '.join(FORMATS)}", got=repr(name))
    return FORMATS[name]


def _check_options(name: str, doing: str, options: dict[str, Any], known: tuple[str, ...]) -> None:
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{doing} {name} takes no option {option!r}",
                fix=f"it takes {', '.join(known)}" if known else None,
            )
