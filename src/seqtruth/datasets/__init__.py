"""Data sets by name, each as a crowd, its gold standard and the sentences that count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seqtruth.datasets import demo, ner, other_sources, pico, places, synthetic, synthetic_demo
from seqtruth.datasets.tables import Dataset
from seqtruth.errors import ParameterError

NAMES = ("demo", "ner", "pico", "synthetic", "synthetic-demo", *other_sources.SETS)


def load(name: str, data_dir: str | Path | None = None, **options: Any) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : ``"demo"`` (built in), ``"ner"``, ``"pico"``, ``"synthetic"`` (six programs on the text of
        ``ner``), ``"synthetic-demo"`` (built in: six programs imitated on the demo's); labelled by
        rules: ``"ncbi-disease"``, ``"bc5cdr"``, ``"conll-rules"``; by trained people: ``"essays"``;
        by language models: ``"bambara"``.
    data_dir : folder with the tables (default: ``SEQTRUTH_DATA``, then the user's cache, where
        ``seqtruth datasets get`` puts ``ner`` and ``pico``).
    options : see the data set's own ``load``.
    """
    check_name(name)
    if name == "demo":
        return demo.load(**options)
    if name == "synthetic-demo":
        return synthetic_demo.load(**options)
    if name == "synthetic":
        return synthetic.load(places.need("ner", data_dir), places.own_root(), **options)
    if name in other_sources.SETS:
        return other_sources.load(name, places.candidates(data_dir), **options)
    reader = ner.load if name == "ner" else pico.load
    return reader(places.need(name, data_dir), **options)


def check_name(name: str) -> None:
    """Raise where there is no such data set.

    Parameters
    ----------
    name : one of :data:`NAMES`.
    """
    if name not in NAMES:
        raise ParameterError(f"data set must be one of {', '.join(NAMES)}", got=repr(name))


__all__ = ["NAMES", "Dataset", "check_name", "load"]
