"""Models as GGUF files in the form of llama.cpp's own converter, with llama.cpp's tokenizers, like the files on the
hub.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import gguf
from gguf import TokenType

from gnod.models.supply.encoders.safetensors import SafeTensors
from tests.models import gguf_models, replicas
from tests.models.gguf_models import Value
from tests.models.replicas import Replica


def write(folder: Path, replica: Replica) -> Path:
    """Write the replica's file into the folder, in float32, and return it."""
    config = replica.config
    model, modules = replicas.weights(replica)
    tokenizer = json.loads((replicas.TOKENIZERS / f"{replica.tokenizer}.json").read_text(encoding="utf-8"))
    fields = gguf_models.fields(config) | {"{arch}.pooling_type": int(_pooling(replica))}
    tensors = gguf_models.tensors(config, model, replicas.prefix(config))
    tensors |= {part.name: model[part.source] for part in replicas.head(config)}
    if config["model_type"] == "gemma3_text":
        for number, module in enumerate(modules.values(), 2):
            matrix = tensors[f"dense_{number}.weight"] = module["linear.weight"]
            sides = zip(("out", "in"), matrix.shape, strict=True)
            fields |= {f"{{arch}}.dense_{number}_feat_{side}": size for side, size in sides}
    fields |= tokenizer_fields(tokenizer, replica.tokenizer)
    target = folder / "model.gguf"
    gguf_models.write(target, gguf_models.ARCHITECTURES[config["model_type"]], fields, tensors)
    return target


def write_minilm(folder: Path, target: Path) -> None:
    """Write all-MiniLM-L6-v2, in float16, from a folder in the layout of its repository."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    stored = SafeTensors(folder / "model.safetensors")
    model = {part.source: stored.read(part.source, part.shape) for part in gguf_models.parts(config)}
    tokenizer = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    fields = gguf_models.fields(config) | tokenizer_fields(tokenizer, "words")
    fields["{arch}.pooling_type"] = int(gguf.PoolingType.MEAN)
    gguf_models.write(target, "bert", fields, gguf_models.tensors(config, model), bits=16)


def _pooling(replica: Replica) -> gguf.PoolingType:
    if replica.config["architectures"][0].endswith("ForSequenceClassification"):
        return gguf.PoolingType.RANK
    kinds = {"mean": gguf.PoolingType.MEAN, "cls": gguf.PoolingType.CLS, "lasttoken": gguf.PoolingType.LAST}
    return kinds[(replica.modules or ("Pooling:lasttoken",))[0].partition(":")[2]]


def tokenizer_fields(tokenizer: dict[str, Any], name: str, words: int = replicas.WORDS) -> dict[str, Value]:
    """Return the fields of a tokenizer of this kind (`expected/tokenizers`) from its JSON, with at least this many
    `words`."""
    model = tokenizer["model"]
    vocabulary = model["vocab"]
    pieces = (
        dict(enumerate(piece for piece, _ in vocabulary))
        if isinstance(vocabulary, list)
        else {number: piece for piece, number in vocabulary.items()}
    )
    types = dict.fromkeys(pieces, TokenType.NORMAL)
    for token in tokenizer["added_tokens"]:
        pieces[token["id"]] = token["content"]
        types[token["id"]] = TokenType.CONTROL if token["special"] else TokenType.USER_DEFINED
    count = max(pieces) + 1
    padding = range(count, max(count, words))
    ids = {piece: number for number, piece in pieces.items()}
    found: dict[str, Value] = {
        "tokenizer.ggml.token_type": [int(types[number]) for number in range(count)]
        + [int(TokenType.UNUSED)] * len(padding),
    }
    tokens = [pieces[number] for number in range(count)] + [f"[PAD{number}]" for number in padding]
    match name:
        case "words":
            tokens = [_phantom(token, types.get(number)) for number, token in enumerate(tokens)]
            found |= {"tokenizer.ggml.model": "bert", "tokenizer.ggml.pre": "default"}
            found |= _special_ids(ids, bos="[CLS]", eos="[SEP]", seperator="[SEP]", unknown="[UNK]", padding="[PAD]")
        case "pieces":
            scores = [float(score) for _, score in vocabulary] + [-10000.0] * (len(tokens) - len(vocabulary))
            precompiled = next(each for each in tokenizer["normalizer"]["normalizers"] if each["type"] == "Precompiled")
            found |= {
                "tokenizer.ggml.model": "t5",
                "tokenizer.ggml.pre": "default",
                "tokenizer.ggml.scores": scores,
                "tokenizer.ggml.add_space_prefix": True,
                "tokenizer.ggml.remove_extra_whitespaces": True,
                "tokenizer.ggml.precompiled_charsmap": base64.b64decode(precompiled["precompiled_charsmap"]),
                "tokenizer.ggml.add_bos_token": True,
                "tokenizer.ggml.add_eos_token": True,
            }
            found["tokenizer.ggml.token_type"][ids["<unk>"]] = int(TokenType.UNKNOWN)  # type: ignore[index]
            found |= _special_ids(ids, bos="<s>", eos="</s>", seperator="</s>", unknown="<unk>", padding="<pad>")
        case "qwen":
            merges = [" ".join(pair) if isinstance(pair, list) else pair for pair in model["merges"]]
            found |= {
                "tokenizer.ggml.model": "gpt2",
                "tokenizer.ggml.pre": "qwen2",
                "tokenizer.ggml.merges": merges,
                "tokenizer.ggml.add_bos_token": False,
                "tokenizer.ggml.add_eos_token": True,
            }
            found |= _special_ids(ids, eos="<|endoftext|>", padding="<|endoftext|>")
        case "gemma":
            ranks = {"".join(pair): rank for rank, pair in enumerate(model["merges"])}
            found |= {
                "tokenizer.ggml.model": "llama",
                "tokenizer.ggml.pre": "default",
                "tokenizer.ggml.scores": [-float(ranks.get(token, 10_000)) for token in tokens],
                "tokenizer.ggml.add_bos_token": True,
                "tokenizer.ggml.add_eos_token": True,
                "tokenizer.ggml.add_space_prefix": False,
            }
            for number, token in enumerate(tokens):
                if token.startswith("<0x"):
                    found["tokenizer.ggml.token_type"][number] = int(TokenType.BYTE)  # type: ignore[index]
            found |= _special_ids(ids, bos="<bos>", eos="<eos>", unknown="<unk>", padding="<pad>")
    return found | {"tokenizer.ggml.tokens": tokens}


def _special_ids(ids: dict[str, int], **roles: str) -> dict[str, Value]:
    return {f"tokenizer.ggml.{role}_token_id": ids[token] for role, token in roles.items()}


def _phantom(token: str, kind: TokenType | None) -> str:
    if kind is not TokenType.NORMAL:
        return token
    return token.removeprefix("##") if token.startswith("##") else f"▁{token}"
