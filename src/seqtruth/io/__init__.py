"""Reading and writing: one format a file, read and write side by side.

Files of annotation tools hold documents with marks (:mod:`~seqtruth.io.documents`), which are cut into
tokens and sentences here; our own formats hold tokens and tags. :data:`FORMATS` lists both, with those of
other packages; ``docs/formats.md`` shows an example of each. The format of a file is found by its content.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.errors import DataWarning, InputError, ParameterError
from seqtruth.io.documents import Document, Notes, Role
from seqtruth.io.format import CrowdFormat, DocumentFormat, Format
from seqtruth.io.from_documents import CrowdBuilder, Cutting, RepeatedIdError
from seqtruth.io.join import join_files
from seqtruth.io.layers import with_layers
from seqtruth.io.longtable.table import read_frame
from seqtruth.io.merge import SharedTexts, merged
from seqtruth.io.own_formats import CONFIDENCES, suffix_of
from seqtruth.io.places import Places, is_place
from seqtruth.io.plan import Plan, planned
from seqtruth.io.registry import FORMATS, format_by_name, known_format
from seqtruth.io.to_documents import Scores, documents_of
from seqtruth.result import Result

__all__ = [
    "FORMATS",
    "CrowdFormat",
    "Document",
    "DocumentFormat",
    "convert",
    "detect_format",
    "read",
    "read_documents",
    "read_gold",
    "target_format",
    "write",
    "write_documents",
]

Confidence = npt.NDArray[np.floating[Any]] | None
_CUTTING = tuple(entry.name for entry in fields(Cutting) if entry.name != "scheme")


def read(
    source: Any, format: str | None = None, scheme: str | None = None, **options: Any
) -> Crowd:
    """Read a crowd from files, folders or a frame.

    Parameters
    ----------
    source : a path or pattern, several of them, ``-`` for standard input, or a pandas, Polars or Arrow
        table.
    format : a name in :data:`FORMATS`; found by the file's content where not given.
    scheme : the scheme of the tags; detected where not given. Marks of tools are spelled in it (IOB2).
    options : for tools' files ``split`` (``"sentences"``, ``"lines"``, ``"none"``), ``overlap``
        (``"layers"``, ``"longest"``, ``"error"``) and ``roles`` (whose opinions: ``"annotator"``,
        ``"model"``, ``"gold"``; by default annotators and models), see
        :class:`~seqtruth.io.from_documents.Cutting`; and those of the format, for instance
        ``columns=[-1]`` for CoNLL.

    Raises
    ------
    InputError
        With file, line, what was found and what to do.
    """
    if not is_place(source):
        if format is not None or options:
            raise ParameterError("a frame takes neither a format nor options")
        return read_frame(source, scheme)
    with planned(source, format) as plan:
        kinds = {isinstance(found, DocumentFormat) for _, found in plan.entries}
        if kinds == {True}:
            return _crowd_of_documents(plan, scheme, options)
        return _joined(plan, scheme, options)


def _joined(plan: Plan, scheme: str | None, options: dict[str, Any]) -> Crowd:
    crowds = [_read_one(path, found, scheme, options) for path, found in plan.entries]
    return join_files(crowds, [plan.place(path) for path, _ in plan.entries])


def _read_one(path: Path, found: Format, scheme: str | None, options: dict[str, Any]) -> Crowd:
    if isinstance(found, DocumentFormat):
        return _crowd_of_documents(Plan([(path, found)]), scheme, options)
    _check_options(found.name, "reading", options, found.read_options)
    if path.is_dir() and found.name != "conll-folder":
        raise InputError(f"{found.name} is a file", where=str(path), got="a folder")
    return with_layers(found.read(path, scheme, **options))


def _crowd_of_documents(
    plan: Plan, scheme: str | None, options: dict[str, Any], by_one: bool = False
) -> Crowd:
    entries = plan.entries
    cutting, rest = _cutting(entries[0][1], scheme, options)
    name = plan.told(str(entries[0][0])) if len(entries) == 1 else f"{len(entries)} files"
    notes = Notes()
    try:
        builder, texts = CrowdBuilder(name, notes, cutting), SharedTexts()
        for file, document in _documents(entries, notes, rest):
            builder.add(_by_one_hand(document) if by_one else document)
            if len(entries) > 1:
                texts.add(file, document)
        if texts.join_files():
            raise RepeatedIdError("texts of several files")
    except RepeatedIdError:
        notes = Notes()
        builder = CrowdBuilder(name, notes, cutting)
        for document in merged(_documents(entries, notes, rest), notes, plan.owners()):
            builder.add(_by_one_hand(document) if by_one else document)
    crowd = builder.crowd(entries[0][1].name)
    plan.tell(notes)
    notes.warn(f"reading {name}", stacklevel=4)
    if told := builder.overlaps.describe():
        warnings.warn(f"{name}: {told}", DataWarning, stacklevel=4)
    return crowd


def _cutting(
    found: Format, scheme: str | None, options: dict[str, Any]
) -> tuple[Cutting, dict[str, Any]]:
    """How to cut documents, and the options left for the format."""
    assert isinstance(found, DocumentFormat)
    chosen = {name: options[name] for name in _CUTTING if options.get(name) is not None}
    chosen.setdefault("split", "none" if found.unit == "sentence" else "sentences")
    rest = {name: value for name, value in options.items() if name not in _CUTTING}
    return Cutting(scheme=scheme, **chosen), rest


def _documents(
    entries: list[tuple[Path, Format]], notes: Notes, options: dict[str, Any]
) -> Iterator[tuple[Path, Document]]:
    """Documents of all files, each with its file."""
    for path, found in entries:
        assert isinstance(found, DocumentFormat)
        known = found.read_options or {}
        _check_options(found.name, "reading", options, (*_CUTTING, *known))
        empty = True
        try:
            for document in found.read(path, notes, **options):
                empty = False
                yield path, document
        except InputError as error:
            raise _read_as(found, error, path) from None
        if empty:
            raise InputError(
                f"{found.title}: the file has no texts to read", where=str(path),
                got="; ".join(notes.lines()) or None,
            )  # fmt: skip


def _read_as(found: DocumentFormat, error: InputError, path: Path) -> InputError:
    """The same fault, with the file and the name of the tool whose file this seems to be."""
    what = error.what if found.title in str(error) else f"{error.what} (read as {found.title})"
    return InputError(what, where=error.where or str(path), got=error.got, fix=error.fix)


def read_documents(
    source: Places, format: str | None = None, **options: Any
) -> Iterator[tuple[Document, Notes]]:
    """Documents as the tool's files have them, with what could not be carried so far.

    Files of our own formats are read whole, and given as documents.

    Parameters
    ----------
    source : a path or pattern, or several.
    format : a name in :data:`FORMATS`; found by the content where not given.
    options : of the format's reader.
    """
    notes = Notes()
    with planned(source, format) as plan:
        for path, found in plan.entries:
            if isinstance(found, DocumentFormat):
                for _, document in _documents([(path, found)], notes, options):
                    yield document, notes
            else:
                for document in documents_of(_read_one(path, found, None, options)):
                    yield document, notes


def read_gold(source: Any, format: str | None = None, scheme: str | None = None) -> Crowd:
    """Read a gold standard: what a file calls gold, or, where it calls nothing so, all there is.

    Parameters
    ----------
    source : as for :func:`read`.
    format, scheme : likewise.
    """
    if not is_place(source):
        return read(source, format, scheme)
    with planned(source, format) as plan:
        if all(isinstance(found, DocumentFormat) for _, found in plan.entries):
            return _gold_of_documents(plan, scheme)
        return _joined(plan, scheme, {})


def _gold_of_documents(plan: Plan, scheme: str | None) -> Crowd:
    # Label Studio's ground truth is somebody's annotation unless it is asked for
    asked = all("ground_truth" in (found.read_options or ()) for _, found in plan.entries)
    options = {"ground_truth": "gold"} if asked else {}
    has_gold = any(
        opinion.role == "gold"
        for _, document in _documents(plan.entries, Notes(), options)
        for opinion in document.opinions
    )
    if has_gold:
        return _crowd_of_documents(plan, scheme, {"roles": "gold", **options}, by_one=True)
    return _crowd_of_documents(plan, scheme, {})


def _by_one_hand(document: Document) -> Document:
    """The document with all its gold by one annotator."""
    opinions = (
        replace(opinion, annotator="gold") if opinion.role == "gold" else opinion
        for opinion in document.opinions
    )
    return replace(document, opinions=tuple(opinions))


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
    format : a name in :data:`FORMATS`.
    crowd : what to write: a crowd, a labelling, or a result, which brings its confidences along.
    path : where to; the name tells the format, unless ``format`` does. An empty folder, or a name
        that ends in ``/``, gets one CoNLL file per annotator.
    confidence : one number per token, written where the format has room.
    span_confidence : likewise, that of the span a token is in, where spans are written; without it a
        span has the smallest ``confidence`` in it.
    options : see the format's writer, for instance ``comments=False`` for CoNLL.
    """
    found = target_format(path, format)
    scores = Scores(confidence, span_confidence)
    if isinstance(crowd, Result):
        scores = Scores(
            crowd.token_confidence if confidence is None else confidence,
            crowd.of_span if span_confidence is None else span_confidence,
            crowd.sentence_confidence,
        )
    role: Role | None = None
    if isinstance(crowd, Labelling):
        by_tool = isinstance(found, DocumentFormat) and isinstance(crowd, Result)
        role = "model" if isinstance(crowd, Result) else "gold"
        crowd = crowd.as_crowd(_model_name(crowd) if by_tool else "truth")
    columns = dict(zip(CONFIDENCES, (scores.token, scores.span), strict=True))
    for name, column in columns.items():
        if column is not None and np.shape(column) != (crowd.n_tokens,):
            raise ParameterError(
                f"{name} must have {crowd.n_tokens} entries", got=str(np.shape(column))
            )
    if isinstance(found, DocumentFormat):
        write_documents(documents_of(crowd, scores, role), path, found.name, **options)
        return
    _warn_of_losses(crowd, found)
    _check_options(found.name, "writing", options, found.write_options)
    given = {name: column for name, column in columns.items() if column is not None}
    room = {name: column for name, column in given.items() if name in found.write_options}
    found.write(crowd, Path(path), **options, **room)


