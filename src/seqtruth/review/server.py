"""Opening a desk and serving it."""

from __future__ import annotations

import hashlib
import logging
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seqtruth import archive
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.errors import DataError, InputError, MissingExtraError, ParameterError
from seqtruth.io import read
from seqtruth.methods.choice import make_method
from seqtruth.result import Result
from seqtruth.review.app import make_app
from seqtruth.review.desk import Desk
from seqtruth.review.doors import Doors
from seqtruth.review.store.database import Database
from seqtruth.review.store.decisions import Store
from seqtruth.review.store.people import People

#: Files in the folder of a desk.
DECISIONS, RESULT, LEARNT = "decisions.sqlite", "result.seqtruth", "learnt.seqtruth"
LOCAL = ["127.0.0.1", "localhost", "[::1]"]

log = logging.getLogger("seqtruth")


@dataclass(frozen=True, eq=False)
class Opened:
    """A desk that is ready, with its folder and its database."""

    desk: Desk
    people: People
    folder: Path
    source: Path


def folder_of(source: Path) -> Path:
    """The folder of a desk: beside what is reviewed, named after it.

    >>> folder_of(Path("out/result.seqtruth")).name
    'result.review'
    """
    return source.with_name(f"{source.name.split('.')[0] or source.name}.review")


def open_desk(
    source: str | Path, database: str | None = None, crowd: Crowd | None = None,
    method: str | None = None, double: bool = False, folder: str | Path | None = None,
    reading: Mapping[str, Any] | None = None,
) -> Opened:  # fmt: skip
    """Open the desk of a saved result, or of an export, which is aggregated first.

    Parameters
    ----------
    source : a saved result (with who said what), or anything that :func:`seqtruth.read` reads.
    database : URL of a database; the file ``decisions.sqlite`` in the desk's folder where not given.
    crowd : who said what, where it was not saved with the result.
    method : for an export; where not given, the one it was opened with before, or Accord.
    double : whether two reviewers judge each sentence; for a new desk.
    folder : of the desk; beside the source where not given.
    reading : options of :func:`seqtruth.read`, for an export; likewise as before where not given.
    """
    path = Path(source)
    if not path.exists():
        raise InputError("cannot read the file", where=str(path), got="No such file or directory")
    place = _made(folder_of(path) if folder is None else Path(folder))
    if archive.is_archive(path):
        path = _kept(path, place / RESULT, crowd, always=folder is not None)
        result = Result.load(path)
    else:
        given = {"method": method, "reading": dict(reading or {}) or None}
        asked = {key: value for key, value in given.items() if value is not None}
        result, path = _aggregated(path, place / RESULT, asked), place / RESULT
    store = Store(
        Database(database or f"sqlite:///{place / DECISIONS}"), digest(result), Path(source).name, double
    )  # fmt: skip
    return Opened(_desk(result, path, store, place), People(store.database), place, path)


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(
            "cannot make the desk's folder", where=str(folder), got=error.strerror,
            fix="name another folder, where it can keep its files",
        ) from None  # fmt: skip
    return folder


def _kept(source: Path, kept: Path, crowd: Crowd | None, always: bool) -> Path:
    """Where the result is: as it was given, or in the desk's folder, with the crowd where it had none."""
    result = Result.load(source)
    if result.crowd is None and crowd is not None:
        _check_crowd(crowd, result)
        result = replace(result, crowd=crowd)
    elif not always:
        return source
    if _older(kept, source):
        result.save(kept, crowd=result.crowd is not None)
    return kept


def _aggregated(source: Path, kept: Path, asked: Mapping[str, Any]) -> Result:
    """The result of an export, made where it is not there, the export is newer, or another is asked for."""
    made: dict[str, Any] = {}
    if kept.is_file():
        result = Result.load(kept)
        made = result.provenance.get("opened", {})
        if not _older(kept, source) and {**made, **asked} == made:
            return result
    how = {**made, **asked}
    method = how.get("method", "accord")
    log.info("aggregating %s by %s", source.name, method)
    found: Result = make_method(method).fit(read(source, **how.get("reading", {})))
    found = replace(found, provenance={**found.provenance, "opened": how})
    found.save(kept, crowd=True)
    return found


