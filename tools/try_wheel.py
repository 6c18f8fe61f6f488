"""Install the wheel of a folder into an empty environment and run the demo there: try_wheel.py dist"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path


def main(folder: str) -> None:
    (wheel,) = Path(folder).glob("*.whl")
    constraints = Path(__file__).parents[1] / "constraints.txt"
    with tempfile.TemporaryDirectory() as place:
        venv.create(place, with_pip=True)
        programs = Path(place) / "bin"
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run(
            [*pip, "--disable-pip-version-check", "-c", str(constraints), str(wheel)], check=True
        )
        subprocess.run(
            [str(programs / "seqtruth"), "demo", "-o", "out"], cwd=place, check=True, text=True
        )
        made = sorted(path.name for path in (Path(place) / "out").iterdir())
        print("the wheel works:", ", ".join(made))


if __name__ == "__main__":
    main(sys.argv[1])
