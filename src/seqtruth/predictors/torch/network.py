"""The encoder that all neural taggers share, in torch (the extra ``seqtruth[torch]``).

A token is seen through its word (a fixed vector plus a trained correction), its case and its
characters (a convolution with maximum over positions); a bidirectional LSTM reads the sentence; a
tanh layer and a linear map give each label a score. Everything is computed per batch of sentences of
about one length. What a reader that is not trained (:mod:`seqtruth.predictors.torch.character_lm`) makes of
a token may be seen beside the rest, through a linear map. All randomness comes from a NumPy generator, so
torch's own state stays untouched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from seqtruth.archive import Arrays
from seqtruth.data.ragged import gather
from seqtruth.errors import MissingExtraError
from seqtruth.kernels.arrays import F32, I64
from seqtruth.predictors.torch.lexicon import CASES, N_CHARACTERS, WordCorpus, batches
from seqtruth.predictors.torch.vectors import WIDTH
from seqtruth.stopping import check_stop

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise MissingExtraError("torch", "torch", "a neural tagger") from error

CASE_WIDTH, CHARACTER_WIDTH, FILTERS = 8, 25, 30
#: Width in which a reader's vectors are seen.
READ_WIDTH = 100
#: A training word seen n times loses its trained vector with probability RARE / (RARE + n).
RARE = 0.5


class Shape(NamedTuple):
    """Sizes of a network: rows of the word table, labels, LSTM units in each direction, and the width
    of a reader's vectors (0: there is no reader)."""

    n_words: int
    n_labels: int
    hidden: int
    read: int = 0


@dataclass
class Batch:
    """Sentences side by side: B sentences of at most N tokens, D distinct words.

    places : int64[B], their numbers in the corpus.
    token : int64[B, N], each token's place in the corpus; ``mask`` is False on padding.
    turned : int64[B, N], the place to read at when the sentence is read from its end.
    word, row : int64[B, N], number of each token's word below D, and its row in the trained table.
    fixed, case, characters : as in :class:`~seqtruth.predictors.torch.lexicon.WordCorpus`, of the D words.
    read : float32[B, N, R], what a reader makes of each token.
    """

    places: I64
    token: Tensor
    mask: Tensor
    turned: Tensor
    word: Tensor
    row: Tensor
    fixed: Tensor
    case: Tensor
    characters: Tensor
    read: Tensor | None


class BatchedCorpus:
    """A coded corpus as tensors, cut into batches.

    Parameters
    ----------
    coded : the words.
    read : float32[T, R], what a reader makes of each token.
    """

    def __init__(self, coded: WordCorpus, read: F32 | None = None) -> None:
        self.coded, self.read = coded, read
        self.lengths = np.diff(coded.offsets)
        self.counts = np.bincount(coded.row[coded.word], minlength=1)

    def batch(self, places: I64, rng: np.random.Generator | None = None) -> Batch:
        """The sentences at these places; with ``rng``, rare words lose their trained vectors."""
        coded = self.coded
        lengths = self.lengths[places]
        at = np.arange(lengths.max(initial=1))
        inside = at < lengths[:, None]
        turned = np.where(inside, lengths[:, None] - 1 - at, at)
        token = np.zeros(inside.shape, np.int64)
        token[inside] = gather(coded.offsets, places)[1]
        words, local = np.unique(coded.word[token], return_inverse=True)
        characters = coded.characters[words]
        width = max(3, int((characters > 0).sum(axis=1).max(initial=3)))
        row = coded.row[words][local.reshape(token.shape)]
        if rng is not None:
            lost = rng.random(row.shape) < RARE / (RARE + self.counts[row])
            row = np.where(lost, 0, row)
        return Batch(
            places,
            torch.from_numpy(token),
            torch.from_numpy(inside),
            torch.from_numpy(turned),
            torch.from_numpy(local.reshape(token.shape)),
            torch.from_numpy(row),
            torch.from_numpy(coded.fixed[words]),
            torch.from_numpy(coded.case[words]),
            torch.from_numpy(characters[:, :width].astype(np.int64)),
            None if self.read is None else torch.from_numpy(self.read[token]),
        )


