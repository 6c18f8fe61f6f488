"""Learning beside the server: when it starts, what came of it."""

from __future__ import annotations

import logging
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from seqtruth.data.spans import extract
from seqtruth.result import Result
from seqtruth.review.outlook import foreseen
from seqtruth.review.server import LEARNT, Opened

#: Changes listed on the page.
MOST_CHANGES = 12

log = logging.getLogger("seqtruth")


class Learner:
    """Fits anew in a process of its own, after some decisions or when asked.

    Parameters
    ----------
    opened : the desk.
    every, refit_every : decisions after which it updates, and fits everything anew, by itself; 0 for never.
    """

    def __init__(self, opened: Opened, every: int = 10, refit_every: int = 50) -> None:
        self.desk, self.every, self.refit_every = opened.desk, every, refit_every
        self.source, self.target = opened.source, opened.folder / LEARNT
        self._since, self._since_refit, self._running = 0, 0, False
        self._next: str | None = None
        self._error: str | None = None
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def decided(self) -> None:
        """Note a decision; learn when there were enough."""
        with self._lock:
            self._since += 1
            self._since_refit += 1
            refit = bool(self.refit_every) and self._since_refit >= self.refit_every
            due = self.every and self._since >= self.every
        if due or refit:
            self.ask(refit)

    def ask(self, refit: bool = False) -> None:
        """Learn now, or once more after what is running.

        Parameters
        ----------
        refit : fit everything anew, predictor included.
        """
        with self._lock:
            self._since, self._since_refit = 0, 0 if refit else self._since_refit
            self._next = "refit" if refit or self._next == "refit" else "update"
            if self._running:
                return
            self._running = True
        threading.Thread(target=self._work, name="learning", daemon=True).start()

    def status(self) -> dict[str, Any]:
        """Whether it is running, and what came of it last."""
        rounds = self.desk.store.rounds()
        told = None
        if rounds:
            last = rounds[-1]
            told = f"After {last['decisions']} decisions, {last['changed']} other labels changed."
            trial = last["trial"]
            if not trial["helps"]:
                told = (
                    f"After {last['decisions']} decisions, learning was tried and left: of the decisions"
                    f" that it had not seen, it got {trial['better']} sentences right that were wrong,"
                    f" and {trial['worse']} wrong that were right."
                )
        return {"running": self._running, "told": told, "error": self._error, "every": self.every}

    def stop(self) -> None:
        """End a fit that is running."""
        if self._process is not None:
            self._process.kill()

    def wait(self, seconds: float = 600.0) -> None:
        """Until nothing is running; for tests and scripts."""
        for thread in threading.enumerate():
            if thread.name == "learning":
                thread.join(seconds)

    def _work(self) -> None:
        while True:
            with self._lock:
                how, self._next = self._next, None
                if how is None:
                    self._running = False
                    return
            try:
                self._error = None
                self._learn(how)
            except Exception as error:  # the server goes on; the page says so
                log.warning("learning failed: %s", error)
                self._error = f"Learning failed: {error}"

    def _learn(self, how: str) -> None:
        desk, counts = self.desk, self.desk.store.counts()
        known = desk.gold()
        before = desk.labels()
        with tempfile.TemporaryDirectory(prefix="seqtruth-learning-") as folder:
            tags = Path(folder) / "known.npy"
            np.save(tags, known.tags, allow_pickle=False)
            command = [sys.executable, "-m", "seqtruth.review.relearning"]
            self._process = subprocess.Popen(
                [*command, str(self.source), str(tags), str(self.target), how],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            _, said = self._process.communicate()
            if self._process.returncode:
                lines = said.decode(errors="replace").strip().splitlines()
                raise RuntimeError(lines[-1] if lines else "the process was ended")
        result = Result.load(self.target)
        rounds = desk.store.rounds()
        desk.learnt(result, len(rounds) + 1)
        changes, changed = what_changed(before, desk.labels(), known.tags)
        ahead = desk.outlook()
        facts = {
            "decisions": counts["decisions"],
            "how": how,
            "trial": result.provenance["trial"],
            "changed": changed,
            "changes": changes,
            "foreseen": foreseen(rounds, counts["decisions"]),
            **{name: ahead[name] for name in ("f1", "after_50", "after_100")},
        }
        desk.store.add_round(counts["last"], facts)


def what_changed(
    before: Result, after: Result, known: np.ndarray
) -> tuple[list[dict[str, Any]], int]:
    """Marks that learning changed where nobody had decided: the most frequent changes, and how many in all.

    Parameters
    ----------
    before, after : labels with the decisions in them.
    known : tag[T], what was decided; -1 where nothing was.
    """
    old, new = _marks(before), _marks(after)
    count: Counter[tuple[str, str | None, str | None]] = Counter()
    for place in {*old, *new}:
        was, now = old.get(place), new.get(place)
        if was == now or known[place[0]] >= 0:
            continue
        sentence = int(np.searchsorted(before.corpus.token_offsets, place[0], side="right")) - 1
        count[before.corpus.written(sentence, *place)[0], was, now] += 1
    listed = [
        {"text": text, "before": was, "after": now, "times": times}
        for (text, was, now), times in count.most_common(MOST_CHANGES)
    ]
    return listed, sum(count.values())


def _marks(result: Result) -> dict[tuple[int, int], str]:
    found = extract(result.tags, result.corpus.token_offsets, result.scheme)
    at = result.corpus.token_offsets[found.sequence]
    starts, ends = (at + found.start).tolist(), (at + found.end).tolist()
    kinds = [result.scheme.types[kind] for kind in found.type.tolist()]
    return {(a, b): kind for a, b, kind in zip(starts, ends, kinds, strict=True)}
