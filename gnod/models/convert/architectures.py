"""The architectures that are converted: from Hugging Face's configuration and names of tensors to llama.cpp's.

A new one is a class and an entry in ARCHITECTURES. Computes nothing and reads no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.convert.gguf_file import Value

# llama.cpp's LLAMA_MAX_LAYERS: beyond it the library aborts the process.
_MAX_LAYERS = 512

_Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
_Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]
_Epsilon = Annotated[float, msgspec.Meta(gt=0, lt=1)]
_Base = Annotated[float, msgspec.Meta(ge=1)]
_Shape = tuple[int, ...]

Floats = NDArray[np.float32]


class Tensor(NamedTuple):
    """A tensor of the GGUF file, made of Hugging Face's. `exact`: llama.cpp needs it in float32."""

    name: str
    shape: _Shape
    sources: Mapping[str, _Shape]
    make: Callable[..., Floats] = lambda values: values
    exact: bool = False


def one(name: str, source: str, *shape: int, exact: bool = False) -> Tensor:
    return Tensor(name, shape, {source: shape}, exact=exact)


def affine(name: str, source: str, *shape: int) -> list[Tensor]:
    """Return a matrix and its bias, or both parts of a norm."""
    return [one(f"{name}.weight", f"{source}.weight", *shape), one(f"{name}.bias", f"{source}.bias", shape[0])]


class Architecture(msgspec.Struct, frozen=True):
    """A `config.json`. `llama`: llama.cpp's name; `prefixes`: what Hugging Face may put before the tensors' names;
    `first`: a tensor that every such model has."""

    llama: ClassVar[str]
    prefixes: ClassVar[Sequence[str]]
    first: ClassVar[str]
    hidden_size: _Positive
    num_hidden_layers: Annotated[int, msgspec.Meta(ge=1, le=_MAX_LAYERS)]
    num_attention_heads: _Positive
    intermediate_size: _Positive
    vocab_size: _Positive
    max_position_embeddings: _Positive

    @property
    def positions(self) -> int:
        """Return the most tokens at once."""
        return self.max_position_embeddings

    @property
    def head_size(self) -> int:
        if self.hidden_size % self.num_attention_heads:
            raise ModelCorrupt(
                f"config.json: {self.hidden_size} dimensions cannot be shared by {self.num_attention_heads} heads"
            )
        return self.hidden_size // self.num_attention_heads

    def fields(self) -> dict[str, Value]:
        """Return the fields of the GGUF file. Raises ModelCorrupt, ModelRejected."""
        size = self.head_size
        return {
            "{arch}.context_length": self.positions,
            "{arch}.embedding_length": self.hidden_size,
            "{arch}.block_count": self.num_hidden_layers,
            "{arch}.feed_forward_length": self.intermediate_size,
            "{arch}.attention.head_count": self.num_attention_heads,
            "{arch}.attention.key_length": size,
            "{arch}.attention.value_length": size,
        }

    def tensors(self) -> Iterator[Tensor]:
        raise NotImplementedError

    def head(self) -> list[Tensor]:
        """Return the classification head of one class. Its tensors have no prefix."""
        raise ModelRejected(f"llama.cpp cannot run the classification head of a {self.llama} model")

    def head_fields(self) -> dict[str, Value]:
        """Return the fields of a model with a classification head."""
        return {}

    def with_second_text(self, tensors: Iterator[Tensor]) -> tuple[list[Tensor], int]:
        """Return the tensors of a model that reads pairs, and how far the second text's tokens are shifted."""
        return list(tensors), 0


