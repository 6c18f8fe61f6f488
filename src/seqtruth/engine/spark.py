"""A crowd in a Spark table: labels stay in the cluster, sums come to the driver.

Two jobs prepare a table: one counts annotators' names and labels, the other shuffles once, by task,
and keeps the labels packed (:mod:`seqtruth.engine.packed`), about a byte each. After that every
:meth:`SparkParts.add_up` is a scan: each Spark task runs the function on its share through Arrow and
sends back its sums. They are added in the order of the partitions, so that neither scheduling nor a
task that is run again changes a bit of the answer.

Only the DataFrame API is used, so that Spark Connect and clusters without RDDs will do; parameters
travel inside the function. Executors must be able to import seqtruth (see ``docs/scale.md``).
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme, detect_from_pairs
from seqtruth.engine import sum_rows
from seqtruth.engine.base import Facts, Labels, Parts, Sums, add
from seqtruth.engine.label_rows import label_rows, label_schema
from seqtruth.engine.packed import Layout, crowds, cut, joined, pack
from seqtruth.errors import (
    DataError,
    InputError,
    MissingExtraError,
    MissingToolError,
    ParameterError,
    SeqTruthError,
)
from seqtruth.io.longtable.build import count_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Batches = Iterable[pa.RecordBatch]
R = TypeVar("R")

#: Rows of the long table that a partition is meant to hold, and the fewest worth a partition.
PARTITION_ROWS, LEAST_ROWS = 4_000_000, 65_536
#: Tags in one part: the most that a Spark task holds in memory at a time.
PART_TAGS = 4_000_000
#: Rows of the long table cut into runs at a time (Spark hands over 10,000), and packed at a time.
CUT_ROWS, PACK_ROWS = 200_000, 1_000_000
#: Sums that come from the partitions one by one; where there would be more, executors add them up first.
DRIVER_BYTES = 1 << 26

_NEEDED = ("task", "worker", "label")
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def is_spark_frame(thing: object) -> bool:
    """Whether ``thing`` is a Spark DataFrame (classic or Connect), without importing Spark."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
        for kind in type(thing).__mro__
    )


