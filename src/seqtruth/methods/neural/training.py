"""Training a network on many annotators' tags, epoch by epoch through the loop (needs torch).

What the methods with neural taggers share. A crowd is first put into an order of its own (sentences
by id, annotators by what they said), so that names and places do not move the answer; an epoch is one
round of the loop; its state is the network, the crowd's own parameters and the optimiser's moments as
plain arrays, so that an interrupted run goes on with the same bytes.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from seqtruth.archive import under, within
from seqtruth.data.crowd import Crowd
from seqtruth.data.ragged import gather
from seqtruth.errors import ConvergenceWarning, MissingExtraError
from seqtruth.history import History
from seqtruth.kernels.arrays import F32, F64, I64, Tags
from seqtruth.kernels.chain import FORBIDDEN, Chain, viterbi
from seqtruth.methods.loop import Round, State, iterate
from seqtruth.methods.task import Task
from seqtruth.predictors.base import as_corpus
from seqtruth.predictors.torch.bilstm import BiLSTM
from seqtruth.predictors.torch.lexicon import Schedule
from seqtruth.predictors.torch.network import Batch, BatchedCorpus, Network
from seqtruth.predictors.torch.training import Trainer
from seqtruth.schema import Column, Schema, like

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("torch", "torch", "a neural tagger") from error


class Said(NamedTuple):
    """What annotators said about a batch: rows beside each other.

    sentence : int64[R], which sentence of the batch each row is about.
    annotator : int64[R].
    tags : int64[R, N], -1 where missing or padding.
    """

    sentence: Tensor
    annotator: Tensor
    tags: Tensor


class Ordered(NamedTuple):
    """A crowd in the order of its own; ``sentences`` and ``annotators`` say where things were."""

    crowd: Crowd
    known: Tags
    sentences: I64
    annotators: I64


def ordered(task: Task) -> Ordered:
    """Sentences by id, annotators by a digest of what they said about which sentence."""
    crowd = task.crowd
    sentences = np.argsort(np.array(crowd.corpus.sentence_ids.to_pylist(), object), kind="stable")
    sorted_ = crowd[sentences]
    prints = []
    for w in range(crowd.n_annotators):
        rows = np.flatnonzero(sorted_.row_annotator == w)
        said = hashlib.sha256(sorted_.row_sentence[rows].astype(np.int64).tobytes())
        said.update(sorted_.tags[gather(sorted_.row_offsets, rows)[1]].tobytes())
        prints.append(said.hexdigest())
    annotators = np.argsort(np.array(prints), kind="stable")
    known = crowd.scheme.unlabelled(crowd.n_tokens) if task.known is None else task.known
    known = known[gather(crowd.corpus.token_offsets, sentences)[1]]
    named = sorted_.select_annotators([crowd.annotators[w] for w in annotators])
    return Ordered(named, known, sentences, annotators)


class Epoch(NamedTuple):
    """What a loss may depend on besides the batch."""

    number: int
    rng: np.random.Generator
    network: Network
    dropout: float


#: Loss of one batch by name of its parts, each a sum over tags.
Loss = Callable[[Epoch, Batch, Said, Tensor], dict[str, Tensor]]


@dataclass
class Training:
    """One run: epochs as rounds.

    Parameters
    ----------
    predictor : untrained; becomes the tagger.
    data : the crowd to learn from.
    own : the method's parameters beside the network, by name, with their learning rate.
    loss : of a batch.
    epochs : how many rounds.
    """

    predictor: BiLSTM
    data: Ordered
    own: dict[str, Tensor]
    own_rate: float
    loss: Loss
    epochs: int
    network: Network = field(init=False)
    words: BatchedCorpus = field(init=False)

    def __post_init__(self) -> None:
        crowd, model = self.data.crowd, self.predictor
        self.network, self.words = model.prepare(as_corpus(crowd.corpus), crowd.scheme)
        known = np.concatenate([[0], np.cumsum(self.data.known >= 0)])[crowd.corpus.token_offsets]
        usable = crowd.covered | (np.diff(known) > 0)
        self.schedule = Schedule(np.where(usable, self.words.lengths, 0), model.batch_size)
        self.steps = self.schedule.in_epoch
        tags = int((crowd.tags >= 0).sum()) + int((self.data.known >= 0).sum())
        #: the same for every batch, so that a tag counts the same in all of them
        self.share = self.schedule.in_pass / max(tags, 1)

    def run(self, task: Task) -> History:
        """All epochs; leaves the network and ``own`` trained."""
        with warnings.catch_warnings():
            # the schedule is made to end at the last epoch, which is not a run cut short
            warnings.simplefilter("ignore", ConvergenceWarning)
            rules = task.rules(self.epochs, 0.0)
            state, history = iterate(self._start, self._advance, rules, self._schema)
        self._restore(state)
        return replace(history, stop_reason="rounds")

    def _schema(self) -> Schema:
        """What a state is after an epoch: all parameters, and both moments of those that are trained."""
        first = self._start() | {"epoch": np.array([1])}
        columns = like(first)
        columns["epoch"] = Column("int64", (1,), 1, self.epochs + 1)
        moments = {"exp_avg": None, "exp_avg_sq": 0.0}
        trained = self.predictor.trained(self.network) | self.own
        for name, parameter in trained.items():
            kind, shape = str(parameter.dtype).removeprefix("torch."), tuple(parameter.shape)
            for moment, low in moments.items():
                columns[f"adam/{name}/{moment}"] = Column(kind, shape, low, optional=True)
            columns[f"adam/{name}/step"] = Column("float32", (1,), 0.0, optional=True)
        return Schema(columns, further=partial(_whole_moments, names=tuple(trained)))

    def _start(self) -> State:
        return self._state(None, 0)

    def _state(self, trainer: Trainer | None, epoch: int) -> State:
        state = under(self.network.arrays(), "network") | {"epoch": np.array([epoch])}
        state |= under({n: p.detach().numpy().copy() for n, p in self.own.items()}, "own")
        return state | ({} if trainer is None else under(trainer.arrays(), "adam"))

    def _restore(self, state: State) -> None:
        self.network.restore(within(state, "network"))
        with torch.no_grad():
            for name, values in within(state, "own").items():
                self.own[name].copy_(torch.from_numpy(values.copy()))

    def _advance(self, state: State) -> Round:
        model, number = self.predictor, int(state["epoch"][0])
        self._restore(state)
        trainer = Trainer(
            [(model.trained(self.network), model.learning_rate), (self.own, self.own_rate)]
        )
        trainer.restore(within(state, "adam"))
        rng = np.random.default_rng([model.seed, 1, number])
        epoch = Epoch(number, rng, self.network, model.dropout)
        sums: dict[str, float] = {}

        def loss_of(places: I64) -> Tensor:
            batch = self.words.batch(places, rng)
            known = torch.from_numpy(self.data.known)[batch.token].masked_fill(~batch.mask, -1)
            parts = self.loss(epoch, batch, self.said(batch), known.long())
            for name, part in parts.items():
                sums[name] = sums.get(name, 0.0) + float(part.detach())
            return self.share * torch.stack(list(parts.values())).sum()

        first, total = number * self.steps, self.epochs * self.steps
        trainer.epoch(self.schedule.epoch(rng), loss_of, first, total)
        passes = max(self.steps // max(self.schedule.in_pass, 1), 1)
        parts = {name: value / passes for name, value in sums.items()}
        return Round(self._state(trainer, number + 1), sum(parts.values()), parts)

    def said(self, batch: Batch) -> Said:
        """Rows about the sentences of a batch."""
        crowd, width = self.data.crowd, batch.token.shape[1]
        bounds, rows = gather(crowd.sentence_rows, batch.places)
        sentence = np.repeat(np.arange(len(batch.places)), np.diff(bounds))
        tags = np.full((len(rows), width), -1, np.int64)
        lengths = self.words.lengths[batch.places][sentence]
        tags[np.arange(width) < lengths[:, None]] = crowd.tags[gather(crowd.row_offsets, rows)[1]]
        return Said(
            torch.from_numpy(sentence),
            torch.from_numpy(crowd.row_annotator[rows].astype(np.int64)),
            torch.from_numpy(tags),
        )

    def probabilities(self) -> F32:
        """float32[T, L] of the ordered crowd, known labels kept."""
        crowd, known = self.data.crowd, self.data.known
        found = self.predictor.probabilities(self.network.scores_of(self.words), crowd.corpus)
        given = np.flatnonzero(known >= 0)
        found[given] = 0.0
        found[given, known[given]] = 1.0
        return found


def _whole_moments(state: State, names: tuple[str, ...]) -> None:
    """Raise where a parameter has some of the optimiser's three numbers, and not all."""
    for name in names:
        if len(within(state, f"adam/{name}")) not in (0, 3):
            raise ValueError(f"adam/{name} is not whole")


def decode(probabilities: F32, data: Ordered) -> Tags:
    """The legal path of largest probability; known labels stay, legal or not."""
    scores = np.log(np.maximum(probabilities, 1e-12)).astype(np.float64)
    given = np.flatnonzero(data.known >= 0)
    scores[given] = FORBIDDEN
    scores[given, data.known[given]] = 0.0
    crowd = data.crowd
    tags = viterbi(scores, crowd.corpus.token_offsets, Chain.legal(crowd.scheme.grammar))
    tags[given] = data.known[given]
    return tags


class Placed(NamedTuple):
    """Labels in the order of the crowd as it came."""

    tags: Tags
    probabilities: F32


def put_back(tags: Tags, probabilities: F32, data: Ordered, task: Task) -> Placed:
    """Undo :func:`ordered` for what is said about tokens."""
    _, at = gather(task.crowd.corpus.token_offsets, data.sentences)
    placed = Placed(np.empty_like(tags), np.empty_like(probabilities))
    placed.tags[at], placed.probabilities[at] = tags, probabilities
    return placed


def annotators_back(values: F64 | F32, data: Ordered) -> F64:
    """Undo :func:`ordered` for what is said about annotators."""
    out = np.empty(values.shape)
    out[data.annotators] = values
    return out
