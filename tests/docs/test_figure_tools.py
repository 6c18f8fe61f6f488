"""The programs behind the figures of ``docs/accord.md`` run, on crowds that need no data of anybody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


def output(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, str(TOOLS / command[0]), *command[1:]], check=True, capture_output=True, text=True
    )  # fmt: skip
    return done.stdout


def test_crowds_drawn_at_random() -> None:
    lines = output("accord_random.py", "--first", "4", "--number", "1", "--worst", "1").splitlines()
    assert re.match(
        r"4: [+-]\d+\.\d demo, \d+ sentences; .* \| mv \d+\.\d ds .* accord \d+\.\d$", lines[0]
    )
    assert lines[-1].startswith("means: mv ")
    assert "of 1, below the vote by more than half a point in " in lines[-1]


@pytest.mark.parametrize(("what", "cells"), [("evidence", 5), ("prior", 6)])
def test_constants(what: str, cells: int) -> None:
    rows = output("accord_constants.py", what, "--data-dir", ".", "--crowds", "careful:2;sloppy:3")
    *_, row = rows.splitlines()
    assert row.startswith("| `careful:2;sloppy:3` | ")
    assert len(re.findall(r"\d+\.\d \(\d+\.\d\)", row)) == cells
