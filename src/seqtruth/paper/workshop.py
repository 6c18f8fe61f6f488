"""Where runs are made: each once, kept under the output folder, and gone on with after a stop."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path

from seqtruth.cost import measured
from seqtruth.errors import ConvergenceWarning, MissingExtraError, MissingToolError
from seqtruth.kernels.arrays import Tags
from seqtruth.methods import Aggregator
from seqtruth.paper.material import Material, opener
from seqtruth.paper.runs import Job, Run, file_name, fingerprint
from seqtruth.paper.small_bert import quicker, spelt
from seqtruth.paper.systems import System
from seqtruth.result import Result

#: Makes a method from its spec and a seed.
Maker = Callable[[str, int], Aggregator]
#: Shows a title while the work inside lasts.
Watch = Callable[[str], AbstractContextManager[None]]
#: Tokens of NER, which systems' expected seconds are for.
_NER_SIZE = 82_958
#: Why a run is missing from a page made of those that there are.
NOT_YET = "not run yet"
_LOG = logging.getLogger("seqtruth")


def _unseen(title: str) -> AbstractContextManager[None]:
    return contextlib.nullcontext()


@dataclass
class Workshop:
    """All runs of one call.

    Parameters
    ----------
    folder : output; runs are kept in its folder ``runs``.
    make : from a spec to a method.
    quick : lighter settings.
    seeds : how many, where a seed matters.
    data_dir : of the data sets.
    watch : shows what is being worked on.
    say : tells the person something.
    kept_only : make no runs, take those that there are.
    """

    folder: Path
    make: Maker
    quick: bool = False
    seeds: int = 3
    data_dir: Path | None = None
    watch: Watch = _unseen
    say: Callable[[str], None] = lambda text: None
    kept_only: bool = False
    #: system's spec -> why it was not run
    missing: dict[str, str] = field(default_factory=dict)
    failed: dict[Job, str] = field(default_factory=dict)
    made: int = 0

    def __post_init__(self) -> None:
        self._open = opener(self.data_dir, self.quick)
        self._material: dict[str, Material] = {}
        self.done: dict[Job, Run] = {}

    def material(self, name: str) -> Material:
        if name not in self._material:
            self._material[name] = self._open(name)
        return self._material[name]

    def jobs(
        self, systems: Iterable[System], data: str, abstain: str | None = None
    ) -> list[tuple[Job, float]]:
        """What to run for ``systems``, each with the seconds it may take."""
        found = []
        for system in systems:
            spec = system.words(self.quick)
            method = self._method(Job(data, spec, 0, abstain))
            if method is None:
                continue
            seeds = min(self.seeds, system.most_seeds or self.seeds)
            numbers = range(seeds if hasattr(method, "seed") else 1)
            size = self.material(data).crowd.n_tokens / _NER_SIZE
            seconds = system.expected(self.quick) * size
            found += [(Job(data, spec, seed, abstain), seconds) for seed in numbers]
        return found

    def do(self, jobs: Sequence[tuple[Job, float]]) -> None:
        """Make or take up every run, the first seed's first; one that fails is noted, others go on."""
        wanted = dict(sorted(jobs, key=lambda one: one[0].seed))
        todo = [job for job in wanted if not self._take(job)]
        kept = len(wanted) - len(todo)
        if self.kept_only:
            self.missing |= {job.spec: NOT_YET for job in todo}
            self.say(f"{kept} of {len(wanted)} runs are there")
            return
        left = sum(wanted[job] for job in todo)
        self.say(f"{len(wanted)} runs, {kept} kept from before; about {_minutes(left)} to go")
        planned = spent = 0.0
        for number, job in enumerate(todo, 1):
            pace = spent / planned if planned > 60 else 1.0
            title = f"{number}/{len(todo)} {job} (about {_minutes(pace * left)} left)"
            if self._take(job):  # another process, sharing the folder, has made it meanwhile
                continue
            with self.watch(title):
                self._make(job)
            left -= wanted[job]
            if job in self.done:
                planned += wanted[job]
                spent += self.done[job].cost.seconds

    def runs(self, system: System, data: str, abstain: str | None = None) -> list[Run]:
        """All seeds' runs that there are."""
        spec = system.words(self.quick)
        jobs = (Job(data, spec, seed, abstain) for seed in range(self.seeds))
        return [self.done[job] for job in jobs if job in self.done]

    def why_not(self, system: System, data: str, abstain: str | None = None) -> str:
        """Why a system has no runs."""
        spec = system.words(self.quick)
        reasons = [why for job, why in self.failed.items() if job[:2] == (data, spec)]
        return self.missing.get(spec) or next(iter(reasons), "not run")

    def _method(self, job: Job) -> Aggregator | None:
        crowd = self.material(job.data).crowd
        try:
            made = quicker(self.make(spelt(job.spec), job.seed), job.spec)
            method = made.resolved(crowd.corpus.tokens is not None, crowd.n_sentences)
        except (MissingExtraError, MissingToolError) as error:
            extra = (error.fix or "").removeprefix("pip install ").strip("'")
            self.missing[job.spec] = f"not run: needs {extra}"
            return None
        if job.abstain is None:
            return method
        return replace(method, abstain=None if job.abstain == "none" else job.abstain)

    def _place(self, job: Job) -> tuple[Aggregator, Path, str]:
        method = self._method(job)
        assert method is not None
        print_ = fingerprint(method, job, self.material(job.data).digest)
        return method, self.folder / "runs" / file_name(job, print_), print_

    def _take(self, job: Job) -> bool:
        if job not in self.done:
            _, path, print_ = self._place(job)
            kept = Run.load(path, print_)
            if kept is None:
                return False
            self.done[job] = kept
        return True

    def _make(self, job: Job) -> None:
        method, path, print_ = self._place(job)
        material = self.material(job.data)
        try:
            with warnings.catch_warnings():
                # why a run stopped is kept with it
                warnings.simplefilter("ignore", ConvergenceWarning)
                result, cost = measured(lambda: method.fit(material.crowd))
                run = Run.of(result, _tag(result, material), cost)
        except Exception as error:
            _LOG.exception("%s failed", job)
            self.failed[job] = f"failed: {error}"
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        run.save(path, print_)
        self.done[job] = run
        self.made += 1


def _tag(result: Result, material: Material) -> dict[str, Tags]:
    """What the trained tagger makes of the held-out texts."""
    if result.tagger is None:
        return {}
    return {
        name: result.tagger.label(text.gold.corpus).tags for name, text in material.held_out.items()
    }


def _minutes(seconds: float) -> str:
    """
    >>> _minutes(20), _minutes(200), _minutes(5400)
    ('20 s', '3 min', '1 h 30 min')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    whole = round(seconds / 60)
    return f"{whole} min" if whole < 60 else f"{whole // 60} h {whole % 60} min"