class Bert(Architecture, frozen=True):
    """BERT, and RoBERTa, XLM-RoBERTa and CamemBERT, whose positions begin after the padding's."""

    llama = "bert"
    prefixes = ("", "bert.", "roberta.")
    first = "embeddings.word_embeddings.weight"
    model_type: str
    type_vocab_size: _Positive = 2
    layer_norm_eps: _Epsilon = 1e-12
    pad_token_id: _Natural | None = None
    hidden_act: str = "gelu"
    position_embedding_type: str | None = "absolute"

    @property
    def _offset(self) -> int:
        if self.model_type == "bert":
            return 0
        return (1 if self.pad_token_id is None else self.pad_token_id) + 1

    @property
    def positions(self) -> int:
        return self.max_position_embeddings - self._offset

    def fields(self) -> dict[str, Value]:
        if self.hidden_act != "gelu" or self.position_embedding_type not in ("absolute", None):
            raise ModelRejected(
                "llama.cpp cannot run this BERT: "
                f"activation {self.hidden_act}, {self.position_embedding_type} positions (needs gelu, absolute)"
            )
        return super().fields() | {
            "{arch}.attention.layer_norm_epsilon": self.layer_norm_eps,
            "{arch}.attention.causal": False,
            "tokenizer.ggml.token_type_count": self.type_vocab_size,
        }

    def tensors(self) -> Iterator[Tensor]:
        wide, inner = self.hidden_size, self.intermediate_size
        words, places, offset = "embeddings.word_embeddings.weight", self.max_position_embeddings, self._offset
        yield one("token_embd.weight", words, self.vocab_size, wide)
        yield Tensor(
            "position_embd.weight",
            (places - offset, wide),
            {"embeddings.position_embeddings.weight": (places, wide)},
            lambda values: values[offset:],
            exact=True,
        )
        yield one(
            "token_types.weight", "embeddings.token_type_embeddings.weight", self.type_vocab_size, wide, exact=True
        )
        yield from affine("token_embd_norm", "embeddings.LayerNorm", wide)
        for layer in range(self.num_hidden_layers):
            for name, source, *shape in (
                ("attn_q", "attention.self.query", wide, wide),
                ("attn_k", "attention.self.key", wide, wide),
                ("attn_v", "attention.self.value", wide, wide),
                ("attn_output", "attention.output.dense", wide, wide),
                ("attn_output_norm", "attention.output.LayerNorm", wide),
                ("ffn_up", "intermediate.dense", inner, wide),
                ("ffn_down", "output.dense", wide, inner),
                ("layer_output_norm", "output.LayerNorm", wide),
            ):
                yield from affine(f"blk.{layer}.{name}", f"encoder.layer.{layer}.{source}", *shape)

    def head(self) -> list[Tensor]:
        dense, out = (
            ("bert.pooler.dense", "classifier")
            if self.model_type == "bert"
            else ("classifier.dense", "classifier.out_proj")
        )
        wide = self.hidden_size
        return [*affine("cls", dense, wide, wide), *affine("cls.output", out, 1, wide)]

    def with_second_text(self, tensors: Iterator[Tensor]) -> tuple[list[Tensor], int]:
        """llama.cpp gives every token type 0. So the words of the second text are words of their own, whose embedding
        contains the difference between the types."""
        rest = list(tensors)
        if self.type_vocab_size < 2:
            return rest, 0
        words, _, types, *_ = rest
        sources = {**words.sources, **types.sources}

        def both(values: Floats, kinds: Floats) -> Floats:
            return np.concatenate([values, values + (kinds[1] - kinds[0])])

        rest[0] = Tensor(words.name, (2 * self.vocab_size, self.hidden_size), sources, both)
        return rest, self.vocab_size


class DistilBert(Architecture, frozen=True):
    llama = "bert"
    prefixes = ("", "distilbert.")
    first = "embeddings.word_embeddings.weight"
    hidden_size: _Positive = msgspec.field(name="dim")
    num_hidden_layers: Annotated[int, msgspec.Meta(ge=1, le=_MAX_LAYERS)] = msgspec.field(name="n_layers")
    num_attention_heads: _Positive = msgspec.field(name="n_heads")
    intermediate_size: _Positive = msgspec.field(name="hidden_dim")
    activation: str = "gelu"

    def fields(self) -> dict[str, Value]:
        if self.activation != "gelu":
            raise ModelRejected(f"llama.cpp cannot run this DistilBERT: activation {self.activation} (needs gelu)")
        return super().fields() | {
            "{arch}.attention.layer_norm_epsilon": 1e-12,
            "{arch}.attention.causal": False,
            "tokenizer.ggml.token_type_count": 1,
        }

    def tensors(self) -> Iterator[Tensor]:
        wide, inner = self.hidden_size, self.intermediate_size
        yield one("token_embd.weight", "embeddings.word_embeddings.weight", self.vocab_size, wide)
        yield one("position_embd.weight", "embeddings.position_embeddings.weight", self.positions, wide, exact=True)
        yield from affine("token_embd_norm", "embeddings.LayerNorm", wide)
        for layer in range(self.num_hidden_layers):
            for name, source, *shape in (
                ("attn_q", "attention.q_lin", wide, wide),
                ("attn_k", "attention.k_lin", wide, wide),
                ("attn_v", "attention.v_lin", wide, wide),
                ("attn_output", "attention.out_lin", wide, wide),
                ("attn_output_norm", "sa_layer_norm", wide),
                ("ffn_up", "ffn.lin1", inner, wide),
                ("ffn_down", "ffn.lin2", wide, inner),
                ("layer_output_norm", "output_layer_norm", wide),
            ):
                yield from affine(f"blk.{layer}.{name}", f"transformer.layer.{layer}.{source}", *shape)


