"""Wheel and sdist are built from a clean copy, and the wheel runs the demo in an empty environment."""

from __future__ import annotations

import runpy
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


@pytest.mark.parametrize(
    ("platform", "tag"),
    [
        ("linux-x86_64", "linux_x86_64"),
        ("win-amd64", "win_amd64"),
        ("macosx-10.9-x86_64", "macosx_10_9_x86_64"),
        ("macosx-11.1-arm64", "macosx_11_0_arm64"),  # conda's Python; pip knows no 11_1
        ("macosx-26.2-arm64", "macosx_26_0_arm64"),
    ],
)
def test_a_wheel_is_named_as_pip_looks_for_it(platform: str, tag: str) -> None:
    pytest.importorskip("hatchling", reason="hatchling runs the build hook")
    path = Path(__file__).parents[1] / "tools" / "build_hook.py"
    assert runpy.run_path(str(path))["platform_tag"](platform) == tag
