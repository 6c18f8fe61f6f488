"""Who takes part, on what, and up to which size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: Rounds of every iterative method.
ROUNDS = 10


@dataclass(frozen=True)
class System:
    """One line of the tables.

    Parameters
    ----------
    key, task, whose : its name here; what it does; whose program it is.
    job : module, class and arguments.
    limit : not run on more token annotations than this, because it takes too long or too much memory.
    threads : whether it can use more than one.
    iterates : whether it works in rounds.
    """

    key: str
    task: str
    whose: str
    job: tuple[str, str, tuple[Any, ...]]
    limit: float = 1e8
    threads: bool = False
    iterates: bool = True

    @property
    def ours(self) -> bool:
        return self.whose == "SeqTruth"

    def make(self) -> Any:
        """The job itself; imports what it needs."""
        import importlib

        module, name, arguments = self.job
        return getattr(importlib.import_module(f"bench.{module}"), name)(*arguments)


VOTE, FRAMES, NUMPY = "majority vote", "peers_frames", "peers_numpy"


def _ours(key: str, task: str, iterates: bool = True) -> System:
    return System(f"ours-{key}", task, "SeqTruth", ("ours", "Ours", (key,)), 1e8, True, iterates)


SYSTEMS = (
    _ours("mv", VOTE, iterates=False),
    System("polars-mv", VOTE, "Polars", (FRAMES, "PolarsVote", ()), 1e8, True, False),
    System("pandas-mv", VOTE, "pandas", (FRAMES, "PandasVote", ()), 1e7, False, False),
    System(
        "crowdkit-mv", VOTE, "crowd-kit", (FRAMES, "CrowdKit", ("MajorityVote",)), 1e7, False, False
    ),
    _ours("ds", "Dawid-Skene"),
    System("crowdkit-ds", "Dawid-Skene", "crowd-kit", (FRAMES, "CrowdKit", ("DawidSkene",)), 1e7),
    System("numpy-ds", "Dawid-Skene", "NumPy", (NUMPY, "NumpyJob", ("ds",)), 1e7),
    _ours("mace", "MACE"),
    System("crowdkit-mace", "MACE", "crowd-kit", (FRAMES, "CrowdKit", ("MACE",)), 1e5),
    _ours("aggslc", "AggSLC"),
    System("numpy-aggslc", "AggSLC", "NumPy", (NUMPY, "NumpyJob", ("aggslc",)), 1e7),
    _ours("hmm-crowd", "HMM-crowd"),
    _ours("bsc-seq", "BSC-seq"),
    System(
        "ours-fb", "forward-backward", "SeqTruth", ("ours", "ForwardBackward", ("ours",)), 1e8, True
    ),
    System("numpy-fb", "forward-backward", "NumPy", ("ours", "ForwardBackward", ("numpy",)), 1e7),
    System("add-bytes", "adding up the tags' bytes", "NumPy", ("ours", "AddBytes", ())),
)
BY_KEY = {system.key: system for system in SYSTEMS}
