"""The conformance suite: what every method, predictor and format must do, ours and other people's.

One call each, for the tests of a package that brings its own::

    from seqtruth.testing import check_format, check_method, check_predictor

    def test_my_method():
        check_method(MyMethod)
"""

from seqtruth.testing.formats import check_format
from seqtruth.testing.material import ConformanceError, small_crowd
from seqtruth.testing.methods import CHECKS, Check, check_method, checks_of
from seqtruth.testing.predictors import check_predictor

__all__ = [
    "CHECKS",
    "Check",
    "ConformanceError",
    "check_format",
    "check_method",
    "check_predictor",
    "checks_of",
    "small_crowd",
]
