"""Write a model of a given shape with random weights: some of its layers, and a vocabulary of a few words.

The cost of a step depends on the number and type of the weights, not on their values.
"""

from __future__ import annotations

import math
from functools import cache, partial
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as WeightType
from numpy.typing import NDArray

from gnod.models.supply.convert.architecture import Architecture, ConvertedTensor
from gnod.models.supply.convert.bert import Bert
from gnod.models.supply.convert.gguf_file import TensorWeights, Value, write
from gnod.models.supply.convert.rotary import ModernBert, Qwen3
from gnod.models.supply.speed.shapes import Shape

VOCABULARY = 256

_SEED = 7
_POOL = 1 << 20
_TYPES = {
    "f16": WeightType.F16,
    "q8_0": WeightType.Q8_0,
    "q4_0": WeightType.Q4_0,
    "q4_k": WeightType.Q4_K,
}
# A block begins with this many numbers of 16 bits, its scales.
_SCALES = {"q8_0": 1, "q4_0": 1, "q4_k": 2}


def write_random_model(path: Path, shape: Shape) -> None:
    """Write `measured_layers` of the shape as a GGUF file."""
    model = _architecture(shape)
    fields: dict[str, Value] = {
        "general.name": "random",
        "tokenizer.ggml.model": "none",
        **model.fields(),
        "{arch}.vocab_size": VOCABULARY,
        "{arch}.pooling_type": int(gguf.PoolingType.MEAN),
    }
    tensors = [_weights(tensor, shape.weights) for tensor in model.tensors()]
    write(path, model.llama, fields, tensors, weights=WeightType.F16)


def _architecture(shape: Shape) -> Architecture:
    common: dict[str, Any] = {
        "hidden_size": shape.hidden,
        "num_hidden_layers": shape.measured_layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.feed_forward,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": shape.window,
    }
    match shape.architecture:
        case "bert":
            return Bert(model_type="bert", **common)
        case "modern-bert":
            return ModernBert(**common)
        case "qwen3":
            return Qwen3(num_key_value_heads=shape.key_value_heads, head_dim=shape.head_size, **common)


def _weights(tensor: ConvertedTensor, weights: str) -> TensorWeights:
    kind = _TYPES[weights]
    block, _ = gguf.GGML_QUANT_SIZES[kind]
    is_matrix = len(tensor.shape) > 1 and not tensor.exact and tensor.shape[-1] % block == 0
    if is_matrix and tensor.name.startswith("blk."):
        return TensorWeights(tensor.name, tensor.shape, partial(_blocks, tensor.shape, weights), blocks=kind)
    return TensorWeights(tensor.name, tensor.shape, partial(_numbers, tensor.shape), exact=tensor.exact)


def _numbers(shape: tuple[int, ...]) -> NDArray[np.float32]:
    return np.resize(_random(), shape)


def _blocks(shape: tuple[int, ...], weights: str) -> NDArray[np.uint8]:
    """Return the bytes of a matrix, in rows."""
    block, size = gguf.GGML_QUANT_SIZES[_TYPES[weights]]
    return np.resize(_random_bytes(weights), (shape[0], math.prod(shape[1:]) // block * size))


@cache
def _random() -> NDArray[np.float32]:
    return np.random.default_rng(_SEED).normal(0, 0.02, _POOL).astype(np.float32)


@cache
def _random_bytes(weights: str) -> NDArray[np.uint8]:
    if weights == "f16":
        return _random().astype(np.float16).view(np.uint8)
    _, size = gguf.GGML_QUANT_SIZES[_TYPES[weights]]
    blocks = np.random.default_rng(_SEED).integers(0, 256, (_POOL // size, size), np.uint8)
    scales = np.full((len(blocks), _SCALES[weights]), 0.001, np.float16)
    blocks[:, : scales.shape[1] * 2] = scales.view(np.uint8)
    return blocks.reshape(-1)
