"""The three pass SeqTruth's own conformance suite."""

from seqtruth_example.format import FORMAT
from seqtruth_example.method import BestAnnotator
from seqtruth_example.predictor import WordMemory

from seqtruth.testing import check_format, check_method, check_predictor


def test_method() -> None:
    check_method(BestAnnotator)


def test_predictor() -> None:
    check_predictor(WordMemory)


def test_format() -> None:
    check_format(FORMAT)
