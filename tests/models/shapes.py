"""Models with random weights in the shapes of real ones, to measure memory. They only have to pass gnod's self-test."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType, PoolingType
from numpy.typing import NDArray

from gnod.models.encoder import MODEL, Encoder
from gnod.models.supply.encoders import repository
from gnod.models.supply.encoders.onnx_file import FLOAT, GraphValue, OnnxGraph, _bytes, _number
from tests.models import gguf_models, gguf_replicas, replicas
from tests.models.gguf_models import Config, Part

_QWEN3_COMMON: Config = {
    "model_type": "qwen3",
    "head_dim": 128,
    "num_key_value_heads": 8,
    "max_position_embeddings": 32_768,
    "rope_theta": 1e6,
}


def _qwen3(wide: int, layers: int, heads: int, inner: int, words: int = 151_936, **more: int) -> Config:
    sizes = {"hidden_size": wide, "num_hidden_layers": layers, "num_attention_heads": heads}
    return {**_QWEN3_COMMON, **sizes, "intermediate_size": inner, "vocab_size": words, **more}


def _xlm_roberta(kind: str, **more: object) -> Config:
    return {
        "model_type": "xlm-roberta",
        "architectures": [kind],
        "hidden_size": 1024,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "vocab_size": 250_002,
        "max_position_embeddings": 8194,
        "type_vocab_size": 1,
        "pad_token_id": 1,
        "layer_norm_eps": 1e-5,
        **more,
    }


class GgufShape(NamedTuple):
    """`seed`: for weights that pass the self-test."""

    config: Config
    tokenizer: str
    pooling: PoolingType | None
    is_q8: bool
    seed: int = 1


# The keys are parts of model addresses. SmolLM3 has the norms of Qwen3; bge-m3 has the pooling for which a seed was
# found.
GGUF = {
    "Qwen3-Embedding-0.6B": GgufShape(_qwen3(1024, 28, 16, 3072, 151_669), "qwen", PoolingType.LAST, True, seed=2),
    "qwen3-reranker-0.6b": GgufShape(_qwen3(1024, 28, 16, 3072, 151_669), "qwen", None, True),
    "Qwen3-1.7B": GgufShape(_qwen3(2048, 28, 16, 6144), "qwen", None, False),
    "Qwen3-4B": GgufShape(_qwen3(2560, 36, 32, 9728), "qwen", None, False),
    "SmolLM3": GgufShape(_qwen3(2048, 36, 16, 11_008, 128_256, num_key_value_heads=4), "qwen", None, False),
    "bge-m3": GgufShape(_xlm_roberta("XLMRobertaModel"), "pieces", PoolingType.LAST, False, seed=5),
    "bge-reranker-v2-m3": GgufShape(
        _xlm_roberta("XLMRobertaForSequenceClassification"), "pieces", PoolingType.RANK, False, seed=2
    ),
}


class ModernBert(NamedTuple):
    """`seed`: for weights that pass the self-test with two layers."""

    wide: int
    layers: int
    heads: int
    inner: int
    words: int
    seed: int


GRANITE_97M = ModernBert(384, 12, 12, 1536, 180_000, seed=1)
ETTIN_17M = ModernBert(256, 7, 4, 384, 50_368, seed=2)


class _Weights(NamedTuple):
    """A tensor in its type. `shape`: in bytes. `begins`: its first bytes; the others are zeros."""

    kind: GGMLQuantizationType
    shape: tuple[int, ...]
    begins: NDArray[np.uint8]


def write_gguf(target: Path, shape: GgufShape) -> Path:
    """Write a file of the model's full size. Only the first layer and the tokenizer's words have weights; the zeros
    take no disk space."""
    config = shape.config
    content = json.loads((replicas.TOKENIZERS / f"{shape.tokenizer}.json").read_text(encoding="utf-8"))
    fields = gguf_models.fields(config)
    fields |= {} if shape.pooling is None else {"{arch}.pooling_type": int(shape.pooling)}
    fields |= gguf_replicas.tokenizer_fields(content, shape.tokenizer, config["vocab_size"])
    architecture = gguf_models.ARCHITECTURES[config["model_type"]]
    parts = [*gguf_models.parts(config), *(replicas.head(config) if "architectures" in config else ())]
    tensors = {part.name: _weights(part, shape) for part in parts}
    with closing(gguf.GGUFWriter(target, architecture)) as writer:
        for name, value in fields.items():
            gguf_models.add_field(writer, name.replace("{arch}", architecture), value)
        for name, weights in tensors.items():
            is_whole = weights.kind == GGMLQuantizationType.F32
            kind = np.dtype(np.float32 if is_whole else np.uint8)
            elements = (*weights.shape[:-1], weights.shape[-1] // kind.itemsize)
            writer.add_tensor_info(name, elements, kind, math.prod(weights.shape), None if is_whole else weights.kind)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_ti_data_to_file()
        assert writer.fout
        (file,) = writer.fout
        at = _padded(file.tell())
        for weights in tensors.values():
            file.seek(at)
            file.write(weights.begins.tobytes())
            at += _padded(math.prod(weights.shape))
        file.truncate(at)
    return target


def _padded(size: int) -> int:
    return size + -size % gguf.GGUF_DEFAULT_ALIGNMENT


def _weights(part: Part, shape: GgufShape) -> _Weights:
    """Return a tensor in about the type that llama.cpp's recipes Q8_0 and Q4_K_M give it."""
    random = np.random.default_rng([shape.seed, zlib.crc32(part.name.encode())])
    *rows, columns = part.shape
    if part.name == "position_embd.weight":
        rows = [rows[0] - 2]
    some = [min(count, replicas.WORDS) for count in rows]
    if not rows or rows[0] == 1 or part.name.startswith(("position", "token_types", "cls")):
        # A common part of all texts would hide their differences.
        spread = 0.02 if part.name.startswith("cls") else 0
        values = random.standard_normal((*some, columns)) * spread + part.name.endswith("norm.weight")
        return _Weights(GGMLQuantizationType.F32, (*rows, 4 * columns), values.astype(np.float32).view(np.uint8))
    layer = int(part.name.split(".")[1]) if part.name.startswith("blk") else 0
    kind = GGMLQuantizationType.Q8_0
    if not shape.is_q8:
        is_finer = layer == 0 or (layer % 2 and part.name.split(".")[2] in ("attn_v", "ffn_down"))
        kind = GGMLQuantizationType.Q6_K if is_finer else GGMLQuantizationType.Q4_K
    block, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = random.integers(0, 256, (*(some if layer == 0 else [0]), columns // block, size), np.uint8)
    # The scale of a block is at its beginning in Q8_0, and at its end in Q6_K, after a scale for each 16 values.
    scale = np.frombuffer(np.float16(0.0003).tobytes(), np.uint8)
    if kind == GGMLQuantizationType.Q8_0:
        blocks[..., :2] = scale
    else:
        blocks[..., -2:], blocks[..., -18:-2] = scale, 4
    return _Weights(kind, (*rows, columns // block * size), blocks)


def write_onnx(folder: Path, shape: ModernBert) -> Path:
    """Write a ModernBERT in the form of its authors' exporter: float32, nothing fused, full attention in all layers. It
    omits the rotation of positions, which takes little memory."""
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
