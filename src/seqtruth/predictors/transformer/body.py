"""A pretrained transformer with label scores on top, in torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seqtruth.archive import Arrays, under, within
from seqtruth.errors import MissingExtraError, ParameterError
from seqtruth.kernels.arrays import F32, I64
from seqtruth.predictors.torch.lexicon import batches
from seqtruth.predictors.torch.network import single_thread
from seqtruth.predictors.transformer.checkpoint import check_reader
from seqtruth.predictors.transformer.stored import (
    BODY,
    TEXTS,
    Numbers,
    check_shapes,
    fill,
    model_arrays,
    model_of,
    tensor_arrays,
)
from seqtruth.predictors.transformer.text import NO_CASE, PieceCorpus, Reader
from seqtruth.schema import Schema
from seqtruth.stopping import check_stop

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:
    raise MissingExtraError("transformers", "transformers", "a transformer tagger") from error


#: Where the parameters that are not pretrained stand among the arrays.
OWN = "own"


def pick_device(asked: str) -> torch.device:
    """``auto`` is the GPU where there is one."""
    if asked == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=asked).device
    except (RuntimeError, AssertionError) as error:  # unknown to torch, or not on this machine
        raise ParameterError(
            "there is no such device here", got=repr(asked), fix="device='auto' takes what there is"
        ) from error


def pick_bf16(asked: str, device: torch.device) -> bool:
    """Whether to compute in bfloat16; ``auto``: where the hardware multiplies it itself."""
    if asked != "auto":
        return asked == "bf16"
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    able = torch.cpu.get_capabilities() if device.type == "cpu" else {}
    return bool(able.get("amx_bf16") or able.get("avx512_bf16"))


@dataclass
class PieceBatch:
    """Sentences for the network: as in :class:`~seqtruth.predictors.transformer.text.WindowRows`."""

    places: I64
    token: Tensor
    mask: Tensor
    pieces: Tensor
    inside: Tensor
    case: Tensor
    at: Tensor


class Body:
    """Transformer, case vectors, label scores and chain; ``own`` are the parameters not pretrained.

    The chain stays on the CPU, where the many small steps of a CRF are at home.
    """

    def __init__(self, model: Any, reader: Reader, n_labels: int, *, case: bool) -> None:
        check_reader(reader, model)
        self.model, self.reader, self.uses_case = model, reader, case
        width = int(model.get_input_embeddings().weight.shape[1])
        hidden = int(getattr(model.config, "hidden_size", width))
        with torch.random.fork_rng(devices=[]):  # torch's own initial values are overwritten
            self.score = nn.Linear(hidden, n_labels)
        self.case = torch.zeros(NO_CASE + 1, width, requires_grad=True)
        self.chain = torch.zeros(n_labels + 2, n_labels, requires_grad=True)
        self.device, self.bf16 = torch.device("cpu"), False

    def move(self, device: str, precision: str) -> None:
        """To where and how it shall compute."""
        self.device = pick_device(device)
        self.bf16 = pick_bf16(precision, self.device)
        self.model.to(self.device)
        self.score.to(self.device)
        self.case = self.case.detach().to(self.device).requires_grad_(True)

    @property
    def own(self) -> dict[str, Tensor]:
        """Head, chain and, where used, case vectors."""
        found = {"score.weight": self.score.weight, "score.bias": self.score.bias}
        return found | {"chain": self.chain} | ({"case": self.case} if self.uses_case else {})

    @property
    def pretrained(self) -> dict[str, Tensor]:
        """The transformer's parameters."""
        return dict(self.model.named_parameters())

    def initialise(self, rng: np.random.Generator) -> None:
        """Random head, uniform within 1/√fan-in; chain and case vectors begin at zero."""
        bound = self.score.weight.shape[1] ** -0.5
        with torch.no_grad():
            for tensor in (self.score.weight, self.score.bias):
                values = rng.uniform(-bound, bound, tuple(tensor.shape)).astype(np.float32)
                tensor.copy_(torch.from_numpy(values))

    def batch(self, coded: PieceCorpus, places: I64) -> PieceBatch:
        """The sentences at these places as tensors."""
        rows = coded.rows(places)
        tensors = [torch.from_numpy(column) for column in rows]
        return PieceBatch(places, *tensors[:2], *(column.to(self.device) for column in tensors[2:]))

    def scores(self, batch: PieceBatch, dropout: float) -> Tensor:
        """float[B, N, L] on the CPU: a score for every label, from each word's first piece."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            if self.uses_case:
                seen = self.model.get_input_embeddings()(batch.pieces) + self.case[batch.case]
                read = self.model(inputs_embeds=seen, attention_mask=batch.inside.long())
            else:
                read = self.model(input_ids=batch.pieces, attention_mask=batch.inside.long())
        states = read.last_hidden_state.float().flatten(0, 1)[batch.at]
        found: Tensor = self.score(nn.functional.dropout(states, dropout, self.model.training))
        return found.cpu()

    def scores_of(self, coded: PieceCorpus, threads: int) -> F32:
        """float32[T, L]: scores of a whole corpus, without dropout."""
        out = np.zeros((len(coded.window), len(self.score.bias)), np.float32)
        self.model.eval()
        with torch.no_grad(), single_thread():
            torch.set_num_threads(threads)
            for places in batches(coded.lengths, 32, None):
                check_stop()
                batch = self.batch(coded, places)
                inside = batch.mask
                out[batch.token[inside].numpy()] = self.scores(batch, 0.0)[inside].numpy()
        return out

    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Configuration, tokenizer and parameters as JSON values and plain arrays."""
        meta = Numbers.of(self.reader)._asdict()
        return meta, under(tensor_arrays(self.own), OWN) | model_arrays(self.model, self.reader)

    @classmethod
    def from_state(cls, meta: dict[str, Any], arrays: Arrays, n_labels: int, *, case: bool) -> Body:
        """Inverse of :meth:`state`; ValueError where anything does not fit."""
        Schema(TEXTS, folders=(OWN, BODY)).check(arrays)
        numbers = Numbers(*(int(meta[name]) for name in Numbers._fields))
        made = cls(*model_of(arrays, numbers), n_labels, case=case)
        own = within(arrays, OWN)
        check_shapes(made.own, own)
        fill(made.own, own)
        return made