class _Rotation(msgspec.Struct, frozen=True):
    rope_theta: _Base | None = None
    rope_type: str = "default"
    full_attention: _Rotation | None = None
    sliding_attention: _Rotation | None = None


class _Rotary(Architecture, frozen=True):
    """With rotary positions. Newer versions of transformers write `rope_parameters` and `layer_types`, older ones a
    field each."""

    rope_parameters: _Rotation | None = None
    rope_scaling: dict[str, Any] | None = None
    rope_theta: _Base | None = None
    layer_types: list[str] | None = None

    def _bases(self, whole: float, local: float) -> dict[str, Value]:
        """Return the fields of the rotations, with these bases unless `rope_parameters` has others."""
        new = self.rope_parameters or _Rotation(rope_theta=self.rope_theta)
        both = (new.full_attention or new, new.sliding_attention or _Rotation())
        if self.rope_scaling or any(each.rope_type != "default" for each in both):
            raise ModelRejected("the model stretches its positions (rope scaling), which gnod does not convert")
        return {
            "{arch}.rope.freq_base": float(both[0].rope_theta or whole),
            "{arch}.rope.freq_base_swa": float(both[1].rope_theta or local),
        }

    def _is_local(self, every: int, *, global_first: bool) -> list[bool]:
        """Return for each layer whether its attention sees only a window."""
        if self.layer_types:
            if len(self.layer_types) != self.num_hidden_layers:
                raise ModelCorrupt("config.json names more or fewer types of layers than layers")
            return [each == "sliding_attention" for each in self.layer_types]
        return [(layer if global_first else layer + 1) % every != 0 for layer in range(self.num_hidden_layers)]


class ModernBert(_Rotary, frozen=True):
    llama = "modern-bert"
    prefixes = ("", "model.")
    first = "embeddings.tok_embeddings.weight"
    norm_eps: _Epsilon = 1e-5
    norm_bias: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    classifier_bias: bool = False
    classifier_pooling: str = "cls"
    hidden_activation: str = "gelu"
    classifier_activation: str = "gelu"
    local_attention: _Positive = 128
    global_attn_every_n_layers: _Positive = 3
    global_rope_theta: _Base = 160_000.0
    local_rope_theta: _Base | None = 10_000.0

    def fields(self) -> dict[str, Value]:
        if self.norm_bias or self.attention_bias or self.mlp_bias or self.hidden_activation not in ("gelu", "silu"):
            raise ModelRejected(
                f"llama.cpp cannot run this ModernBERT: with biases, or activation {self.hidden_activation} "
                "(needs gelu or silu)"
            )
        local = self.local_rope_theta or self.global_rope_theta
        return (
            super().fields()
            | self._bases(self.global_rope_theta, local)
            | {
                "{arch}.attention.layer_norm_epsilon": self.norm_eps,
                "{arch}.attention.causal": False,
                "{arch}.attention.sliding_window": self.local_attention,
                "{arch}.attention.sliding_window_pattern": self._is_local(
                    self.global_attn_every_n_layers, global_first=True
                ),
                "{arch}.rope.scaling.type": "none",
                "{arch}.hidden_activation": self.hidden_activation,
            }
        )

    def tensors(self) -> Iterator[Tensor]:
        wide, inner = self.hidden_size, self.intermediate_size
        yield one("token_embd.weight", self.first, self.vocab_size, wide)
        yield one("token_embd_norm.weight", "embeddings.norm.weight", wide)
        yield one("output_norm.weight", "final_norm.weight", wide)
        for layer in range(self.num_hidden_layers):
            for name, source, *shape in (
                ("attn_norm", "attn_norm", wide),
                ("attn_qkv", "attn.Wqkv", 3 * wide, wide),
                ("attn_output", "attn.Wo", wide, wide),
                ("ffn_norm", "mlp_norm", wide),
                ("ffn_up", "mlp.Wi", 2 * inner, wide),
                ("ffn_down", "mlp.Wo", wide, inner),
            ):
                if layer or name != "attn_norm":  # the first layer has none
                    yield one(f"blk.{layer}.{name}.weight", f"layers.{layer}.{source}.weight", *shape)

    def head(self) -> list[Tensor]:
        if self.classifier_bias or self.classifier_activation != "gelu":
            raise ModelRejected("llama.cpp cannot run the classification head of this ModernBERT")
        wide = self.hidden_size
        return [
            one("cls.weight", "head.dense.weight", wide, wide),
            one("cls.norm.weight", "head.norm.weight", wide),
            *affine("cls.output", "classifier", 1, wide),
        ]

    def head_fields(self) -> dict[str, Value]:
        if self.classifier_pooling not in ("cls", "mean"):
            raise ModelRejected(f"the classifier's pooling is {self.classifier_pooling}, neither cls nor mean")
        return {"{arch}.classifier.pooling_type": {"mean": 1, "cls": 2}[self.classifier_pooling]}


