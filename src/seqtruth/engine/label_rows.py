"""What a method makes of one part, as rows of the long table that is written."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from seqtruth.data.crowd import Crowd, Labelling
from seqtruth.engine.base import Labels
from seqtruth.engine.packed import Layout
from seqtruth.io.longtable.write import token_table


def label_rows(crowd: Crowd, labels: Labels, layout: Layout) -> Iterator[pa.RecordBatch]:
    """One row per token, as :func:`seqtruth.io.longtable.table.write_table` has them for a labelling."""
    truth = Labelling(crowd.corpus, crowd.scheme, labels.tags).as_crowd("truth")
    table = token_table(truth, labels.confidence)
    columns = [
        table.column(field.name).cast(field.type)
        if field.name in table.column_names
        else pa.nulls(len(table), field.type)
        for field in label_schema(layout)
    ]
    yield from pa.table(columns, schema=label_schema(layout)).to_batches(max_chunksize=1 << 16)


def label_schema(layout: Layout) -> pa.Schema:
    text = pa.string()
    return pa.schema(
        [
            ("task", text),
            ("worker", text),
            ("token_index", pa.int64()),
            *[("token", text)] * layout.text,
            ("label", text),
            *[("doc", text)] * layout.doc,
            ("confidence", pa.float32()),
        ]
    )