class SparkParts(Parts):
    """A crowd in a Spark table. Make one by :meth:`of` or :meth:`read`.

    Parameters
    ----------
    packed : one row per sentence.
    facts : what is known of the crowd.
    n_partitions : about how many Spark tasks a round has.
    with_text : whether functions given to :meth:`add_up` see the tokens.
    """

    def __init__(
        self, packed: DataFrame, facts: Facts, n_partitions: int, with_text: bool = False
    ) -> None:
        self.packed, self.facts = packed, facts
        self.n_partitions, self.with_text = n_partitions, with_text

    @classmethod
    def read(
        cls, path: str, spark: SparkSession | None = None, format: str = "parquet", **options: Any
    ) -> SparkParts:
        """A long table by its path, or by its name with ``format="table"``.

        Parameters
        ----------
        path : anything that Spark can read: a folder, ``s3a://…``, the name of a table.
        spark : the session; by default the active one, or one made from the settings at hand.
        format : as in ``spark.read.format``: ``parquet``, ``delta``, ``iceberg`` …
        options : see :meth:`of`.
        """
        session = spark or _session()
        reader = session.read.format(format)
        return cls.of(
            _clear(lambda: session.table(path) if format == "table" else reader.load(path)),
            **options,
        )

    @classmethod
    def of(
        cls,
        frame: DataFrame,
        scheme: str | None = None,
        *,
        partitions: int | None = None,
        checkpoint_dir: str | None = None,
    ) -> SparkParts:
        """A long table of token labels (``task, worker, token_index, label``, ``token``, ``doc``).

        Parameters
        ----------
        frame : the table; nothing of it is collected but annotators' names and labels.
        scheme : name of the label scheme; detected where not given.
        partitions : number of partitions; by default from the number of rows and cores.
        checkpoint_dir : folder (shared by all executors) to keep the packed labels in; by default they
            are cached on the executors' disks and made again from ``frame`` where one is lost.
        """
        if partitions is not None and partitions < 1:
            raise ParameterError("partitions must be at least 1", got=str(partitions))
        rows = _clear(lambda: _clean(frame))
        found = _clear(lambda: _count(rows))
        rules = _rules(found["label"], scheme)
        layout = Layout(
            annotators=tuple(sorted(found["worker"])),
            labels=rules.labels,
            n_rows=sum(found["label"].values()) + found["rest"][""],
            text=found["token"][""] > 0,
            doc="doc" in rows.columns,
        )
        n = partitions or _partitions(layout.n_rows, frame.sparkSession)
        packed = _packed(rows, layout, n)
        if layout.doc and _clear(lambda: _small_documents(rows)):
            packed = packed.repartition(n, "doc").sortWithinPartitions("doc", "task")
        packed = _kept(packed, checkpoint_dir)
        try:
            facts = _clear(lambda: _facts(packed, rules, scheme, layout, n))
        except BaseException:
            packed.unpersist()
            raise
        return cls(packed, facts, n)

    def add_up(self, function: Callable[[Crowd], Sums]) -> Sums:
        """Σ over the parts; only sums travel, added in the order of partitions and parts."""
        shown, rules, annotators = self._shown(), self.scheme, self.annotators
        return _clear(lambda: _add_up(shown, rules, annotators, function, self.n_partitions))

    def gather(self, function: Callable[[Crowd], Sums]) -> list[Sums]:
        """What ``function`` finds in each part; all of it comes to the driver."""
        rules, annotators = self.scheme, self.annotators

        def work(batches: Batches) -> Iterator[pa.RecordBatch]:
            number = _use_own_cores()
            for part, crowd in enumerate(crowds(batches, rules, annotators, PART_TAGS)):
                yield from sum_rows.to_rows(number, part, function(crowd))

        found = self._shown().mapInArrow(work, _ddl(sum_rows.SCHEMA))
        return _clear(lambda: sum_rows.from_rows(_collect(found)))

    def seeing_text(self) -> SparkParts:
        """The same parts; functions see the tokens."""
        return SparkParts(self.packed, self.facts, self.n_partitions, with_text=True)

    def _shown(self) -> DataFrame:
        return self.packed if self.with_text else self.packed.drop("tokens")

    def labels(self, function: Callable[[Crowd], Labels]) -> DataFrame:
        """What ``function`` makes of every part, as a (lazy) long table of the cluster.

        Columns ``task, worker, token_index, token, label, doc, confidence``, as ``Result.write`` has
        them; ``token`` and ``doc`` where the input has them. Nothing runs before the table is used.
        """
        scheme, annotators = self.scheme, self.annotators
        has_text, has_documents = self.facts.has_text, "doc" in self.packed.columns
        schema = label_schema(has_text, has_documents)

        def label(batches: Batches) -> Iterator[pa.RecordBatch]:
            _use_own_cores()
            for crowd in crowds(batches, scheme, annotators, PART_TAGS):
                yield from label_rows(crowd, function(crowd), schema)

        return self.packed.mapInArrow(label, _ddl(schema))

    def write(self, function: Callable[[Crowd], Labels], path: str | Path) -> None:
        """Write all labels as a folder of Parquet files by Spark's own writer, which must be new."""
        _clear(lambda: self.labels(function).write.mode("error").parquet(str(path)))

    def close(self) -> None:
        """Give the executors' disk space back."""
        self.packed.unpersist()


def _session() -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "the Spark engine") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    made = SparkSession.builder.getOrCreate()
    context = _context(made)
    if context is not None and context.master.startswith("local"):
        # Spark would take the python3 of the path, which may not be the one that has seqtruth.
        context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return made


def _context(spark: SparkSession) -> Any:
    """The session's context; None where it has none (Spark Connect)."""
    try:
        return spark.sparkContext
    except Exception:
        return None


def _clean(frame: DataFrame) -> DataFrame:
    """The columns that count, as text and whole numbers; empty text is null, as in files."""
    from pyspark.sql import functions as F

    names = frame.columns
    lacking = [column for column in _NEEDED if column not in names]
    if lacking:
        raise InputError(
            f"column {lacking[0]!r} is missing",
            got=f"columns {', '.join(names)}"[:120],
            fix="a table needs the columns task, worker and label",
        )
    if "start" in names and "end" in names:
        raise InputError(
            "a table of spans cannot be used in parts",
            fix="write it with one row per task, annotator and token",
        )
    index = F.lit(0).cast("bigint")
    if "token_index" in names:
        kind = dict(frame.dtypes)["token_index"]
        if kind not in _WHOLE:
            raise InputError(
                "token_index must be whole numbers", got=kind, fix="cast the column to int"
            )
        index = F.col("token_index").cast("bigint")
    text = [name for name in (*_NEEDED, "token", "doc") if name in names]
    return frame.select(
        *[F.nullif(F.col(name).cast("string"), F.lit("")).alias(name) for name in text],
        index.alias("token_index"),
    )


