"""Models with rotary positions: ModernBERT, and language models that were trained to embed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import msgspec

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.supply.convert.architecture import Architecture, Base, ConvertedTensor, Epsilon, Positive, affine, one
from gnod.models.supply.convert.gguf_file import Value


class _Rotation(msgspec.Struct, frozen=True):
    rope_theta: Base | None = None
    rope_type: str = "default"
    full_attention: _Rotation | None = None
    sliding_attention: _Rotation | None = None


class _Rotary(Architecture, frozen=True):
    """With rotary positions. Newer versions of transformers write `rope_parameters` and `layer_types`, older ones a
    field each."""

    rope_parameters: _Rotation | None = None
    rope_scaling: dict[str, Any] | None = None
    rope_theta: Base | None = None
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
            return [layer_type == "sliding_attention" for layer_type in self.layer_types]
        return [(layer if global_first else layer + 1) % every != 0 for layer in range(self.num_hidden_layers)]


class ModernBert(_Rotary, frozen=True):
    llama = "modern-bert"
    prefixes = ("", "model.")
    first = "embeddings.tok_embeddings.weight"
    norm_eps: Epsilon = 1e-5
    norm_bias: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    classifier_bias: bool = False
    classifier_pooling: str = "cls"
    hidden_activation: str = "gelu"
    classifier_activation: str = "gelu"
    local_attention: Positive = 128
    global_attn_every_n_layers: Positive = 3
    global_rope_theta: Base = 160_000.0
    local_rope_theta: Base | None = 10_000.0

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

    def tensors(self) -> Iterator[ConvertedTensor]:
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
                if layer or name != "attn_norm":  # the first layer has no such norm
                    yield one(f"blk.{layer}.{name}.weight", f"layers.{layer}.{source}.weight", *shape)

    def head(self) -> list[ConvertedTensor]:
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
    num_key_value_heads: Positive
    head_dim: Positive
    rms_norm_eps: Epsilon = 1e-6
    # Hugging Face's names of the norms of a layer, and the number that is added to the weights of all norms.
    _norms: ClassVar[Mapping[str, str]]
    _added: ClassVar[float] = 0.0

    @property
    def head_size(self) -> int:
        if self.num_attention_heads % self.num_key_value_heads:
            raise ModelCorrupt("config.json: the heads cannot be divided among the heads of keys and values")
        return self.head_dim

    def fields(self) -> dict[str, Value]:
        return super().fields() | {
            "{arch}.attention.layer_norm_rms_epsilon": self.rms_norm_eps,
            "{arch}.attention.head_count_kv": self.num_key_value_heads,
        }

    def tensors(self) -> Iterator[ConvertedTensor]:
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

    def _norm(self, name: str, source: str, size: int) -> ConvertedTensor:
        return ConvertedTensor(
            f"{name}.weight", (size,), {f"{source}.weight": (size,)}, lambda values: values + self._added
        )


class Qwen3(_Decoder, frozen=True, kw_only=True):
    llama = "qwen3"
    attention_bias: bool = False
    _norms: ClassVar = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm"}

    def fields(self) -> dict[str, Value]:
        if self.attention_bias:
            raise ModelRejected("llama.cpp cannot run a Qwen3 with biases")
        bases = self._bases(10_000.0, 10_000.0)
        return super().fields() | {"{arch}.rope.freq_base": bases["{arch}.rope.freq_base"]}


class GemmaEmbedding(_Decoder, frozen=True, kw_only=True):
    """Gemma 3 that sees both ways: EmbeddingGemma."""

    llama = "gemma-embedding"
    _norms: ClassVar = {
        "attn_norm": "input_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    }
    _added = 1.0
    use_bidirectional_attention: bool = False
    sliding_window: Positive = 512
    query_pre_attn_scalar: float
    rope_local_base_freq: Base = 10_000.0
    sliding_window_pattern: Positive | None = None
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
