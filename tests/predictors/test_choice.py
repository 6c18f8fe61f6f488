"""Predictors by the words a user types."""

from __future__ import annotations

import importlib.util

import pytest

from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.predictors import PREDICTORS, Ensemble, best_predictor, choose_predictor


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch):
    """Pretend that just these packages are installed."""

    def pretend(*packages: str) -> None:
        real = importlib.util.find_spec
        heavy = {"torch", "transformers"}
        spec = real("json")
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name: (spec if name in packages else None) if name in heavy else real(name),
        )

    return pretend


def names(text: str) -> list[str]:
    found = choose_predictor(text)
    return (
        [member.name for member in found.members] if isinstance(found, Ensemble) else [found.name]
    )


def test_one_word_is_one_predictor(installed) -> None:
    installed("torch")
    assert choose_predictor("none") is None
    assert names("crf") == ["crf"] and names("bilstm") == ["bilstm"]
    assert names("crf+bilstm") == ["crf", "bilstm"]
    assert choose_predictor("crf+bilstm+crf").weights.tolist() == pytest.approx([1 / 3] * 3)


def test_a_plus_in_brackets_is_part_of_a_name(installed) -> None:
    installed("torch", "transformers")
    alone = choose_predictor("transformer(a+b)")
    assert alone.name == "transformer" and "'a+b'" in repr(alone)
    assert names("transformer(a+b)+crf") == ["transformer", "crf"]
    assert names("crf+transformer(/some/folder)") == ["crf", "transformer"]
    assert names("transformer(a+b)+transformer(c)") == ["transformer", "transformer"]


def test_best_is_what_is_installed(installed) -> None:
    installed()
    assert best_predictor().name == "crf" == choose_predictor("best").name
    installed("torch")
    assert names("best") == ["crf", "bilstm"]


@pytest.mark.parametrize("text", ["magic", "", "crf+", "+crf", "crf+magic", "CRF", "crf(x)",
                                  "transformer()", "crf+none"])  # fmt: skip
def test_unknown_words_are_answered_with_the_known(text: str, installed) -> None:
    installed("torch", "transformers")
    with pytest.raises(ParameterError, match="unknown predictor") as caught:
        choose_predictor(text)
    assert all(name in str(caught.value) for name in (*PREDICTORS, "none", "best"))


@pytest.mark.parametrize(
    ("text", "extra"),
    [("bilstm", "torch"), ("crf+bilstm", "torch"), ("transformer", "transformers"),
     ("transformer(a+b)+crf", "transformers")],
)  # fmt: skip
def test_what_is_missing_is_named_with_its_extra(text: str, extra: str, installed) -> None:
    installed()
    with pytest.raises(MissingExtraError, match=rf"pip install 'seqtruth\[{extra}\]'"):
        choose_predictor(text)
