"""Fetching a file over HTTP: resumed where it broke off, checked, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import http.client
import json
import logging
import os
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from seqtruth._version import __version__
from seqtruth.errors import InputError
from seqtruth.io.files import write_chunks

_log = logging.getLogger(__name__)
_CHUNK = 1 << 16
#: Answers worth asking again for; any other error answer ends with its address.
_PASSING = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Patience:
    """How long to go on: attempts in a row without a byte gained, and seconds of waiting."""

    tries: int = 4
    timeout: float = 30.0
    pause: float = 1.0


PATIENCE = Patience()


@dataclass(frozen=True)
class Receipt:
    """What was fetched: address, the server's mark for this version, bytes, digest, day."""

    url: str
    etag: str
    size: int
    sha256: str
    fetched: str


class _Refused(Exception):
    """This address will not give us the file; another may."""


class _Broken(Exception):
    """The transfer stopped early; trying again may help."""


def fetch(
    urls: Sequence[str],
    target: Path,
    sha256: str | None = None,
    limit: int = 1 << 30,
    patience: Patience = PATIENCE,
) -> Receipt:
    """Fetch the first of ``urls`` that can be had to ``target``.

    What has come so far waits in ``target`` + ``.part``, beside the address and the version it is of; a
    second call goes on from there (``Range`` with ``If-Range``) and starts over where the server cannot
    or the version is another. A file with the wrong digest is not kept.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = _Part(target)
    said = []
    for url in urls:
        try:
            return _from(url, part, target, sha256, limit, patience)
        except _Refused as refusal:
            said.append(f"{url}: {refusal}")
            _log.info("%s: %s", url, refusal)
    raise InputError(
        f"{target.name} cannot be fetched",
        got="; ".join(said) or "no address",
        fix="check the network and call again (what has come so far is kept), or fetch the file by hand "
        "and name its folder with given=",
    )


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def today() -> str:
    """The day, for receipts."""
    return time.strftime("%Y-%m-%d", time.gmtime())


class _Part:
    """The unfinished file and the note of what it is a part of."""

    def __init__(self, target: Path) -> None:
        self.file = target.with_name(target.name + ".part")
        self.note = target.with_name(target.name + ".part.json")

    def held(self, url: str) -> tuple[int, str]:
        """Bytes that have come from ``url`` and the version's mark; (0, "") where useless."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            known = json.loads(self.note.read_text("utf-8"))
            if known["url"] == url and known["mark"]:
                return self.file.stat().st_size, str(known["mark"])
        return 0, ""

    def begin(self, url: str, mark: str) -> None:
        self.note.write_text(json.dumps({"url": url, "mark": mark}), "utf-8")

    def drop(self) -> None:
        self.file.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _from(
    url: str, part: _Part, target: Path, sha256: str | None, limit: int, patience: Patience
) -> Receipt:
    """Fetch from one address, with retries; :class:`_Refused` where it will not do."""
    tries = 0
    while True:
        before, _ = part.held(url)
        try:
            mark = _transfer(url, part, limit, patience)
            break
        except _Broken as trouble:
            tries = 1 if part.held(url)[0] > before else tries + 1  # progress renews the patience
            if tries >= patience.tries:
                raise _Refused(f"{trouble} ({tries} attempts)") from None
            _log.info("%s: %s; trying again", url, trouble)
            time.sleep(patience.pause * 2 ** (tries - 1))
    got, size = digest(part.file), part.file.stat().st_size
    if sha256 is not None and got != sha256:
        part.drop()
        raise _Refused(f"wrong SHA-256: expected {sha256}, got {got}; the file was not kept")
    os.replace(part.file, target)
    part.drop()
    return Receipt(url, mark, size, got, today())


