"""Other people's programs: crowd-kit, and group-bys of pandas and Polars.

Each gets the file in the form that suits it best: integer codes for pandas and crowd-kit, the
lazy scan for Polars. Ties go to the alphabetically first label.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Codes:
    """A long table with numbers for names; ``frame`` has token, annotator, label."""

    frame: pd.DataFrame
    task: np.ndarray
    index: np.ndarray
    tasks: list[str]
    labels: list[str]


def coded(path: str) -> Codes:
    """The file as integers: one number per (task, token_index), labels in alphabetical order."""
    names = ["task", "worker", "label"]
    table = pq.read_table(path, columns=[*names, "token_index"], read_dictionary=names)
    table = table.unify_dictionaries()
    codes, values = {}, {}
    for name in names:
        column = table.column(name).combine_chunks()
        values[name] = column.dictionary.to_pylist()
        codes[name] = np.asarray(column.indices)
    spelled = sorted(values["label"])
    rank = np.array([spelled.index(label) for label in values["label"]], np.int8)
    index = np.asarray(table.column("token_index"))
    lengths = np.zeros(len(values["task"]), np.int64)
    np.maximum.at(lengths, codes["task"], index + 1)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    frame = pd.DataFrame(
        {
            "task": offsets[codes["task"]] + index,
            "worker": codes["worker"],
            "label": rank[codes["label"]].astype(np.int64),
        },
        copy=False,
    )
    task = np.repeat(np.arange(len(lengths)), lengths)
    return Codes(frame, task, np.arange(offsets[-1]) - offsets[:-1][task], values["task"], spelled)


def write_codes(labels: pd.Series, data: Codes, path: str) -> None:
    """One row per token."""
    token = labels.index.to_numpy()
    name = pa.DictionaryArray.from_arrays
    columns = {
        "task": name(pa.array(data.task[token]), pa.array(data.tasks)),
        "token_index": pa.array(data.index[token]),
        "label": name(pa.array(labels.to_numpy().astype(np.int32)), pa.array(data.labels)),
    }
    pq.write_table(pa.table(columns), path)


@dataclass(frozen=True)
class PandasVote:
    """Count (token, label) pairs, sort by count, keep the first of each token."""

    writes: bool = True

    def read(self, path: str) -> Codes:
        return coded(path)

    def fit(self, data: Codes, rounds: int) -> tuple[Any, list[float]]:
        counts = data.frame.groupby(["task", "label"], sort=True).size().reset_index(name="n")
        counts = counts.sort_values("n", ascending=False, kind="stable")
        return counts.drop_duplicates("task").set_index("task")["label"], []

    def write(self, result: Any, data: Codes, path: str) -> None:
        write_codes(result, data, path)


@dataclass(frozen=True)
class PolarsVote:
    """The same, lazily from the file: the fastest of the ways to say it that were tried."""

    writes: bool = True

    def read(self, path: str) -> pl.LazyFrame:
        return pl.scan_parquet(path)

    def fit(self, data: pl.LazyFrame, rounds: int) -> tuple[Any, list[float]]:
        place = ["task", "token_index"]
        counts = data.with_columns(pl.col("label").cast(pl.Categorical))
        counts = counts.group_by([*place, "label"]).len()
        best = pl.col("label").sort_by(["len", "label"], descending=[True, False]).first()
        return counts.group_by(place).agg(best).collect(engine="streaming"), []

    def write(self, result: Any, data: pl.LazyFrame, path: str) -> None:
        result.write_parquet(path)


@dataclass(frozen=True)
class CrowdKit:
    """One of crowd-kit's classes, each token a task."""

    name: str
    writes: bool = True
    #: Restarts of MACE.
    restarts: int = 5

    def read(self, path: str) -> Codes:
        return coded(path)

    def fit(self, data: Codes, rounds: int) -> tuple[Any, list[float]]:
        return self._method(rounds).fit_predict(data.frame), []

    def round_seconds(self, data: Codes, rounds: int, whole: float) -> float:
        """From a second fit with half the rounds: ``whole`` seconds were those of all of them."""
        began = time.perf_counter()
        self._method(rounds // 2).fit_predict(data.frame)
        half = time.perf_counter() - began
        each = self.restarts if self.name == "MACE" else 1
        return (whole - half) / (rounds - rounds // 2) / each

    def _method(self, rounds: int) -> Any:
        from crowdkit import aggregation

        if self.name == "DawidSkene":
            return aggregation.DawidSkene(n_iter=rounds, tol=-np.inf)
        if self.name == "MACE":
            return aggregation.MACE(n_restarts=self.restarts, n_iter=rounds)
        return aggregation.MajorityVote()

    def write(self, result: Any, data: Codes, path: str) -> None:
        write_codes(result, data, path)
