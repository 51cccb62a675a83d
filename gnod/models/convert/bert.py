"""A BERT sentence encoder from a Hugging Face folder (safetensors, as sentence-transformers lay it out) to GGUF."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import gguf
import msgspec

from gnod.errors import ModelCorrupt
from gnod.models.convert import encoder, wordpiece
from gnod.models.convert.encoder import Encoder, Origin, Weights
from gnod.models.convert.safetensors import SafeTensors

WeightsType = Literal["f32", "f16", "q8_0"]

_Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
_README_BYTES = 100_000


class _Config(msgspec.Struct, frozen=True):
    model_type: str
    hidden_size: _Positive
    num_hidden_layers: _Positive
    num_attention_heads: _Positive
    intermediate_size: _Positive
    vocab_size: _Positive
    max_position_embeddings: _Positive
    layer_norm_eps: float = 1e-12
    type_vocab_size: _Positive = 2
    hidden_act: str = "gelu"
    position_embedding_type: str = "absolute"


class _Module(msgspec.Struct, frozen=True):
    path: str
    type: str


class _Pooling(msgspec.Struct, frozen=True):
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False


class _Sentences(msgspec.Struct, frozen=True):
    max_seq_length: _Positive | None = None


def accepts(model: Path) -> bool:
    return (model / "config.json").is_file() and (model / "model.safetensors").is_file()


def convert(model: Path, target: Path, *, weights: WeightsType = "f16", source: str = "") -> None:
    """Write the model of a folder to `target` as GGUF, with `source` as its origin.

    Matrices lose precision unless `weights` is f32; norms, biases and positions never do. Raises ModelCorrupt, also for
    a folder with another kind of model.
    """
    dimensions = _encoder(model, _config(model))
    encoder.check(dimensions, "config.json")
    tokens = wordpiece.read(model)
    tensors = _tensors(SafeTensors(model / "model.safetensors"), dimensions)
    kind = gguf.GGMLQuantizationType[weights.upper()]
    encoder.write(target, dimensions, tokens, _origin(model, source), tensors, weights=kind)


def _config(folder: Path) -> _Config:
    config = wordpiece.read_json(folder / "config.json", _Config)
    if config.model_type != "bert":
        raise ModelCorrupt(f"the model is of type {config.model_type}; only bert can be converted")
    if config.hidden_act != "gelu" or config.position_embedding_type != "absolute":
        raise ModelCorrupt(
            "llama.cpp cannot run this BERT: "
            f"activation {config.hidden_act}, {config.position_embedding_type} positions (needs gelu, absolute)"
        )
    return config


def _encoder(folder: Path, config: _Config) -> Encoder:
    path = folder / "sentence_bert_config.json"
    window = (wordpiece.read_json(path, _Sentences).max_seq_length if path.exists() else None) or (1 << 24)
    return Encoder(
        hidden=config.hidden_size,
        layers=config.num_hidden_layers,
        heads=config.num_attention_heads,
        feed_forward=config.intermediate_size,
        vocabulary=config.vocab_size,
        positions=config.max_position_embeddings,
        token_types=config.type_vocab_size,
        epsilon=config.layer_norm_eps,
        window=min(window, config.max_position_embeddings),
        pooling=_pooling(folder),
    )


def _pooling(folder: Path) -> gguf.PoolingType:
    """Return how token vectors become one; the mean by default."""
    path = folder / "modules.json"
    modules = wordpiece.read_json(path, list[_Module]) if path.exists() else []
    for module in modules:
        if module.type.rpartition(".")[2] not in ("Transformer", "Pooling", "Normalize"):
            raise ModelCorrupt(f"the model has a module {module.type}, which cannot be converted")
    path = folder / "1_Pooling" / "config.json"
    if not path.exists():
        return gguf.PoolingType.MEAN
    modes = wordpiece.read_json(path, _Pooling)
    chosen = [name for name in modes.__struct_fields__ if getattr(modes, name)]
    if chosen == ["pooling_mode_mean_tokens"]:
        return gguf.PoolingType.MEAN
    if chosen == ["pooling_mode_cls_token"]:
        return gguf.PoolingType.CLS
    raise ModelCorrupt(f"pooling is neither the mean nor the first token: {', '.join(chosen) or 'none'}")


def _tensors(stored: SafeTensors, model: Encoder) -> Iterator[Weights]:
    # A model that was saved with its training head has the prefix `bert.`.
    prefix = "" if "embeddings.word_embeddings.weight" in stored else "bert."
    for name, shape in encoder.shapes(model).items():
        yield Weights(name, stored.read(prefix + name if prefix + name in stored else name, shape))


def _origin(folder: Path, source: str) -> Origin:
    """Return the name and license of the model card."""
    try:
        with (folder / "README.md").open("rb") as file:
            card = file.read(_README_BYTES).decode("utf-8", "replace").replace("\0", "")
    except OSError:
        card = ""
    front, _, body = card.removeprefix("---").partition("\n---") if card.startswith("---") else ("", "", card)
    title = re.search(r"^# +(.+?)\s*$", body, re.MULTILINE)
    license_ = re.search(r"^license: *([\w.+-]+)\s*$", front, re.MULTILINE)
    return Origin(
        name=title[1] if title else folder.name,
        license=license_[1] if license_ else "",
        source=source,
    )
