"""Hugging Face datasets: Parquet, Arrow, folders of ``save_to_disk``, and JSON Lines of the same rows.

A row holds ``tokens`` and tags, or a ``text`` and spans, as :mod:`.labelled_records` says; there is
a column per annotator (``ner_tags_1``, ``ner_tags_2``) or a row per annotator (column
``annotator``). Label numbers get their names from the schema: in Parquet and Arrow under the metadata
key ``huggingface``, in a folder also from ``dataset_info.json``. JSON Lines has lost them; there the
option ``names`` is needed.

A folder may be one ``Dataset``, a ``DatasetDict`` with a folder per split, or Parquet files as on the
hub. Where there are several splits, ids get the split before them (``train/0``), as they repeat.

Nothing of the ``datasets`` package is used or needed, and no script in a folder is run. Left out:
columns of bytes, other layers such as ``pos_tags`` (name them with ``labels``), nested splits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from seqtruth.errors import InputError
from seqtruth.io.documents import Document, Notes
from seqtruth.io.format import DocumentFormat, Glimpse
from seqtruth.io.formats import labelled_records as records
from seqtruth.io.formats.arrow_rows import (
    FileRows,
    arrow_rows,
    features,
    json_of,
    label_names,
    parquet_rows,
)
from seqtruth.io.formats.huggingface_rows import WRITE_OPTIONS, owners, write
from seqtruth.io.json_records import json_records
from seqtruth.io.tree import Tree

_PARQUET, _FOOTED, _STREAM = b"PAR1", b"ARROW1", b"\xff\xff\xff\xff"
_SPLIT = re.compile(r"(?:.*/)?([A-Za-z_.]+?)(?:-\d{5}-of-\d{5}|-\d+)?(?:-[0-9a-f]{8,})?\.\w+")
#: Names of a dataset's files: splits and shards.
_PART = re.compile(r"(?:.*/)?(?:(?:train|test|valid|validation|dev|eval)\b|[^/]*\d{5}-of-\d{5})")
_MARKS = ("dataset_info.json", "state.json", "dataset_dict.json")


def tell(glimpse: Glimpse) -> float:
    """By the schema's metadata, or the files of a folder; rows in JSON by numbers in ``ner_tags``."""
    if glimpse.path.is_dir():
        return _tell_folder(glimpse)
    head = glimpse.head
    if head.startswith(_PARQUET):
        return _tell_schema(parquet_rows, glimpse.path)
    if head.startswith((_FOOTED, _STREAM)):
        return _tell_schema(arrow_rows, glimpse.path)
    numbers = re.search(rb'"(?:\w+_)?ner_tags(?:_\w+)?"\s*:\s*\[\s*\d', head)
    return 0.7 if numbers and re.search(rb'"tokens"\s*:\s*\[\s*"', head) else 0.0


def _tell_folder(glimpse: Glimpse) -> float:
    assert glimpse.tree is not None
    names = [PurePosixPath(name).name for name in glimpse.tree]
    if any(mark in names for mark in _MARKS) and any(name.endswith(".arrow") for name in names):
        return 1.0
    packed = [name for name in glimpse.tree if name.endswith((".parquet", ".arrow"))]
    if not any(map(_PART.match, packed)):
        return 0.0  # files of their own, perhaps of different annotators
    first = glimpse.path / packed[0]
    return _tell_schema(arrow_rows if packed[0].endswith(".arrow") else parquet_rows, first)


def _tell_schema(rows: Any, path: Path) -> float:
    try:
        found: FileRows = rows(path)
    except InputError:
        return 0.3
    if {"task", "worker", "label"} <= set(found.columns):
        return 0.0  # our own long table
    if b"huggingface" in found.metadata:
        return 0.95
    return 0.6 if "tokens" in found.columns else 0.3 if "text" in found.columns else 0.0


