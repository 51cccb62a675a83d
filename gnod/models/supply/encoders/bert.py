"""Writes BERT's encoder as an ONNX graph with 8-bit matrices and ONNX Runtime's fused operators.

Published files are often float32, or int8 only on disk. They leave fusing to the runtime, which does not recognise
every export. This graph is twice as fast (docs/adr/0068).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelRejected
from gnod.models.encoder import Matrix
from gnod.models.supply.encoders.onnx_file import FLOAT, FUSED, GraphValue, OnnxGraph

# Returns a tensor by Hugging Face's name. Raises ModelCorrupt if its shape differs.
Read = Callable[[str, tuple[int, ...]], Matrix]

_Size = Annotated[int, msgspec.Meta(ge=1, le=1 << 20)]
_LAYERS = Annotated[int, msgspec.Meta(ge=1, le=256)]
# In RoBERTa's family, position numbers start after the padding token.
_SHIFTED = ("roberta", "xlm-roberta", "camembert")
TYPES = ("bert", *_SHIFTED)


class Bert(msgspec.Struct, frozen=True):
    """The settings in `config.json`."""

    model_type: str
    hidden_size: _Size
    num_hidden_layers: _LAYERS
    num_attention_heads: _Size
    intermediate_size: _Size
    vocab_size: _Size
    max_position_embeddings: _Size
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12
    hidden_act: str = "gelu"
    position_embedding_type: str = "absolute"
    pad_token_id: int | None = 1

    @property
    def first_position(self) -> int:
        return (self.pad_token_id or 0) + 1 if self.model_type in _SHIFTED else 0

    @property
    def positions(self) -> int:
        """Return the maximum number of tokens at once."""
        return self.max_position_embeddings - self.first_position

    def check(self) -> None:
        """Raise ModelRejected for a variant that the graph does not cover."""
        if self.hidden_act != "gelu" or self.position_embedding_type != "absolute":
            act, positions = self.hidden_act, self.position_embedding_type
            raise ModelRejected(f"its activation is {act}, its positions are {positions}")
        if self.hidden_size % self.num_attention_heads or self.positions < 1:
            raise ModelRejected("its dimensions do not fit together")


def write(path: Path, config: Bert, read: Read) -> None:
    """Write the graph from token ids to the vectors of all tokens. Raises what `read` raises."""
    config.check()
    _Encoder(config, read).write(path)


class _Encoder:
    def __init__(self, config: Bert, read: Read) -> None:
        self._config, self._read = config, read
        self._graph = OnnxGraph()

    def write(self, path: Path) -> None:
        wide = self._config.hidden_size
        hidden = self._embeddings()
        for number in range(self._config.num_hidden_layers):
            hidden = self._layer(number, hidden)
        last = self._graph.node("Identity", hidden, out="last_hidden_state")
        names = ["input_ids", *(["token_type_ids"] if self._config.type_vocab_size > 1 else [])]
        inputs = [GraphValue(name, "int64", ("texts", "tokens")) for name in names]
        self._graph.write(path, inputs, [GraphValue(last, "float32", ("texts", "tokens", wide))])

    def _embeddings(self) -> str:
        graph, config, wide = self._graph, self._config, self._config.hidden_size
        words = self._read("embeddings.word_embeddings.weight", (config.vocab_size, wide))
        numbers, scales = quantised(words)
        graph.constant("words", numbers)
        graph.constant("words.scale", scales[:, None])
        graph.node("Gather", "words", "input_ids", out="word.numbers")
        graph.node("Cast", "word.numbers", out="word.floats", to=FLOAT)
        graph.node("Gather", "words.scale", "input_ids", out="word.scale")
        total = graph.node("Mul", "word.floats", "word.scale", out="word")
        total = graph.node("Add", total, self._position(), out="placed")
        if config.type_vocab_size > 1:
            graph.constant("types", self._types())
            total = graph.node("Add", total, graph.node("Gather", "types", "token_type_ids", out="type"), out="typed")
        scale, shift = self._norm("embeddings.LayerNorm", "norm")
        return graph.node("LayerNormalization", total, scale, shift, out="embedded", epsilon=config.layer_norm_eps)

    def _position(self) -> str:
        """Return the position vectors for the number of tokens."""
        graph, config = self._graph, self._config
        positions = self._read(
            "embeddings.position_embeddings.weight", (config.max_position_embeddings, config.hidden_size)
        )
        if config.type_vocab_size == 1:  # every token has the same type
            positions = positions + self._types()
        graph.constant("positions", positions[config.first_position :])
        for name, number in (("zero", 0), ("one", 1), ("two", 2), ("last", -1)):
            graph.constant(name, np.array([number], np.int64))
        graph.constant("tiny", np.array(1e-12, np.float32))
        graph.node("Shape", "input_ids", out="shape")
        graph.node("Slice", "shape", "one", "two", out="count")
        return graph.node("Slice", "positions", "zero", "count", "zero", out="position")

    def _types(self) -> Matrix:
        count = max(self._config.type_vocab_size, 1)
        return self._read("embeddings.token_type_embeddings.weight", (count, self._config.hidden_size))

    def _layer(self, number: int, hidden: str) -> str:
        graph, wide, between = self._graph, self._config.hidden_size, self._config.intermediate_size
        layer = f"encoder.layer.{number}"
        parts = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        products = [self._product(hidden, part, wide, wide) for part in parts]
        shifts = graph.constant(
            f"{layer}.shifts", np.concatenate([self._read(f"{part}.bias", (wide,)) for part in parts])
        )
        heads = self._config.num_attention_heads
        seen = graph.node("MultiHeadAttention", *products, shifts, out=f"{layer}.seen", domain=FUSED, num_heads=heads)
        product = self._product(seen, f"{layer}.attention.output.dense", wide, wide)
        hidden = self._add(product, hidden, f"{layer}.attention.output", wide)
        product = self._even_product(hidden, f"{layer}.intermediate.dense", between, wide)
        shift = self._vector(f"{layer}.intermediate.dense.bias", between)
        wider = graph.node("BiasGelu", product, shift, out=f"{layer}.wider", domain=FUSED)
        product = self._even_product(wider, f"{layer}.output.dense", wide, between)
        return self._add(product, hidden, f"{layer}.output", wide)

    def _product(self, hidden: str, name: str, rows: int, columns: int) -> str:
        """Multiply by a matrix, in 8 bits."""
        numbers, scales = quantised(self._read(f"{name}.weight", (rows, columns)))
        matrix = self._graph.constant(name, np.ascontiguousarray(numbers.T))
        scale = self._graph.constant(f"{name}.scale", scales)
        return self._graph.node("DynamicQuantizeMatMul", hidden, matrix, scale, out=f"{name}.product", domain=FUSED)

    def _even_product(self, hidden: str, name: str, rows: int, columns: int) -> str:
        """Multiply as `_product`, but first scale the values of each token to the same maximum. All tokens of a text
        share the rounding steps, which a few tokens with large values would make coarse for the others."""
        graph = self._graph
        size = graph.node("Abs", hidden, out=f"{name}.size")
        largest = graph.node(
            "Max", graph.node("ReduceMax", size, "last", out=f"{name}.most"), "tiny", out=f"{name}.top"
        )
        even = graph.node("Div", hidden, largest, out=f"{name}.even")
        return graph.node("Mul", self._product(even, name, rows, columns), largest, out=f"{name}.uneven")

    def _add(self, product: str, hidden: str, name: str, rows: int) -> str:
        """Add the product to the layer's input, and normalise."""
        norm = self._norm(f"{name}.LayerNorm", f"{name}.norm")
        shift = self._vector(f"{name}.dense.bias", rows)
        inputs = (product, hidden, *norm, shift)
        epsilon = self._config.layer_norm_eps
        return self._graph.node("SkipLayerNormalization", *inputs, out=f"{name}.sum", domain=FUSED, epsilon=epsilon)

    def _norm(self, source: str, name: str) -> tuple[str, str]:
        shape = (self._config.hidden_size,)
        scale = self._graph.constant(f"{name}.scale", self._read(f"{source}.weight", shape))
        return scale, self._graph.constant(f"{name}.shift", self._read(f"{source}.bias", shape))

    def _vector(self, name: str, size: int) -> str:
        return self._graph.constant(name, self._read(name, (size,)))


def quantised(rows: Matrix) -> tuple[NDArray[np.int8], Matrix]:
    """Return the rows in 8 bits, and the scale of each row."""
    scales = np.maximum(np.abs(rows).max(axis=1), 1e-12) / 127
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)
