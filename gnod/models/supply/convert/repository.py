"""Convert a repository with safetensors, as transformers and sentence-transformers lay it out, to GGUF.

What the model is, and whether it can be converted, is in its small files and in the headers of its weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import gguf
import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.errors import ModelCorrupt, ModelRejected
from gnod.models import gguf_keys, profiles
from gnod.models.output_layers import Dense, Layer, Normalize
from gnod.models.profiles import Profile
from gnod.models.supply.convert import gguf_file, layout, tokenizer
from gnod.models.supply.convert.architecture import Architecture, ConvertedTensor
from gnod.models.supply.convert.architectures import ARCHITECTURES
from gnod.models.supply.convert.gguf_file import TensorWeights, Value
from gnod.models.supply.convert.json_file import read_json
from gnod.models.supply.convert.layout import DenseFile, LayoutConfig, Module, SentencesFile, TransformerFile
from gnod.models.supply.convert.safetensors import SafeTensors

WeightsType = Literal["f32", "f16", "bf16", "q8_0"]

_CLASSIFIER = "ForSequenceClassification"
# Models with short windows were trained on a few sentences, and gnod embeds texts of that length (docs/adr/0013).
_SHORT_WINDOW = 512
_PASSED = ("Dropout",)


class Remote(NamedTuple):
    """A file of weights that is not here yet."""

    header: bytes
    size: int


class ConversionPlan:
    """How a repository becomes a GGUF file. Raises ModelRejected for a model that cannot be converted, and
    ModelCorrupt. `remote`: the weights that are not in the folder yet, by their paths in it; `name`: an address."""

    def __init__(self, folder: Path, name: str, remote: Mapping[str, Remote] | None = None) -> None:
        self._folder, self._remote = folder, remote or {}
        self._modules = layout.read_modules(folder)
        self._root = layout.root(self._modules)
        config, self._architecture = read_config(folder / self._root)
        stored = self._stored(self._root)
        model = self._architecture
        self.fields: dict[str, Value] = {"general.name": name, "tokenizer.ggml.model": "none"} | model.fields()
        self._prefix = next((prefix for prefix in model.prefixes if prefix + model.first in stored), "")
        tail = [module for module in self._modules if module.kind not in ("Transformer", *_PASSED)]
        if not tail and (config.architectures or [""])[0].endswith(_CLASSIFIER):
            self.tensors = self._cross_encoder(config, stored)
        else:
            if not self._modules and not (config.architectures or ["Model"])[0].endswith("Model"):
                raise ModelRejected(
                    f"it is a {(config.architectures or [''])[0]}, neither a sentence encoder nor a cross-encoder: it "
                    "lacks modules.json"
                )
            self.tensors = self._encoder(tail, stored)
        if "{arch}.vocab_size" not in self.fields:
            self.fields["{arch}.vocab_size"] = model.vocab_size
        self.profile = self._profile(name)

    def write(self, target: Path, weights: WeightsType = "f16") -> Profile:
        """Write the file; all others must be there now. Matrices lose precision unless `weights` is f32."""
        root = self._folder / self._root
        lowercase = layout.optional(root / "sentence_bert_config.json", TransformerFile).do_lower_case
        text = tokenizer.read(root, self._architecture.vocab_size, lowercase=lowercase)
        kind = gguf.GGMLQuantizationType[weights.upper()]
        fields = self.fields | {gguf_keys.TOKENIZER: text} | self._output_fields()
        gguf_file.write(target, self._architecture.llama, fields, self.tensors, weights=kind)
        return self.profile

    def _encoder(self, tail: list[Module], stored: SafeTensors) -> list[TensorWeights]:
        """Return the weights of a model that pools; set the fields for that."""
        poolings = [module for module in tail if module.kind == "Pooling"]
        if self._modules and (len(poolings) != 1 or tail[0] is not poolings[0]):
            kinds = ", ".join(module.kind for module in self._modules)
            raise ModelRejected(f"its modules are {kinds}; gnod converts those with one Pooling after the Transformer")
        for module in tail[1:]:
            if module.kind not in ("Dense", "Normalize", "LayerNorm"):
                raise ModelRejected(f"it has a module {module.type}, which gnod cannot run")
        self._tail = tail[1:]
        pooling = layout.pooling(self._folder / poolings[0].path / "config.json") if poolings else gguf.PoolingType.MEAN
        if self._tail and self._tail[-1].kind == "Dense" and self._dense(self._tail[-1]).out_features == 1:
            self.fields["{arch}.pooling_type"] = int(gguf.PoolingType.RANK)
            self.fields["{arch}.classifier.pooling_type"] = int(pooling)
            return [*self._pair_encoder(stored), *self._modular_head(pooling)]
        self.fields["{arch}.pooling_type"] = int(pooling)
        self._check_output()
        return [self._weights(tensor, stored) for tensor in self._architecture.tensors()]

    def _cross_encoder(self, config: LayoutConfig, stored: SafeTensors) -> list[TensorWeights]:
        """Return the weights of a model that scores pairs; set the fields for that."""
        labels = config.num_labels if config.id2label is None else len(config.id2label)
        if labels != 1:
            raise ModelRejected(f"it sorts texts into {labels} classes; a reranker has one score")
        model = self._architecture
        self._tail = []
        self.fields["{arch}.pooling_type"] = int(gguf.PoolingType.RANK)
        self.fields |= model.head_fields()
        return [*self._pair_encoder(stored), *(self._weights(tensor, stored, prefix="") for tensor in model.head())]

    def _pair_encoder(self, stored: SafeTensors) -> list[TensorWeights]:
        """Return the weights of an encoder of pairs, without its head; set the fields for the second text."""
        model = self._architecture
        inputs = tokenizer.settings(self._folder / self._root).model_input_names
        has_types = inputs is None or "token_type_ids" in inputs
        tensors, shift = model.with_second_text(model.tensors()) if has_types else (list(model.tensors()), 0)
        if shift:
            self.fields |= {"{arch}.vocab_size": 2 * model.vocab_size, gguf_keys.SECOND_TEXT: shift}
        return [self._weights(tensor, stored) for tensor in tensors]

    def _modular_head(self, pooling: gguf.PoolingType) -> list[TensorWeights]:
        """Return the weights of a head made of modules: Dense and LayerNorm perhaps, then Dense with one output."""
        *before, last = self._tail
        kinds = [module.kind for module in before]
        wide, is_modern = self._architecture.hidden_size, self._architecture.llama == "modern-bert"
        settings = [self._dense(module) for module in before if module.kind == "Dense"]
        activations = [layout.activation(each) for each in settings]
        fits = kinds in ([], ["Dense"]) or (is_modern and kinds == ["Dense", "LayerNorm"])
        fits &= activations in ([], ["GELU" if is_modern else "Tanh"]) and not any(
            each.bias for each in settings if is_modern
        )
        if not fits or (not is_modern and pooling is not gguf.PoolingType.CLS):
            raise ModelRejected("llama.cpp cannot run the head of this cross-encoder")
        found = []
        for module in before:
            if module.kind == "Dense":
                found.append(self._array("cls.weight", module, "linear.weight", wide, wide))
                if self._dense(module).bias:
                    found.append(self._array("cls.bias", module, "linear.bias", wide))
            else:
                found.append(self._array("cls.norm.weight", module, "norm.weight", wide))
        output = self._array("cls.output.weight", last, "linear.weight", 1, wide)
        shift = [self._array("", module, "norm.bias", wide) for module in before if module.kind == "LayerNorm"]
        bias = [self._array("", last, "linear.bias", 1)] if self._dense(last).bias else []

        def read_bias() -> NDArray[np.float32]:
            """Return the output's bias with that of the norm before it, which llama.cpp lacks."""
            parts = [bia.read() for bia in bias] + [output.read() @ each.read() for each in shift]
            total: NDArray[np.float32] = np.sum([np.zeros(1, np.float32), *parts], axis=0, dtype=np.float32)
            return total

        self._tail = []
        return [*found, output, TensorWeights("cls.output.bias", (1,), read_bias)]

    def _array(self, name: str, module: Module, source: str, *shape: int) -> TensorWeights:
        stored = self._stored(module.path)
        stored.check(source, shape)
        return TensorWeights(name, shape, partial(stored.read, source, shape))

    def _weights(self, tensor: ConvertedTensor, stored: SafeTensors, prefix: str | None = None) -> TensorWeights:
        prefix = self._prefix if prefix is None else prefix
        sources = {_named(stored, prefix + name): shape for name, shape in tensor.sources.items()}
        for name, shape in sources.items():
            stored.check(name, shape)

        def read() -> NDArray[np.float32]:
            made: NDArray[np.float32] = tensor.make(*(stored.read(name, shape) for name, shape in sources.items()))
            return made

        return TensorWeights(tensor.name, tensor.shape, read, exact=tensor.exact)

    def _check_output(self) -> None:
        """Raise unless the layers after the pooling fit together."""
        size = self._architecture.hidden_size
        for module in self._tail:
            if module.kind == "LayerNorm":
                raise ModelRejected("it has a LayerNorm after its pooling, which gnod cannot run")
            if module.kind == "Dense":
                dense, stored = self._dense(module), self._stored(module.path)
                if dense.in_features != size:
                    raise ModelCorrupt(f"{module.path} takes {dense.in_features} values; it is given {size}")
                layout.activation(dense)
                size = dense.out_features
                stored.check("linear.weight", (size, dense.in_features))
                if dense.bias:
                    stored.check("linear.bias", (size,))

    def _output_fields(self) -> dict[str, Value]:
        layers: list[Layer] = []
        for module in self._tail:
            if module.kind == "Normalize":
                layers.append(Normalize())
                continue
            dense = self._dense(module)
            stored = self._stored(module.path)
            rows, columns = dense.out_features, dense.in_features
            layers.append(
                Dense(
                    inputs=columns,
                    outputs=rows,
                    activation=layout.activation(dense),
                    weight=stored.read("linear.weight", (rows, columns)).astype("<f4").tobytes(),
                    bias=stored.read("linear.bias", (rows,)).astype("<f4").tobytes() if dense.bias else b"",
                )
            )
        # gnod scales every vector to length 1 at the end.
        while layers and isinstance(layers[-1], Normalize):
            layers.pop()
        return {gguf_keys.OUTPUT_LAYERS: msgspec.json.encode(layers).decode()} if layers else {}

    def _dense(self, module: Module) -> DenseFile:
        return read_json(self._folder / module.path / "config.json", DenseFile)

    def _stored(self, module: str) -> SafeTensors:
        """Return the tensors of a module, by the headers if its weights are not here yet."""
        found = SafeTensors()
        here = []
        for path in layout.weight_files(self._folder, module):
            if remote := self._remote.get(path):
                found.add(self._folder / path, remote.header, remote.size)
            else:
                here.append(self._folder / path)
        return found if not here else SafeTensors(here)

    def _profile(self, name: str) -> Profile:
        root = self._folder / self._root
        limits = (
            layout.optional(root / "sentence_bert_config.json", TransformerFile).max_seq_length,
            tokenizer.settings(root).model_max_length,
            self._architecture.positions,
        )
        window = int(min(limit for limit in limits if limit and limit > 0))
        if window < 3:
            raise ModelCorrupt(f"the model reads at most {window} tokens, special ones included")
        piece = profiles.FEW_SENTENCES if window <= _SHORT_WINDOW else None
        sentences = layout.optional(self._folder / "config_sentence_transformers.json", SentencesFile)
        return profiles.stated(sentences.prompts, sentences.default_prompt_name, name, window=window, piece=piece)


