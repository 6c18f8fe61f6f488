"""Where long tables come from and go to: CSV, TSV, Parquet, and frames of other libraries.

Nothing of pandas or Polars is imported: their frames hand over Arrow data themselves.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from seqtruth.atomic import atomic_path
from seqtruth.errors import DataError, InputError
from seqtruth.io.files import read_bytes, read_text, write_chunks
from seqtruth.io.longtable.codes import NotWhole, whole_numbers

if TYPE_CHECKING:
    import pyarrow.parquet as pq

#: Columns that mean something; others are ignored.
KNOWN = ("task", "worker", "label", "token_index", "token", "doc", "start", "end", "text", "tokens")
REQUIRED = ("task", "worker", "label")


#: Rows looked at together.
BATCH_ROWS = 1 << 20


class Batches(NamedTuple):
    """A table that comes in batches, once.

    Parameters
    ----------
    name : file name for messages.
    columns : names of those that mean something.
    n_rows : rows of the whole table.
    batches : rows that come together.
    where : how to name the place of a row.
    """

    name: str
    columns: tuple[str, ...]
    n_rows: int
    batches: Iterable[pa.RecordBatch]
    where: Callable[[int], str]


class TableSource(NamedTuple):
    """A table in memory, and how to name the place of one of its rows."""

    name: str
    table: pa.Table
    where: Callable[[int], str]

    def batches(self) -> Batches:
        """The table in batches."""
        table = self.table
        batches = table.to_batches(max_chunksize=BATCH_ROWS)
        return Batches(self.name, tuple(table.column_names), table.num_rows, batches, self.where)

    def has(self, column: str) -> bool:
        return column in self.table.column_names

    def strings(self, column: str) -> pa.Array:
        """A column as text; empty fields are null."""
        found = self.table.column(column)
        try:
            values = _whole(_decoded(found) if pa.types.is_dictionary(found.type) else found)
            if pa.types.is_floating(values.type):
                values = pc.if_else(pc.is_nan(values), None, values)
            values = values.cast(pa.large_string())
            values.validate(full=True)
        except (pa.ArrowException, ValueError) as error:
            raise InputError(
                f"column {column!r} cannot be read as text",
                where=self.name,
                got=str(found.type),
                fix=str(error)[:80],
            ) from None
        return pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.large_string()), values)

    def numbers(self, column: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """A column as whole numbers, and which of them are given."""
        try:
            return whole_numbers(_whole(self.table.column(column)))
        except NotWhole as bad:
            raise InputError(
                f"{column} must be a whole number",
                where=self.where(bad.row),
                got=f"{bad.text!r:.40}",
            ) from None
        except (pa.ArrowException, ValueError, IndexError) as error:
            raise InputError(
                f"column {column!r} cannot be read as whole numbers",
                where=self.name,
                got=str(self.table.column(column).type),
                fix=str(error)[:80],
            ) from None


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A categorical column as text; Arrow cannot take from the string views that Polars gives."""
    text = pa.large_string()
    chunks = [part.dictionary.cast(text).take(part.indices) for part in column.chunks]
    return pa.chunked_array(chunks, text)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _checked(source: TableSource) -> TableSource:
    names = source.table.column_names
    check_names(source.name, names)
    if not source.table.num_rows:
        raise InputError("the table has no rows", where=source.name)
    return source._replace(table=source.table.select([name for name in KNOWN if name in names]))


def check_names(name: str, names: list[str]) -> None:
    """Raise where a needed column is missing or one stands twice."""
    lacking = [column for column in REQUIRED if column not in names]
    if lacking:
        raise InputError(
            f"column {lacking[0]!r} is missing",
            where=name,
            got=f"columns {', '.join(map(str, names))}"[:120],
            fix="a table needs the columns task, worker and label",
        )
    for column in KNOWN:
        if names.count(column) > 1:
            raise InputError(f"column {column!r} is there twice", where=name)


