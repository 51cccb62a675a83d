"""The layers of an embedding model after its pooling, which llama.cpp does not run: a product with a matrix each.

They are stored in the model's file under `gguf_keys.OUTPUT_LAYERS`, as JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelRejected

_Matrix = NDArray[np.float32]

# The activations, by the names of PyTorch's classes.
ACTIVATIONS: Mapping[str, Callable[[_Matrix], _Matrix]] = {
    "Identity": lambda values: values,
    "Tanh": np.tanh,
    "ReLU": lambda values: np.maximum(values, 0),
    "GELU": lambda values: (values * (1 + np.vectorize(math.erf)(values / math.sqrt(2))) / 2).astype(np.float32),
}


class Normalize(msgspec.Struct, frozen=True, tag="normalize"):
    """Scales each vector to length 1."""


class Dense(msgspec.Struct, frozen=True, tag="dense"):
    """`weight`: float32, little-endian, `outputs` rows of `inputs`; `bias` may be empty."""

    inputs: int
    outputs: int
    activation: str
    weight: bytes
    bias: bytes = b""


Layer = Dense | Normalize
_layers = msgspec.json.Decoder(list[Layer])


class OutputLayers:
    """`text`: the value of the field, or "". Raises ModelRejected."""

    def __init__(self, text: str, inputs: int) -> None:
        try:
            self._layers: Sequence[Layer] = _layers.decode(text or "[]")
            for layer in self._layers:
                if isinstance(layer, Dense):
                    _weights(layer)
                    if layer.inputs != inputs or layer.activation not in ACTIVATIONS:
                        raise ValueError
                    inputs = layer.outputs
        except (msgspec.DecodeError, ValueError):
            raise ModelRejected("the model's file has output layers that gnod cannot use; pull it again") from None

    def __call__(self, vectors: _Matrix) -> _Matrix:
        """Return the output for each row."""
        for layer in self._layers:
            if isinstance(layer, Normalize):
                vectors = unit(vectors)
            else:
                weight, bias = _weights(layer)
                vectors = ACTIVATIONS[layer.activation](vectors @ weight.T + bias)
        return vectors


def _weights(layer: Dense) -> tuple[_Matrix, _Matrix]:
    weight = np.frombuffer(layer.weight, "<f4").reshape(layer.outputs, layer.inputs)
    bias = np.frombuffer(layer.bias, "<f4").reshape(layer.outputs) if layer.bias else np.zeros(1, np.float32)
    return weight, bias


def unit(rows: _Matrix) -> _Matrix:
    """Scale each row to length 1; a row of zeros stays."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)