class _Decoder(_Rotary, frozen=True, kw_only=True):
    prefixes = ("", "model.")
    first = "embed_tokens.weight"
    num_key_value_heads: _Positive
    head_dim: _Positive
    rms_norm_eps: _Epsilon = 1e-6
    # Hugging Face's names of the norms of a layer, and what is added to the weights of all norms.
    _norms: ClassVar[Mapping[str, str]]
    _added: ClassVar[float] = 0.0

    @property
    def head_size(self) -> int:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ModelCorrupt("config.json: the heads cannot be shared by the heads of keys and values")
        return self.head_dim

    def fields(self) -> dict[str, Value]:
        return super().fields() | {
            "{arch}.attention.layer_norm_rms_epsilon": self.rms_norm_eps,
            "{arch}.attention.head_count_kv": self.num_key_value_heads,
        }

    def tensors(self) -> Iterator[Tensor]:
        wide, inner = self.hidden_size, self.intermediate_size
        queries, keys = self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim
        yield one("token_embd.weight", self.first, self.vocab_size, wide)
        yield self._norm("output_norm", "norm", wide)
        for layer in range(self.num_hidden_layers):
            for name, source, *shape in (
                ("attn_q", "self_attn.q_proj", queries, wide),
                ("attn_k", "self_attn.k_proj", keys, wide),
                ("attn_v", "self_attn.v_proj", keys, wide),
                ("attn_output", "self_attn.o_proj", wide, queries),
                ("ffn_gate", "mlp.gate_proj", inner, wide),
                ("ffn_up", "mlp.up_proj", inner, wide),
                ("ffn_down", "mlp.down_proj", wide, inner),
            ):
                yield one(f"blk.{layer}.{name}.weight", f"layers.{layer}.{source}.weight", *shape)
            for name, source in self._norms.items():
                yield self._norm(f"blk.{layer}.{name}", f"layers.{layer}.{source}", wide)
            for name in ("q", "k"):
                yield self._norm(
                    f"blk.{layer}.attn_{name}_norm", f"layers.{layer}.self_attn.{name}_norm", self.head_dim
                )

    def _norm(self, name: str, source: str, size: int) -> Tensor:
        return Tensor(f"{name}.weight", (size,), {f"{source}.weight": (size,)}, lambda values: values + self._added)


class Qwen3(_Decoder, frozen=True, kw_only=True):
    llama = "qwen3"
    attention_bias: bool = False
    _norms = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}

    def fields(self) -> dict[str, Value]:
        if self.attention_bias:
            raise ModelRejected("llama.cpp cannot run a Qwen3 with biases")
        bases = self._bases(10_000.0, 10_000.0)
        return super().fields() | {"{arch}.rope.freq_base": bases["{arch}.rope.freq_base"]}


class GemmaEmbedding(_Decoder, frozen=True, kw_only=True):
    """Gemma 3 that sees both ways: EmbeddingGemma."""

    llama = "gemma-embedding"
    _norms = {
        "attn_norm": "input_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    }
    _added = 1.0
    use_bidirectional_attention: bool = False
    sliding_window: _Positive = 512
    query_pre_attn_scalar: float
    rope_local_base_freq: _Base = 10_000.0
    sliding_window_pattern: _Positive | None = None
    attention_bias: bool = False

    def fields(self) -> dict[str, Value]:
        if not self.use_bidirectional_attention or self.attention_bias:
            raise ModelRejected("the model is a Gemma that generates text, not EmbeddingGemma")
        if self.query_pre_attn_scalar != self.head_dim:
            raise ModelRejected("llama.cpp cannot run a Gemma whose attention is not scaled by the size of its heads")
        return (
            super().fields()
            | self._bases(1_000_000.0, self.rope_local_base_freq)
            | {
                "{arch}.attention.sliding_window": self.sliding_window,
                "{arch}.attention.sliding_window_pattern": self._is_local(
                    self.sliding_window_pattern or 6, global_first=False
                ),
                "{arch}.attention.causal": False,
            }
        )


ARCHITECTURES: Mapping[str, type[Architecture]] = {
    "bert": Bert,
    "roberta": Bert,
    "xlm-roberta": Bert,
    "camembert": Bert,
    "distilbert": DistilBert,
    "modernbert": ModernBert,
    "qwen3": Qwen3,
    "gemma3_text": GemmaEmbedding,
}
"""By the `model_type` of Hugging Face's configuration."""
