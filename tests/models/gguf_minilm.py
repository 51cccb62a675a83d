"""all-MiniLM-L6-v2 as a GGUF file, in the form of llama.cpp's own converter."""

from __future__ import annotations

import json
from pathlib import Path

import gguf
import msgspec

from gnod.models.supply.encoders.safetensors import SafeTensors
from tests.models import gguf_replicas
from tests.models.gguf import gguf_file
from tests.models.gguf.bert import Bert
from tests.models.gguf.gguf_file import Value


def write(folder: Path, target: Path) -> None:
    """Write the model of a folder in the layout of its repository."""
    config = msgspec.json.decode((folder / "config.json").read_bytes(), type=Bert)
    stored = SafeTensors(folder / "model.safetensors")
    tensors = []
    for tensor in config.tensors():
        model = {name: stored.read(name, shape) for name, shape in tensor.sources.items()}
        tensors.append(gguf_replicas.weights(tensor, model, ""))
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    fields: dict[str, Value] = config.fields() | gguf_replicas.tokenizer_fields(tokenizer, "words")
    fields["{arch}.pooling_type"] = int(gguf.PoolingType.MEAN)
    gguf_file.write(target, "bert", fields, tensors, weights=gguf.GGMLQuantizationType.F16)
