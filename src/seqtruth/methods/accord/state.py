"""What the state of a run of Accord is made of: plain arrays by name, as checkpoints keep them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from seqtruth.data.crowd import Crowd
from seqtruth.kernels.chain import Chain
from seqtruth.methods.accord.annotators import Population
from seqtruth.methods.accord.options import CAUTIOUS
from seqtruth.methods.accord.remembering import SEQUENTIAL_SUMS
from seqtruth.methods.loop import State
from seqtruth.predictors.base import Potentials
from seqtruth.schema import Column, Schema

if TYPE_CHECKING:
    from seqtruth.methods.accord.run import Run

#: Shapes of what is learnt of the annotators, see :class:`~seqtruth.methods.accord.annotators.Population`.
POPULATION = {
    "table": ("annotators", 1, "labels", "labels"),
    "confusion": ("annotators", "labels", "labels"),
    "transition": ("labels", "labels"),
    "prior": ("labels",),
    "posterior": ("marked", "labels"),
    "log_likelihood": (1,),
    "counts": ("annotators", "labels", "labels"),
}
#: Tables of the sequential model hold at most so many numbers (half a gigabyte).
LARGEST_TABLE = 1 << 26


def tells_sequences(crowd: Crowd) -> bool:
    """Whether tables of the sequential model fit."""
    return crowd.n_annotators * crowd.n_labels**3 <= LARGEST_TABLE


def state_schema(run: Run) -> Schema:
    """What a state of a run is after a round."""
    sizes = {
        "annotators": run.crowd.n_annotators, "labels": run.crowd.n_labels,
        "types": len(run.crowd.scheme.types), "tokens": run.crowd.n_tokens, "marked": len(run.told.marked.at),
    }  # fmt: skip
    columns = {f"population/{k}": Column("float64", v) for k, v in POPULATION.items()}
    columns["round"] = Column("int64", (1,), 1, run.method.max_iter + 1)
    if run.judged or run.by_text is not None:
        chain = Column("float64", ("labels+1", "labels"), 0.0)
        columns["confusion/table"] = Column("float64", ("annotators", 1, "labels", "labels"))
        columns["confusion/chain"] = chain
        if run.judged and tells_sequences(run.crowd):
            shape = ("annotators", *["labels"] * 3)
            table = Column("float64", shape)
            columns |= {"sequential/table": table, "sequential/chain": chain}
            columns |= {
                f"{CAUTIOUS}/table": replace(table, optional=True),
                f"{CAUTIOUS}/chain": replace(chain, optional=True),
            }
            sums = (shape, ("labels",), ("labels", "labels"))
            for name, size in zip(SEQUENTIAL_SUMS, sums, strict=True):
                columns[f"sums/{name}"] = Column("float64", size, 0.0)
            columns["sums/strength"] = Column("float64", (1,), 1e-9)
    if run.gaps.any():
        columns["coverage"] = Column("float64", ("types",), 0.0, 1.0)
    if run.teaches:
        soft = Column("float32", ("tokens", "labels"), 0.0, 1.01)
        said = Column("float32", ("tokens", "labels"), below=0.01)
        follow = Column("float64", ("labels+2", "labels"), 0.0)
        columns |= {f"opinion{m}": said for m in range(len(run.members))}
        columns |= {f"follow{m}": follow for m in range(len(run.members))}
        columns["targets"] = soft
        if run.applies:
            columns["taught"] = soft
    return Schema(columns, sizes)


def spoken(opinions: Sequence[Potentials]) -> State:
    """What predictors say, as a state has it."""
    return {
        name: value
        for m, said in enumerate(opinions)
        for name, value in ((f"opinion{m}", said.scores), (f"follow{m}", said.chain.as_rows()))
    }


def heard_in(state: State, n_members: int) -> list[Potentials]:
    """What predictors said: the inverse of :func:`spoken`."""
    return [
        Potentials(state[f"opinion{m}"], Chain.of_rows(state[f"follow{m}"]))
        for m in range(n_members)
    ]


def population_of(state: State) -> Population:
    """The annotators, as a state has them."""
    return Population(**{field: state[f"population/{field}"] for field in Population._fields})
