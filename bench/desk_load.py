"""Fifty reviewers at the review desk: how long a decision takes, idle and beside a fit; none may be lost.

    python -m bench.desk_load                 # SQLite
    python -m bench.desk_load --postgres      # a PostgreSQL of its own (Debian's package postgresql)

Both take some ten minutes (``--seconds`` each idle and beside fits) and end with a row of the table in
``docs/review.md``; ``--database URL`` takes an empty database that is there. The server runs in a process of
its own, on a machine that the reviewers share, so ratios say more than times.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import numpy as np

import seqtruth as st

PASSWORD = "a long password"


async def _sign_in(client: Any, name: str) -> dict[str, str]:
    await client.post("/api/session", json={"name": name, "password": PASSWORD})
    return {"x-desk-csrf": (await client.get("/api/project")).json()["csrf"]}


async def _reviewer(
    client: Any, headers: dict[str, str], until: float, pause: float, told: dict[str, Any]
) -> None:
    """Ask, think, decide, until the time is over; notes seconds and confirmed batches."""
    rng = random.Random(headers["x-desk-csrf"])
    await asyncio.sleep(rng.uniform(0, pause))
    while time.time() < until:
        began = time.perf_counter()
        question = (await client.post("/api/next", json={}, headers=headers)).json()
        told["next"].append(time.perf_counter() - began)
        if question.get("question") is None:
            await asyncio.sleep(1)
            continue
        items = [
            {key: item[key] for key in ("sentence", "version", "spans")}
            for item in question["items"]
        ]
        await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)
        body = {"batch": uuid.uuid4().hex, "question": question["question"], "items": items}
        began = time.perf_counter()
        answer = await client.post("/api/decisions", json=body, headers=headers)
        told["decide"].append(time.perf_counter() - began)
        told[str(answer.status_code)] = told.get(str(answer.status_code), 0) + 1
        if answer.status_code == 200:
            told["batches"].append(body["batch"])


async def _phase(
    base: str, given: argparse.Namespace, learn: bool, process: subprocess.Popen[str]
) -> dict[str, Any]:
    import httpx

    told: dict[str, Any] = {"next": [], "decide": [], "batches": []}
    clients = [
        httpx.AsyncClient(base_url=base, timeout=120, trust_env=False)
        for _ in range(given.reviewers)
    ]
    # passwords are slow to check on purpose, so all sign in before the clock starts
    signed = [await _sign_in(client, f"user{k}") for k, client in enumerate(clients)]
    until, cpu = time.time() + given.seconds, _seconds(process)
    work = [
        _reviewer(client, headers, until, given.reviewers / given.rate, told)
        for client, headers in zip(clients, signed, strict=True)
    ]

    async def learning() -> None:
        client = httpx.AsyncClient(base_url=base, timeout=120, trust_env=False)
        headers = await _sign_in(client, "lead")
        while time.time() < until:
            await client.post("/api/learn", json={"refit": True}, headers=headers)
            await asyncio.sleep(2)
        await client.aclose()

    await asyncio.gather(*work, *([learning()] if learn else []))
    told["seconds"] = _seconds(process) - cpu
    for client in clients:
        await client.aclose()
    return told


def _start(result: Path, database: str | None) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-m", "seqtruth", "review", str(result), "--no-browser", "--quiet"]
    command += ["--port", "0", "--learn-every", "0"]
    command += [] if database is None else ["--database", database]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert process.stdout is not None
    return process, process.stdout.readline().strip().rstrip("/")


def _seconds(process: subprocess.Popen[str]) -> float:
    """Processor seconds of the server so far; nan where the system does not tell."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _summary(told: dict[str, Any]) -> dict[str, Any]:
    def at(values: list[float], share: float) -> float:
        return round(1000 * float(np.quantile(values, share)), 1) if values else float("nan")

    return {
        "decisions": len(told["batches"]),
        "conflicts": told.get("409", 0),
        "load": round(os.getloadavg()[1], 1),
        "server_cpu_ms_per_decision": round(1000 * told["seconds"] / max(len(told["batches"]), 1), 1),
        "decide_p50_ms": at(told["decide"], 0.5), "decide_p99_ms": at(told["decide"], 0.99),
        "next_p50_ms": at(told["next"], 0.5), "next_p99_ms": at(told["next"], 0.99),
    }  # fmt: skip


