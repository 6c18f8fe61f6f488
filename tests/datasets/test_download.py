"""Fetching: faults of the network, of servers and of disks; nothing wrong is ever kept."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dataset_sources import Server, serving
from seqtruth.datasets import download
from seqtruth.datasets.download import Patience, fetch
from seqtruth.errors import InputError

BODY = bytes(range(256)) * 2000
DIGEST = hashlib.sha256(BODY).hexdigest()
QUICK = Patience(tries=2, timeout=5, pause=0)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        running.files["/a"] = BODY
        yield running


def ranges(server: Server) -> list[str | None]:
    return [asked for _, asked in server.asked]


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_with_a_receipt(server: Server, tmp_path: Path) -> None:
    receipt = fetch([f"{server.url}/a"], tmp_path / "new" / "a", DIGEST, patience=QUICK)
    assert (tmp_path / "new" / "a").read_bytes() == BODY
    assert (receipt.sha256, receipt.size) == (DIGEST, len(BODY))
    assert receipt.url == f"{server.url}/a" and receipt.etag
    assert left(tmp_path / "new") == ["a"]


def test_a_dropped_connection_is_resumed(server: Server, tmp_path: Path) -> None:
    server.drop_after, server.drops = 100_000, 3
    fetch([f"{server.url}/a"], tmp_path / "a", DIGEST, patience=QUICK)
    assert (tmp_path / "a").read_bytes() == BODY
    assert ranges(server) == [None, "bytes=100000-", "bytes=200000-", "bytes=300000-"]


@pytest.mark.parametrize("lacking", ["ranges", "etags"])
def test_a_server_that_cannot_resume_starts_over(
    server: Server, tmp_path: Path, lacking: str
) -> None:
    setattr(server, lacking, False)
    server.drop_after, server.drops = 100_000, 1
    fetch([f"{server.url}/a"], tmp_path / "a", DIGEST, patience=QUICK)
    assert (tmp_path / "a").read_bytes() == BODY
    assert len(server.asked) == 2


def test_a_second_call_goes_on_and_a_changed_file_starts_over(
    server: Server, tmp_path: Path
) -> None:
    server.drop_after, server.drops = 100_000, 1
    once = Patience(tries=1, timeout=5, pause=0)
    with pytest.raises(InputError, match=r"closed after 100,000 of 512,000 bytes.*is kept"):
        fetch([f"{server.url}/a"], tmp_path / "a", patience=once)
    assert left(tmp_path) == ["a.part", "a.part.json"]
    other = BODY[::-1]
    server.files["/a"] = other
    fetch([f"{server.url}/a"], tmp_path / "a", patience=once)
    assert ranges(server) == [None, "bytes=100000-"]
    assert (tmp_path / "a").read_bytes() == other


def test_an_interrupted_process_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    server.drop_after, server.drops = 300_000, 1
    code = (
        "import sys; from pathlib import Path; from seqtruth.datasets.download import *;"
        "fetch([sys.argv[1]], Path(sys.argv[2]), patience=Patience(tries=2, timeout=5, pause=60))"
    )
    target = tmp_path / "a"
    child = subprocess.Popen([sys.executable, "-c", code, f"{server.url}/a", str(target)])
    part = tmp_path / "a.part"
    for _ in range(1000):
        if part.exists() and part.stat().st_size == 300_000:
            break
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert not target.exists()
    fetch([f"{server.url}/a"], target, DIGEST, patience=QUICK)
    assert target.read_bytes() == BODY and ranges(server)[-1] == "bytes=300000-"


def test_a_wrong_digest_is_not_kept(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"expected {'0' * 64}, got {DIGEST}.*given="):
        fetch([f"{server.url}/a"], tmp_path / "a", "0" * 64, patience=QUICK)
    assert left(tmp_path) == []


def test_mirrors_are_tried_in_turn(server: Server, tmp_path: Path) -> None:
    server.files["/bad"] = b"something else"
    urls = [f"{server.url}/{name}" for name in ("gone", "bad", "a")]
    assert fetch(urls, tmp_path / "a", DIGEST, patience=QUICK).url == urls[-1]
    with pytest.raises(InputError, match=r"/gone: HTTP 404 Not Found"):
        fetch(urls[:1], tmp_path / "b", patience=QUICK)
    assert [path for path, _ in server.asked].count("/gone") == 2  # asked once a call


def test_passing_errors_are_asked_again_and_have_an_end(server: Server, tmp_path: Path) -> None:
    server.status["/a"] = [503]
    fetch([f"{server.url}/a"], tmp_path / "a", DIGEST, patience=QUICK)
    server.status["/a"] = [503] * 9
    with pytest.raises(InputError, match=r"HTTP 503 .*\(2 attempts\)"):
        fetch([f"{server.url}/a"], tmp_path / "b", patience=QUICK)


def test_no_network(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(InputError, match=r"cannot be fetched.*check the network"):
        fetch([f"http://127.0.0.1:{port}/a"], tmp_path / "a", patience=QUICK)


def test_no_such_host_is_not_asked_again(tmp_path: Path) -> None:
    once = Patience(tries=99, timeout=5, pause=60)
    with pytest.raises(InputError, match="no such host, or no network"):
        fetch(["http://nowhere.invalid/a"], tmp_path / "a", patience=once)


@pytest.mark.parametrize("url", ["file:///etc/hostname", "ftp://127.0.0.1/a", "nonsense"])
def test_only_http(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="cannot be fetched"):
        fetch([url], tmp_path / "a", patience=QUICK)
    assert left(tmp_path) == []


def test_more_than_expected_is_not_taken(server: Server, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="512,000 bytes, more than the 1,000"):
        fetch([f"{server.url}/a"], tmp_path / "a", limit=1000, patience=QUICK)
    assert not (tmp_path / "a").exists()


def test_a_full_disk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        name = "a.part"

        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(download, "_opened", lambda part, start: Full())
    with pytest.raises(InputError, match=r"a\.part: the disk is full.*make room"):
        fetch([f"{server.url}/a"], tmp_path / "a", patience=QUICK)
