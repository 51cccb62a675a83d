"""Write a BERT encoder as a GGUF file; common to the converters.

Tensors have the names of Hugging Face's `BertModel`; the `gguf` library knows llama.cpp's names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from gguf import GGMLQuantizationType as WeightType
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt

# llama.cpp's LLAMA_MAX_LAYERS: beyond it the library aborts the process.
MAX_LAYERS = 512

# The file's key for the tokens per text in training, special tokens included.
WINDOW_KEY = "gnod.window"


class Encoder(NamedTuple):
    """The dimensions of a model. `window` counts special tokens."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int
    token_types: int
    epsilon: float
    window: int
    pooling: gguf.PoolingType


class Origin(NamedTuple):
    """Where a model comes from; unknown fields are empty."""

    name: str
    organization: str = ""
    license: str = ""
    source: str = ""


class Tokens(NamedTuple):
    """A vocabulary in the order of its ids, and the ids of special tokens."""

    model: str
    pieces: Sequence[bytes]
    types: Sequence[gguf.TokenType]
    first: int
    last: int
    unknown: int
    pad: int
    mask: int | None
    scores: Sequence[float] | None = None
    charsmap: bytes | None = None


class Weights(NamedTuple):
    """One tensor: its values, or rows of raw bytes and the type of their `blocks`."""

    name: str
    values: NDArray[Any]
    blocks: WeightType | None = None


def check(encoder: Encoder, what: str) -> None:
    """Raise ModelCorrupt for impossible dimensions."""
    if min(encoder[:7]) < 1 or encoder.layers > MAX_LAYERS:
        raise ModelCorrupt(f"{what} names impossible dimensions: {encoder.hidden} hidden, {encoder.layers} layers")
    if encoder.hidden % encoder.heads:
        raise ModelCorrupt(f"{what}: {encoder.hidden} dimensions cannot be shared by {encoder.heads} attention heads")
    if not 0 < encoder.epsilon < 1:
        raise ModelCorrupt(f"{what}: layer norm epsilon {encoder.epsilon} is not a small positive number")
    if not 2 < encoder.window <= encoder.positions:
        raise ModelCorrupt(f"{what}: a window of {encoder.window} tokens does not fit {encoder.positions} positions")


def shapes(encoder: Encoder) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the model's tensors by name."""
    wide, inner = (encoder.hidden,), (encoder.feed_forward,)
    square, up, down = wide + wide, inner + wide, wide + inner
    tensors: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (encoder.vocabulary, encoder.hidden),
        "embeddings.position_embeddings.weight": (encoder.positions, encoder.hidden),
        "embeddings.token_type_embeddings.weight": (encoder.token_types, encoder.hidden),
        "embeddings.LayerNorm.weight": wide,
        "embeddings.LayerNorm.bias": wide,
    }
    for layer in range(encoder.layers):
        for part, weight, bias in (
            ("attention.self.query", square, wide),
            ("attention.self.key", square, wide),
            ("attention.self.value", square, wide),
            ("attention.output.dense", square, wide),
            ("attention.output.LayerNorm", wide, wide),
            ("intermediate.dense", up, inner),
            ("output.dense", down, wide),
            ("output.LayerNorm", wide, wide),
        ):
            tensors[f"encoder.layer.{layer}.{part}.weight"] = weight
            tensors[f"encoder.layer.{layer}.{part}.bias"] = bias
    return tensors


def write(
    target: Path,
    encoder: Encoder,
    tokens: Tokens,
    origin: Origin,
    tensors: Iterable[Weights],
    *,
    weights: WeightType,
) -> None:
    """Write the model: matrices as `weights`, the rest as float32. A failure leaves an incomplete file."""
    _check_tokens(tokens, encoder)
    with closing(gguf.GGUFWriter(target, gguf.MODEL_ARCH_NAMES[gguf.MODEL_ARCH.BERT])) as writer:
        _add_origin(writer, origin, weights)
        _add_encoder(writer, encoder)
        _add_tokens(writer, tokens, encoder)
        names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, encoder.layers)
        for tensor in tensors:
            name = names.get_name(tensor.name, try_suffixes=(".weight", ".bias"))
            assert name is not None, tensor.name
            if tensor.blocks is not None:
                writer.add_tensor(name, tensor.values, raw_dtype=tensor.blocks)
            else:
                _add_values(writer, name, tensor, weights)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()