def _transfer(url: str, part: _Part, limit: int, patience: Patience) -> str:
    """One connection: append to the part or start it over; returns the version's mark."""
    held, mark = part.held(url)
    headers = {"User-Agent": f"seqtruth/{__version__}", "Accept-Encoding": "identity"}
    if held:
        headers |= {"Range": f"bytes={held}-", "If-Range": mark}
    try:
        request = urllib.request.Request(url, headers=headers)
        if request.type not in ("http", "https"):
            raise _Refused("not an http address")
        with urllib.request.urlopen(request, timeout=patience.timeout) as answer:
            if request.type == "https" and not answer.url.startswith("https:"):
                raise _Refused(f"sent on to {answer.url}, which is not encrypted")
            start = _start(answer, held)
            mark = _mark(answer)
            length = answer.headers.get("Content-Length")
            total = start + int(length) if length and length.isdigit() else None
            if total is not None and total > limit:
                raise _Refused(f"{total:,} bytes, more than the {limit:,} expected at most")
            with _opened(part, start) as file:
                if not start:
                    part.begin(url, mark)
                _copy(answer, file, start, total, limit, part.file.stem)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:  # the part is not a part of what is there now
            part.drop()
            raise _Broken("the file has changed") from None
        kind = _Broken if error.code in _PASSING else _Refused
        raise kind(f"HTTP {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, socket.gaierror):
            raise _Refused(f"no such host, or no network ({error.reason.strerror})") from None
        raise _Broken(str(error.reason)) from None
    except (http.client.HTTPException, TimeoutError, ConnectionError) as error:
        raise _Broken(str(error) or type(error).__name__) from None
    except ValueError as error:
        raise _Refused(str(error)) from None
    return mark


def _start(answer: Any, held: int) -> int:
    """Where the answer's bytes belong: after what we hold, or at the beginning."""
    if answer.status != 206:
        return 0
    place = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
    if place is None or int(place[1]) != held:
        raise _Refused("the server sent another range than asked for")
    return held


def _mark(answer: Any) -> str:
    """What tells this version from another: a strong ETag, or the time of the last change."""
    etag = answer.headers.get("ETag", "")
    if etag and not etag.startswith("W/"):
        return str(etag)
    return str(answer.headers.get("Last-Modified", ""))


def _opened(part: _Part, start: int) -> IO[bytes]:
    try:
        return open(part.file, "ab" if start else "wb")
    except OSError as error:
        raise _cannot_write(part.file, error) from None


def _copy(
    answer: Any, file: IO[bytes], done: int, total: int | None, limit: int, name: str
) -> None:
    said = time.monotonic()
    while chunk := answer.read(_CHUNK):
        done += len(chunk)
        if done > limit:
            raise _Refused(f"more than the {limit:,} bytes expected at most")
        try:
            file.write(chunk)
        except OSError as error:
            raise _cannot_write(Path(file.name), error) from None
        if time.monotonic() - said > 1:
            said = time.monotonic()
            _log.info("%s: %s", name, _amount(done, total))
    if total is not None and done < total:
        raise _Broken(f"the connection closed after {done:,} of {total:,} bytes")


def _amount(done: int, total: int | None) -> str:
    mega = f"{done / 1e6:,.1f} MB"
    return mega if total is None else f"{mega} of {total / 1e6:,.1f} MB"


def _cannot_write(path: Path, error: OSError) -> InputError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return InputError(
        "the disk is full" if full else "cannot write",
        where=str(path),
        got=error.strerror or type(error).__name__,
        fix="make room and call again: what has come so far is kept" if full else
        "name another folder with data_dir= or SEQTRUTH_CACHE",
    )  # fmt: skip


def receipts(folder: Path) -> dict[str, Receipt]:
    """What was fetched into a folder before, by file."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        known = json.loads((folder / "receipts.json").read_text("utf-8"))
        return {name: Receipt(**fields) for name, fields in known.items()}
    return {}


def keep_receipt(folder: Path, name: str, receipt: Receipt) -> None:
    _write_receipts(folder, receipts(folder) | {name: receipt})


def forget(folder: Path, names: Collection[str]) -> None:
    """Throw away files and their receipts."""
    for name in names:
        (folder / name).unlink(missing_ok=True)
    _write_receipts(folder, {n: one for n, one in receipts(folder).items() if n not in names})


def _write_receipts(folder: Path, found: Mapping[str, Receipt]) -> None:
    text = json.dumps({name: asdict(one) for name, one in found.items()}, indent=1, sort_keys=True)
    write_chunks(folder / "receipts.json", [text.encode()])