class Network:
    """Encoder and label scores; ``parameters`` by name are all there is to know about it."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        n_words, n_labels, hidden, read = shape
        inputs = WIDTH + CASE_WIDTH + FILTERS + (READ_WIDTH if read else 0)
        with torch.random.fork_rng(devices=[]):  # torch's own initial values are overwritten
            self.rightward = nn.LSTM(inputs, hidden, batch_first=True)
            self.leftward = nn.LSTM(inputs, hidden, batch_first=True)
            self.window = nn.Linear(3 * CHARACTER_WIDTH, FILTERS)
            self.project = nn.Linear(2 * hidden, hidden)
            self.score = nn.Linear(hidden, n_labels)
            self.look = nn.Linear(read, READ_WIDTH) if read else None
        self.word = torch.zeros(n_words + 1, WIDTH, requires_grad=True)
        self.case = torch.zeros(len(CASES), CASE_WIDTH, requires_grad=True)
        self.character = torch.zeros(N_CHARACTERS, CHARACTER_WIDTH, requires_grad=True)
        self.chain = torch.zeros(n_labels + 2, n_labels, requires_grad=True)

    @property
    def parameters(self) -> dict[str, Tensor]:
        """Every trained tensor."""
        found = {name: getattr(self, name) for name in ("word", "case", "character", "chain")}
        for name in ("rightward", "leftward", "window", "project", "score", "look"):
            if (layer := getattr(self, name)) is not None:
                found |= {f"{name}.{part}": value for part, value in layer.named_parameters()}
        return found

    def initialise(self, rng: np.random.Generator, *, words: bool) -> None:
        """Random values, uniform within 1/√fan-in; the word table only where ``words``."""
        with torch.no_grad():
            for name, tensor in self.parameters.items():
                if name == "chain" or (name == "word" and not words):
                    tensor.zero_()
                    continue
                table = name in ("word", "case", "character")
                fan = tensor.shape[1] / 3.0 if table else tensor[0].numel()
                bound = 1.0 / np.sqrt(fan if tensor.ndim > 1 else self.shape.hidden)
                values = rng.uniform(-bound, bound, tuple(tensor.shape)).astype(np.float32)
                tensor.copy_(torch.from_numpy(values))

    def grow(self, n_words: int, rng: np.random.Generator, *, words: bool) -> None:
        """More rows in the word table; old ones keep their values."""
        more = n_words + 1 - len(self.word)
        if more > 0:
            bound = np.sqrt(3.0 / WIDTH) if words else 0.0
            values = rng.uniform(-bound, bound, (more, WIDTH)).astype(np.float32)
            table = torch.cat([self.word.detach(), torch.from_numpy(values)])
            self.word = table.requires_grad_(True)
            self.shape = self.shape._replace(n_words=n_words)

    def read(
        self, batch: Batch, dropout: float = 0.0, rng: np.random.Generator | None = None
    ) -> Tensor:
        """float[B, N, H]: the sentence read by the LSTM, before the tanh layer's bend."""
        letters = self._convolve(batch.characters)
        look = torch.cat([batch.fixed, self.case[batch.case], letters], dim=1)
        seen = look[batch.word]
        seen = torch.cat([seen[..., :WIDTH] + self.word[batch.row], seen[..., WIDTH:]], dim=2)
        if batch.read is not None and self.look is not None:
            seen = torch.cat([seen, self.look(drop(batch.read, dropout, rng))], dim=2)
        seen = drop(seen, dropout, rng)
        # Two passes over padded sentences, one turned round: three times faster than packing them.
        back = batch.turned[..., None]
        left = self.leftward(seen.gather(1, back.expand_as(seen)))[0]
        left = left.gather(1, back.expand_as(left))
        states = torch.cat([self.rightward(seen)[0], left], dim=2)
        found: Tensor = self.project(drop(states, dropout, rng))
        return found

    def _convolve(self, characters: Tensor) -> Tensor:
        """float[D, F]: filters over windows of three characters, largest value over the word."""
        padded = nn.functional.pad(self.character[characters], (0, 0, 1, 1))
        windows = torch.cat([padded[:, :-2], padded[:, 1:-1], padded[:, 2:]], dim=2)
        found: Tensor = self.window(windows)
        return found.masked_fill((characters == 0)[..., None], -1e4).amax(dim=1).relu()

    def scores(
        self, read: Tensor, dropout: float = 0.0, rng: np.random.Generator | None = None
    ) -> Tensor:
        """float[..., L]: a score for every label."""
        found: Tensor = self.score(drop(read.tanh(), dropout / 2, rng))
        return found

    def arrays(self) -> Arrays:
        """Parameters as plain arrays."""
        return {name: p.detach().numpy().copy() for name, p in self.parameters.items()}

    def restore(self, arrays: Arrays) -> None:
        """Inverse of :meth:`arrays`; shapes must fit."""
        with torch.no_grad():
            for name, tensor in self.parameters.items():
                values = np.ascontiguousarray(arrays[name], np.float32)
                if values.shape != tuple(tensor.shape):
                    raise ValueError(f"{name} has shape {values.shape}")
                tensor.copy_(torch.from_numpy(values.copy()))

    def scores_of(self, words: BatchedCorpus) -> F32:
        """float32[T, L]: scores of a whole corpus, without dropout."""
        out = np.zeros((len(words.coded.word), self.shape.n_labels), np.float32)
        with torch.no_grad(), single_thread():
            for places in batches(words.lengths, 64, None):
                check_stop()
                batch = words.batch(places)
                inside = batch.mask
                out[batch.token[inside].numpy()] = self.scores(self.read(batch))[inside].numpy()
        return out


def drop(values: Tensor, rate: float, rng: np.random.Generator | None) -> Tensor:
    """Dropout with masks from a NumPy generator; nothing without one."""
    if rng is None or rate <= 0.0:
        return values
    kept = rng.random(tuple(values.shape), dtype=np.float32) >= rate
    return values * (torch.from_numpy(kept).float() / (1.0 - rate))


@contextmanager
def single_thread() -> Iterator[None]:
    """Small networks are several times slower on many threads, and sums on one are repeatable.

    The setting is the process's own: the last to leave restores it.
    """
    with _LOCK:
        if not _INSIDE:
            _BEFORE.append(torch.get_num_threads())
        torch.set_num_threads(1)  # a thread that has computed before keeps a number of its own
        _INSIDE.append(None)
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE.pop()
            if not _INSIDE:
                torch.set_num_threads(_BEFORE.pop())


_LOCK = Lock()
_INSIDE: list[None] = []
_BEFORE: list[int] = []