def _warn_of_losses(crowd: Crowd, found: CrowdFormat) -> None:
    """Say, by name, what a file of tokens and tags cannot carry; JSON lines carry it."""
    notes, corpus = Notes(), crowd.corpus
    if found.name == "jsonl":
        return
    if len(corpus.layers) > 1 and corpus.tokens is None:  # known again by tokens and ids
        what = "layer, as such (its sentences stand by themselves, named id@layer)"
        notes.left_out(what, times=len(corpus.layers) - 1)
    if pieces := sum(bool(one.annotator) for one in corpus.origin.discontinuous):
        notes.left_out("bond between the pieces of a discontinuous mark", times=pieces)
    notes.warn(f"writing {found.title}", stacklevel=4)


def _model_name(result: Labelling) -> str:
    """What a tool shows as the maker of the labels."""
    provenance = result.provenance if isinstance(result, Result) else {}
    return f"seqtruth-{provenance.get('method', 'labels')}"


def write_documents(
    documents: Any,
    path: str | os.PathLike[str],
    format: str,
    notes: Notes | None = None,
    **options: Any,
) -> None:
    """Write documents in a tool's format; what it cannot carry is a warning, by name.

    Parameters
    ----------
    documents : of :class:`~seqtruth.io.documents.Document`, one after the other.
    path : where to.
    format : a name in :data:`FORMATS`, of a tool.
    notes : what could not be carried is noted here as well.
    options : of the format's writer.
    """
    found = known_format(format)
    if not isinstance(found, DocumentFormat) or found.write is None:
        raise ParameterError(f"{found.title} is only read", got=repr(format))
    _check_options(found.name, "writing", options, tuple(found.write_options or ()))
    notes = Notes() if notes is None else notes
    found.write(documents, Path(path), notes, **options)
    notes.warn(f"writing {found.title}", stacklevel=3)


