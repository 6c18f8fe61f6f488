"""The whole attack: ``make attack``, or ``python -m tests.attack`` with what of it is wanted.

It writes ``summary.json`` after every batch and goes on from there when started again; findings lie beside
it with the inputs that show them.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from seqtruth import __version__
from seqtruth.atomic import atomic_path
from seqtruth.kernels import build
from tests.attack import jobs
from tests.attack.kills import Kills
from tests.attack.places import trials
from tests.attack.watched import Tally, attack


class Summary:
    """What has been done and found, kept on disk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "summary.json"
        self.data: dict[str, Any] = {
            "version": __version__,
            "seconds": 0.0,
            "kills": {},
            "places": {},
        }
        if self.path.exists():
            self.data = json.loads(self.path.read_text())
        self._began = time.monotonic() - self.data["seconds"]

    def tally(self, name: str, kind: str) -> Tally:
        kept = self.data.get(name)
        return Tally(kind) if kept is None else Tally.from_dict(kept)

    def save(self) -> None:
        self.data["seconds"] = round(time.monotonic() - self._began, 1)
        with atomic_path(self.path) as temporary:
            temporary.write_text(json.dumps(self.data, indent=1))

    def keep(self, name: str, tally: Tally) -> None:
        for finding in tally.findings:
            self._keep_input(name, tally.kind, finding)
        self.data[name] = tally.to_dict()
        self.save()

    def _keep_input(self, name: str, kind: str, finding: dict[str, Any]) -> None:
        """The file that shows a finding, beside what came of it."""
        place = self.folder / "findings" / f"{name}-{finding['number']}"
        if place.exists():
            return
        place.mkdir(parents=True)
        (place / "finding.json").write_text(json.dumps(finding, indent=1))
        if kind == "inputs":
            jobs.input_of(finding["number"]).put(place / "input")
        else:
            (place / "input").mkdir()
            jobs.archive_of(finding["number"])[1](place / "input")

    def faults(self) -> int:
        tallies = [v for v in self.data.values() if isinstance(v, dict) and "findings" in v]
        found = sum(len(tally["findings"]) for tally in tallies)
        found += len(self.data["kills"].get("wrong", []))
        return found + sum(len(wrong) for wrong in self.data["places"].values())

    def table(self) -> str:
        """For people."""
        lines = [
            f"{'part':<18}{'done':>9}{'read':>9}{'refused':>9}{'crashes':>9}{'hangs':>7}{'tracebacks':>12}{'slowest':>10}"
        ]
        for name in ("inputs", "archives", "checked"):
            if (found := self.data.get(name)) is not None:
                said = found["said"]
                bad = said.get("traceback", 0) + said.get("nameless", 0)
                slowest = found["slowest_ms"] / 1000
                lines.append(
                    f"{name:<18}{found['done']:>9,}{said.get('read', 0):>9,}{said.get('refused', 0):>9,}"
                    f"{said.get('crash', 0):>9}{said.get('hang', 0):>7}{bad:>12}{slowest:>8.1f} s"
                )
        if self.data["kills"]:
            kills = self.data["kills"]
            lines.append(
                f"{'kills':<18}{kills['done']:>9,} commands, {kills['killed']} of them killed while they "
                f"ran, {len(kills['wrong'])} wrong"
            )
        for name, wrong in self.data["places"].items():
            lines.append(f"{name:<18}{'held' if not wrong else '; '.join(wrong)}")
        return "\n".join(
            [*lines, f"{self.faults()} faults in {self.data['seconds'] / 60:.1f} minutes"]
        )


def _numbers(arguments: argparse.Namespace, summary: Summary) -> Iterator[None]:
    for name, kind in (("inputs", "inputs"), ("archives", "archives"), ("checked", "archives")):
        environment = {}
        if name == "checked":
            checked = (summary.folder / build.LIBRARY.name).absolute()
            build.build(checked, checked=True)
            environment = {"SEQTRUTH_KERNELS": str(checked)}
        tally = summary.tally(name, kind)
        for _ in attack(tally, getattr(arguments, name), environment, arguments.workers):
            summary.keep(name, tally)
            yield


def _kills(arguments: argparse.Namespace, summary: Summary) -> Iterator[None]:
    kept = summary.data["kills"] or {"done": 0, "killed": 0, "wrong": [], "by_command": {}}
    todo = range(kept["done"], arguments.kills)
    if not todo:
        return
    with TemporaryDirectory() as place, ThreadPoolExecutor(arguments.workers) as several:
        try:
            for found in several.map(Kills(Path(place)), todo):  # in order, so that it can go on
                kept["done"] += 1
                kept["killed"] += found["killed"]
                command = found["command"]
                kept["by_command"][command] = kept["by_command"].get(command, 0) + 1
                if found["wrong"]:
                    kept["wrong"].append(found)
                summary.data["kills"] = kept
                summary.save()
                yield
        finally:
            several.shutdown(cancel_futures=True)


def _places(summary: Summary) -> Iterator[None]:
    for name, trial in trials().items():
        if name not in summary.data["places"]:
            with TemporaryDirectory() as place:
                summary.data["places"][name] = trial(Path(place))
            summary.save()
            yield


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=__doc__)
    parser.add_argument("--inputs", type=int, default=200_000, help="mutated inputs")
    parser.add_argument("--archives", type=int, default=20_000, help="crafted archives")
    parser.add_argument(
        "--checked", type=int, default=2_000, help="archives with bounds-checked kernels"
    )
    parser.add_argument("--kills", type=int, default=200, help="kills")
    parser.add_argument(
        "--places", type=int, default=1, help="0: no disks, memory, terminals, pages"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--minutes", type=float, default=1e9, help="stop after so long; go on later"
    )
    parser.add_argument("--output", type=Path, default=Path("attack-output"), help="where to")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    summary, until = Summary(arguments.output), time.monotonic() + 60 * arguments.minutes
    parts = [_places(summary)] if arguments.places else []
    parts += [_kills(arguments, summary), _numbers(arguments, summary)]
    for part in parts:
        for _ in part:
            print(f"\r{_line(summary)}", end="", file=sys.stderr, flush=True)
            if time.monotonic() > until:
                part.close()
                break
    print(f"\n{summary.table()}")
    return 1 if summary.faults() else 0


def _line(summary: Summary) -> str:
    done = {
        name: (summary.data.get(name) or {}).get("done", 0)
        for name in ("inputs", "archives", "checked", "kills")
    }
    return (
        " · ".join(f"{name} {count:,}" for name, count in done.items())
        + f" · faults {summary.faults()}   "
    )


if __name__ == "__main__":
    sys.exit(main())