def _row(name: str, found: dict[str, Any]) -> str:
    """The row of the table in ``docs/review.md``."""

    def times(phase: str) -> str:
        return ", ".join(_shown(found[phase][f"decide_{at}_ms"]) for at in ("p50", "p99"))

    phases = ("idle", "beside fits")
    decisions, cpu = (
        " and ".join(f"{found[phase][key]:,}" for phase in phases)
        for key in ("decisions", "server_cpu_ms_per_decision")
    )
    cells = [
        name, decisions, times("idle"), times("beside fits"),
        str(found["ratio"]["decide_p99_ms"]), str(found["lost"]),
    ]  # fmt: skip
    waiting = " and ".join(str(found[phase]["load"]) for phase in phases)
    return f"| {' | '.join(cells)} |\n(load {waiting}; the server took {cpu} ms of processor time a decision)"


def _shown(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


def _measured(given: argparse.Namespace, database: str | None) -> dict[str, Any]:
    """Both phases, how they compare, and how many confirmed decisions were lost."""
    from seqtruth.review.server import open_desk

    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.seqtruth"
        st.aggregate(_crowd(given.copies), "ds").save(result, crowd=True)
        opened = open_desk(result, database)
        for name in ["lead", *(f"user{k}" for k in range(given.reviewers))]:
            opened.people.add(name, PASSWORD, "lead" if name == "lead" else "reviewer")
        process, base = _start(result, database)
        found: dict[str, Any] = {}
        batches = []
        try:
            for name, learn in (("idle", False), ("beside fits", True)):
                told = asyncio.run(_phase(base, given, learn, process))
                batches += told["batches"]
                found[name] = _summary(told)
        finally:
            process.kill()
            process.wait()
        kept = {one["batch"] for one in opened.desk.store.audit()}
        opened.desk.store.database.close()
    found["ratio"] = {
        key: round(found["beside fits"][key] / found["idle"][key], 2)
        for key in found["idle"] if key.endswith("_ms")
    }  # fmt: skip
    found["lost"] = sum(one not in kept for one in batches)
    return found


def main() -> None:
    """Run both phases, print what came of them as JSON, and a row for the docs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--reviewers", type=int, default=50)
    parser.add_argument(
        "--rate", type=float, default=5.0, help="decisions a second, of all together"
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="of each phase")
    parser.add_argument("--copies", type=int, default=10, help="of the demo's 544 sentences")
    parser.add_argument("--database", default=None, help="URL of an empty database")
    parser.add_argument("--postgres", action="store_true", help="start a PostgreSQL for this")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        database = given.database
        if given.postgres:
            from tests.review.databases import cluster

            database = stack.enter_context(cluster())
        found = _measured(given, database)
    print(json.dumps(found, indent=1))
    print(_row("SQLite" if database is None else "PostgreSQL", found))


def _crowd(copies: int) -> st.Crowd:
    """The demo corpus several times over, under other names."""
    from dataclasses import replace

    import pyarrow as pa

    crowd = st.datasets.load("demo").crowd
    made = []
    for k in range(copies):
        corpus = crowd.corpus
        ids = pa.array(
            [f"{k}/{name}" for name in corpus.sentence_ids.to_pylist()], pa.large_string()
        )
        documents = tuple(f"{k}/{name}" for name in corpus.documents)
        made.append(replace(crowd, corpus=replace(corpus, sentence_ids=ids, documents=documents)))
    return st.Crowd.concat(made)


if __name__ == "__main__":
    main()