def convert(
    source: Places,
    target: str | os.PathLike[str],
    format: str | None = None,
    to: str | None = None,
    *,
    scheme: str | None = None,
    read_options: Mapping[str, Any] | None = None,
    write_options: Mapping[str, Any] | None = None,
) -> None:
    """Read files and write them in another format, everybody's labels as they are.

    From one tool's format to another nothing is cut: documents stay whole, with all marks.

    Parameters
    ----------
    source, target : from where, and to where.
    format, to : formats of the two, where the content and the name do not tell.
    scheme : of tags, where not to be detected.
    read_options, write_options : for reader and writer.
    """
    found = target_format(target, to)
    reading, writing = dict(read_options or {}), dict(write_options or {})
    if isinstance(found, CrowdFormat):
        write(read(source, format, scheme, **reading), target, found.name, **writing)
        return
    with planned(source, format) as plan:
        entries = plan.entries
        if all(isinstance(kind, DocumentFormat) for _, kind in entries):
            if reading.get("overlap") not in (None, "layers"):  # which is for crowds to decide
                crowd = _crowd_of_documents(plan, scheme, reading)
                write(crowd, target, found.name, **writing)
                return
            roles = Cutting(roles=reading["roles"]).wanted() if reading.get("roles") else None
            for name in _CUTTING:
                reading.pop(name, None)
            notes = Notes()
            documents: Any = (document for _, document in _documents(entries, notes, reading))
            if len(entries) > 1:
                documents = merged(_documents(entries, notes, reading), notes, plan.owners())
            if roles:
                documents = (_by_roles(document, roles) for document in documents)
            write_documents(documents, target, found.name, notes, **writing)
            return
        crowd = _joined(plan, scheme, reading)
    write(crowd, target, found.name, **writing)


