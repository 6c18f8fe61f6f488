"""One run of one system on one data set with one seed: done once, kept, taken up again."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seqtruth import archive
from seqtruth.cost import Cost
from seqtruth.data.crowd import Crowd
from seqtruth.data.labelling import Labelling
from seqtruth.data.scheme import Scheme
from seqtruth.errors import InputError
from seqtruth.history import History
from seqtruth.kernels.arrays import F64, Tags
from seqtruth.methods import Aggregator
from seqtruth.paper.code_digest import code_digest
from seqtruth.result import Result


class Job(NamedTuple):
    """What to run.

    data : which crowd (see :mod:`~seqtruth.paper.material`).
    spec : the method, as on the command line.
    abstain : a tag taken as no vote; ``"none"``: every tag is a vote. Where not given, whose O is silence
        is found from the data.
    """

    data: str
    spec: str
    seed: int = 0
    abstain: str | None = None

    def __str__(self) -> str:
        silent = "" if self.abstain is None else f", {self.abstain} as silence"
        silent = ", every O a vote" if self.abstain == "none" else silent
        return f"{self.spec} on {self.data}{silent}, seed {self.seed}"


@dataclass(frozen=True, eq=False)
class Run:
    """What came out.

    scheme : of ``tags`` and of what the tagger said.
    tags : tag[T] on the job's crowd.
    held_out : int8 tags of the trained tagger by name of the text.
    weight : float64[W].
    """

    scheme: Scheme
    tags: Tags
    held_out: dict[str, Tags]
    weight: F64
    history: History
    parameters: dict[str, Any]
    cost: Cost

    @classmethod
    def of(cls, result: Result, held_out: dict[str, Tags], cost: Cost) -> Run:
        return cls(
            result.scheme, result.tags, held_out, result.annotators.weight, result.history,
            result.provenance["parameters"], cost,
        )  # fmt: skip

    def labelling(self, crowd: Crowd) -> Labelling:
        """The labels on the crowd they were made from."""
        return Labelling(crowd.corpus, self.scheme, self.tags)

    def save(self, path: Path, print_: str) -> None:
        arrays: archive.Arrays = {"tags": self.tags, "weight": self.weight}
        arrays["cost"] = np.array(self.cost, np.float64)
        arrays |= archive.under(self.held_out, "held_out")
        meta = {
            "fingerprint": print_,
            "scheme": self.scheme.kind,
            "labels": list(self.scheme.labels),
            "history": self.history.to_dict(),
            "parameters": self.parameters,
        }
        archive.save(path, "run", meta, arrays)

    @classmethod
    def load(cls, path: Path, print_: str) -> Run | None:
        """The run kept at ``path``; None where there is none, or another's, or a damaged one."""
        try:
            meta, arrays = archive.load(path, "run")
        except InputError:
            return None
        if meta["fingerprint"] != print_:
            return None
        return cls(
            Scheme.of(meta["scheme"], meta["labels"]),
            arrays["tags"],
            archive.within(arrays, "held_out"),
            arrays["weight"],
            History.from_dict(meta["history"]),
            meta["parameters"],
            Cost(*arrays["cost"].tolist()),
        )


def fingerprint(method: Aggregator, job: Job, digest: str) -> str:
    """Equal for runs that give the same labels: method, settings, data and code."""
    modules = [type(method).__module__]
    predictor = getattr(method, "predictor", None)
    modules += [
        type(one).__module__ for one in (predictor, *getattr(predictor, "members", ())) if one
    ]
    facts = [method.name, method.parameters(), job.abstain, digest, code_digest(*modules)]
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def file_name(job: Job, print_: str) -> str:
    """A name a person can read and no two runs share.

    >>> file_name(Job("ner", "aggslc:predictor=none", 1), "0123456789abcdef")
    'ner.aggslc-predictor-none.1.0123456789ab.run'
    """
    words = re.sub(r"[^A-Za-z0-9.]+", "-", job.spec)[:80]
    silent = "" if job.abstain is None else f".without-{job.abstain}"
    return f"{job.data}.{words}{silent}.{job.seed}.{print_[:12]}.run"
