"""What a method makes of one part, as rows of the long table that is written."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.engine.base import Labels
from seqtruth.io.longtable.write import token_table


def label_rows(crowd: Crowd, labels: Labels, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """One row per token, as :func:`seqtruth.io.longtable.table.write_table` has them for a labelling."""
    truth = Labelling(crowd.corpus, crowd.scheme, labels.tags).as_crowd("truth")
    table = token_table(truth, labels.confidence)
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in schema
    ]
    yield from pa.table(columns, schema=schema).to_batches(max_chunksize=1 << 16)


def label_schema(text: bool, documents: bool) -> pa.Schema:
    """The columns; ``token`` and ``doc`` where the input has them."""
    columns = {"task": pa.string(), "worker": pa.string(), "token_index": pa.int64()}
    columns |= {"token": pa.string()} if text else {}
    columns |= {"label": pa.string()}
    columns |= {"doc": pa.string()} if documents else {}
    return pa.schema([*columns.items(), ("confidence", pa.float32())])
