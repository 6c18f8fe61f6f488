"""Checkpoints to read: small, with random weights."""

from __future__ import annotations

from pathlib import Path

import pytest

WORDS = (
    ".",
    "Ames",
    "Ann",
    "Bob",
    "Eve",
    "It",
    "Kim",
    "Lee",
    "Max",
    "in",
    "left",
    "rained",
    "ran",
    "sat",
    "spoke",
)


@pytest.fixture(scope="session")
def make_checkpoint(tmp_path_factory):
    """A function that writes a small BERT with random weights, and gives its folder."""
    pytest.importorskip("transformers", reason="needs the extra seqtruth[transformers]")
    import tokenizers
    import torch
    import transformers
    from tokenizers import normalizers, pre_tokenizers, processors

    def make(lowercase: bool = True, longest: int = 48) -> Path:
        folder = tmp_path_factory.mktemp("checkpoint")
        letters = [chr(n) for n in range(33, 127)]
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        words = [w.lower() for w in WORDS] if lowercase else [*WORDS]
        vocab = dict.fromkeys([*special, *letters, *("##" + x for x in letters), *words])
        numbers = {piece: n for n, piece in enumerate(vocab)}
        backend = tokenizers.Tokenizer(
            tokenizers.models.WordPiece(numbers, unk_token="[UNK]", max_input_chars_per_word=100)
        )
        backend.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
        # as MiniLM's: rows cut and filled to one length, which must not reach words
        backend.enable_truncation(8)
        backend.enable_padding(length=8)
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
            sep_token="[SEP]", mask_token="[MASK]", model_max_length=longest,
        ).save_pretrained(folder)  # fmt: skip
        config = transformers.BertConfig(
            vocab_size=len(numbers), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
            intermediate_size=64, max_position_embeddings=longest,
        )  # fmt: skip
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            transformers.BertModel(config).save_pretrained(folder)
        return folder

    return make
