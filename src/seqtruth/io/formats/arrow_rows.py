"""Rows of Parquet and Arrow files as dictionaries, a few at a time, and what the schema says of them.

Only pyarrow reads here. Nothing that a file holds is run or unpickled; a type that is not known comes as
its plain storage, and columns of bytes (pictures, sounds) are not read at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from seqtruth.errors import InputError
from seqtruth.io.formats.checked_values import shown
from seqtruth.io.json_records import parse_json

#: Rows turned into Python objects at a time.
ROWS = 512
#: How deep a schema is looked into for label names.
_DEEP = 5
_DAMAGES = (
    pa.ArrowException, OSError, ValueError, MemoryError, OverflowError, TypeError, KeyError,
    RecursionError, NotImplementedError,
)  # fmt: skip


class FileRows(NamedTuple):
    """A file's columns, what its metadata say, and its rows with their places."""

    columns: tuple[str, ...]
    metadata: dict[bytes, bytes]
    rows: Iterator[tuple[dict[str, Any], str]]


def parquet_rows(path: Path) -> FileRows:
    """Rows of a Parquet file."""
    import pyarrow.parquet as pq  # slow to import: only where it is needed

    try:
        file = pq.ParquetFile(path)
        schema = file.schema_arrow
        wanted = _readable(schema)
    except _DAMAGES as error:
        raise _damaged("Parquet", path, error) from None
    pieces = file.iter_batches(ROWS, columns=wanted, use_threads=False)
    return FileRows(tuple(wanted), dict(schema.metadata or {}), _rows("Parquet", path, pieces))


def arrow_rows(path: Path) -> FileRows:
    """Rows of an Arrow file, streamed (as ``datasets`` writes) or with a footer."""
    try:
        with open(path, "rb") as file:
            footed = file.read(6) == b"ARROW1"
        source = pa.OSFile(str(path))
        reader = pa.ipc.open_file(source) if footed else pa.ipc.open_stream(source)
        schema = reader.schema
        wanted = _readable(schema)
    except _DAMAGES as error:
        raise _damaged("Arrow", path, error) from None

    def pieces() -> Iterator[pa.RecordBatch]:
        numbers = range(reader.num_record_batches) if footed else None
        for batch in reader if numbers is None else map(reader.get_batch, numbers):
            batch.validate(full=True)
            yield batch.select(wanted)

    return FileRows(tuple(wanted), dict(schema.metadata or {}), _rows("Arrow", path, pieces()))


def _readable(schema: pa.Schema) -> list[str]:
    names = schema.names
    return [x.name for x in schema if not _bytes_in(x.type) and names.count(x.name) == 1]


def _bytes_in(kind: pa.DataType, depth: int = 0) -> bool:
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return True
    if pa.types.is_fixed_size_binary(kind) or depth > _DEEP:
        return True
    if pa.types.is_nested(kind) and not pa.types.is_map(kind):
        return any(_bytes_in(kind.field(i).type, depth + 1) for i in range(kind.num_fields))
    return False


def _rows(what: str, path: Path, pieces: Any) -> Iterator[tuple[dict[str, Any], str]]:
    number = 0
    slices = (piece.slice(at, ROWS) for piece in pieces for at in range(0, piece.num_rows, ROWS))
    while True:
        try:
            part = next(slices, None)
            rows = [] if part is None else part.to_pylist()
        except _DAMAGES as error:
            raise _damaged(what, path, error) from None
        if part is None:
            return
        for row in rows:
            number += 1
            yield row, f"{path}: row {number}"


def _damaged(what: str, path: Path, error: BaseException) -> InputError:
    return InputError(f"not a readable {what} file", where=str(path), got=str(error)[:100] or None)


def features(metadata: dict[bytes, bytes]) -> dict[str, Any]:
    """The columns' features, as ``datasets`` writes them into a schema; none where it did not."""
    info = json_of(metadata.get(b"huggingface", b"")).get("info")
    found = info.get("features") if isinstance(info, dict) else None
    return found if isinstance(found, dict) else {}


def json_of(data: bytes) -> dict[str, Any]:
    """A JSON object in metadata; an empty one where it is something else."""
    try:
        found = parse_json(data) if data else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def label_names(features: dict[str, Any], where: str) -> dict[str, list[str]]:
    """The names of each column's label numbers, where it has ``ClassLabel`` somewhere inside."""
    found = {}
    for column, feature in features.items():
        names = _class_names(feature, 0)
        if names is None:
            continue
        if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
            raise InputError(
                f"the label names of {column!r} are damaged", where=where, got=shown(names)
            )
        found[column] = names
    return found


def _class_names(feature: Any, depth: int) -> Any:
    """The names of the first ClassLabel in a feature; None where there is none."""
    if depth > _DEEP:
        return None
    if isinstance(feature, list):  # how old versions write a list
        return _class_names(feature[0], depth + 1) if feature else None
    if not isinstance(feature, dict):
        return None
    if feature.get("_type") == "ClassLabel":
        return feature.get("names", [])
    return next(
        (names for x in feature.values() if (names := _class_names(x, depth + 1)) is not None), None
    )
