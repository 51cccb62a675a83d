"""Models with random weights in the shapes of real ones, to measure memory. They pass gnod's self-test, no more."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType, PoolingType

from gnod.models.encoder import MODEL, Encoder
from gnod.models.supply.encoders import repository
from gnod.models.supply.encoders.onnx_file import FLOAT, GraphValue, OnnxGraph, _bytes, _number
from tests.models import gguf_models, gguf_replicas, replicas
from tests.models.gguf_models import Config, Part

QWEN3_EMBEDDING: Config = {
    "model_type": "qwen3",
    "hidden_size": 1024,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 151_669,
    "max_position_embeddings": 32_768,
    "rope_theta": 1e6,
}
BGE_M3: Config = {
    "model_type": "xlm-roberta",
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
    "vocab_size": 250_002,
    "max_position_embeddings": 8194,
    "type_vocab_size": 1,
    "pad_token_id": 1,
    "layer_norm_eps": 1e-5,
}


class ModernBert(NamedTuple):
    """`seed`: of weights that pass the self-test with two layers."""

    wide: int
    layers: int
    heads: int
    inner: int
    words: int
    seed: int


GRANITE_97M = ModernBert(384, 12, 12, 1536, 180_000, seed=1)
ETTIN_17M = ModernBert(256, 7, 4, 384, 50_368, seed=2)


def write_gguf(target: Path, config: Config, tokenizer: str, pooling: PoolingType) -> Path:
    """Write a model with weights of 8 bits."""
    random = np.random.default_rng(1)
    content = json.loads((replicas.TOKENIZERS / f"{tokenizer}.json").read_text(encoding="utf-8"))
    fields = gguf_models.fields(config) | {"{arch}.pooling_type": int(pooling)}
    fields |= gguf_replicas.tokenizer_fields(content, tokenizer, config["vocab_size"])
    architecture = gguf_models.ARCHITECTURES[config["model_type"]]
    with closing(gguf.GGUFWriter(target, architecture)) as writer:
        for name, value in fields.items():
            gguf_models.add_field(writer, name.replace("{arch}", architecture), value)
        for part in gguf_models.parts(config):
            _add_tensor(writer, random, part)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
    return target


def _add_tensor(writer: gguf.GGUFWriter, random: np.random.Generator, part: Part) -> None:
    *rows, columns = part.shape
    if part.name == "position_embd.weight":
        rows = [rows[0] - 2]
    if rows and rows[0] > 1 and part.name != "position_embd.weight":
        blocks = random.integers(-127, 128, (*rows, columns // 32, 34), np.int8).view(np.uint8)
        blocks[..., :2] = np.frombuffer(np.float16(0.0003).tobytes(), np.uint8)  # the scale of a block
        writer.add_tensor(part.name, blocks.reshape(*rows, -1), raw_dtype=GGMLQuantizationType.Q8_0)
    else:
        values = random.standard_normal((*rows, columns)) * 0.02 + part.name.endswith("norm.weight")
        writer.add_tensor(part.name, values.astype(np.float32))


def write_onnx(folder: Path, shape: ModernBert) -> Path:
    """Write a ModernBERT as its authors' exporter does: in float32, with nothing fused, and full attention in all
    layers. Without the rotation of its positions, which takes little memory."""
    folder.mkdir(parents=True)
    _Graph(shape).write_model(folder / MODEL)
    content = json.loads((replicas.TOKENIZERS / "words.json").read_text(encoding="utf-8"))
    words = content["model"]["vocab"]
    words |= {f"word{number}": number for number in range(len(words), shape.words)}
    repository.save(folder, json.dumps(content), Encoder(pooling="mean"))
    return folder / MODEL


class _Graph(OnnxGraph):
    def __init__(self, shape: ModernBert) -> None:
        super().__init__()
        self._shape = shape
        self._random = np.random.default_rng(shape.seed)
        self._numbers = count()

    def write_model(self, path: Path) -> None:
        wide = self._shape.wide
        hidden = self._do("Gather", self._weights(self._shape.words, wide), "input_ids")
        seen = self._do("Cast", "attention_mask", to=FLOAT)
        column, row = (self._do("Reshape", seen, self._integers(*shape)) for shape in ((1, -1, 1), (1, 1, -1)))
        mask = self._do("Log", self._do("MatMul", column, row))
        for _ in range(self._shape.layers):
            hidden = self._do("Add", hidden, self._attention(self._norm(hidden), mask))
            hidden = self._do("Add", hidden, self._forward(self._norm(hidden)))
        inputs = [GraphValue(name, "int64", ("texts", "tokens")) for name in ("input_ids", "attention_mask")]
        last = self.node("Identity", hidden, out="last_hidden_state")
        self.write(path, inputs, [GraphValue(last, "float32", ("texts", "tokens", wide))])

    def _attention(self, hidden: str, mask: str) -> str:
        wide, heads = self._shape.wide, self._shape.heads
        split = self._integers(0, 0, heads, wide // heads)
        queries, keys, values = (
            self._transposed(self._do("Reshape", self._product(hidden, wide, wide), split), order)
            for order in ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
        )
        scores = self._do("Mul", self._do("MatMul", queries, keys), self._floats(0.125))
        shares = self._do("Softmax", self._do("Add", scores, mask), axis=-1)
        found = self._transposed(self._do("MatMul", shares, values), (0, 2, 1, 3))
        return self._product(self._do("Reshape", found, self._integers(0, 0, wide)), wide, wide)

    def _forward(self, hidden: str) -> str:
        wide, inner = self._shape.wide, self._shape.inner
        gate, values = (self._product(hidden, wide, inner) for _ in range(2))
        raised = self._do("Add", self._do("Erf", self._do("Mul", gate, self._floats(0.7))), self._floats(1))
        return self._product(self._do("Mul", self._do("Mul", gate, raised), values), inner, wide)

    def _norm(self, hidden: str) -> str:
        scale = self.constant(f"c{next(self._numbers)}", np.ones(self._shape.wide, np.float32))
        return self._do("LayerNormalization", hidden, scale)

    def _product(self, hidden: str, rows: int, columns: int) -> str:
        return self._do("MatMul", hidden, self._weights(rows, columns))

    def _transposed(self, value: str, order: Sequence[int]) -> str:
        out = f"v{next(self._numbers)}"
        attribute = _bytes(1, "perm") + b"".join(_number(8, axis) for axis in order) + _number(20, 7)
        self._parts.append(_bytes(1, _bytes(1, value) + _bytes(2, out) + _bytes(4, "Transpose") + _bytes(5, attribute)))
        return out

    def _do(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self.node(kind, *inputs, out=f"v{next(self._numbers)}", **attributes)

    def _weights(self, *shape: int) -> str:
        values = self._random.standard_normal(shape, np.float32) * np.float32(0.02)
        return self.constant(f"c{next(self._numbers)}", values)

    def _floats(self, value: float) -> str:
        return self.constant(f"c{next(self._numbers)}", np.array(value, np.float32))

    def _integers(self, *values: int) -> str:
        return self.constant(f"c{next(self._numbers)}", np.array(values, np.int64))
