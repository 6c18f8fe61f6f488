"""What is written is whole or not there, keeps its mode, and leaves nothing behind."""

from __future__ import annotations

import os
import secrets
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqtruth import atomic
from seqtruth.atomic import atomic_path, together
from seqtruth.errors import InputError


def _put(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text)


def test_a_file_keeps_its_mode_and_is_at_no_time_open_to_others(tmp_path: Path) -> None:
    target = tmp_path / "private"
    target.write_text("secret")
    target.chmod(0o600)
    with atomic_path(target) as temporary:
        temporary.write_text("secret, too")
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    target.chmod(0o444)
    _put(target, "new")
    assert stat.S_IMODE(target.stat().st_mode) == 0o444 and target.read_text() == "new"


def test_several_files_are_all_there_or_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    with pytest.raises(ZeroDivisionError), together():
        _put(tmp_path / "a", "new")
        _put(tmp_path / "b", "new")
        1 / 0  # noqa: B018
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "old"
    with together():
        _put(tmp_path / "a", "new")
        with together():  # part of the whole
            _put(tmp_path / "b", "new")
        assert (tmp_path / "a").read_text() == "old" and not (tmp_path / "b").exists()
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text() == "new"


def test_a_folder_written_file_by_file_is_whole_inside(tmp_path: Path) -> None:
    with together(), atomic_path(tmp_path / "folder") as folder:
        folder.mkdir()
        _put(folder / "one", "1")
        assert (folder / "one").read_text() == "1"  # on the way, what is written is there
    assert sorted(p.name for p in (tmp_path / "folder").iterdir()) == ["one"]


_WRITES = """
import sys, time
from seqtruth.atomic import atomic_path
with atomic_path(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("writing", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_run_left_is_removed_and_what_a_living_one_writes_is_not(
    tmp_path: Path,
) -> None:
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITES, str(tmp_path / name)], stdout=subprocess.PIPE
        )
        for name in ("killed", "alive")
    ]
    for run in runs:
        assert run.stdout is not None and run.stdout.readline() == b"writing\n"
    try:
        runs[0].kill()
        runs[0].wait()
        assert len(list(tmp_path.iterdir())) == 2
        _put(tmp_path / "other", "whole")
        names = sorted(p.name for p in tmp_path.iterdir())
        assert len(names) == 2 and names[0].startswith(".alive.") and names[1] == "other"
    finally:
        runs[1].send_signal(signal.SIGKILL)
        runs[1].wait()


def test_what_another_machine_left_goes_after_a_week(tmp_path: Path) -> None:
    theirs = tmp_path / f".x.0badc0de-{os.getpid()}-{secrets.token_hex(6)}.tmp"
    theirs.write_text("half")
    own = tmp_path / ".own.tmp"  # a user's, with a name that is not ours
    own.write_text("mine")
    _put(tmp_path / "a", "whole")
    assert theirs.exists()
    past = time.time() - 2 * atomic._LONG_AGO
    os.utime(theirs, (past, past))
    os.utime(own, (past, past))
    _put(tmp_path / "a", "whole")
    assert not theirs.exists() and own.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="make the folder"):
        _put(tmp_path / "none" / "a", "x")


def test_a_pipe_is_written_directly() -> None:
    program = "from seqtruth.atomic import atomic_path as a\nwith a('/dev/stdout') as p: p.write_text('x')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=300)
    assert (done.stdout, done.stderr) == (b"x", b"")
