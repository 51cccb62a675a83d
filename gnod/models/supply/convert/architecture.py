"""What all architectures have in common: from Hugging Face's configuration and names of tensors to llama.cpp's.

Reads no file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.supply.convert.gguf_file import Value

# llama.cpp's LLAMA_MAX_LAYERS. With more layers, the library aborts the process.
MAX_LAYERS = 512

Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=1 << 24)]
Epsilon = Annotated[float, msgspec.Meta(gt=0, lt=1)]
Base = Annotated[float, msgspec.Meta(ge=1)]
_Shape = tuple[int, ...]

Floats = NDArray[np.float32]


class ConvertedTensor(NamedTuple):
    """A tensor of the GGUF file, made of Hugging Face's. `exact`: llama.cpp needs it in float32."""

    name: str
    shape: _Shape
    sources: Mapping[str, _Shape]
    make: Callable[..., Floats] = lambda values: values
    exact: bool = False


def one(name: str, source: str, *shape: int, exact: bool = False) -> ConvertedTensor:
    return ConvertedTensor(name, shape, {source: shape}, exact=exact)


def affine(name: str, source: str, *shape: int) -> list[ConvertedTensor]:
    """Return a matrix and its bias, or both parts of a norm."""
    return [one(f"{name}.weight", f"{source}.weight", *shape), one(f"{name}.bias", f"{source}.bias", shape[0])]


class Architecture(msgspec.Struct, frozen=True):
    """A `config.json`. `llama`: llama.cpp's name; `prefixes`: what Hugging Face may put before the tensors' names;
    `first`: a tensor that every such model has."""

    llama: ClassVar[str]
    prefixes: ClassVar[Sequence[str]]
    first: ClassVar[str]
    hidden_size: Positive
    num_hidden_layers: Annotated[int, msgspec.Meta(ge=1, le=MAX_LAYERS)]
    num_attention_heads: Positive
    intermediate_size: Positive
    vocab_size: Positive
    max_position_embeddings: Positive

    @property
    def positions(self) -> int:
        """Return the most tokens at once."""
        return self.max_position_embeddings

    @property
    def head_size(self) -> int:
        if self.hidden_size % self.num_attention_heads:
            raise ModelCorrupt(
                f"config.json: {self.hidden_size} dimensions cannot be divided among {self.num_attention_heads} heads"
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

    def tensors(self) -> Iterator[ConvertedTensor]:
        raise NotImplementedError

    def head(self) -> list[ConvertedTensor]:
        """Return the classification head of one class. Its tensors have no prefix."""
        raise ModelRejected(f"llama.cpp cannot run the classification head of a {self.llama} model")

    def head_fields(self) -> dict[str, Value]:
        """Return the fields of a model with a classification head."""
        return {}

    def with_second_text(self, tensors: Iterator[ConvertedTensor]) -> tuple[list[ConvertedTensor], int]:
        """Return the tensors of a model that reads pairs, and how far the second text's tokens are shifted."""
        return list(tensors), 0
