"""What the files of a repository say: those of transformers, and the modules of sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models.output_layers import ACTIVATIONS
from gnod.models.supply.convert.json_file import read_json

if TYPE_CHECKING:
    import gguf

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
SMALL_FILES = frozenset(
    {
        "config.json",
        "modules.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
        "tokenizer_config.json",
        INDEX,
    }
)
"""What a conversion's plan reads, besides the headers of the weights."""

_Size = Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
_T = TypeVar("_T")


class LayoutConfig(msgspec.Struct, frozen=True):
    model_type: str
    architectures: list[str] | None = None
    id2label: dict[str, Any] | None = None
    num_labels: int = 2


class Module(msgspec.Struct, frozen=True):
    path: str
    type: str

    @property
    def kind(self) -> str:
        return self.type.rpartition(".")[2]


class _Pooling(msgspec.Struct, frozen=True):
    pooling_mode: str | list[str] | None = None
    pooling_mode_cls_token: bool = False
    pooling_mode_mean_tokens: bool = False
    pooling_mode_max_tokens: bool = False
    pooling_mode_mean_sqrt_len_tokens: bool = False
    pooling_mode_weightedmean_tokens: bool = False
    pooling_mode_lasttoken: bool = False
    include_prompt: bool = True

    def modes(self) -> list[str]:
        if self.pooling_mode is not None:
            return [self.pooling_mode] if isinstance(self.pooling_mode, str) else self.pooling_mode
        names = [name for name in self.__struct_fields__ if name.startswith("pooling_mode_") and getattr(self, name)]
        return [name.removeprefix("pooling_mode_").removesuffix("_token").removesuffix("_tokens") for name in names]


class DenseFile(msgspec.Struct, frozen=True):
    in_features: _Size
    out_features: _Size
    bias: bool = True
    activation_function: str = "torch.nn.modules.activation.Tanh"
    use_residual: bool = False


class TransformerFile(msgspec.Struct, frozen=True):
    max_seq_length: _Size | None = None
    do_lower_case: bool = False


class SentencesFile(msgspec.Struct, frozen=True):
    prompts: dict[str, str] | None = None
    default_prompt_name: str | None = None


def weight_files(folder: Path, module: str = "") -> list[str]:
    """Return the paths of a module's weights, relative to the folder. Raises ModelCorrupt."""
    index = folder / module / INDEX
    if not index.exists():
        return [_inside(module, WEIGHTS)]

    class Index(msgspec.Struct):
        weight_map: dict[str, str]

    names = sorted(set(read_json(index, Index).weight_map.values()))
    if not names or any("/" in name or not name.endswith(".safetensors") for name in names):
        raise ModelCorrupt(f"{INDEX} names files that are not weights")
    return [_inside(module, name) for name in names]


def read_modules(folder: Path) -> list[Module]:
    """Return the modules of sentence-transformers in their order; empty for a plain model."""
    path = folder / "modules.json"
    modules = read_json(path, list[Module]) if path.exists() else []
    for module in modules:
        if module.path.startswith("/") or "/" in module.path.strip("/") or ".." in module.path:
            raise ModelCorrupt(f"modules.json names a folder {module.path!r}")
    return modules


def root(modules: list[Module]) -> str:
    """Return the folder of the transformer itself."""
    return next((module.path for module in modules if module.kind == "Transformer"), "")


def modules_with_weights(folder: Path) -> Iterable[str]:
    """Return the folders of the modules that have weights."""
    modules = read_modules(folder)
    named = {module.path for module in modules if module.kind in ("Dense", "LayerNorm", "Transformer")}
    return sorted(named) or [""]


def _inside(module: str, name: str) -> str:
    return f"{module}/{name}" if module else name


def pooling(path: Path) -> gguf.PoolingType:
    import gguf  # the import takes 0.1 s, which is not needed to ask for the size of a model

    settings = read_json(path, _Pooling)
    known = {"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS, "lasttoken": gguf.PoolingType.LAST}
    modes = settings.modes()
    if len(modes) != 1 or modes[0] not in known or not settings.include_prompt:
        text = ", ".join(modes) or "none"
        raise ModelRejected(
            f"its pooling is {text}; gnod supports the mean, the first and the last token, with prompts"
        )
    return known[modes[0]]


def activation(dense: DenseFile) -> str:
    name = dense.activation_function.rpartition(".")[2]
    if name not in ACTIVATIONS or dense.use_residual:
        raise ModelRejected(f"it has a Dense layer with {dense.activation_function}, which gnod cannot run")
    return name


def optional(path: Path, shape: type[_T]) -> _T:
    """Return the content of a file, or the defaults if it is missing. Raises ModelCorrupt."""
    return read_json(path, shape) if path.exists() else shape()
