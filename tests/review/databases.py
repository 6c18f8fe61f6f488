"""A private PostgreSQL cluster on loopback, in a folder of its own, run by a user who is not root."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path


def binaries() -> Path | None:
    """The folder of ``initdb``, where PostgreSQL's server is installed."""
    on_path = shutil.which("initdb")
    found = [on_path] if on_path else sorted(glob("/usr/lib/postgresql/*/bin/initdb"))
    return Path(found[-1]).parent if found else None


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def cluster() -> Iterator[str]:
    """A running server; yields the URL of its database ``postgres``."""
    where = binaries()
    assert where is not None
    folder = Path(tempfile.mkdtemp(prefix="seqtruth-pg-"))
    as_user: list[str] = []
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
    data, port = folder / "data", free_port()

    def run(*command: str) -> None:
        subprocess.run([*as_user, *command], check=True, stdout=subprocess.DEVNULL, cwd=folder)

    run(
        str(where / "initdb"),
        "-D",
        str(data),
        "-U",
        "desk",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
    )
    options = f"-p {port} -h 127.0.0.1 -k {folder}"
    run(
        str(where / "pg_ctl"),
        "-D",
        str(data),
        "-o",
        options,
        "-l",
        str(folder / "log"),
        "-w",
        "start",
    )
    try:
        yield f"postgresql://desk@127.0.0.1:{port}/postgres"
    finally:
        run(str(where / "pg_ctl"), "-D", str(data), "-m", "immediate", "-w", "stop")
        shutil.rmtree(folder, ignore_errors=True)
