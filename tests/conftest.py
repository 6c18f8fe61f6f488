"""Shared by all tests: the real data where it is, and one Hypothesis profile."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

import seqtruth as st

# Kernels compile at first use, which no deadline should count.
settings.register_profile("seqtruth", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("seqtruth")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the evaluation data, in the layout of ``st.datasets``."""
    if not (SHARED / "ner" / "sentences.tsv.gz").is_file():
        pytest.skip("the evaluation data is not here (it may not be redistributed)")
    return SHARED


@pytest.fixture(scope="session")
def ner(data_dir: Path) -> st.datasets.Dataset:
    return st.datasets.load("ner", data_dir=data_dir)


@pytest.fixture(scope="session")
def pico(data_dir: Path) -> st.datasets.Dataset:
    return st.datasets.load("pico", data_dir=data_dir)
