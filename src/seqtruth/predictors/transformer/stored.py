"""A transformer and its tokenizer as plain arrays, and back (needs transformers)."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from seqtruth.archive import Arrays, under, within
from seqtruth.data.corpus import Corpus
from seqtruth.errors import MissingExtraError
from seqtruth.predictors.transformer.checkpoint import build, check_reader, harmless
from seqtruth.predictors.transformer.text import Reader
from seqtruth.schema import Column, Schema

try:
    import tokenizers
    import torch
    from torch import Tensor
except ImportError as error:
    raise MissingExtraError("transformers", "transformers", "a transformer tagger") from error

BODY = "body"
#: The arrays of :func:`model_arrays` that are no weights.
TEXTS = {name: Column("bytes", (f"bytes of {name}",)) for name in ("config", "tokenizer")}


class Numbers(NamedTuple):
    """What a :class:`~seqtruth.predictors.transformer.text.Reader` has besides its tokenizer."""

    pad: int
    unknown: int
    longest: int

    @classmethod
    def of(cls, reader: Reader) -> Numbers:
        return cls(reader.pad, reader.unknown, reader.longest)


def model_arrays(model: Any, reader: Reader) -> Arrays:
    """Configuration, tokenizer and weights."""
    texts = {
        "config": json.dumps(harmless(model.config.to_dict()), default=str),
        "tokenizer": reader.tokenizer.to_str(),
    }
    found: Arrays = {k: np.frombuffer(text.encode(), np.uint8) for k, text in texts.items()}
    return found | under(tensor_arrays(model.state_dict()), BODY)


def tensor_arrays(tensors: dict[str, Tensor]) -> Arrays:
    """Copies as NumPy's."""
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in tensors.items()}


def model_of(arrays: Arrays, numbers: Numbers) -> tuple[Any, Reader]:
    """Inverse of :func:`model_arrays`; ValueError where anything does not fit.

    Parameters
    ----------
    arrays : others may be among them, which are not looked at.
    """
    Schema(TEXTS, folders=(BODY,)).check(
        {k: a for k, a in arrays.items() if k in TEXTS or k.startswith(f"{BODY}/")}
    )
    config, cutter = (arrays[name].tobytes().decode() for name in ("config", "tokenizer"))
    reader = _reader(cutter, numbers)
    with torch.device("meta"):  # shapes without memory: nothing large is made on a file's word
        plan = build(config)
    weights = within(arrays, BODY)
    check_shapes(plan.state_dict(), weights)
    model = build(config)
    fill(model.state_dict(), weights)
    check_reader(reader, model)
    return model, reader


def _reader(cutter: str, numbers: Numbers) -> Reader:
    """A reader that has been tried."""
    try:
        reader = Reader(tokenizers.Tokenizer.from_str(cutter), *numbers)
        reader.encode(Corpus.of([["a", "Tried", "1"]]))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the Rust library raises nothing narrower, and panics
        raise ValueError(f"the tokenizer is damaged ({error})") from error
    return reader


def check_shapes(wanted: dict[str, Tensor], arrays: Arrays) -> None:
    """ValueError where arrays are not what these tensors can be filled with."""
    kinds = {True: "float", False: "int"}
    Schema(
        {
            name: Column(kinds[tensor.is_floating_point()], tuple(tensor.shape))
            for name, tensor in wanted.items()
        }
    ).check(arrays)


def fill(tensors: dict[str, Tensor], arrays: Arrays) -> None:
    """Put values into tensors of the same names."""
    with torch.no_grad():
        for name, values in arrays.items():
            tensors[name].copy_(torch.from_numpy(values.copy()))
