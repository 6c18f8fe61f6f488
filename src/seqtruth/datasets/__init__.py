"""Data sets by name, each as a crowd, its gold standard and the sentences that count."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from seqtruth.datasets import demo, ner, pico
from seqtruth.datasets.tables import Dataset
from seqtruth.errors import ParameterError

NAMES = ("demo", "ner", "pico")


def load(name: str, data_dir: str | Path | None = None, **options: Any) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : ``"demo"`` (built in), ``"ner"`` or ``"pico"``.
    data_dir : folder with the tables of ``ner`` and ``pico`` (default: ``SEQTRUTH_DATA``).
    options : see the data set's own ``load``.
    """
    if name not in NAMES:
        raise ParameterError(f"data set must be one of {', '.join(NAMES)}", got=repr(name))
    if name == "demo":
        return demo.load(**options)
    folder = data_dir or os.environ.get("SEQTRUTH_DATA")
    if folder is None:
        raise ParameterError(
            f"the data set {name!r} is not built in",
            fix="give data_dir (--data-dir), or set SEQTRUTH_DATA",
        )
    reader = ner.load if name == "ner" else pico.load
    return reader(Path(folder), **options)


__all__ = ["NAMES", "Dataset", "load"]