def _by_roles(document: Document, roles: tuple[str, ...]) -> Document:
    opinions = (opinion for opinion in document.opinions if opinion.role in roles)
    return replace(document, opinions=tuple(opinions))


def target_format(path: str | os.PathLike[str], format: str | None = None) -> Format:
    """The format to write in: the one named, or what the path's name says.

    Parameters
    ----------
    path : where to write.
    format : a name in :data:`FORMATS`.
    """
    if format is not None:
        found = known_format(format)
        if found.write is None:
            raise ParameterError(f"{found.title} is only read", got=repr(format))
        return found
    target = Path(path)
    if target.is_dir() or os.fspath(path).endswith(("/", os.sep)):
        return known_format("conll-folder")
    by_name = format_by_name(target)
    if by_name is None:
        raise ParameterError(
            "cannot tell the format from the name", where=str(target),
            got=f"ending {suffix_of(target)!r}",
            fix="give format=, one of " + ", ".join(n for n in FORMATS if FORMATS[n].write is not None),
        )  # fmt: skip
    return by_name


def detect_format(path: Places) -> str:
    """Name of a file's format, by its content and, where that leaves a doubt, by its name.

    Parameters
    ----------
    path : a file, or a folder, pattern or several; of files of several formats all names.
    """
    with planned(path, None) as plan:
        return ", ".join(dict.fromkeys(found.name for _, found in plan.entries))


def _check_options(
    name: str, doing: str, options: Mapping[str, Any], known: tuple[str, ...]
) -> None:
    for option in options:
        if option not in known:
            raise ParameterError(
                f"{doing} {name} takes no option {option!r}",
                fix=f"it takes {', '.join(known)}" if known else None,
            )