def load_delimited(
    path: Path, mark: str | None, quoting: bool = True, safe_cells: bool = False
) -> TableSource:
    """A CSV or TSV file; all fields are text.

    Parameters
    ----------
    mark : what stands between cells; None: whatever of CSV's it is.
    quoting : whether quotation marks have a meaning.
    safe_cells : take off the apostrophes of the writer's option of that name.
    """
    data = read_text(path)
    delimiter = mark or delimiter_in(data[: 1 << 16]) or ","
    names = header(data, delimiter)
    first, _, rest = data.partition(b"\n")
    if _SEPARATOR.fullmatch(first):
        data = b"\n" + rest  # an empty line, so that lines keep their numbers
    check_names(f"{path}:1", names)
    wanted = [name for name in KNOWN if name in names]
    ragged: list[pa_csv.InvalidRow] = []

    def note(row: pa_csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            pa_csv.ReadOptions(use_threads=False, block_size=max(1 << 20, min(len(data), 1 << 28))),
            pa_csv.ParseOptions(
                delimiter=delimiter,
                quote_char='"' if quoting else False,
                newlines_in_values=quoting,
                invalid_row_handler=note,
            ),
            pa_csv.ConvertOptions(
                include_columns=wanted,
                column_types={name: pa.large_string() for name in wanted},
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, ValueError) as error:
        raise _csv_fault(path, data, delimiter, quoting, ragged, error) from None

    def where(row: int) -> str:
        return f"{path}:{_line(data, delimiter, quoting, row + 1)}"

    _check_quotes(table, where)
    if safe_cells:
        table = _with_texts(table, rf"^'({FORMULA})", r"\1")
    return _checked(TableSource(str(path), table, where))


def _check_quotes(table: pa.Table, where: Callable[[int], str]) -> None:
    """Raise where a field other than the text runs over lines: a quotation mark is not closed."""
    for name in table.column_names:
        if name == "text":
            continue
        row = pc.index(pc.match_substring(table.column(name), "\n"), True).as_py()
        if row >= 0:
            raise InputError(
                f"the {name} runs over lines, as if a quotation mark were not closed",
                where=where(row),
                got=f"{table.column(name)[row].as_py()!r:.60}",
                fix="write a quotation mark as two inside quotes, or read with quoting=False",
            )


def delimiter_in(data: bytes) -> str | None:
    """What stands between the cells of a long table (a comma, semicolon or bar); None where it is none.

    >>> delimiter_in(b"task;worker;label\\n"), delimiter_in(b"a,b\\n")
    (';', None)
    """
    marks = (mark for mark in ",;|" if set(REQUIRED) <= set(header(data, mark)))
    return next(marks, None)


def header(data: bytes, delimiter: str) -> list[str]:
    """Column names on the first line; one that only names the delimiter (``sep=;``) is passed over."""
    first, _, rest = data.partition(b"\n")
    line = (rest if _SEPARATOR.fullmatch(first) else first).split(b"\n", 1)[0]
    text = line.decode("utf-8", "replace").rstrip("\r")
    return [cell.strip('"') for cell in text.split(delimiter)]


def _csv_fault(
    path: Path, data: bytes, delimiter: str, quoting: bool, ragged: list[Any], error: Exception
) -> InputError:
    if not ragged:
        return InputError("the table cannot be read", where=str(path), got=str(error)[:100])
    row = ragged[0]
    line = _line(data, delimiter, quoting, row.number - 1) if row.number else "?"
    return InputError(
        f"{row.actual_columns} columns where the header has {row.expected_columns}",
        where=f"{path}:{line}",
        got=f"{row.text!r:.60}",
        fix="check separators and quotes" if quoting else None,
    )


def _line(data: bytes, delimiter: str, quoting: bool, record: int) -> int:
    """Line on which a record begins (0 is the header), counting lines inside quoted fields."""
    text = io.StringIO(data.decode(), newline="")
    if quoting:
        reader = csv.reader(text, delimiter=delimiter)
    else:
        reader = csv.reader(text, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    line = 0
    try:
        while True:
            line = reader.line_num + 1
            if next(reader):
                record -= 1
            if record < 0:
                return line
    except (csv.Error, StopIteration):
        return line


#: The line by which a spreadsheet says what stands between cells.
_SEPARATOR = re.compile(rb'"?sep=."?\r?', re.IGNORECASE)
#: What a spreadsheet takes for a formula, or would after an apostrophe is taken off (RE2 syntax).
FORMULA = r"'*[=+\-@\t\r]"
#: What a damaged file makes Arrow raise.
_DAMAGES = (pa.ArrowException, OSError, ValueError, MemoryError, UnicodeDecodeError)
#: Columns of text, which are read as codes.
_TEXTS = ("task", "worker", "label", "token", "doc")


def open_parquet(path: Path) -> pq.ParquetFile:
    """A Parquet file with the needed columns; columns of text come as codes."""
    import pyarrow.parquet as pq  # slow to import: only where it is needed

    if _is_plain_file(path):
        source: Any = str(path)
    else:  # a pipe, or packed
        source = pa.BufferReader(read_bytes(path))
    try:
        plain = pq.ParquetFile(source)
        names = plain.schema_arrow.names
        texts = [x.name for x in plain.schema_arrow if x.name in _TEXTS and _is_text(x.type)]
        file = pq.ParquetFile(
            source,
            metadata=plain.metadata,
            read_dictionary=texts,
            page_checksum_verification=True,
        )
    except _DAMAGES as error:
        raise _damaged(path, error) from None
    check_names(str(path), names)
    return file


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_plain_file(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        with open(path, "rb") as file:
            head = file.read(2)
    except OSError:
        return False  # reading it whole says why
    if not head:
        raise InputError("the file is empty", where=str(path))
    return head != b"\x1f\x8b"


def _damaged(path: Path, error: Exception) -> InputError:
    return InputError("not a readable Parquet file", where=str(path), got=str(error)[:100])


def stream_parquet(
    path: Path, file: pq.ParquetFile, columns: Iterable[str] = KNOWN
) -> Iterator[pa.RecordBatch]:
    """Rows of a file in batches; of its columns only these."""
    wanted = [name for name in columns if name in file.schema_arrow.names]
    batches = file.iter_batches(BATCH_ROWS, columns=wanted, use_threads=True)
    lacking = file.metadata.num_rows
    while True:
        try:
            batch = next(batches, None)
        except _DAMAGES as error:
            raise _damaged(path, error) from None
        if batch is None:
            break
        lacking -= batch.num_rows
        yield batch
    if lacking:
        raise InputError("not a readable Parquet file", where=str(path), got="too few rows")


def load_parquet(path: Path, file: pq.ParquetFile | None = None) -> TableSource:
    """A Parquet file, whole."""
    file = open_parquet(path) if file is None else file
    wanted = [name for name in KNOWN if name in file.schema_arrow.names]
    try:
        table = file.read(wanted)
        table.validate(full=True)
    except _DAMAGES as error:
        raise _damaged(path, error) from None
    return _checked(TableSource(str(path), table, lambda row: f"{path}: row {row + 1}"))


def batches_of_parquet(path: Path, file: pq.ParquetFile) -> Batches:
    """A Parquet file in batches."""
    names = file.schema_arrow.names
    n_rows = file.metadata.num_rows
    if not n_rows:
        raise InputError("the table has no rows", where=str(path))
    return Batches(
        str(path),
        tuple(name for name in KNOWN if name in names),
        n_rows,
        stream_parquet(path, file),
        lambda row: f"{path}: row {row + 1}",
    )


def load_frame(frame: Any) -> TableSource:
    """A pandas, Polars or Arrow frame, or anything else that speaks the Arrow C stream."""
    try:
        if type(frame).__module__.partition(".")[0] == "pandas":
            table = pa.Table.from_pandas(frame, preserve_index=False)
        else:
            table = pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            "cannot read this as a table",
            got=type(frame).__name__,
            fix=f"give a path or a pandas, Polars or Arrow frame ({str(error)[:60]})",
        ) from None
    return _checked(TableSource("frame", table, lambda row: f"frame: row {row + 1}"))


def _check_lines(table: pa.Table, path: Path) -> None:
    """Refuse line ends in fields where the reader takes them for an unclosed quotation mark."""
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name == "text" or not pa.types.is_large_string(column.type):
            continue
        row = pc.index(pc.match_substring(column, "\n"), True).as_py()
        if row >= 0:
            raise DataError(
                f"{name} {column[row].as_py()!r:.60} holds a line end",
                where=str(path),
                fix="write .jsonl or .parquet instead",
            )


def _with_texts(table: pa.Table, pattern: str, replacement: str) -> pa.Table:
    """The table with its fields of text changed."""
    columns = [
        pc.replace_substring_regex(column, pattern, replacement, max_replacements=1)
        if pa.types.is_large_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def save_delimited(table: pa.Table, path: Path, delimiter: str, safe_cells: bool = False) -> None:
    """Write CSV or TSV; fields are quoted only where some field needs it.

    With ``safe_cells``, those that a spreadsheet would run as formulas get an apostrophe in front.
    """
    _check_lines(table, path)
    if safe_cells:
        table = _with_texts(table, rf"^({FORMULA})", r"'\1")
    special = rf'["\r\n{delimiter}]|^\s|\s$'
    needs = any(
        pc.any(pc.match_substring_regex(column, special)).as_py()
        for column in table.columns
        if pa.types.is_large_string(column.type)
    )
    options = pa_csv.WriteOptions(
        include_header=False, delimiter=delimiter, quoting_style="needed" if needs else "none"
    )

    def chunks() -> Iterable[bytes]:
        yield (delimiter.join(table.column_names) + "\n").encode()
        for batch in table.to_batches(max_chunksize=1 << 16):
            sink = pa.BufferOutputStream()
            pa_csv.write_csv(batch, sink, options)
            yield sink.getvalue().to_pybytes()

    write_chunks(path, chunks())


def save_parquet(table: pa.Table, path: Path) -> None:
    """Write Parquet, with check sums on its pages."""
    import pyarrow.parquet as pq

    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True)
