"""The engine interface: a crowd in parts that can be mapped over and added up, and nothing more.

A crowd in memory is a crowd in one part (:mod:`seqtruth.engine.memory`); a table larger than memory
and one on a cluster have many. A method that works on parts asks two things of an engine: *add up*
what a pure function finds in every part (votes, losses, expected counts: small arrays by name), and
*write* what another pure function makes of every part. In each round only those sums travel.
Functions get a part as a :class:`~seqtruth.data.crowd.Crowd` that knows all annotators and all labels
by the same numbers everywhere, so they are the very kernels that work on a whole crowd.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from seqtruth.data.crowd import Crowd
from seqtruth.data.scheme import Scheme
from seqtruth.errors import ParameterError
from seqtruth.kernels.arrays import F32, F64, I64, Tags

#: Arrays by name, to be added up over parts.
Sums = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known of a crowd in parts before any round: its shape, from one scan.

    Parameters
    ----------
    scheme, annotators : labels and annotators; their numbers are the same in every part.
    n_sentences, n_tokens : sizes.
    n_annotations : tags given; one that is missing inside a row is no annotation.
    annotator_sentences, annotator_tokens : int64[W], how much each annotator labelled.
    has_text : whether there are tokens to learn from.
    digest : names the input by its content, for provenance and checkpoints.
    """

    scheme: Scheme
    annotators: tuple[str, ...]
    n_sentences: int
    n_tokens: int
    n_annotations: int
    annotator_sentences: I64
    annotator_tokens: I64
    has_text: bool
    digest: str


class Labels(NamedTuple):
    """What a method makes of one part: tag[T] (-1: no label) and, per token, P(label is right)."""

    tags: Tags
    confidence: F32 | F64


class Parts(ABC):
    """A crowd in parts, on one machine or many. Sentences are never cut, nor spread over parts."""

    facts: Facts
    #: Whether there is one part only, the same object in every pass.
    in_memory: bool = False

    @property
    def whole(self) -> Crowd:
        """The crowd as one; only where it is in memory."""
        raise ParameterError(
            "this needs the whole crowd in memory", got=type(self).__name__,
            fix="read the crowd into memory",
        )  # fmt: skip

    @property
    def scheme(self) -> Scheme:
        return self.facts.scheme

    @property
    def annotators(self) -> tuple[str, ...]:
        return self.facts.annotators

    @property
    def n_annotators(self) -> int:
        return len(self.facts.annotators)

    @property
    def n_labels(self) -> int:
        return len(self.facts.scheme.labels)

    @abstractmethod
    def seeing_text(self) -> Parts:
        """The same parts with their tokens, which functions are otherwise spared."""

    @abstractmethod
    def add_up(self, function: Callable[[Crowd], Sums]) -> Sums:
        """Σ over the parts of what ``function`` finds in each, added in the order of the parts."""

    @abstractmethod
    def gather(self, function: Callable[[Crowd], Sums]) -> list[Sums]:
        """What ``function`` finds in each part, in their order; for small things only."""

    @abstractmethod
    def write(self, function: Callable[[Crowd], Labels], path: str | Path) -> None:
        """Write all labels, in the order of the parts, as a long Parquet table, whole or not at all."""


class SparkFrame(Protocol):
    """A Spark DataFrame, as far as one can be told without importing Spark."""

    @property
    def mapInArrow(self) -> Any: ...


def add(parts: Iterable[Sums]) -> Sums:
    """The sum of arrays by name, in the order given."""
    total: Sums = {}
    for part in parts:
        for name, array in part.items():
            total[name] = total[name] + array if name in total else array
    return total
