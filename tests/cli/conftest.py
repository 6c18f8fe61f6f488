"""What most commands are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.testing import small_crowd


@pytest.fixture
def files(tmp_path: Path) -> Path:
    crowd = small_crowd()
    st.write(crowd, tmp_path / "crowd.conll")
    st.write(crowd.select_annotators(["w0"]), tmp_path / "gold.conll")
    return tmp_path
