"""Cross-encoders with random weights in the shape of published ones. Their speed is that of the originals."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordPiece

from gnod.errors import ModelRejected
from gnod.models.run.llama.ranking import RankingEngine
from gnod.models.run.messages import ModelSpec
from gnod.models.supply.convert import repository
from gnod.models.supply.convert.architectures import ARCHITECTURES

_LABEL = {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
_MINILM = {
    "model_type": "bert",
    "architectures": ["BertForSequenceClassification"],
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "vocab_size": 30522,
    "max_position_embeddings": 512,
    **_LABEL,
}
_ETTIN = {
    "model_type": "modernbert",
    "architectures": ["ModernBertForSequenceClassification"],
    "hidden_size": 256,
    "num_hidden_layers": 7,
    "num_attention_heads": 4,
    "intermediate_size": 384,
    "vocab_size": 50368,
    "max_position_embeddings": 7999,
    "local_attention": 128,
    "global_attn_every_n_layers": 3,
    "global_rope_theta": 160000.0,
    "local_rope_theta": 10000.0,
    "classifier_pooling": "mean",
    **_LABEL,
}
SHAPES: dict[str, dict[str, Any]] = {"MiniLM-L6 (22M)": _MINILM, "ettin-17m": _ETTIN}

_SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789.,;?!'-"
_PREFIXES = {"bert": "bert.", "modernbert": "model."}
# Of weights that pass the self-test of a reranker, with the present NumPy; about one in twenty does.
_SEEDS = {"MiniLM-L6 (22M)": 26, "ettin-17m": 1}
_MOST_SEEDS = 100


def write(path: Path, shape: str) -> None:
    """Write one of SHAPES as GGUF, with weights that pass the self-test of a reranker."""
    for seed in range(_SEEDS[shape], _SEEDS[shape] + _MOST_SEEDS):
        with TemporaryDirectory() as folder:
            _write_repository(Path(folder), SHAPES[shape], seed)
            profile = repository.convert(Path(folder), path)
        try:
            RankingEngine(ModelSpec(path=str(path), window=profile.window, gpu=False)).close()
        except ModelRejected:
            continue
        return
    raise SystemExit(f"none of {_MOST_SEEDS} random models of the shape {shape} passes the self-test")


def tokenizer() -> Tokenizer:
    """Return their tokenizer: each character is a token."""
    pieces = [*_SPECIALS, *_SIGNS, *(f"##{sign}" for sign in _SIGNS)]
    made = Tokenizer(WordPiece({piece: number for number, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, _SPECIALS.index(name)) for name in ("[CLS]", "[SEP]")],
    )
    return made


def _write_repository(folder: Path, config: dict[str, Any], seed: int) -> None:
    (folder / "config.json").write_text(json.dumps(config))
    tokenizer().save(str(folder / "tokenizer.json"))
    architecture = msgspec.convert(config, ARCHITECTURES[config["model_type"]])
    prefix = _PREFIXES[config["model_type"]]
    random = np.random.default_rng(seed)
    tensors: dict[str, NDArray[np.float32]] = {}
    for where, each in (*((prefix, each) for each in architecture.tensors()), *(("", e) for e in architecture.head())):
        for name, shape in each.sources.items():
            is_norm = "norm" in name.lower() and name.endswith("weight")
            tensors[where + name] = random.normal(float(is_norm), 0.05, shape).astype(np.float32)
    (folder / "model.safetensors").write_bytes(_safetensors(tensors))


def _safetensors(tensors: dict[str, NDArray[np.float32]]) -> bytes:
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + b"".join(values.tobytes() for values in tensors.values())