def _older(one: Path, other: Path) -> bool:
    """Whether a file is not there, or older than another file or what is in another folder."""
    parts = [path for path in other.rglob("*") if path.is_file()] if other.is_dir() else [other]
    newest = max((path.stat().st_mtime for path in parts), default=0.0)
    return not one.is_file() or one.stat().st_mtime < newest


def _desk(result: Result, source: Path, store: Store, folder: Path) -> Desk:
    """The desk with the labels as they were learnt last, unless the result was made anew since."""
    rounds, learnt = store.rounds(), folder / LEARNT
    if not rounds or _older(learnt, source):
        return Desk(result, store)
    found = Result.load(learnt)
    if digest(found) != digest(result):
        return Desk(result, store)
    return Desk(found, store, result.crowd, len(rounds))


def digest(result: Result) -> str:
    """What decisions are about: the sentences, their tokens and the labels, not who labelled them how."""
    scheme, corpus = result.scheme, result.corpus
    hashed = hashlib.sha256(repr((scheme.kind, scheme.types, corpus.layers)).encode())
    hashed.update(corpus.token_offsets.tobytes())
    for column in (corpus.sentence_ids, corpus.tokens):
        for text in [] if column is None else column.to_pylist():
            hashed.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return hashed.hexdigest()


def known_labels(desk: str | Path) -> Labelling:
    """What was decided at a desk, as known labels for another run.

    Parameters
    ----------
    desk : the desk's folder.
    """
    folder = Path(desk)
    if not (folder / DECISIONS).is_file():
        raise InputError("no desk here", where=str(folder), fix=f"name the folder with {DECISIONS}")
    candidates = [
        folder / RESULT,
        *sorted(folder.parent.glob(f"{folder.name.removesuffix('.review')}.*")),
    ]
    for path in candidates:
        if path.is_file() and archive.is_archive(path):
            result = Result.load(path)
            store = Store(Database(f"sqlite:///{folder / DECISIONS}"), digest(result))
            return Desk(result, store).gold()
    raise InputError("the result that the desk reviews is not beside it", where=str(folder))


def _check_crowd(crowd: Crowd, result: Result) -> None:
    same = crowd.corpus.sentence_ids.equals(result.corpus.sentence_ids)
    if not same or crowd.n_tokens != result.corpus.n_tokens:
        raise DataError("the crowd has other sentences than the result")


@dataclass(frozen=True)
class Address:
    """Where a server listens, and under which other names it may be asked."""

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    secure: bool = False


def serve(opened: Opened, address: Address, ready: Any = None, learner: Any = None) -> None:
    """Serve a desk until it is stopped.

    Parameters
    ----------
    opened : the desk.
    address : where; anything but this machine needs users.
    ready : called with the address to open, once the server listens.
    learner : what re-aggregates in the background.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("uvicorn", "review", "the review desk") from error
    team = bool(opened.people.everybody())
    if address.host not in ("127.0.0.1", "localhost", "::1") and not team:
        raise ParameterError(
            "a desk that others can reach needs users", got=f"host {address.host}",
            fix="add a lead first",
        )  # fmt: skip
    token = secrets.token_urlsafe(24)
    listening = _listen(address)
    port = int(listening.getsockname()[1])
    doors = Doors(opened.people, token, f"seqtruth-desk-{port}", address.secure)
    hosts = (
        [*LOCAL, address.host, *address.names]
        if address.host != "0.0.0.0"
        else [*LOCAL, *address.names]
    )
    app = make_app(opened.desk, doors, hosts, learner)
    config = uvicorn.Config(
        app, log_level="warning", server_header=False, access_log=False, timeout_graceful_shutdown=2
    )
    if ready is not None:
        shown = "127.0.0.1" if address.host in ("0.0.0.0", "::") else address.host
        ready(f"http://{shown}:{port}/" + ("" if team else f"?token={token}"))
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        if learner is not None:
            learner.stop()


def _listen(address: Address) -> socket.socket:
    """A socket at the wanted port, or at the next free one."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    for port in [*range(address.port, address.port + 20), 0] if address.port else [0]:
        found = socket.socket(family)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((address.host, port))
            found.listen(128)
            return found
        except OSError as error:
            found.close()
            if port == 0:
                raise InputError(
                    "cannot listen there",
                    where=f"{address.host}:{address.port}",
                    got=error.strerror,
                ) from None
    raise AssertionError("port 0 is always free")
