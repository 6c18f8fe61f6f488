"""Hostile places: full disks, read-only folders, little memory, odd terminals, pages in a browser.

Each trial is a function that returns what was wrong; :func:`trials` lists them all.
"""

from __future__ import annotations

import http.server
import importlib.util
import os
import pty
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import seqtruth as st
from seqtruth import io
from seqtruth.data.crowd import Crowd
from seqtruth.methods import DawidSkene

Trial = Callable[[Path], list[str]]
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")


def seqtruth(*words: object, **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line."""
    line = [sys.executable, "-m", "seqtruth", *map(str, words)]
    return subprocess.run(line, capture_output=True, timeout=300, **how)


def _inputs(place: Path) -> Path:
    path = place / "in.conll"
    if not path.exists():
        io.write(st.datasets.load("demo").crowd[:60], path)
    return path


def _told(done: subprocess.CompletedProcess[bytes], codes: tuple[int, ...], what: str) -> list[str]:
    """Faults of a run: another exit code, a traceback."""
    wrong = []
    if done.returncode not in codes:
        wrong.append(f"{what}: exit {done.returncode}: {done.stderr[-300:]!r}")
    if b"Traceback" in done.stderr:
        wrong.append(f"{what}: a traceback: {done.stderr[-300:]!r}")
    return wrong


# --- disks -------------------------------------------------------------------------------------------


def _outputs(out: Path) -> list[str]:
    return ["-o", f"{out}/a.conll", "--report", f"{out}/a.html", "--save", f"{out}/a.seqtruth"]


def small_files(place: Path) -> list[str]:
    """RLIMIT_FSIZE at many sizes: all outputs or none, and what was there stays."""
    wrong, source = [], _inputs(place)
    for limit in (0, 1, 100, 4000, 20_000, 60_000, 200_000):
        out = place / f"limit{limit}"
        out.mkdir()
        (out / "a.conll").write_text("before")

        def bounded(limit: int = limit) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        done = seqtruth("aggregate", source, "-m", "mv", "-q", *_outputs(out), preexec_fn=bounded)
        wrong += _told(done, (0, 2), f"files of {limit} bytes")
        names = sorted(p.name for p in out.iterdir())
        expected = ["a.conll"] if done.returncode else ["a.conll", "a.html", "a.seqtruth"]
        if names != expected:
            wrong.append(f"files of {limit} bytes: {names} are left")
        if done.returncode and (out / "a.conll").read_text() != "before":
            wrong.append(f"files of {limit} bytes: the old file is lost")
    return wrong


@contextmanager
def _tmpfs(place: Path, options: str) -> Iterator[Path | None]:
    """A small file system of our own, where we may make one."""
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", str(place)], capture_output=True
    )
    try:
        yield place if made.returncode == 0 else None
    finally:
        if made.returncode == 0:
            subprocess.run(["umount", str(place)], capture_output=True)


def full_disk(place: Path) -> list[str]:
    """A tmpfs of few kilobytes: as above. Not where we may not mount."""
    wrong, source = [], _inputs(place)
    for size in ("4k", "16k", "64k"):
        with _tmpfs(place / f"disk{size}", f"size={size}") as disk:
            if disk is None:
                return []
            done = seqtruth("aggregate", source, "-m", "mv", "-q", *_outputs(disk))
            wrong += _told(done, (0, 2), f"a disk of {size}")
            if done.returncode and list(disk.iterdir()):
                wrong.append(f"a disk of {size}: {sorted(p.name for p in disk.iterdir())} are left")
            kept = seqtruth("aggregate", source, "-m", "ds", "-q", "--checkpoint", disk / "kept")
            wrong += _told(kept, (0, 2), f"a checkpoint on a disk of {size}")
    return wrong


def read_only(place: Path) -> list[str]:
    """Folders that cannot be written to are found before the work, by whoever we are."""
    wrong, source = [], _inputs(place)
    with _tmpfs(place / "ro", "size=1m,ro") as disk:
        closed = disk
        if closed is None:
            closed = place / "closed"
            closed.mkdir(mode=0o555)
            if os.access(closed, os.W_OK):
                return []
        for words in (
            ["-o", closed / "a.conll"],
            ["--report", closed / "a.html"],
            ["--checkpoint", closed / "k"],
        ):
            done = seqtruth("aggregate", source, "-m", "accord:predictor=none", *words)
            wrong += _told(done, (2,), f"read-only {words[0]}")
            if b"weighing" in done.stderr:
                wrong.append(f"read-only {words[0]}: found after the work")
    return wrong


def no_home(place: Path) -> list[str]:
    """Neither home nor cache nor the package can be written to: everything still runs."""
    source = _inputs(place)
    nowhere = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "TMPDIR": str(place)}
    done = seqtruth("info", source, env={**os.environ, **nowhere})
    return _told(done, (0,), "no home")


# --- memory ------------------------------------------------------------------------------------------


def little_memory(place: Path) -> list[str]:
    """RLIMIT_AS after the imports: done, or said; never a traceback or a crash.

    What a process has mapped after its imports differs from machine to machine, so the limit is set by
    the process itself, so much above that.
    """
    crowd = st.datasets.load("demo").crowd
    io.write(crowd, place / "in.jsonl")
    program = (
        "import resource, sys, pathlib, seqtruth.cli.app, seqtruth.methods, seqtruth.io, seqtruth.report\n"
        "from seqtruth.cli import main\n"
        "pages = int(pathlib.Path('/proc/self/statm').read_text().split()[0])\n"
        "limit = pages * resource.getpagesize() + (int(sys.argv[1]) << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "sys.exit(main(sys.argv[2:]))\n"
    )
    wrong = []
    for room in (1, 4, 16, 64, 256, 1024):
        out = place / f"room{room}.conll"
        words = ["aggregate", str(place / "in.jsonl"), "-m", "bsc-seq", "-q", "-o", str(out)]
        done = subprocess.run(
            [sys.executable, "-c", program, str(room), *words],
            capture_output=True,
            timeout=300,
            env={**os.environ, "SEQTRUTH_THREADS": "1"},
        )
        wrong += _told(done, (0, 2), f"{room} MB")
        if out.exists() != (done.returncode == 0):
            wrong.append(f"{room} MB: exit {done.returncode}, output {out.exists()}")
    return wrong


# --- terminals ---------------------------------------------------------------------------------------


def _hostile() -> Crowd:
    names = ["\x1b[2Jann", "bob\x07", "\x9b31mcar", "d\u202ean", "e\x00e"]
    words = [["\x1b]0;title\x07", "\x08\x08\x08", "\x1b[31mRed", "\u2028", "x"]]
    tags = [["O", "O", "B-\x1b[1mX", "O", "O"]]
    return Crowd.of(dict.fromkeys(names, tags), tokens=words, ids=["\x1b[Hs"])


def escapes(place: Path) -> list[str]:
    """Control characters of files do not reach a terminal, neither by output nor by errors.

    Labels in a pipe or file are data and stay as they are; on a terminal they are made harmless.
    """
    wrong, path = [], place / "hostile.jsonl"
    io.write(_hostile(), path)
    odd = place / "no\x1b[31m.jsonl"
    for words in (
        ["info", path],
        ["info", odd],
        ["aggregate", path, "-m", "mv", "--json"],
        ["evaluate", path, path],
        ["convert", path, place / "o.conll"],
        ["compare", path, "-m", "mv,ds"],
    ):
        done = seqtruth(*words)
        wrong += _told(done, (0, 2), f"{words[0]} of a hostile file")
        found = CONTROL.search(done.stdout + done.stderr)
        if found:
            wrong.append(f"{words[0]} lets {found[0]!r} through")
    shown = on_terminal("aggregate", path, "-m", "mv", "-q")
    if b"Red" not in shown or re.search(rb"\x1b\[31mRed|\x1b\]0;title|\x08\x08", shown):
        wrong.append(f"labels on a terminal: {shown[-300:]!r}")
    return wrong


def on_terminal(*words: object) -> bytes:
    """What a command shows on a terminal."""
    main, other = pty.openpty()
    line = [sys.executable, "-m", "seqtruth", *map(str, words)]
    run = subprocess.Popen(line, stdin=other, stdout=other, stderr=other)
    os.close(other)
    shown = b""
    while True:
        try:
            piece = os.read(main, 4096)
        except OSError:  # nobody is there any more
            break
        if not piece:
            break
        shown += piece
    os.close(main)
    run.wait(60)
    return shown


def terminals(place: Path) -> list[str]:
    """Terminals that are narrow, dumb, ASCII or gone."""
    wrong, source = [], _inputs(place)
    odd = (
        {"COLUMNS": "1"},
        {"COLUMNS": "0"},
        {"COLUMNS": "abc"},
        {"LINES": "-1"},
        {"TERM": "dumb"},
        {"TERM": ""},
        {"LANG": "C", "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
        {"NO_COLOR": "1"},
        {"FORCE_COLOR": "1"},
        {"SEQTRUTH_THREADS": "abc"},
        {"SEQTRUTH_THREADS": "-1"},
        {"SEQTRUTH_MAX_UNPACKED": "x"},
    )
    for more in odd:
        done = seqtruth("info", source, env={**os.environ, **more})
        wrong += _told(done, (0, 2), str(more))
    for closing in (
        "<&-",
        ">&-",
        "2>&-",
        "<&- >&- 2>&-",
        ">/dev/full",
        "2>/dev/full",
        "| head -c 1",
    ):
        line = f"{sys.executable} -m seqtruth aggregate {source} -m mv {closing}"
        done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=300)
        wrong += _told(done, (0, 1, 2), closing)
    return wrong + _narrow(source)


def _narrow(source: Path) -> list[str]:
    """A terminal of one column that hangs up."""
    main, other = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-m", "seqtruth", "info", str(source)],
        stdin=other,
        stdout=other,
        stderr=subprocess.PIPE,
        env={**os.environ, "COLUMNS": "1"},
    )
    os.close(other)
    os.close(main)
    _, said = run.communicate(timeout=300)
    return [f"a terminal that hung up: {said[-300:]!r}"] if b"Traceback" in said else []


def interrupts(place: Path) -> list[str]:
    """Ctrl-C: soon, with 130, without a traceback and without partial outputs."""
    wrong, source = [], place / "large.conll"
    io.write(st.datasets.load("demo").crowd, source)
    methods = ["aggslc:predictor=crf", "accord:predictor=crf"]
    if importlib.util.find_spec("torch") is not None:
        methods.append("accord:predictor=bilstm")
    for method in methods:
        out = place / "interrupted.conll"
        out.unlink(missing_ok=True)  # of a method that was done before we came
        run = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "seqtruth",
                "aggregate",
                str(source),
                "-m",
                method,
                "-o",
                str(out),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=_hears_interrupts,
        )
        time.sleep(12 if "bilstm" in method else 4)
        if run.poll() is not None:
            continue  # done before we came
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        _, said = run.communicate(timeout=120)
        took = time.monotonic() - began
        if run.returncode != 130 or b"Traceback" in said or out.exists():
            wrong.append(f"Ctrl-C in {method}: exit {run.returncode}: {said[-300:]!r}")
        if took > 5:
            wrong.append(f"Ctrl-C in {method} took {took:.1f} s")
    return wrong


def _hears_interrupts() -> None:
    """What a shell starts in the background ignores Ctrl-C, and its children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# --- pages -------------------------------------------------------------------------------------------

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


def payloads(address: str) -> list[str]:
    """What a page must show and never do."""
    return [
        "<script>document.title='pwned'</script>",
        '"><img src=x onerror="document.title=\'pwned\'">',
        "<svg/onload=document.title='pwned'>",
        "javascript:document.title='pwned'",
        "</title><script>document.title='pwned'</script>",
        "</style><script>document.title='pwned'</script>",
        "' onmouseover='document.title=\"pwned\"' x='",
        f"<img src={address}/i>",
        f"<link rel=stylesheet href={address}/l>",
        f"<iframe src={address}/f></iframe>",
        f"<meta http-equiv=refresh content='0;url={address}/m'>",
        "{{ 7*7 }}",
        "{% raw %}",
        "<!--",
        "]]>",
        "&lt;b&gt;",
        "\u202e",
        "</script><script>document.title='pwned'</script>",
    ]


def hostile_page(place: Path) -> list[str]:
    """A report of a hostile crowd in Chromium: no script runs, nothing is fetched."""
    if CHROMIUM is None:
        return []
    page = place / "page.html"

    def write(address: str) -> None:
        _hostile_result(payloads(address)).report(page)

    title, asked = visited(page, write)
    wrong = [] if title is not None else ["Chromium showed nothing"]
    if title == "pwned":
        wrong.append("a script ran")
    if asked:
        wrong.append(f"the page fetched {asked}")
    return wrong


def visited(page: Path, write: Callable[[str], None]) -> tuple[str | None, list[str]]:
    """A page in Chromium: its title in the end, and what it fetched from the address that ``write`` got."""
    asked: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    write(f"http://127.0.0.1:{server.server_port}")
    assert CHROMIUM is not None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *options, profile, "--virtual-time-budget=4000", "--dump-dom", page.as_uri()],
        capture_output=True,
        timeout=120,
    )
    server.shutdown()
    title = re.search(rb"<title>(.*?)</title>", done.stdout, re.DOTALL)
    return (None if title is None else title[1].decode().strip()), asked