def accepts(model: Path) -> bool:
    return (model / "config.json").is_file() or (model / "modules.json").is_file()


def convert(model: Path, target: Path, *, name: str = "", weights: WeightsType = "f16") -> Profile:
    """Write the model of a folder to `target` as GGUF and return its profile. Raises ModelCorrupt, ModelRejected."""
    return ConversionPlan(model, name or f"file:{model}").write(target, weights)


def read_config(root: Path) -> tuple[LayoutConfig, Architecture]:
    """Return what `config.json` says. Raises ModelRejected for an architecture that cannot be converted, and
    ModelCorrupt."""
    path = root / "config.json"
    if not path.exists():
        raise ModelRejected("it has no config.json")
    config = read_json(path, LayoutConfig)
    known = ARCHITECTURES.get(config.model_type)
    if known is None:
        raise ModelRejected(
            f"it is of type {config.model_type}; gnod converts {', '.join(ARCHITECTURES)}. A language model needs a "
            "GGUF file: name one, as in hf:org/repo/file.gguf"
        )
    return config, read_json(path, known)


def _named(stored: SafeTensors, name: str) -> str:
    """Return the tensor's name in the file: old BERTs call the parts of a norm gamma and beta."""
    for new, old in (("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")):
        if name.endswith(new) and name not in stored:
            older = name.removesuffix(new) + old
            return older if older in stored else name
    return name
