"""Turns the output of an ONNX model into a vector or a score: the pooling, and the layers after it.

Published ONNX files often contain only the transformer. `encoder.json` beside the file describes the rest, and NumPy
computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelRejected

ONNX = ".onnx"
MODEL, TOKENIZER, SETTINGS = "model.onnx", "tokenizer.json", "encoder.json"
"""The file names of an encoder."""

Matrix = NDArray[np.float32]
Pooling = Literal["mean", "first", "last", "none"]


def _gelu(values: Matrix) -> Matrix:
    found: Matrix = (values * (1 + np.vectorize(math.erf)(values / math.sqrt(2))) / 2).astype(np.float32)
    return found


# The activations, by PyTorch's class names.
ACTIVATIONS: Mapping[str, Callable[[Matrix], Matrix]] = {
    "Identity": lambda values: values,
    "Tanh": np.tanh,
    "ReLU": lambda values: np.maximum(values, 0),
    "GELU": _gelu,
}


class Normalize(msgspec.Struct, frozen=True, tag="normalize"):
    """Scales each vector to length 1."""

    def __call__(self, rows: Matrix) -> Matrix:
        return unit(rows)


class LayerNorm(msgspec.Struct, frozen=True, tag="layer_norm"):
    """`weight` and `bias`: float32, little-endian; `bias` may be empty."""

    weight: bytes
    bias: bytes = b""
    epsilon: float = 1e-5

    def __call__(self, rows: Matrix) -> Matrix:
        centred = rows - rows.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + self.epsilon)
        found: Matrix = (scaled * np.frombuffer(self.weight, "<f4") + _bias(self.bias)).astype(np.float32)
        return found


class Dense(msgspec.Struct, frozen=True, tag="dense"):
    """`weight`: float32, little-endian, `outputs` rows of `inputs`; `bias` may be empty."""

    inputs: int
    outputs: int
    activation: str
    weight: bytes
    bias: bytes = b""

    def __call__(self, rows: Matrix) -> Matrix:
        weight = np.frombuffer(self.weight, "<f4").reshape(self.outputs, self.inputs)
        return ACTIVATIONS[self.activation](rows @ weight.T + _bias(self.bias))


Layer = Dense | LayerNorm | Normalize


class Encoder(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `encoder.json`. `pooling`: how token vectors are combined; "none": the model returns the result
    itself. `ranks`: the output is the score of a pair of texts."""

    pooling: Pooling
    layers: list[Layer] = []
    ranks: bool = False

    def output(self, hidden: Matrix) -> Matrix:
        """Return the result for one text, a row, from the model's output. Raises ModelRejected."""
        try:
            rows = _pooled(hidden, self.pooling)
            for layer in self.layers:
                rows = layer(rows)
        except (ValueError, KeyError):
            raise ModelRejected("the layers of the model do not fit together; pull it again") from None
        return rows


_settings = msgspec.json.Decoder(Encoder)


def read(folder: Path) -> Encoder:
    """Return the settings of the model in a folder. Raises ModelRejected."""
    try:
        return _settings.decode((folder / SETTINGS).read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        raise ModelRejected(f"{folder / SETTINGS} is missing or damaged; pull the model again") from None


def unit(rows: Matrix) -> Matrix:
    """Scale each row to length 1. A row of zeros stays unchanged."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32, copy=False)


def _pooled(hidden: Matrix, pooling: Pooling) -> Matrix:
    by_kind: dict[Pooling, Callable[[], Matrix]] = {
        "mean": lambda: hidden.mean(axis=1, dtype=np.float32),
        "first": lambda: hidden[:, 0],
        "last": lambda: hidden[:, -1],
        "none": lambda: hidden.reshape(len(hidden), -1),
    }
    return by_kind[pooling]()


def _bias(data: bytes) -> Matrix:
    return np.frombuffer(data, "<f4") if data else np.zeros(1, np.float32)
