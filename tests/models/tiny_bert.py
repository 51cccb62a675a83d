"""A random BERT of two layers: its folder in Hugging Face's layout, and its forward pass in NumPy."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import BertWordPieceTokenizer

HIDDEN, LAYERS, HEADS, FEED_FORWARD, TOKEN_TYPES = 32, 2, 4, 64, 2
EPSILON = 1e-12
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": FEED_FORWARD,
    "type_vocab_size": TOKEN_TYPES,
    "layer_norm_eps": EPSILON,
    "hidden_act": "gelu",
}

Floats = NDArray[np.float32]
Tensors = dict[str, Floats]


def tensors(seed: int, *, words: int, positions: int) -> Tensors:
    """Return random weights. Norms are near 1, so that every part of the model affects the result."""
    rng = np.random.default_rng(seed)

    def weights(*shape: int) -> Floats:
        return rng.normal(0, 0.25, shape).astype(np.float32)

    found = {
        "embeddings.word_embeddings.weight": weights(words, HIDDEN),
        "embeddings.position_embeddings.weight": weights(positions, HIDDEN),
        "embeddings.token_type_embeddings.weight": weights(TOKEN_TYPES, HIDDEN),
        "embeddings.LayerNorm.weight": 1 + weights(HIDDEN),
        "embeddings.LayerNorm.bias": weights(HIDDEN),
    }
    for layer in range(LAYERS):
        for part, rows, columns in (
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", FEED_FORWARD, HIDDEN),
            ("output.dense", HIDDEN, FEED_FORWARD),
        ):
            found[f"encoder.layer.{layer}.{part}.weight"] = weights(rows, columns)
            found[f"encoder.layer.{layer}.{part}.bias"] = weights(rows)
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            found[f"encoder.layer.{layer}.{part}.weight"] = 1 + weights(HIDDEN)
            found[f"encoder.layer.{layer}.{part}.bias"] = weights(HIDDEN)
    return found


def write(folder: Path, model: Tensors, config: dict[str, Any], words: Sequence[str]) -> Path:
    """Write the model into a folder and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    BertWordPieceTokenizer({word: number for number, word in enumerate(words)}).save(str(folder / "tokenizer.json"))
    (folder / "model.safetensors").write_bytes(safetensors(model))
    return folder


def safetensors(model: Tensors) -> bytes:
    """Return tensors as the content of a safetensors file, in float32."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    for name, values in model.items():
        raw = values.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": values.shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode()
    return len(head).to_bytes(8, "little") + head + bytes(data)


def states(model: Tensors, ids: list[int]) -> Floats:
    """Return the token vectors of the last layer."""

    def norm(values: Floats, name: str) -> Floats:
        centred = values - values.mean(-1, keepdims=True)
        spread = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
        scaled: Floats = centred / spread * model[f"{name}.weight"] + model[f"{name}.bias"]
        return scaled

    def dense(values: Floats, name: str) -> Floats:
        product: Floats = values @ model[f"{name}.weight"].T + model[f"{name}.bias"]
        return product

    def heads(values: Floats) -> Floats:
        return values.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

    state = model["embeddings.word_embeddings.weight"][ids]
    state = state + model["embeddings.position_embeddings.weight"][: len(ids)]
    state = norm(state + model["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        query, key, value = (
            heads(dense(state, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(HIDDEN / HEADS)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        state = norm(state + dense(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
        inner = dense(state, f"{layer}.intermediate.dense")
        active = 0.5 * inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        state = norm(state + dense(active.astype(np.float32), f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    return state
