"""BERT and its relatives with learned positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec
import numpy as np

from gnod.errors import ModelRejected
from gnod.models.supply.convert.architecture import (
    MAX_LAYERS,
    Architecture,
    ConvertedTensor,
    Epsilon,
    Floats,
    Natural,
    Positive,
    affine,
    one,
)
from gnod.models.supply.convert.gguf_file import Value


class Bert(Architecture, frozen=True):
    """BERT, and RoBERTa, XLM-RoBERTa and CamemBERT, whose positions begin after the padding's."""

    llama = "bert"
    prefixes = ("", "bert.", "roberta.")
    first = "embeddings.word_embeddings.weight"
    model_type: str
    type_vocab_size: Positive = 2
    layer_norm_eps: Epsilon = 1e-12
    pad_token_id: Natural | None = None
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

    def tensors(self) -> Iterator[ConvertedTensor]:
        wide, inner = self.hidden_size, self.intermediate_size
        words, places, offset = "embeddings.word_embeddings.weight", self.max_position_embeddings, self._offset
        yield one("token_embd.weight", words, self.vocab_size, wide)
        yield ConvertedTensor(
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

    def head(self) -> list[ConvertedTensor]:
        dense, out = (
            ("bert.pooler.dense", "classifier")
            if self.model_type == "bert"
            else ("classifier.dense", "classifier.out_proj")
        )
        wide = self.hidden_size
        return [*affine("cls", dense, wide, wide), *affine("cls.output", out, 1, wide)]

    def with_second_text(self, tensors: Iterator[ConvertedTensor]) -> tuple[list[ConvertedTensor], int]:
        """llama.cpp gives every token type 0. So the words of the second text are words of their own, whose embedding
        contains the difference between the types."""
        rest = list(tensors)
        if self.type_vocab_size < 2:
            return rest, 0
        words, _, types, *_ = rest
        sources = {**words.sources, **types.sources}

        def both(values: Floats, kinds: Floats) -> Floats:
            return np.concatenate([values, values + (kinds[1] - kinds[0])])

        rest[0] = ConvertedTensor(words.name, (2 * self.vocab_size, self.hidden_size), sources, both)
        return rest, self.vocab_size


class DistilBert(Architecture, frozen=True):
    llama = "bert"
    prefixes = ("", "distilbert.")
    first = "embeddings.word_embeddings.weight"
    hidden_size: Positive = msgspec.field(name="dim")
    num_hidden_layers: Annotated[int, msgspec.Meta(ge=1, le=MAX_LAYERS)] = msgspec.field(name="n_layers")
    num_attention_heads: Positive = msgspec.field(name="n_heads")
    intermediate_size: Positive = msgspec.field(name="hidden_dim")
    activation: str = "gelu"

    def fields(self) -> dict[str, Value]:
        if self.activation != "gelu":
            raise ModelRejected(f"llama.cpp cannot run this DistilBERT: activation {self.activation} (needs gelu)")
        return super().fields() | {
            "{arch}.attention.layer_norm_epsilon": 1e-12,
            "{arch}.attention.causal": False,
            "tokenizer.ggml.token_type_count": 1,
        }

    def tensors(self) -> Iterator[ConvertedTensor]:
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
