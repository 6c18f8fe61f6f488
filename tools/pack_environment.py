"""Pack what Spark's executors need out of this environment: pack_environment.py env.tar.gz

    python tools/pack_environment.py env.tar.gz
    spark-submit --archives env.tar.gz#env --conf spark.pyspark.python=./env/bin/python job.py

Packed are SeqTruth as it is installed here (with its compiled kernels), what it needs, and pandas, which
Spark's Arrow functions ask for; Spark brings its own Python files. Nothing is fetched. As with ``venv-pack``,
machines must have the Python that this environment was made from, in the same place.
"""

from __future__ import annotations

import importlib.metadata as metadata
import io
import re
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path

ROOTS = ("seqtruth", "pandas")
#: Folders of packages that nobody imports.
LEFT_OUT = {"tests", "include", "__pycache__"}


def needed(roots: tuple[str, ...]) -> Iterator[metadata.Distribution]:
    """The distributions of these names and all that they need, extras apart."""
    todo, seen = list(roots), set()
    while todo:
        name = re.sub(r"[-_.]+", "-", todo.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another platform, or another Python
            continue
        yield found
        for text in found.requires or ():
            if "extra ==" not in text:
                todo.append(re.match(r"[\w.-]+", text)[0])  # type: ignore[index]


def files() -> Iterator[tuple[Path, str]]:
    """Each file, and its place among the packages."""
    import seqtruth

    ours = Path(seqtruth.__file__).parent
    for path in ours.rglob("*"):  # which may be installed from where it is worked on
        if path.is_file() and not LEFT_OUT & set(path.parts):
            yield path, str(Path("seqtruth") / path.relative_to(ours))
    for found in needed(ROOTS):
        for file in found.files or ():
            outside = ".." in file.parts or file.parts[0] == "seqtruth" or file.suffix == ".pth"
            path = Path(str(found.locate_file(file)))
            if not outside and not LEFT_OUT & set(file.parts) and path.is_file():
                yield path, str(file)


def pack(target: Path, level: int = 1) -> int:
    """Write the archive, compressed as said (0: not); how many files it has.

    Its name must end in ``.tar.gz``: of a plain ``.tar`` Spark 4 forgets which files may be run.
    """
    packages = f"lib/python{sysconfig.get_python_version()}/site-packages"
    python = Path(sys.executable).resolve()
    count = 0
    with tarfile.open(target, "w:gz", compresslevel=level) as archive:
        settings = f"home = {python.parent}\ninclude-system-site-packages = false\n".encode()
        about = tarfile.TarInfo("pyvenv.cfg")
        about.size = len(settings)
        archive.addfile(about, io.BytesIO(settings))
        archive.add(
            python, "bin/python"
        )  # no link: Spark 4 takes none that leads out of the archive
        for path, place in files():
            archive.add(path, f"{packages}/{place}")
            count += 1
    return count


if __name__ == "__main__":
    if len(sys.argv) != 2 or not sys.argv[1].endswith(".tar.gz"):
        sys.exit("usage: pack_environment.py env.tar.gz")
    print(f"{pack(Path(sys.argv[1]))} files in {sys.argv[1]}")
