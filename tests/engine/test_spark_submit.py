"""``spark-submit`` with a packed environment: executors have nothing but what the archive brings."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

import seqtruth as st

pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.skipif(not SUBMIT.exists(), reason="this pyspark has no spark-submit")
def test_a_submitted_job_runs_in_a_packed_environment(tmp_path: Path) -> None:
    env = tmp_path / "env.tar.gz"
    packing = runpy.run_path(str(ROOT / "tools" / "pack_environment.py"))
    assert packing["pack"](env, level=0) > 1000  # compressing would take as long as the job
    crowd = st.datasets.load("demo").crowd[:120]
    table, labels = tmp_path / "crowd.parquet", tmp_path / "labels"
    st.write(crowd, table)
    source = str(Path(st.__file__).resolve().parents[1])
    command = [
        str(SUBMIT), "--master", "local-cluster[1,1,1024]", "--archives", f"{env}#env",
        "--conf", "spark.pyspark.python=./env/bin/python",
        "--conf", f"spark.pyspark.driver.python={sys.executable}",
        "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=127.0.0.1",
        "--conf", "spark.executor.memory=512m", "--conf", f"spark.local.dir={tmp_path}",
        "--conf", "spark.sql.shuffle.partitions=1",
        str(Path(__file__).with_name("submitted_job.py")), source, str(table), str(labels),
    ]  # fmt: skip
    hidden = ("PYTHONPATH", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME", "VIRTUAL_ENV")
    clean = {name: value for name, value in os.environ.items() if name not in hidden}
    clean["SPARK_LOCAL_IP"] = "127.0.0.1"
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, env=clean, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    assert found["master"].startswith("local-cluster")
    for python, package in found["executors"]:
        shutil.rmtree(Path(python).parents[1])  # unpacked where Spark is installed
        assert python.endswith("/env") and package.startswith(python), "not of the archive"
    ours = st.CRH().fit(crowd)
    expected = dict(zip(ours.annotators.names, ours.annotators.weight.tolist(), strict=True))
    assert found["weights"] == pytest.approx(expected, rel=1e-9)
    assert ds.dataset(labels).count_rows() == crowd.n_tokens