def _count(rows: DataFrame) -> dict[str, dict[str, int]]:
    """Rows by annotator and by label, tokens with text, and rows without label: one scan.

    What comes to the driver grows with annotators and labels, never with rows.
    """
    from pyspark.sql import functions as F

    n_texts = F.count("token") if "token" in rows.columns else F.lit(0).cast("bigint")
    counted = rows.groupBy("worker", "label").agg(
        F.count(F.lit(1)).alias("n"), n_texts.alias("texts")
    )

    def entry(kind: str, name: Any, n: Any) -> Any:
        return F.struct(F.lit(kind).alias("kind"), name.alias("name"), n.alias("n"))

    nameless = F.lit("")
    several = F.explode(
        F.array(
            entry("worker", F.col("worker"), F.col("n")),
            entry("label", F.col("label"), F.col("n")),
            entry("token", nameless, F.col("texts")),
            entry("rest", nameless, F.when(F.col("label").isNull(), F.col("n")).otherwise(0)),
        )
    )
    entries = counted.select(several.alias("e")).select("e.kind", "e.name", "e.n")
    sums = entries.where("name is not null").groupBy("kind", "name").agg(F.sum("n").alias("n"))
    found: dict[str, dict[str, int]] = {k: {} for k in ("worker", "label", "token", "rest")}
    found["token"][""] = found["rest"][""] = 0
    for row in _collect(sums):
        found[row["kind"]][row["name"]] = int(row["n"])
    if not sum(found["label"].values()) + found["rest"][""]:
        raise InputError("the table has no rows")
    return found


def _rules(counts: dict[str, int], scheme: str | None) -> Scheme:
    """The labels by number. IOB1 and IOB2 have the same ones: which it is shows later, in pairs."""
    labels = sorted(counts)
    as_openings = np.zeros((len(labels) + 1, len(labels)), np.int64)
    as_openings[-1] = [counts[label] for label in labels]
    try:
        return Scheme.of(scheme or detect_from_pairs(labels, as_openings), labels)
    except DataError as error:
        raise InputError(error.what, where="column label", got=error.got, fix=error.fix) from None


