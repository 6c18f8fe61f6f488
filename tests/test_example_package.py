"""The example package is installed as a user would, and its three things are found and pass the suite."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.testing import small_crowd

HOME = Path(__file__).parents[1] / "examples" / "seqtruth-example"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it, beside this source tree."""
    place = tmp_path_factory.mktemp("installed")
    copy = shutil.copytree(HOME, tmp_path_factory.mktemp("source") / "seqtruth-example")
    here = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--no-deps", "--quiet", *here,
         "--target", str(place), str(copy)],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode != 0:
        pytest.skip(f"pip can neither find nor fetch hatchling: {done.stderr[-300:]}")
    return place


def run(installed: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    source = Path(st.__file__).parents[1]
    path = os.pathsep.join([str(installed), str(source)])
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip


def test_it_passes_the_suite(installed: Path) -> None:
    done = run(installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull,
               "--rootdir", HOME, HOME / "tests")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_its_words_are_known(installed: Path, tmp_path: Path) -> None:
    st.write(small_crowd(n_sentences=12), tmp_path / "crowd.conll")
    common = ("-m", "seqtruth", "aggregate", tmp_path / "crowd.conll", "-q")
    done = run(
        installed, *common, "-m", "best-annotator", "-s", "sharpness=2",
        "-o", tmp_path / "truth.slash",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "truth.slash").read_text().startswith("# truth\n")
    done = run(installed, *common, "-m", "aggslc", "-s", "predictor=memory", "-o",
               tmp_path / "t.conll", "--save", tmp_path / "result",
               "--tagger", tmp_path / "tagger")  # fmt: skip
    assert done.returncode == 0, done.stderr
    code = (
        "import seqtruth as st, sys; r = st.Result.load(sys.argv[1]); "
        "print(r.tagger.predictor, st.Tagger.load(sys.argv[2]).tag(['Ann', 'left', 'Oslo']))"
    )
    done = run(installed, "-c", code, tmp_path / "result", tmp_path / "tagger")
    assert done.stdout.startswith("WordMemory(smoothing=0.1) ['B-PER'"), done.stderr
    assert run(installed, "-m", "seqtruth", "info", tmp_path / "truth.slash").returncode == 0
    told = run(installed, "-m", "seqtruth", "info").stdout
    assert "best-annotator" in told and "memory" in told and "slash" in told
    # without the package, a file that names its predictor is refused politely
    with pytest.raises(st.SeqTruthError, match="memory"):
        st.Result.load(tmp_path / "result")
