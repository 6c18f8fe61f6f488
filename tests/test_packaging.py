"""Wheel and sdist are built from a clean copy, and the wheel runs the demo in an empty environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_the_wheel_runs_the_demo_in_an_empty_environment(tmp_path: Path) -> None:
    pytest.importorskip("build")
    subprocess.run(
        [sys.executable, "-m", "build", "--quiet", "--outdir", str(tmp_path), str(ROOT)], check=True
    )
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".gz", ".whl"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "try_wheel.py"), str(tmp_path)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert "the wheel works" in done.stdout and "report.html" in done.stdout
