"""Models in saved results: whatever a file says, it is refused by name, or can be asked and updated."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import seqtruth as st
from seqtruth.errors import SeqTruthError
from tests.attack.archives import members, mutated, pack
from tests.decisions.material import demo, fitted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", ["bsc-seq", "accord:predictor=none"])
def test_changed_models_are_refused_or_work(method: str, tmp_path: Path) -> None:
    path = tmp_path / "whole.seqtruth"
    fitted(method).save(path, crowd=True)
    whole, draw = members(path), random.Random(3)
    own = {name: data for name, data in whole.items() if name.startswith("fitted/")}
    refused = 0
    for number in range(40):
        changed = pack({**whole, **mutated(own, draw)}, tmp_path / f"{number}.seqtruth")
        try:
            result = st.Result.load(changed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result.explain(0)
                result.update(withdraw=[result.annotators.names[0]], reach="near")
        except SeqTruthError:
            refused += 1
    assert refused > 10  # the check has teeth


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("family", "other", "no family that is known"),
        ("share", "half", "must be numbers"),
        ("share", 1e300, "must be finite"),
        ("sources", [["crf", None]], "is missing|must be numbers"),
    ],
)
def test_values_that_make_no_model_are_refused(
    name: str, value: object, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "whole.seqtruth"
    fitted("bsc-seq").save(path, crowd=True)
    content = members(path)
    meta = json.loads(content["meta.json"])
    meta["fitted"][name] = value
    content["meta.json"] = json.dumps(meta).encode()
    with pytest.raises(SeqTruthError, match=told):
        st.Result.load(pack(content, tmp_path / "changed.seqtruth"))


def test_a_saved_model_is_the_same(tmp_path: Path) -> None:
    for method in ("bsc-seq", "accord:predictor=none"):
        result = fitted(method)
        result.save(tmp_path / "r.seqtruth", crowd=True)
        again = st.Result.load(tmp_path / "r.seqtruth")
        late = demo().crowd.select_annotators(["spammer"])
        assert np.array_equal(
            again.update(remove=late[np.unique(late.row_sentence)]).tags,
            result.update(remove=late[np.unique(late.row_sentence)]).tags,
        )
