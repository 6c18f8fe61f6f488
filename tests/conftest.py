"""Shared by all tests: the real data where it is, and one Hypothesis profile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import seqtruth as st

# Kernels compile at first use, which no deadline should count.
settings.register_profile("seqtruth", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("seqtruth")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest begins first (groups share a browser, a Spark session, a long fixture)."""
    items.sort(key=lambda item: not any(map(item.get_closest_marker, ("slow", "xdist_group"))))


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the evaluation data, found as users find it, through ``SEQTRUTH_DATA``."""
    named = os.environ.get("SEQTRUTH_DATA", "")
    if not (Path(named) / "ner" / "sentences.tsv.gz").is_file():
        pytest.skip("the evaluation data is not here: SEQTRUTH_DATA names no folder with it")
    return Path(named)


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """Folder of real files of annotation tools (``SEQTRUTH_FIXTURES``)."""
    named = os.environ.get("SEQTRUTH_FIXTURES", "")
    if not (Path(named) / "label_studio").is_dir():
        pytest.skip("the tools' files are not here: SEQTRUTH_FIXTURES names no folder with them")
    return Path(named)


@pytest.fixture(scope="session")
def ner(data_dir: Path) -> st.datasets.Dataset:
    return st.datasets.load("ner", data_dir=data_dir)


@pytest.fixture(scope="session")
def pico(data_dir: Path) -> st.datasets.Dataset:
    return st.datasets.load("pico", data_dir=data_dir)