def _partitions(n_rows: int, spark: SparkSession) -> int:
    """Enough that none is too big, and two for every core where there is work for that many."""
    context = _context(spark)
    cores = 16 if context is None else int(context.defaultParallelism)
    return max(1, -(-n_rows // PARTITION_ROWS), min(2 * cores, -(-n_rows // LEAST_ROWS)))


def _small_documents(rows: DataFrame) -> bool:
    """Whether there are several documents, none of them too big to stay together."""
    from pyspark.sql import functions as F

    sizes = rows.groupBy("doc").agg(F.count(F.lit(1)).alias("n"))
    found = _collect(sizes.agg(F.count(F.lit(1)).alias("documents"), F.max("n").alias("largest")))
    return bool(found[0]["documents"] > 1 and found[0]["largest"] <= PARTITION_ROWS)


def _packed(rows: DataFrame, layout: Layout, n: int) -> DataFrame:
    """One row per sentence, after a shuffle by task."""

    def as_runs(batches: Batches) -> Iterator[pa.RecordBatch]:
        return (cut(batch, layout) for batch in joined(batches, CUT_ROWS))

    def as_sentences(batches: Batches) -> Iterator[pa.RecordBatch]:
        return pack((batch for batch in batches if len(batch)), layout, PACK_ROWS)

    names = ["task", "worker", "label", "token_index"]
    names += ["token"] * layout.text + ["doc"] * layout.doc
    runs = rows.select(*names).mapInArrow(as_runs, _ddl(layout.runs))
    order = runs.repartition(n, "task").sortWithinPartitions("task", "worker", "first")
    return order.mapInArrow(as_sentences, _ddl(layout.packed))


def _ddl(schema: pa.Schema) -> str:
    """An Arrow schema as Spark spells it."""
    spelled = {
        pa.int32(): "int",
        pa.int64(): "bigint",
        pa.float32(): "float",
        pa.string(): "string",
        pa.binary(): "binary",
        pa.list_(pa.string()): "array<string>",
        pa.list_(pa.int64()): "array<bigint>",
    }
    return ", ".join(f"{field.name} {spelled[field.type]}" for field in schema)


def _kept(packed: DataFrame, checkpoint_dir: str | None) -> DataFrame:
    """The packed labels kept, so that rounds do not shuffle again."""
    if checkpoint_dir is None:
        from pyspark import StorageLevel

        return packed.persist(StorageLevel.DISK_ONLY)
    folder = f"{checkpoint_dir}/seqtruth-{uuid.uuid4().hex}"
    _clear(lambda: packed.write.mode("error").parquet(folder))
    return packed.sparkSession.read.parquet(folder)


def _facts(packed: DataFrame, rules: Scheme, scheme: str | None, layout: Layout, n: int) -> Facts:
    """Sizes, who labelled how much, IOB1 or IOB2, and a check sum that no order or layout changes."""
    from pyspark.sql import functions as F

    annotators = layout.annotators
    sums = _add_up(packed.drop("tokens", "doc"), rules, annotators, _shape, n)
    if scheme is None and rules.kind in ("iob1", "iob2"):
        rules = Scheme(detect_from_pairs(rules.labels, sums["pairs"]), rules.labels)
    check = _collect(packed.agg(F.bit_xor(F.xxhash64(*packed.columns)).alias("check")))[0]["check"]
    text = repr((rules, annotators, [sums[name].tolist() for name in ("sizes", "tokens")], check))
    n_sentences, n_tokens = sums["sizes"].tolist()
    return Facts(
        scheme=rules,
        annotators=annotators,
        n_sentences=n_sentences,
        n_tokens=n_tokens,
        n_annotations=int(sums["tokens"].sum()),
        annotator_sentences=sums["sentences"],
        annotator_tokens=sums["tokens"],
        has_text=layout.text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )


def _shape(part: Crowd) -> Sums:
    return dict(count_rows(part, part.n_annotators, part.n_labels))


def _add_up(
    packed: DataFrame,
    scheme: Scheme,
    annotators: tuple[str, ...],
    function: Callable[[Crowd], Sums],
    n_partitions: int,
) -> Sums:
    def work(batches: Batches) -> Iterator[pa.RecordBatch]:
        number = _use_own_cores()
        total = add(function(crowd) for crowd in crowds(batches, scheme, annotators, PART_TAGS))
        yield from sum_rows.to_rows(number, 0, total)

    sums = packed.mapInArrow(work, _ddl(sum_rows.SCHEMA))
    expected = n_partitions * (len(annotators) + 1) * len(scheme.labels) ** 2 * 8
    if expected > DRIVER_BYTES:
        pieces = sums.repartition("name", "piece")
        pieces = pieces.sortWithinPartitions("name", "piece", "partition")
        sums = pieces.mapInArrow(sum_rows.merge, _ddl(sum_rows.SCHEMA))
    return add(sum_rows.from_rows(_collect(sums)))


def _use_own_cores() -> int:
    """Let kernels use the cores that Spark gives this task, no more; the number of its partition."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise ParameterError("this function runs in a Spark task only")
    os.environ["SEQTRUTH_THREADS"] = str(max(1, context.cpus()))
    return int(context.partitionId())


def _collect(frame: DataFrame) -> list[Any]:
    """The one door through which anything comes to the driver."""
    return list(frame.collect())


def _clear(action: Callable[[], R]) -> R:
    """Run, and tell an executor's complaint as our own error, without its stack."""
    try:
        return action()
    except SeqTruthError:
        raise
    except Exception as error:
        fault = re.search(r"seqtruth\.errors\.\w+: (.*)", str(error))
        if fault is not None:
            raise InputError(fault[1].strip()) from None
        lacking = re.search(r"ModuleNotFoundError: No module named '([\w.]+)'", str(error))
        if lacking is not None:
            raise MissingToolError(
                f"the Python of the executors has no {lacking[1]}",
                fix="set PYSPARK_PYTHON or send them an environment (docs/scale.md)",
            ) from None
        if type(error).__name__ == "AnalysisException":  # no such table, a folder in the way …
            raise InputError(f"Spark says {str(error).splitlines()[0]}") from None
        raise
