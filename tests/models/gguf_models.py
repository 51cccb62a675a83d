"""Converts Hugging Face's tensor names to llama.cpp's, and writes the GGUF file, as llama.cpp's own converter does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np
from numpy.typing import NDArray

Value = bool | int | float | str | Sequence[Any]
Config = Mapping[str, Any]

ARCHITECTURES = {"bert": "bert", "xlm-roberta": "bert", "qwen3": "qwen3", "gemma3_text": "gemma-embedding"}
# llama.cpp needs these in 32 bits, even in a file with 16-bit matrices.
_EXACT = ("position_embd.weight", "token_types.weight")
_BERT = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
_DECODER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_NORMS = {
    "qwen3": {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"},
    "gemma3_text": {
        "attn_norm": "input_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    },
}


class Part(NamedTuple):
    """A tensor: llama.cpp's name, Hugging Face's name without the prefix of the whole model, and its shape there."""

    name: str
    source: str
    shape: tuple[int, ...]


def parts(config: Config) -> list[Part]:
    """Return the tensors of a model, without its head."""
    return _decoder(config) if "head_dim" in config else _bert(config)


def affine(name: str, source: str, *shape: int) -> list[Part]:
    """Return a matrix and its bias, or both parts of a norm."""
    return [Part(f"{name}.weight", f"{source}.weight", shape), Part(f"{name}.bias", f"{source}.bias", shape[:1])]


def _bert(config: Config) -> list[Part]:
    wide, inner = config["hidden_size"], config["intermediate_size"]
    counts = (config["vocab_size"], config["max_position_embeddings"], config.get("type_vocab_size", 2))
    names = (("token_embd", "word"), ("position_embd", "position"), ("token_types", "token_type"))
    found = [
        Part(f"{name}.weight", f"embeddings.{source}_embeddings.weight", (count, wide))
        for (name, source), count in zip(names, counts, strict=True)
    ]
    found += affine("token_embd_norm", "embeddings.LayerNorm", wide)
    for layer in range(config["num_hidden_layers"]):
        for name, source in _BERT.items():
            rows, columns = (inner if name == "ffn_up" else wide), (inner if name == "ffn_down" else wide)
            shape = (wide,) if name.endswith("norm") else (rows, columns)
            found += affine(f"blk.{layer}.{name}", f"encoder.layer.{layer}.{source}", *shape)
    return found


def _decoder(config: Config) -> list[Part]:
    wide, inner, head = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    shapes = [(queries, wide), (keys, wide), (keys, wide), (wide, queries), (inner, wide), (inner, wide), (wide, inner)]
    found = [Part("token_embd.weight", "embed_tokens.weight", (config["vocab_size"], wide))]
    found.append(Part("output_norm.weight", "norm.weight", (wide,)))
    for layer in range(config["num_hidden_layers"]):
        named: list[tuple[tuple[str, str], tuple[int, ...]]] = [*zip(_DECODER.items(), shapes, strict=True)]
        named += [(norm, (wide,)) for norm in _NORMS[config["model_type"]].items()]
        named += [((f"attn_{each}_norm", f"self_attn.{each}_norm"), (head,)) for each in "qk"]
        found += [
            Part(f"blk.{layer}.{name}.weight", f"layers.{layer}.{source}.weight", shape)
            for (name, source), shape in named
        ]
    return found


def tensors(config: Config, model: Mapping[str, NDArray[Any]], prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the tensors of the file, made from those of the model."""
    found = {part.name: model[prefix + part.source] for part in parts(config)}
    if (skipped := _skipped_positions(config)) and "position_embd.weight" in found:
        found["position_embd.weight"] = found["position_embd.weight"][skipped:]
    if config["model_type"] == "gemma3_text":
        found = {name: values + 1 if "norm" in name else values for name, values in found.items()}
    return found


def _skipped_positions(config: Config) -> int:
    """Return the index of the first position: in RoBERTa's family, after the position of the padding."""
    return config["pad_token_id"] + 1 if config["model_type"] == "xlm-roberta" else 0


def fields(config: Config) -> dict[str, Value]:
    """Return the fields of the file. `{arch}` is replaced by the architecture."""
    head = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    found: dict[str, Value] = {
        "{arch}.context_length": config["max_position_embeddings"] - _skipped_positions(config),
        "{arch}.embedding_length": config["hidden_size"],
        "{arch}.block_count": config["num_hidden_layers"],
        "{arch}.feed_forward_length": config["intermediate_size"],
        "{arch}.attention.head_count": config["num_attention_heads"],
        "{arch}.attention.key_length": head,
        "{arch}.attention.value_length": head,
    }
    if "head_dim" not in config:
        return found | {
            "{arch}.attention.layer_norm_epsilon": config.get("layer_norm_eps", 1e-12),
            "{arch}.attention.causal": False,
            "tokenizer.ggml.token_type_count": config.get("type_vocab_size", 2),
        }
    found |= {
        "{arch}.attention.layer_norm_rms_epsilon": 1e-6,
        "{arch}.attention.head_count_kv": config["num_key_value_heads"],
        "{arch}.rope.freq_base": config["rope_theta"],
    }
    if config["model_type"] == "gemma3_text":
        found |= {
            "{arch}.rope.freq_base_swa": config["rope_local_base_freq"],
            "{arch}.attention.sliding_window": config["sliding_window"],
            "{arch}.attention.sliding_window_pattern": [kind == "sliding_attention" for kind in config["layer_types"]],
            "{arch}.attention.causal": False,
        }
    return found


def write(
    target: Path, architecture: str, fields: Mapping[str, Value], tensors: Mapping[str, NDArray[Any]], *, bits: int = 32
) -> None:
    """Write the file: matrices with 16 or 32 `bits`, everything else with 32."""
    with closing(gguf.GGUFWriter(target, architecture)) as writer:
        for name, value in fields.items():
            add_field(writer, name.replace("{arch}", architecture), value)
        for name, values in tensors.items():
            is_short = bits == 16 and values.ndim > 1 and name not in _EXACT
            writer.add_tensor(name, np.ascontiguousarray(values, np.float16 if is_short else np.float32))
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()


def add_field(writer: gguf.GGUFWriter, name: str, value: Value) -> None:
    match value:
        case bool():
            writer.add_bool(name, value)
        case int():
            writer.add_uint32(name, value)
        case float():
            writer.add_float32(name, value)
        case str():
            writer.add_string(name, value)
        case _:
            writer.add_array(name, value)
