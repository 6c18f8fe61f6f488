"""Opening a desk and serving it."""

from __future__ import annotations

import hashlib
import logging
import secrets
import socket
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
    method: str = "accord", double: bool = False,
) -> Opened:  # fmt: skip
    """Open the desk of a saved result, or of an export, which is aggregated first.

    Parameters
    ----------
    source : a saved result (with who said what), or anything that :func:`seqtruth.read` reads.
    database : URL of a database; the file ``decisions.sqlite`` in the desk's folder where not given.
    crowd : who said what, where it was not saved with the result.
    method : for an export.
    double : whether two reviewers judge each sentence; for a new desk.
    """
    path = Path(source)
    folder = folder_of(path)
    if not path.exists():
        raise InputError("cannot read the file", where=str(path), got="No such file or directory")
    folder.mkdir(exist_ok=True)
    if not archive.is_archive(path):
        path = _aggregated(path, folder / RESULT, method)
    result = Result.load(path)
    if crowd is not None and result.crowd is None:
        _check_crowd(crowd, result)
        result, path = replace(result, crowd=crowd), folder / RESULT
        result.save(path, crowd=True)  # learning reads it from there
    store = Store(
        Database(database or f"sqlite:///{folder / DECISIONS}"), digest(result), Path(source).name, double
    )  # fmt: skip
    return Opened(_desk(result, store, folder), People(store.database), folder, path)


def _desk(result: Result, store: Store, folder: Path) -> Desk:
    """The desk with the labels as they were learnt last, where that is so."""
    rounds, learnt = store.rounds(), folder / LEARNT
    if not rounds or not learnt.is_file():
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


def _aggregated(source: Path, target: Path, method: str) -> Path:
    """The saved result of an export, made where it is not there or the export is newer."""
    if not target.is_file() or target.stat().st_mtime < source.stat().st_mtime:
        log.info("aggregating %s by %s", source.name, method)
        found: Result = make_method(method).fit(read(source))
        found.save(target, crowd=True)
    return target


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
