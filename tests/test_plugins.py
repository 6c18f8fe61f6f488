"""Doors for other packages: lazy, and a broken plug-in is a warning with its name."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

from seqtruth import plugins
from seqtruth.errors import ParameterError, PluginWarning
from seqtruth.plugins import Registry

METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1\n"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a package with entry points on the path."""

    def put(name: str, points: str, code: str) -> None:
        info = tmp_path / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(METADATA.format(name=name))
        (info / "entry_points.txt").write_text(f"[demo.things]\n{points}\n")
        (tmp_path / f"{name}.py").write_text(code)

    monkeypatch.syspath_prepend(str(tmp_path))
    plugins._announced.cache_clear()
    yield put
    plugins._announced.cache_clear()


def registry(**ours: object) -> Registry[object]:
    return Registry("demo.things", "thing", ours, ("go",))


def test_a_plugin_is_imported_when_its_word_is_used(install) -> None:
    install("lazy_one", "mine = lazy_one:Thing", "class Thing:\n    go = 1\n")
    things = registry(own=1)
    assert things["own"] == 1 and "lazy_one" not in sys.modules
    assert things["mine"].go == 1 and list(things) == ["own", "mine"] and len(things) == 2
    with pytest.raises(KeyError):
        things["other"]


@pytest.mark.parametrize(
    ("points", "code", "message"),
    [
        (
            "bad = broken_one:Thing",
            "1 / 0",
            "thing 'bad' of the package broken_one cannot be imported",
        ),
        ("bad = broken_one:Other", "class Thing: ...", "cannot be imported"),
        ("bad = broken_one:Thing", "class Thing: ...", "is no thing: it lacks go"),
    ],
)
def test_a_broken_plugin_is_a_warning(install, points: str, code: str, message: str) -> None:
    install("broken_one", points, code)
    sys.modules.pop("broken_one", None)
    things = registry(own=1)
    with pytest.warns(PluginWarning, match=message):
        assert "bad" not in things
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(things) == ["own"]  # told once


def test_our_names_stay_ours(install) -> None:
    install("thief", "own = thief:Thing", "class Thing:\n    go = 1\n")
    with pytest.warns(
        PluginWarning, match="'own' of the package thief is left out: the name is seq"
    ):
        assert registry(own=1)["own"] == 1


def test_the_first_of_two_keeps_the_name(install) -> None:
    install("first_one", "same = first_one:Thing", "class Thing:\n    go = 'first_one'\n")
    install("second_one", "same = second_one:Thing", "class Thing:\n    go = 'second_one'\n")
    with pytest.warns(PluginWarning, match="the name is another package's"):
        assert registry()["same"].go in ("first_one", "second_one")


def test_registering_in_a_notebook(install) -> None:
    things = registry(own=1)
    things.register("two", 2)
    assert things["two"] == 2
    for word in ("own", "two"):
        with pytest.raises(ParameterError, match="already"):
            things.register(word, 3)
    with pytest.raises(ParameterError, match="own"):
        things.unregister("own")
    things.unregister("two")
    assert "two" not in things
