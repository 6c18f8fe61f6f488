"""The door to the compiled kernels: what it takes, what it refuses, and libraries that are not there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seqtruth.errors import KernelsError
from seqtruth.kernels import build, chain, native, repair, spans, ties
from seqtruth.kernels.native import Packed, call

SOURCES = sorted(build.SOURCES.glob("*.hpp"))


def test_arguments_packed_before_are_the_same() -> None:
    x, y = np.arange(5.0), np.ones(5)
    assert call("dot", x, y) == call("dot", Packed(x), y) == call("dot", Packed(x, y)) == 10.0


def test_what_no_version_takes_is_named() -> None:
    with pytest.raises(
        TypeError, match=r"dot does not take \(f8:1 i8:1\); it takes \(f4:1 f8:1\) or \(f8:1 f8:1\)"
    ):
        call("dot", np.ones(2), np.ones(2, np.int64))


def test_any_order_is_read_and_only_c_order_is_written() -> None:
    both = np.arange(10.0).reshape(5, 2)
    assert call("dot", both[:, 0], both[:, 1]) == both[:, 0] @ both[:, 1]
    with pytest.raises(TypeError, match="add_vector writes to"):
        call("add_vector", both[:, 0], 1.0, np.ones(5), both[:, 1])
    fixed = np.zeros(5)
    fixed.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"):
        call("add_vector", np.ones(5), 1.0, np.ones(5), fixed)
    assert not fixed.any()


def test_constants_that_both_sides_have_are_the_same() -> None:
    text = "\n".join(path.read_text() for path in SOURCES)
    assert float(re.search(r"SCORE_TIE = ([\d.e-]+)", text)[1]) == ties.SCORE_TIE
    assert float(re.search(r"FORBIDDEN = ([\d.e-]+)", text)[1]) == chain.FORBIDDEN
    numbers = re.search(
        r"NO_REPAIR = (\d), EXACT = (\d), BIDIRECTIONAL = (\d), UNIDIRECTIONAL = (\d)", text
    )
    assert [int(number) for number in numbers.groups()] == list(repair.DECODINGS.values())
    roles = re.search(r"enum Role : int64_t \{ (.*?) \}", text)[1].split(", ")
    assert [getattr(spans, role) for role in roles] == list(range(len(roles)))


def library(folder: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``code`` run with a copy of the package in ``folder``."""
    env = {**os.environ, "PYTHONPATH": str(folder), **environment}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package without its formats, methods and data, where it can be damaged."""
    source = Path(native.__file__).parents[1]
    for name in ("__init__.py", "_version.py", "errors.py", "plural.py", "kernels"):
        place = tmp_path / "seqtruth" / name
        place.parent.mkdir(exist_ok=True)
        (shutil.copytree if (source / name).is_dir() else shutil.copy)(source / name, place)
    return tmp_path


DOT = "import numpy as np; from seqtruth.kernels.native import call; print(call('dot', *np.ones((2, 3))))"


def test_a_missing_library_says_what_to_do(copy: Path) -> None:
    assert library(copy, DOT).stdout == "3.0\n"
    (copy / "seqtruth" / "kernels" / "lib" / build.LIBRARY.name).unlink()
    done = library(copy, "import seqtruth.kernels.native\n" + DOT)
    assert "the compiled kernels are missing; run `make kernels`" in done.stderr


def test_a_stale_library_is_not_used(copy: Path) -> None:
    with (copy / "seqtruth" / "kernels" / "cpp" / "vote.hpp").open("a") as file:
        file.write("// changed\n")
    assert (
        "are not those of the sources beside them; run `make kernels`" in library(copy, DOT).stderr
    )
    # an installed wheel has no sources to compare with
    shutil.rmtree(copy / "seqtruth" / "kernels" / "cpp")
    assert library(copy, DOT).stdout == "3.0\n"


def test_a_damaged_library_is_an_error_of_ours(copy: Path) -> None:
    (copy / "seqtruth" / "kernels" / "lib" / build.LIBRARY.name).write_bytes(b"not a library")
    assert "KernelsError" in library(copy, DOT).stderr
    assert issubclass(KernelsError, ImportError)


def test_plain_kernels_say_the_same_but_for_the_last_bits(copy: Path) -> None:
    code = """
import numpy as np
from seqtruth.kernels.chain import Chain, forward_backward, viterbi
rng = np.random.default_rng(0)
scores, offsets = rng.normal(0, 3, (50, 5)), np.array([0, 20, 50])
chain = Chain(rng.random(5), rng.random((5, 5)), rng.random(5))
print(viterbi(scores, offsets, chain).tolist())
print(forward_backward(scores, offsets, chain).log_normaliser.round(10).tolist())
"""
    plain, wide = library(copy, code, SEQTRUTH_VECTORS="plain"), library(copy, code)
    assert plain.stdout == wide.stdout != "", plain.stderr


@pytest.mark.slow
def test_a_checked_build_catches_what_reaches_outside(copy: Path) -> None:
    checked = copy / "checked" / build.LIBRARY.name
    assert build.build(checked, checked=True) and not build.build(checked, checked=True)
    assert library(copy, DOT, SEQTRUTH_KERNELS=str(checked)).stdout == "3.0\n"
    wrong = """
import numpy as np
from seqtruth.kernels.native import built, call
print(built())
call("count_given", np.zeros(3, np.int8), np.array([0, 3]), np.array([7], np.int32), np.zeros(2, np.int64))
"""
    done = library(copy, wrong, SEQTRUTH_KERNELS=str(checked))
    assert "with bounds checks" in done.stdout
    assert "IndexError: count_given: a kernel reached outside of an array" in done.stderr


def test_without_a_compiler_the_message_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(build.NoCompilerError, match="pip install ziglang"):
        build.compiler()
    monkeypatch.setenv("CXX", "ccache clang++")
    assert build.compiler() == ["ccache", "clang++"]


@pytest.mark.parametrize(
    "command", [["python", "-m", "ziglang", "c++"], ["/opt/zig", "c++"], ["g++"]]
)
def test_nothing_is_built_for_the_machine_that_builds(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zig takes all that its own machine has unless it is told not to; a wheel goes to other ones."""
    said: list[list[str]] = []

    def run(words: list[str]) -> None:
        said.append(words)
        Path(words[words.index("-o") + 1]).touch()

    monkeypatch.setattr(build, "compiler", lambda: command)
    monkeypatch.setattr(build, "_run", run)
    build.build(tmp_path / "kernels.so")
    compiled = [words for words in said if "-c" in words]
    assert len(compiled) >= 2 and not any("native" in word for words in said for word in words)
    assert all(("-mcpu=baseline" in words) is (command != ["g++"]) for words in compiled)
