"""Miniature data, and nobody to run in place of the synthetic annotators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from paper.miniature import VERSION, make_data
from seqtruth.data.corpus import Corpus
from seqtruth.datasets import synthetic, synthetic_demo


@dataclass
class Ready:
    """An annotator whose labels lie ready."""

    name: str
    kind: str = "imitation"
    needs: str = "nothing"
    source: str = "this test"

    def version(self) -> str:
        return VERSION

    def annotate(self, corpus: Corpus) -> list[list[str]]:
        raise AssertionError("the labels are there")


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder in the real layout; while it is in use, no program labels anything."""
    root = tmp_path_factory.mktemp("mini")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SEQTRUTH_CACHE", str(root / "cache"))
        patch.setattr(
            synthetic, "six", lambda: [Ready(str(one.name)) for one, _ in synthetic_demo.CAST]
        )
        yield make_data(root / "data")
