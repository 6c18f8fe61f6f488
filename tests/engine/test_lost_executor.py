"""An executor that is lost in the middle of a run changes no bit of the answer."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are found in /proc")
def test_a_lost_executor_changes_nothing(tmp_path: Path) -> None:
    script = Path(__file__).with_name("lost_executor.py")
    source = Path(__file__).resolve().parents[2]
    there = os.pathsep.join(
        [str(source / "src"), str(source), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=600,
        env=os.environ | {"PYTHONPATH": there},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    for name in ("bsc-seq", "accord"):
        assert found[name]["killed"], f"{name}: no executor was killed"
        assert found[name]["rows"] > 1000
        assert found[name]["same_labels"] and found[name]["same_bits"], name
