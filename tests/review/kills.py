"""Kill the server at random moments under two simulated reviewers; count what was confirmed and is gone.

``python -m review.kills 200`` from the folder ``tests`` (``make kills``): so often with decisions in SQLite,
and as often with decisions in PostgreSQL where that is installed.
"""

from __future__ import annotations

import importlib.util
import random
import signal
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from typing import NamedTuple

import httpx

import seqtruth as st
from review.databases import binaries, cluster
from review.running import Server, start
from seqtruth.review.server import open_desk

PASSWORD = "a long password"


class Tally(NamedTuple):
    """Kills, decisions that were confirmed, and those of them that are not in the database."""

    kills: int
    confirmed: int
    lost: int


def _review(server: Server, name: str, confirmed: dict[str, int], stop: threading.Event) -> None:
    """Decide, undo and decide again until the line is cut."""
    try:
        with httpx.Client(base_url=server.base, timeout=30, trust_env=False) as client:
            client.post("/api/session", json={"name": name, "password": PASSWORD})
            client.headers["x-desk-csrf"] = client.get("/api/project").json()["csrf"]
            rng = random.Random(name)
            while not stop.is_set():
                question = client.post(f"/api/questions/s-{rng.randrange(200)}").json()
                if "items" not in question:
                    continue
                item = question["items"][0]
                batch = uuid.uuid4().hex
                decided = {key: item[key] for key in ("sentence", "version", "spans")}
                told = client.post(
                    "/api/decisions",
                    json={"batch": batch, "question": question["question"], "items": [decided]},
                )
                if told.status_code == 200:
                    confirmed[batch] = int(told.json()["states"][str(item["sentence"])]["version"])
    except (httpx.HTTPError, ValueError, KeyError):
        return  # the server is gone


def kill_and_count(times: int, seed: int = 0, database: str | None = None) -> Tally:
    """Kill the server so often, each time after a moment, and look for what it had confirmed.

    Decisions are kept in an empty database of this URL, or in SQLite as usual.
    """
    options = ["--learn-every", "0", *(["--database", database] if database else [])]
    rng, confirmed = random.Random(seed), dict[str, int]()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.seqtruth"
        crowd = st.datasets.load("demo").crowd[:200]
        st.aggregate(crowd, "mv").save(result, crowd=True)
        people = open_desk(result, database).people
        for name in ("ann", "bob"):
            people.add(name, PASSWORD)
        people.database.close()
        for _ in range(times):
            server, stop = start(result, *options), threading.Event()
            known = len(confirmed)
            reviewers = [
                threading.Thread(target=_review, args=(server, name, confirmed, stop))
                for name in ("ann", "bob")
            ]
            for one in reviewers:
                one.start()
            for _ in range(600):  # until both are at work
                if len(confirmed) > known:
                    break
                time.sleep(0.05)
            time.sleep(rng.uniform(0.0, 0.4))
            server.process.send_signal(signal.SIGKILL)
            server.process.wait()
            stop.set()
            for one in reviewers:
                one.join()
        store = open_desk(result, database).desk.store
        kept = {one["batch"]: int(one["version"]) for one in store.audit()}
        states = store.states()
        assert all(states[one["sentence"]].version >= one["version"] for one in store.audit())
        store.database.close()
    lost = sum(kept.get(batch) != version for batch, version in confirmed.items())
    return Tally(times, len(confirmed), lost)


def main(times: int) -> int:
    """Kill so often with each database, say what came of it, and how many confirmed decisions are lost."""
    lost = _said("SQLite", kill_and_count(times))
    if binaries() is not None and importlib.util.find_spec("psycopg") is not None:
        with cluster() as database:
            lost += _said("PostgreSQL", kill_and_count(times, seed=1, database=database))
    return lost


def _said(name: str, tally: Tally) -> int:
    print(
        f"{name:<12}{tally.kills:>5} kills {tally.confirmed:>7,} confirmed {tally.lost:>4} lost",
        flush=True,
    )
    return tally.lost


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)))
