"""The command line as a process: killed, piped, on a full disk, on a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import seqtruth as st
from seqtruth.testing import small_crowd


def _start(*arguments: object) -> subprocess.Popen[bytes]:
    environment = os.environ | {"NO_COLOR": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "seqtruth", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
    )  # fmt: skip


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_killed_run_goes_on_and_gives_the_same_bytes(how: signal.Signals, files: Path) -> None:
    """A long run is killed in the middle; --resume finishes it as if nothing had happened."""
    st.write(small_crowd(n_sentences=400), files / "big.conll")
    method = "aggslc:folds=3;max_iter=6;tol=0"
    common = ["aggregate", files / "big.conll", "-m", method, "-q"]
    assert _start(*common, "-o", files / "whole.jsonl").wait() == 0
    kept = files / "kept"
    process = _start(*common, "-o", files / "resumed.jsonl", "--checkpoint", kept)
    deadline = time.monotonic() + 120
    while not list(kept.glob("*.seqtruth")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(how)
    code = process.wait()
    if code != 0:  # it may have been faster than the signal
        assert code in (130, -how)
        assert not (files / "resumed.jsonl").exists()
    again = _start(*common, "-o", files / "resumed.jsonl", "--checkpoint", kept, "--resume")
    assert again.wait() == 0, again.stderr.read() if again.stderr else ""
    assert (files / "resumed.jsonl").read_bytes() == (files / "whole.jsonl").read_bytes()
    assert not list(files.glob(".*.tmp"))


def test_no_colour_codes_when_not_asked(files: Path) -> None:
    process = _start("compare", files / "crowd.conll", "--gold", files / "gold.conll", "-m", "mv")
    out, _ = process.communicate()
    assert process.returncode == 0 and b"\x1b" not in out


def _shell(command: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    whole = command.replace("seqtruth", f"{sys.executable} -m seqtruth")
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {whole}"],
        cwd=folder, capture_output=True, text=True, env=os.environ | environment,
    )  # fmt: skip


def test_a_reader_that_leaves_early_is_no_fault(files: Path) -> None:
    st.write(small_crowd(n_sentences=8000), files / "big.conll")  # more than a pipe holds
    done = _shell("seqtruth aggregate big.conll -m mv -q | head -n 1", files)
    assert (done.returncode, done.stderr) == (0, "") and done.stdout
    done = _shell("seqtruth info big.conll -q | true", files)  # all of it is still in the buffer
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "command", ["aggregate crowd.conll -m mv -q", "info crowd.conll -q --json"]
)
def test_a_full_disk_is_one_line(command: str, files: Path) -> None:
    done = _shell(f"seqtruth {command} > /dev/full", files)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ") and len(done.stderr.splitlines()) == 1


def _on_terminal(*arguments: object, columns: int = 80, **environment: str) -> str:
    """What a command prints on a terminal of so many columns."""
    import pty

    ours, theirs = pty.openpty()
    settings = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    settings |= {"COLUMNS": str(columns), "TERM": "xterm", **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "seqtruth", *map(str, arguments)],
        stdout=theirs, stderr=subprocess.DEVNULL, env=settings,
    )  # fmt: skip
    os.close(theirs)
    out = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        out += chunk
    os.close(ours)
    assert process.wait() == 0
    return out.decode()


def test_comparison_fits_a_terminal(files: Path) -> None:
    spec = "aggslc:predictor=none;class_weights=inverse;average=token;threshold=0.9"
    common = (
        "compare",
        files / "crowd.conll",
        "--gold",
        files / "gold.conll",
        "-q",
        "-m",
        f"mv,{spec}",
    )
    out = _on_terminal(*common, NO_COLOR="1")
    assert "\x1b" not in out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "split all" in out and "read as conlleval" in out and "1 seed" in out
    head = next(line for line in lines if "precision" in line)
    assert head.split() == ["method", "precision", "recall", "F1", "seconds"]
    numbers = next(line for line in lines if line.lstrip().startswith("mv")).split()[1:]
    assert len(numbers) == 4 and all(float(number) >= 0 for number in numbers) and "…" not in out
    assert "\x1b" not in _on_terminal("--help", NO_COLOR="1")
