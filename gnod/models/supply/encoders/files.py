"""Reads the small files of a repository: those of transformers, of tokenizers and of sentence-transformers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from tokenizers import Tokenizer, normalizers

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.encoder import ACTIVATIONS, Pooling

WEIGHTS = "model.safetensors"
SMALL_FILES = frozenset(
    {
        "config.json",
        "modules.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "tokenizer_config.json",
        "tokenizer.json",
    }
)
"""These files decide whether gnod can use the repository. They are downloaded first."""

_Size = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
_T = TypeVar("_T")
_MODE = "pooling_mode_"
_POOLINGS: dict[str, Pooling] = {"mean": "mean", "cls": "first", "lasttoken": "last"}


class TransformerConfig(msgspec.Struct, frozen=True):
    model_type: str
    architectures: list[str] | None = None
    id2label: dict[str, Any] | None = None
    num_labels: int = 2
    hidden_size: _Size | None = None
    max_position_embeddings: _Size | None = None

    @property
    def is_classifier(self) -> bool:
        return (self.architectures or [""])[0].endswith("ForSequenceClassification")

    @property
    def labels(self) -> int:
        return self.num_labels if self.id2label is None else len(self.id2label)


class Module(msgspec.Struct, frozen=True):
    path: str
    type: str

    @property
    def kind(self) -> str:
        return self.type.rpartition(".")[2]


class DenseFile(msgspec.Struct, frozen=True):
    in_features: _Size
    out_features: _Size
    bias: bool = True
    activation_function: str = "torch.nn.modules.activation.Tanh"
    use_residual: bool = False

    @property
    def activation(self) -> str:
        """Return the name of the activation. Raises ModelRejected for an unknown one."""
        name = self.activation_function.rpartition(".")[2]
        if name not in ACTIVATIONS or self.use_residual:
            raise ModelRejected(f"it has a Dense layer with {self.activation_function}, which gnod cannot run")
        return name


class TransformerFile(msgspec.Struct, frozen=True):
    max_seq_length: _Size | None = None
    do_lower_case: bool = False


class TokenizerFile(msgspec.Struct, frozen=True):
    """`model_max_length` is a huge number if there is no limit."""

    model_max_length: float | None = None


class SentencesFile(msgspec.Struct, frozen=True):
    prompts: dict[str, str] | None = None
    default_prompt_name: str | None = None


def read_json(path: Path, shape: type[_T]) -> _T:
    """Return the validated content. Raises ModelCorrupt, including for a missing file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except OSError as error:
        raise ModelCorrupt(f"{path.name} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelCorrupt(f"{path.name} is damaged: {error}") from None


def optional(path: Path, shape: type[_T]) -> _T:
    """Return the content of a file, or the defaults if it is missing. Raises ModelCorrupt."""
    return read_json(path, shape) if path.exists() else shape()


def read_modules(folder: Path) -> list[Module]:
    """Return the modules of sentence-transformers in their order; empty for a plain model."""
    path = folder / "modules.json"
    modules = read_json(path, list[Module]) if path.exists() else []
    for module in modules:
        if module.path.startswith("/") or "/" in module.path.strip("/") or ".." in module.path:
            raise ModelCorrupt(f"modules.json names a folder {module.path!r}")
    return modules


def pooling(path: Path) -> Pooling:
    """Return the pooling. `pooling_mode` is one name or a list; older files have one field for each pooling."""
    settings = read_json(path, dict[str, Any])
    named = settings.get("pooling_mode")
    modes = [str(mode) for mode in (named if isinstance(named, list) else [named])]
    if named is None:
        fields = [name.removeprefix(_MODE) for name, is_set in settings.items() if name.startswith(_MODE) and is_set]
        modes = [re.sub("_tokens?$", "", field) for field in fields]
    if len(modes) != 1 or modes[0] not in _POOLINGS or not settings.get("include_prompt", True):
        text = ", ".join(modes) or "none"
        raise ModelRejected(
            f"its pooling is {text}; gnod supports the mean, the first and the last token, with prompts"
        )
    return _POOLINGS[modes[0]]


def tokenizer(folder: Path, vocabulary: int | None, *, lowercase: bool = False) -> Tokenizer:
    """Return the tokenizer for a model whose vocabulary has `vocabulary` words. `lowercase`: every text is lowercased
    first. Raises ModelCorrupt, ModelRejected."""
    if not (folder / "tokenizer.json").exists():
        raise ModelRejected("the repository has no tokenizer.json, and gnod cannot read its tokenizer in another form")
    text = read_json(folder / "tokenizer.json", msgspec.Raw)  # this checks that it is JSON
    try:
        made = Tokenizer.from_str(bytes(text).decode())
    except Exception as error:  # the library raises nothing more specific
        raise ModelCorrupt(f"tokenizer.json is damaged, or newer than the tokenizers library: {error}") from None
    made.no_padding()
    made.no_truncation()
    ids = made.get_vocab(with_added_tokens=True).values()
    if not ids or (vocabulary and max(ids) >= vocabulary):
        raise ModelCorrupt(f"the tokenizer has {len(ids)} tokens, more than the model's vocabulary of {vocabulary}")
    if lowercase:
        own = [made.normalizer] if made.normalizer else []
        made.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
    return made
