"""One set of words: the same run from Python, on the command line and on every engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import seqtruth as st
from seqtruth.cli import main
from seqtruth.errors import ParameterError
from seqtruth.methods import METHODS, make_method
from seqtruth.methods.choice import parse_pairs, read_settings, setting_types
from seqtruth.predictors import CRF
from seqtruth.testing import small_crowd


@pytest.mark.parametrize("name", METHODS)
def test_a_class_and_its_word_are_one_method(name: str) -> None:
    kind = METHODS[name]
    if extra := getattr(kind, "extra", None):
        pytest.importorskip(extra)
    assert make_method(name) == kind() or repr(make_method(name)) == repr(kind())


@pytest.mark.parametrize("word", ["aggslc", "optsla", "accord"])
def test_python_and_the_command_line_give_the_same(word: str, tmp_path: Path, capsys) -> None:
    crowd = small_crowd(n_sentences=12)
    st.write(crowd, tmp_path / "crowd.jsonl")
    code = main(
        ["aggregate", str(tmp_path / "crowd.jsonl"), "-m", f"{word}:predictor=crf", "--save",
         str(tmp_path / "r"), "-o", str(tmp_path / "t.jsonl"), "-q"]
    )  # fmt: skip
    assert code == 0, capsys.readouterr().err
    theirs = st.Result.load(tmp_path / "r")
    for ours in (
        st.aggregate(st.read(tmp_path / "crowd.jsonl"), word, predictor="crf"),
        METHODS[word](predictor=CRF()).fit(st.read(tmp_path / "crowd.jsonl")),
    ):
        np.testing.assert_array_equal(ours.tags, theirs.tags)
        np.testing.assert_array_equal(ours.probabilities, theirs.probabilities)
        assert ours.provenance == theirs.provenance


def test_auto_is_resolved_by_the_data() -> None:
    assert st.AggSLC().predictor == "auto"
    assert isinstance(st.AggSLC().resolved(has_text=True).predictor, CRF)
    assert st.AggSLC().resolved(has_text=False).predictor is None
    for none in (None, "none"):
        assert st.AggSLC(predictor=none).resolved(has_text=True).predictor is None
    with_text = st.AggSLC(max_iter=1).fit(small_crowd(n_sentences=8))
    assert with_text.tagger is not None
    assert with_text.provenance["parameters"]["predictor"].startswith("CRF(")


def test_words_are_checked_when_the_method_is_made() -> None:
    with pytest.raises(ParameterError, match="unknown predictor"):
        st.AggSLC(predictor="magic")


def test_settings_win_over_the_spec_and_keep_their_types() -> None:
    made = make_method("aggslc:folds=3;tol=1", {"folds": 4, "predictor": "none"}, seed=7)
    assert (made.folds, made.tol, made.predictor, made.seed) == (4, 1.0, None, 7)
    assert make_method("ds", seed=7) == st.DawidSkene()  # which has no seed
    assert make_method(st.DawidSkene, {"max_iter": "5"}).max_iter == 5
    assert make_method(st.DawidSkene(tol=0.5), {"max_iter": 5}).tol == 0.5
    told = make_method("ds", {"reliability": {"ann": 0.9}})
    assert told.reliability == {"ann": 0.9}
    assert make_method("accord:evidence=none").evidence is None
    assert make_method("mv:seed=2", seed=7).seed == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"colour": "red"}, "no setting 'colour'"),
        ({"max_iter": True}, "max_iter must not be true or false"),
        ({"reliability": "1"}, "set it in Python"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make_method("ds", settings)


def test_types_are_the_real_ones() -> None:
    for kind in METHODS.values():
        assert set(read_settings(kind, {"abstain": "O"})) == {"abstain"}
        assert all(not isinstance(hint, str) for hint in setting_types(kind).values())


def test_pairs() -> None:
    assert parse_pairs(["a=b=c"]) == {"a": "b=c"}
    with pytest.raises(ParameterError, match="a needs a value"):
        parse_pairs(["a"])