def read(path: Path, notes: Notes, **options: object) -> Iterator[Document]:
    """Documents of a file or folder; ``subset`` chooses one of several splits."""
    wanted = options.pop("subset", None)
    if not path.is_dir():
        yield from _read_file(path, {}, notes, options)
        return
    splits = _splits(path)
    options = {"annotator": path.resolve().name, **options}
    if wanted is not None:
        if str(wanted) not in splits:
            raise InputError(
                f"there is no split {wanted!r}", where=str(path), got=f"splits {', '.join(splits)}"
            )
        splits = {str(wanted): splits[str(wanted)]}
    for split, files in splits.items():
        numbered: set[str] = set()
        for file, named in files:
            for document in _read_file(file, named, notes, options):
                name = f"{split}/{document.id}" if len(splits) > 1 else document.id
                if name in numbered:  # rows without ids are numbered anew in each file
                    name = f"{name}@{file.stem}"
                numbered.add(name)
                yield replace(document, id=name)


def _read_file(
    path: Path, named: dict[str, list[str]], notes: Notes, options: dict[str, object]
) -> Iterator[Document]:
    with open(path, "rb") as file:
        head = file.read(8)
    if not head.startswith((_PARQUET, _FOOTED, _STREAM)):
        yield from records.documents_of(json_records(path), records.choices(path, options), notes)
        return
    found = parquet_rows(path) if head.startswith(_PARQUET) else arrow_rows(path)
    names = named | label_names(features(found.metadata), str(path))
    choices = records.choices(path, options, names=names, owners=owners(found.metadata))
    yield from records.documents_of(found.rows, choices, notes)


def _splits(path: Path) -> dict[str, list[tuple[Path, dict[str, list[str]]]]]:
    """The data files of each split, in order, with the label names their folder knows."""
    tree = Tree(path)
    found: dict[str, list[tuple[Path, dict[str, list[str]]]]] = {}
    data = [name for name in tree if name.endswith((".arrow", ".parquet"))]
    if not data:
        raise InputError(
            "the folder holds no Arrow or Parquet files", where=str(path),
            fix="give the folder that save_to_disk wrote, or one with .parquet files",
        )  # fmt: skip
    for name in data:
        if PurePosixPath(name).name.startswith("cache-"):
            continue  # intermediate results that map() leaves beside the data
        folder = PurePosixPath(name).parent
        names, listed = _folder_says(tree, folder)
        if listed and PurePosixPath(name).name not in listed:
            continue
        found.setdefault(_split_of(name, listed), []).append((path / name, names))
    return found


def _split_of(name: str, listed: bool | list[str]) -> str:
    folder = PurePosixPath(name).parent.name
    match = _SPLIT.fullmatch(name)
    return folder if listed or not match else match[1]


def _folder_says(tree: Tree, folder: PurePosixPath) -> tuple[dict[str, list[str]], list[str]]:
    """Label names of a saved dataset, and the names of its data files."""
    state_name, info_name = str(folder / "state.json"), str(folder / "dataset_info.json")
    state = json_of(tree.read(state_name)) if state_name in tree.names else {}
    info = json_of(tree.read(info_name)) if info_name in tree.names else {}
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise InputError(
            "the dataset was saved with its rows chosen by a separate index",
            where=tree.where(state_name), fix="save it again after flatten_indices()",
        )  # fmt: skip
    files = state.get("_data_files")
    listed = (
        [x.get("filename") for x in files if isinstance(x, dict)] if isinstance(files, list) else []
    )
    known = info.get("features")
    names = label_names(known, tree.where(info_name)) if isinstance(known, dict) else {}
    return names, [str(name) for name in listed]


FORMAT = DocumentFormat(
    "huggingface",
    "Hugging Face datasets",
    tell,
    read,
    write,
    read_options={**records.OPTIONS, "subset": "one of several splits, such as train"},
    write_options=WRITE_OPTIONS,
    cannot_carry=(
        "with tags: overlapping and discontinuous marks, scores, times (layout=spans carries them)",
        "marks that end inside one of the document's own tokens, with tags",
        "roles and odd annotator names in JSON Lines with tags",
    ),
    suffixes=(".parquet",),
)
