"""Fifty reviewers at the review desk: how long a decision takes, idle and beside a fit; none may be lost.

    python -m bench.desk_load --seconds 300 --rate 5
    python -m bench.desk_load --database postgresql://… (an empty database)

The server runs in a process of its own, on a machine that the reviewers share, so ratios say more than times.
"""

from __future__ import annotations

import argparse
import asyncio
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
    base: str, reviewers: int, rate: float, seconds: float, learn: bool
) -> dict[str, Any]:
    import httpx

    told: dict[str, Any] = {"next": [], "decide": [], "batches": []}
    clients = [
        httpx.AsyncClient(base_url=base, timeout=120, trust_env=False) for _ in range(reviewers)
    ]
    # passwords are slow to check on purpose, so all sign in before the clock starts
    signed = [await _sign_in(client, f"user{k}") for k, client in enumerate(clients)]
    until = time.time() + seconds
    work = [
        _reviewer(client, headers, until, reviewers / rate, told)
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


def _summary(told: dict[str, Any], seconds: float) -> dict[str, Any]:
    def at(values: list[float], share: float) -> float:
        return round(1000 * float(np.quantile(values, share)), 1) if values else float("nan")

    return {
        "decisions": len(told["batches"]),
        "conflicts": told.get("409", 0),
        "load": round(os.getloadavg()[1], 1),
        "server_cpu_ms_per_decision": round(1000 * seconds / max(len(told["batches"]), 1), 1),
        "decide_p50_ms": at(told["decide"], 0.5), "decide_p99_ms": at(told["decide"], 0.99),
        "next_p50_ms": at(told["next"], 0.5), "next_p99_ms": at(told["next"], 0.99),
    }  # fmt: skip


def main() -> None:
    """Run both phases and print what came of them as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--reviewers", type=int, default=50)
    parser.add_argument(
        "--rate", type=float, default=5.0, help="decisions a second, of all together"
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="of each phase")
    parser.add_argument("--copies", type=int, default=10, help="of the demo's 544 sentences")
    parser.add_argument("--database", default=None)
    given = parser.parse_args()
    from seqtruth.review.server import open_desk

    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.seqtruth"
        st.aggregate(_crowd(given.copies), "ds").save(result, crowd=True)
        opened = open_desk(result, given.database)
        for name in ["lead", *(f"user{k}" for k in range(given.reviewers))]:
            opened.people.add(name, PASSWORD, "lead" if name == "lead" else "reviewer")
        process, base = _start(result, given.database)
        found, batches = {}, []
        try:
            for name, learn in (("idle", False), ("beside a fit", True)):
                before = _seconds(process)
                told = asyncio.run(_phase(base, given.reviewers, given.rate, given.seconds, learn))
                batches += told["batches"]
                found[name] = _summary(told, _seconds(process) - before)
        finally:
            process.kill()
            process.wait()
        kept = {one["batch"] for one in opened.desk.store.audit()}
        ratios = {
            key: round(found["beside a fit"][key] / found["idle"][key], 2)
            for key in found["idle"] if key.endswith("_ms")
        }  # fmt: skip
        found["ratio"] = ratios
        found["lost"] = sum(one not in kept for one in batches)  # type: ignore[assignment]
        print(json.dumps(found, indent=1))


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
