"""Hugging Face checkpoints, opened so that nothing in them is run (needs transformers).

Code that comes with one is refused, weights are asked for as safetensors (a checkpoint that has only
pickles is refused), and only the kinds of model that transformers itself lists for token classification
are made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from seqtruth.errors import InputError, MissingExtraError
from seqtruth.predictors.transformer.text import Reader

try:
    import tokenizers
    import torch
    import transformers
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES as KINDS,
    )
    from transformers.utils import logging
except ImportError as error:
    raise MissingExtraError("transformers", "transformers", "a transformer tagger") from error

#: Pieces read at once, even where a model could read more: attention costs their square.
LONGEST = 512
REMEDY = (
    "give the folder of a checkpoint with config.json, a fast tokenizer (tokenizer.json) and "
    "model.safetensors, or a name on the Hugging Face hub while there is a network"
)


def load(checkpoint: str) -> tuple[Any, Reader]:
    """The model and the reader of a checkpoint, a folder or a name on the hub."""
    folder = Path(checkpoint).expanduser()
    looks_local = folder.is_absolute() or not re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", checkpoint)
    if looks_local and not folder.is_dir():
        raise InputError("no such checkpoint folder", where=checkpoint, fix=REMEDY)
    source = str(folder) if folder.is_dir() else checkpoint
    safe = {"trust_remote_code": False}
    try:
        with _quiet():
            config = transformers.AutoConfig.from_pretrained(source, **safe)
            _check_kind(config)
            tokenizer = transformers.AutoTokenizer.from_pretrained(source, use_fast=True, **safe)
            if not getattr(tokenizer, "is_fast", False):
                raise ValueError("its tokenizer is not a fast one")
            model, found = transformers.AutoModel.from_pretrained(
                source, config=config, use_safetensors=True, weights_only=True, dtype=torch.float32,
                attn_implementation="eager", output_loading_info=True, **safe,
            )  # fmt: skip
        lost = sorted(name for name in found["missing_keys"] if not name.startswith("pooler."))
        if lost:
            raise ValueError(f"{lost[0]} and {len(lost) - 1} more are missing from its weights")
        reader = _reader(tokenizer, model)
        check_reader(reader, model)
    except Exception as error:  # each library below has errors of its own, not of one family
        reason = re.sub(r"\s+", " ", str(error)).strip() or type(error).__name__
        raise InputError(
            "the checkpoint cannot be read", where=checkpoint, got=reason, fix=REMEDY
        ) from error
    return _bare(model), reader


def build(settings: str) -> Any:
    """An untrained model from its configuration as JSON."""
    values = json.loads(settings)
    if not isinstance(values, dict) or values.get("model_type") not in KINDS:
        raise ValueError("unknown kind of transformer")
    config = transformers.AutoConfig.for_model(**harmless(values))
    _check_kind(config)
    with torch.random.fork_rng(devices=[]), _quiet():
        return _bare(transformers.AutoModel.from_config(config, attn_implementation="eager"))


def harmless(values: dict[str, Any]) -> dict[str, Any]:
    """Without what names code, kernels or loaders."""
    named = {"auto_map", "quantization_config", "attn_implementation", "experts_implementation"}
    return {k: v for k, v in values.items() if not k.startswith("_") and k not in named}


def _check_kind(config: Any) -> None:
    if config.model_type not in KINDS or config.is_encoder_decoder:
        raise ValueError(f"a model of kind {config.model_type} does not read text token by token")


def _bare(model: Any) -> Any:
    """Without the layer that sums a text up, which no word uses."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def _reader(tokenizer: Any, model: Any) -> Reader:
    """The tokenizer's Rust part, and what it takes to fill rows with it."""
    longest = min(_longest(model), tokenizer.model_max_length)
    pads = (tokenizer.pad_token_id, model.config.pad_token_id, 0)
    fallback = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.eos_token_id, 0)
    pad, unknown = (next(n for n in ids if n is not None) for ids in (pads, fallback))
    copy = tokenizers.Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    return Reader(copy, int(pad), int(unknown), int(longest))


def _longest(model: Any) -> int:
    """Pieces the model reads at once."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    # RoBERTa and its kin count positions from the one after padding
    blank = getattr(table, "padding_idx", None)
    most = int(getattr(model.config, "max_position_embeddings", None) or LONGEST)
    return min(LONGEST, most - (0 if blank is None else int(blank) + 1))


def check_reader(reader: Reader, model: Any) -> None:
    """ValueError where the reader's pieces are not the model's."""
    if reader.longest > _longest(model) or min(reader.pad, reader.unknown) < 0:
        raise ValueError("its tokenizer does not fit the model")
    if reader.largest >= len(model.get_input_embeddings().weight):
        raise ValueError("its tokenizer has more pieces than the model has vectors")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the progress bars and load reports of transformers; errors are raised anyway."""
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
