"""The kernels' tests and a part of the attack on kernels that watch themselves: ``make attack-checked``.

Twice: with our own bounds checks (reaching outside of an array is an IndexError), and under the compiler's
sanitizers, where it has them (GCC, Clang: addresses and undefined behaviour; what they find ends the
process and is printed). Written into ``attack-output/checked`` and ``attack-output/sanitized``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

from seqtruth.kernels import build

SANITIZERS = "-fsanitize=address,undefined"
#: Those of the kernels, and of what hands them arrays from files.
TESTS = [
    "tests/kernels",
    "tests/io",
    "tests/data",
    "tests/metrics",
    "tests/attack/test_archives.py",
]
#: These build libraries of their own.
NOT = ["--ignore=tests/kernels/test_native.py"]


def checked(folder: Path) -> dict[str, str]:
    """Build with bounds checks; the environment that uses it."""
    library = (folder / build.LIBRARY.name).absolute()
    build.build(library, checked=True)
    return {"SEQTRUTH_KERNELS": str(library)}


def sanitized(folder: Path) -> dict[str, str] | None:
    """Build under the sanitizers; the environment that uses it, None where the compiler has none."""
    library, command = (folder / build.LIBRARY.name).absolute(), build.compiler()
    found = [
        subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True)
        for name in ("libasan.so", "libubsan.so")
    ]
    runtimes = [one.stdout.strip() for one in found]
    if not all(os.path.isabs(one) for one in runtimes):  # only the name comes back: it is not there
        return None
    with patch.dict(os.environ, CXX=" ".join([*command, SANITIZERS, "-g1"])):
        build.build(library)
    return {
        "SEQTRUTH_KERNELS": str(library),
        "LD_PRELOAD": ":".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    }


def run(environment: dict[str, str], folder: Path, inputs: int, archives: int) -> int:
    """Tests and attack; how many of the two failed."""
    # output that pytest catches would be lost when the process ends
    tests = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", *TESTS, *NOT]
    attack = [sys.executable, "-m", "tests.attack", "--output", str(folder / "attack")]
    attack += ["--inputs", str(inputs), "--archives", str(archives)]
    attack += ["--checked", "0", "--kills", "0", "--places", "0"]
    whole = {**os.environ, **environment}
    return sum(subprocess.run(line, env=whole).returncode != 0 for line in (tests, attack))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack.checked", description=__doc__)
    parser.add_argument("--inputs", type=int, default=10_000, help="mutated inputs, each way")
    parser.add_argument("--archives", type=int, default=2_000, help="crafted archives, each way")
    parser.add_argument("--output", type=Path, default=Path("attack-output"), help="where to")
    given = parser.parse_args()
    failed = 0
    for make in (checked, sanitized):
        folder = given.output / make.__name__
        folder.mkdir(parents=True, exist_ok=True)
        environment = make(folder)
        if environment is None:
            print("this compiler has no sanitizers", file=sys.stderr)
            continue
        print(f"{make.__name__}:", flush=True)
        failed += run(environment, folder, given.inputs, given.archives)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
