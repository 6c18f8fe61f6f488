"""Compiles ``cpp/`` into the library in ``lib/``: ``python -m seqtruth.kernels.build``.

Needs nothing but a C++17 compiler: ``$CXX``, the system's, or the one of the package ``ziglang``. The
build hook of the wheel and ``make kernels`` run this; nothing else ever compiles. What only a build needs
is imported where it is used: :mod:`seqtruth.kernels.native` asks this module for the place and the digest.
``SEQTRUTH_CHECKED=1`` builds with bounds checks: a kernel that reaches outside of an array then raises
IndexError.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "cpp"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
#: In a folder that is no package: Python would take the library for a module of its own.
LIBRARY = HERE / "lib" / f"kernels{SUFFIX}"

FLAGS = [
    "-std=c++17",
    "-O3",
    "-fvisibility=hidden",
    "-ffp-contract=off",  # a·b + c is rounded twice unless the kernel says multiply_add
    "-fno-math-errno",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",  # vectors are never handed over between files
]
#: Vector widths that the library chooses from when it is loaded, and what the compiler needs for each.
WIDTHS = {"plain": [], "avx2": ["-mavx2", "-mfma", "-mbmi", "-mbmi2", "-mpopcnt"]}


class NoCompilerError(RuntimeError):
    """There is no C++ compiler on this machine."""


def digest() -> str:
    """A number of the sources: what the library was built from, if it says the same."""
    found = hashlib.sha256(repr((FLAGS, WIDTHS)).encode())
    for path in sorted(SOURCES.iterdir()):
        found.update(path.name.encode() + b"\0" + path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()[:16]


def compiler() -> list[str]:
    """The command of a C++ compiler that knows GCC's vector types (GCC, Clang, Zig's Clang).

    On Windows it is Zig's: Microsoft's has no such types, and GCC there does not align them on the stack.
    """
    import importlib.util
    import shlex
    import shutil

    if given := os.environ.get("CXX"):
        return shlex.split(given)
    for name in ("c++", "g++", "clang++") if sys.platform != "win32" else ():
        if found := shutil.which(name):
            return [found]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "c++"]
    raise NoCompilerError(
        "seqtruth's kernels need a C++ compiler, and there is none: install GCC or Clang, or one from "
        "PyPI (pip install ziglang), or set CXX"
    )


def is_zig(command: list[str]) -> bool:
    """Whether the compiler is Zig's, by whatever name it is called.

    >>> is_zig(["python", "-m", "ziglang", "c++"]), is_zig(["/opt/zig", "c++"]), is_zig(["g++"])
    (True, True, False)
    """
    return any(part == "ziglang" or Path(part).stem == "zig" for part in command)


def build(target: Path = LIBRARY, checked: bool = False) -> bool:
    """Compile every width and link them into ``target``; False where it is what it should be already."""
    import platform
    import tempfile
    from concurrent.futures import ThreadPoolExecutor

    mark = f"{digest()} {'checked' if checked else 'unchecked'}"
    if target.exists() and mark.encode() in target.read_bytes():
        return False
    command, flags = compiler(), [*FLAGS, f'-DSEQTRUTH_BUILD="{mark}"']
    if is_zig(command):
        flags.append("-mcpu=baseline")  # Zig would take all that the machine has that builds
    if checked:
        flags.append("-DSEQTRUTH_CHECKED")
    if sys.platform != "win32":
        flags.append("-fPIC")
    widths = dict(WIDTHS)
    if platform.machine().lower() in ("x86_64", "amd64"):
        flags.append("-DSEQTRUTH_WIDER")
    else:
        del widths["avx2"]
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as place:
        jobs = {Path(place) / "library.o": [str(SOURCES / "library.cpp")]}
        for width, extra in widths.items():
            source = [f"-DSEQTRUTH_WIDTH={width}", *extra, str(SOURCES / "kernels.cpp")]
            jobs[Path(place) / f"{width}.o"] = source
        with ThreadPoolExecutor() as pool:
            list(
                pool.map(
                    lambda job: _run([*command, *flags, "-c", *jobs[job], "-o", str(job)]), jobs
                )
            )
        made = Path(place) / target.name
        static = ["-static"] if sys.platform == "win32" else []
        _run([*command, "-shared", *static, *map(str, jobs), "-o", str(made)])
        os.replace(made, target)
    return True


def _run(command: list[str]) -> None:
    import shlex
    import subprocess

    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(command)}\n{done.stdout}")
    if done.stdout.strip():
        print(done.stdout, file=sys.stderr)


if __name__ == "__main__":
    try:
        print(
            "built" if build(checked=bool(os.environ.get("SEQTRUTH_CHECKED"))) else "up to date:",
            LIBRARY,
        )
    except NoCompilerError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    except RuntimeError as error:
        sys.exit(str(error))
