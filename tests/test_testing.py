"""The suite for predictors and formats can fail, and ours pass it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from seqtruth.io import FORMATS
from seqtruth.predictors import CRF
from seqtruth.testing import ConformanceError, check_format, check_predictor


def test_our_crf_passes() -> None:
    check_predictor(CRF(max_iter=20))


class Other(CRF):
    """Clones that are plain CRFs."""


class Unsure(CRF):
    """Probabilities that do not add up."""

    def clone(self) -> Any:
        return Unsure(max_iter=self.max_iter)

    def predict_proba(self, tokens: Any) -> Any:
        return 0.5 * super().predict_proba(tokens)


class Shared(CRF):
    """A clone that is no copy."""

    def clone(self) -> Any:
        return self


@pytest.mark.parametrize(
    ("kind", "word"), [(Unsure, "add up to 1"), (Shared, "original"), (Other, "kind")]
)
def test_predictors_that_break_a_rule(kind: Any, word: str) -> None:
    with pytest.raises(ConformanceError, match=word):
        check_predictor(kind(max_iter=10))


@pytest.mark.parametrize("name", ["conll", "jsonl", "csv", "parquet"])
def test_our_formats_pass(name: str) -> None:
    check_format(FORMATS[name])


def test_formats_that_break_a_rule() -> None:
    good: Any = FORMATS["jsonl"]

    def forgetful(crowd: Any, path: Any, **options: Any) -> None:
        good.write(replace(crowd, tags=np.full_like(crowd.tags, 0)), path, **options)

    def stumbling(path: Any, scheme: Any = None, **options: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ConformanceError, match="labels came back different"):
        check_format(replace(good, write=forgetful))
    with pytest.raises(ConformanceError, match="stumble"):
        check_format(replace(good, read=stumbling))
