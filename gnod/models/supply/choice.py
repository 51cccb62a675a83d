"""Chooses the preset that fits a machine and its documents, and gives reasons. Pure.

A preset fits if its embedding model reads the languages, the models that a search loads fit into memory, and it is fast
enough: the documents are embedded within an hour, and its reranker reads twenty passages within the budget of a query.
The best preset that fits is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Literal, NamedTuple

from gnod.config import model_uris
from gnod.models.readability import samples, script_of_language
from gnod.models.supply import catalogue
from gnod.presets import PRESETS

# Rarer languages of a folder do not count, because the language of some documents is detected wrongly.
SHARE = 0.05
EMBED_LIMIT_S = 3600
# Twenty passages of 160 tokens in two seconds, the budget of a query.
RERANK_TOKENS_PER_S = 1600

# The small presets count as fast enough on every machine, so that a choice always exists.
_ALWAYS = ("small", "mini")

Why = Literal["languages", "memory", "card", "package", "time", "reranking"]


class TextsToEmbed(NamedTuple):
    """`languages`: ISO 639-1 codes. `scripts`: Unicode names of the scripts of documents in an unknown language.
    `tokens`: approximate. `any_language`: the documents are unknown so far."""

    languages: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()
    tokens: int = 0
    any_language: bool = False


class Host(NamedTuple):
    """`memory` and `gpu_memory`: free bytes. `cores`: usable for computing. `runs_gguf`: llama.cpp is installed."""

    memory: int
    gpu_memory: int = 0
    cores: int = 1
    runs_gguf: bool = True


class PresetChoice(NamedTuple):
    """`preset`: None if no preset reads the documents. `on_gpu`: it fits into a graphics card. `rejected`: the better
    presets, best first, and the reasons."""

    preset: str | None
    on_gpu: bool
    rejected: list[tuple[str, Why]]


def prevalent(counts: Mapping[str, int]) -> frozenset[str]:
    """Return the frequent languages or scripts.

    >>> sorted(prevalent({"en": 95, "de": 5, "fr": 1}))
    ['de', 'en']
    """
    known = {name: count for name, count in counts.items() if name}
    return frozenset(name for name, count in known.items() if count >= SHARE * sum(known.values()) - 1 / 2)


def reads(languages: Set[str], documents: TextsToEmbed) -> bool:
    """Return whether a model of these languages reads the documents."""
    scripts = {script_of_language(language) for language in languages & samples().keys()}
    if documents.any_language and len(languages) == 1:
        return False
    return documents.languages <= languages and documents.scripts <= scripts


def choose(documents: TextsToEmbed, host: Host, languages: Mapping[str, Set[str]] = {}) -> PresetChoice:
    """Choose a preset. `languages`: the measured languages of installed embedding models, by address."""
    verdicts = {preset: _why_not(preset, documents, host, languages) for preset in catalogue.ORDER}
    fitting = [preset for preset, why in verdicts.items() if why is None]
    # If the machine is too weak for every preset, choose the smallest model that reads the documents.
    readable = [preset for preset, why in verdicts.items() if why != "languages"]
    chosen = next(iter([*fitting[:1], *readable[-1:]]), None)
    better = catalogue.ORDER[: catalogue.ORDER.index(chosen)] if chosen else catalogue.ORDER
    rejected = [(preset, why) for preset in better if (why := verdicts[preset])]
    return PresetChoice(chosen, chosen is not None and _fits_gpu(chosen, host), rejected)


def _why_not(preset: str, documents: TextsToEmbed, host: Host, languages: Mapping[str, Set[str]]) -> Why | None:
    embedder, on_gpu = catalogue.embedder(preset), _fits_gpu(preset, host)
    if not reads(languages.get(embedder, catalogue.MODELS[embedder].languages), documents):
        return "languages"
    if catalogue.memory_of(preset) > host.memory and not on_gpu:
        return "memory"
    if preset in catalogue.NEED_A_CARD and not on_gpu:
        return "card"
    if not host.runs_gguf and any(model_uris.is_gguf(PRESETS[preset][role] or "") for role in ("embed", "rerank")):
        return "package"
    seconds = documents.tokens / tokens_per_s(embedder, host, on_gpu=on_gpu)
    if seconds > EMBED_LIMIT_S and not preset.startswith(_ALWAYS):
        return "time"
    reranker = PRESETS[preset]["rerank"]
    if reranker and tokens_per_s(reranker, host, on_gpu=on_gpu) < RERANK_TOKENS_PER_S:
        return "reranking"
    return None


def _fits_gpu(preset: str, host: Host) -> bool:
    return catalogue.memory_of(preset) <= host.gpu_memory


def tokens_per_s(uri: str, host: Host, *, on_gpu: bool) -> int:
    """Return the reading speed of a model according to the catalogue."""
    known = catalogue.MODELS[uri]
    return max(known.per_core * host.cores, known.on_card if on_gpu else 0)
