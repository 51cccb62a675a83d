"""The shape of a model: what decides its cost per token. Pure."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

# The weights of the layers that are measured: few enough to be written in a tenth of a second, and more than a cache
# holds.
_MEASURED_PARAMETERS = 12_000_000
# granite-embedding-97m has 28 million in its layers, and the next larger model ten times as many.
_SMALL_PARAMETERS = 40_000_000

Weights = Literal["f16", "q8_0", "q4_0", "q4_k"]


class Shape(msgspec.Struct, frozen=True):
    """`passage`: tokens of one text; about 600 characters for small models. `window`: tokens that a context is made
    for."""

    architecture: Literal["bert", "modern-bert", "qwen3"]
    layers: int
    hidden: int
    feed_forward: int
    heads: int
    key_value_heads: int
    head_size: int
    weights: Weights
    passage: int = 144
    window: int = 512

    @property
    def layer_parameters(self) -> int:
        """The weights of one layer.

        >>> MINILM.layer_parameters
        1769472
        """
        attention = 2 * self.heads * self.head_size + 2 * self.key_value_heads * self.head_size
        matrices = 2 if self.architecture == "bert" else 3
        return self.hidden * (attention + matrices * self.feed_forward)

    @property
    def parameters(self) -> int:
        """The weights of all layers."""
        return self.layers * self.layer_parameters

    @property
    def is_small(self) -> bool:
        """Tell whether the model is fast enough on every machine."""
        return self.parameters <= _SMALL_PARAMETERS

    @property
    def sample(self) -> Shape:
        """The model that is measured for this one: as many of its layers as are measured."""
        return replace(self, layers=self.measured_layers)

    @property
    def measured_layers(self) -> int:
        """Return how many layers to measure; all layers cost the same.

        >>> MINILM.measured_layers, QWEN3_600M.measured_layers
        (6, 1)
        """
        return min(self.layers, max(1, _MEASURED_PARAMETERS // self.layer_parameters))


def _bert(layers: int, hidden: int, head_size: int, weights: Weights = "f16", passage: int = 144) -> Shape:
    heads = hidden // head_size
    return Shape("bert", layers, hidden, 4 * hidden, heads, heads, head_size, weights, passage)


MINILM = _bert(6, 384, 32)
E5_SMALL = _bert(12, 384, 32)
E5_SMALL_Q4 = _bert(12, 384, 32, "q4_0")
BGE_M3 = _bert(24, 1024, 64, "q4_k", 256)
ETTIN_17M = Shape("modern-bert", 7, 256, 384, 4, 4, 64, "f16")
GRANITE_97M = Shape("modern-bert", 12, 384, 1536, 12, 12, 32, "f16")
QWEN3_600M = Shape("qwen3", 28, 1024, 3072, 16, 8, 128, "q8_0", 256)