def _hostile_result(bad: list[str]) -> Any:
    n = len(bad)
    types = ["B-" + re.sub(r"\s", "_", text) for text in bad]
    tags = {
        text: [[types[(k + w) % n] if w % 3 else types[k] for k in range(n)]] * 30
        for w, text in enumerate(bad)
    }
    crowd = Crowd.of(tags, tokens=[bad] * 30, ids=[f"{k} {bad[k % n]}" for k in range(30)])
    return DawidSkene(max_iter=3).fit(crowd)


# --- the review desk --------------------------------------------------------------------------------

#: How often its server is killed under two reviewers.
DESK_KILLS = 40


def desk_kills(place: Path) -> list[str]:
    """The review desk's server killed at work: what it confirmed is there (``tests/review/kills.py``)."""
    if importlib.util.find_spec("httpx") is None or importlib.util.find_spec("starlette") is None:
        return []
    line = [sys.executable, "-m", "review.kills", str(DESK_KILLS)]
    root = Path(__file__).parents[1]
    path = os.pathsep.join([str(root), str(root.parent / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        line, capture_output=True, cwd=root, env={**os.environ, "PYTHONPATH": path}, timeout=6000
    )
    if done.returncode or b" 0 lost" not in done.stdout:
        return [f"{done.stdout[-300:]!r} {done.stderr[-300:]!r}"]
    return []


def trials() -> dict[str, Trial]:
    """All of them by name."""
    found: list[Trial] = [
        small_files,
        full_disk,
        read_only,
        no_home,
        little_memory,
        escapes,
        terminals,
        interrupts,
        hostile_page,
        desk_kills,
    ]
    return {one.__name__: one for one in found}