def _add_values(writer: gguf.GGUFWriter, name: str, tensor: Weights, weights: WeightType) -> None:
    if not np.isfinite(tensor.values).all():
        raise ModelCorrupt(f"tensor {tensor.name} has values that are not numbers")
    kind = _type_of(tensor, weights)
    if kind is WeightType.F16 and np.abs(tensor.values).max(initial=0) > np.finfo(np.float16).max:
        raise ModelCorrupt(f"tensor {tensor.name} has values beyond the range of 16 bits")
    writer.add_tensor(name, gguf.quants.quantize(tensor.values, kind), raw_dtype=kind)


def _type_of(tensor: Weights, weights: WeightType) -> WeightType:
    # llama.cpp adds positions and token types without conversion: like norms and biases they must be float32.
    kept = ("LayerNorm", "position_embeddings", "token_type_embeddings")
    if tensor.values.ndim < 2 or any(part in tensor.name for part in kept):
        return WeightType.F32
    block = gguf.GGML_QUANT_SIZES[weights][0]
    return weights if tensor.values.shape[-1] % block == 0 else WeightType.F16


def _add_origin(writer: gguf.GGUFWriter, origin: Origin, weights: WeightType) -> None:
    adders = (writer.add_name, writer.add_organization, writer.add_license, writer.add_source_url)
    for add, value in zip(adders, origin, strict=True):
        if value:
            add(value)
    mostly = f"MOSTLY_{weights.name}" if weights is not WeightType.F32 else "ALL_F32"
    writer.add_file_type(gguf.LlamaFileType[mostly])
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def _add_encoder(writer: gguf.GGUFWriter, encoder: Encoder) -> None:
    writer.add_context_length(encoder.positions)
    writer.add_embedding_length(encoder.hidden)
    writer.add_block_count(encoder.layers)
    writer.add_feed_forward_length(encoder.feed_forward)
    writer.add_head_count(encoder.heads)
    writer.add_layer_norm_eps(encoder.epsilon)
    writer.add_causal_attention(False)
    writer.add_pooling_type(encoder.pooling)
    writer.add_uint32(WINDOW_KEY, encoder.window)


def _check_tokens(tokens: Tokens, encoder: Encoder) -> None:
    """Raise ModelCorrupt for a vocabulary that would abort llama.cpp."""
    if len(tokens.pieces) != encoder.vocabulary:
        raise ModelCorrupt(f"the vocabulary has {len(tokens.pieces)} pieces, the model {encoder.vocabulary}")
    if len(set(tokens.pieces)) != len(tokens.pieces):
        raise ModelCorrupt("the vocabulary names a piece twice")
    if any(not piece or b"\0" in piece for piece in tokens.pieces):
        raise ModelCorrupt("the vocabulary has an empty piece, or one with a NUL character")
    if tokens.scores is not None and not all(map(math.isfinite, tokens.scores)):
        raise ModelCorrupt("the vocabulary has a score that is not a number")
    specials = (tokens.first, tokens.last, tokens.unknown, tokens.pad, tokens.mask)
    if any(special is not None and not 0 <= special < len(tokens.pieces) for special in specials):
        raise ModelCorrupt("a special token is outside the vocabulary")


def _add_tokens(writer: gguf.GGUFWriter, tokens: Tokens, encoder: Encoder) -> None:
    writer.add_tokenizer_model(tokens.model)
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens.pieces)
    writer.add_token_types(tokens.types)
    if tokens.scores is not None:
        writer.add_token_scores(tokens.scores)
    writer.add_token_type_count(encoder.token_types)
    writer.add_bos_token_id(tokens.first)
    writer.add_eos_token_id(tokens.last)
    writer.add_sep_token_id(tokens.last)
    writer.add_unk_token_id(tokens.unknown)
    writer.add_pad_token_id(tokens.pad)
    if tokens.mask is not None:
        writer.add_mask_token_id(tokens.mask)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    if tokens.model == "t5":
        writer.add_add_space_prefix(True)
        writer.add_remove_extra_whitespaces(True)
    if tokens.charsmap is not None:
        writer.add_precompiled_charsmap(tokens.charsmap)
