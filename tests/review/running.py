"""A desk's server in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx

SOURCE = Path(__file__).parents[2] / "src"


class Server(NamedTuple):
    process: subprocess.Popen[str]
    url: str

    @property
    def base(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def token(self) -> str:
        return parse_qs(urlsplit(self.url).query).get("token", [""])[0]

    def client(self) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.base, headers=headers, timeout=60, trust_env=False)


def start(result: Path, *options: str) -> Server:
    """Start ``seqtruth review`` and wait until it says where it is."""
    command = [
        sys.executable,
        "-m",
        "seqtruth",
        "review",
        str(result),
        "--no-browser",
        "--port",
        "0",
    ]
    env = {**os.environ, "PYTHONPATH": str(SOURCE), "SEQTRUTH_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--quiet", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline().strip()
    assert line.startswith("http"), process.stderr.read()
    for stream in (process.stdout, process.stderr):  # a full pipe would stop it
        threading.Thread(target=stream.read, daemon=True).start()
    return Server(process, line)


@contextmanager
def running(result: Path, *options: str) -> Iterator[Server]:
    server = start(result, *options)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
