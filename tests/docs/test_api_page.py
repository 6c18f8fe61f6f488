"""``docs/api.md`` is what the docstrings say today, and the docstrings say what they must."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("api_page", ROOT / "tools" / "api_page.py")
assert _spec is not None
assert _spec.loader is not None
api_page = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(api_page)


def test_the_page_is_up_to_date_and_nothing_public_is_undocumented() -> None:
    text, faults = api_page.page()
    assert not faults
    assert api_page.PAGE.read_text("utf-8") == text, "old; run: python tools/api_page.py"


def test_everything_public_is_on_it() -> None:
    import seqtruth as st

    text = api_page.PAGE.read_text("utf-8")
    rooms = {"datasets", "io", "metrics", "predictors"}
    names = [name for name in st.__all__ if name not in rooms and name != "__version__"]
    assert not [name for name in names if f"### st.{name}\n" not in text]


def _no_summary(one: int) -> None: ...


def _not_described(one: int, two: int) -> None:
    """Summary.

    Parameters
    ----------
    one : told.
    """


def _of_old(one: int) -> None:
    """Summary.

    Parameters
    ----------
    one : told.
    two : is no more.
    """


def _other_style(one: int) -> None:
    """Summary.

    Parameters
    ----------
    one: without the blank.
    """


def _odd_section(one: int) -> None:
    """Summary.

    Arguments
    ---------
    one : told.
    """


@pytest.mark.parametrize(
    ("called", "fault"),
    [
        (_no_summary, "no summary"),
        (_not_described, "not described: two"),
        (_of_old, "describes what is not there: two"),
        (_other_style, "not a parameter: one: without the blank."),
        (_odd_section, "no such section: Arguments"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_a_fault(called: object, fault: str) -> None:
    faults = api_page.Faults()
    api_page.of_function(called, "place", faults)
    assert f"place: {fault}" in faults
