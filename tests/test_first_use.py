"""The first use says that kernels are compiled, and later ones do not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

from seqtruth.kernels import jit


def _twice(x: float) -> float:
    return 2 * x


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of our own with nothing in it, and no kernels but those made from here on."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "_KERNELS", [])


def test_only_a_compilation_is_told_and_only_once(fresh: None) -> None:
    told: list[str] = []
    jit.when_compiling(lambda: told.append("compiling"))
    made = jit.kernel(_twice)
    assert not jit.kernels_are_cached()
    assert made(1.5) == 3.0
    assert told == ["compiling"]
    assert made(np.float32(2)) == 4.0  # compiled once more, for another type
    assert told == ["compiling"]
    assert jit.kernels_are_cached()
    jit.when_compiling(lambda: told.append("again"))
    assert jit.kernel(_twice)(2.5) == 5.0  # from the cache
    assert told == ["compiling"]
    jit.when_compiling(None)


def test_nobody_is_told_who_does_not_ask(fresh: None) -> None:
    told: list[str] = []
    jit.when_compiling(lambda: told.append("compiling"))
    jit.when_compiling(None)
    jit.kernel(_twice)(1.5)
    assert not told


def test_without_a_folder_to_keep_kernels_in_everything_still_runs(tmp_path: Path) -> None:
    """A read-only installation and a home that cannot be written to: Numba finds no place at all."""
    program = (
        "from numba.core import caching\n"
        "for kind in (caching.CacheImpl, *caching.CacheImpl.__subclasses__()):\n"
        "    kind._locator_classes = []\n"
        "import sys\n"
        "from seqtruth.cli import main\n"
        "sys.exit(main(['info']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "compiled at first use" in done.stdout
