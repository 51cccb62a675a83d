"""Which preset fits a machine and its documents. Pure: what is known goes in, a preset and the reasons come out.

A preset fits if its embedding model reads the languages, the models that a search loads fit into memory, and it is fast
enough: the documents are embedded within an hour, and its reranker reads twenty passages within the budget of a query.
The best that fits is chosen; of equally good ones, an installed one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import Literal, NamedTuple

from gnod.models.readability import samples, script_of_language
from gnod.models.supply import catalogue
from gnod.presets import PRESETS

# Rarer languages of a folder do not decide, because some documents are detected wrongly.
SHARE = 0.05
EMBED_LIMIT_S = 3600
# Twenty passages of 160 tokens in two seconds, the budget of a query.
RERANK_TOKENS_PER_S = 1600

# The small presets are fast enough on every machine: something must be.
_ALWAYS = ("small", "mini")

Why = Literal["languages", "memory", "card", "time", "reranking"]


class TextsToEmbed(NamedTuple):
    """The texts to embed.

    `languages`: ISO 639-1 codes. `scripts`: scripts of documents in an unknown language, by their Unicode names.
    `tokens`: an approximate number. `any_language`: nothing is known yet.
    """

    languages: frozenset[str] = frozenset()
    scripts: frozenset[str] = frozenset()
    tokens: int = 0
    any_language: bool = False


class Host(NamedTuple):
    """`memory` and `gpu_memory` that are free, in bytes. `cores`: that compute."""

    memory: int
    gpu_memory: int = 0
    cores: int = 1


class PresetChoice(NamedTuple):
    """`preset`: None if no preset reads the documents. `on_gpu`: it fits into a graphics card. `rejected`: the better
    ones, the best first, and why."""

    preset: str | None
    on_gpu: bool
    rejected: list[tuple[str, Why]]


def prevalent(counts: Mapping[str, int]) -> frozenset[str]:
    """Return the languages, or scripts, that are not rare.

    >>> sorted(prevalent({"en": 95, "de": 5, "fr": 1}))
    ['de', 'en']
    """
    known = {name: count for name, count in counts.items() if name}
    return frozenset(name for name, count in known.items() if count >= SHARE * sum(known.values()) - 1 / 2)


def reads(languages: Set[str], documents: TextsToEmbed) -> bool:
    """Tell whether a model of these languages reads the documents."""
    scripts = {script_of_language(language) for language in languages & samples().keys()}
    if documents.any_language and len(languages) == 1:
        return False
    return documents.languages <= languages and documents.scripts <= scripts


def choose(
    documents: TextsToEmbed, host: Host, *, languages: Mapping[str, Set[str]] = {}, installed: Collection[str] = ()
) -> PresetChoice:
    """Choose a preset. `languages`: what installed embedding models read, by address, if that was measured."""
    verdicts: dict[str, Why | None] = {}
    for preset in catalogue.GRADES:
        embedder = catalogue.embedder(preset)
        can_read = reads(languages.get(embedder, catalogue.MODELS[embedder].languages), documents)
        verdicts[preset] = _why_not(preset, documents, host) if can_read else "languages"
    fitting = [preset for preset, why in verdicts.items() if why is None]
    best = max(fitting, key=lambda preset: _value(preset, installed), default=None)
    # A machine that has too little of everything gets the smallest model that reads the documents.
    chosen = best or next((preset for preset in reversed(verdicts) if verdicts[preset] != "languages"), None)
    grade = catalogue.GRADES[chosen] if chosen else -1
    rejected = [(preset, why) for preset, why in verdicts.items() if why and catalogue.GRADES[preset] > grade]
    return PresetChoice(chosen, best is not None and _fits_gpu(best, host), rejected)


def _value(preset: str, installed: Collection[str]) -> tuple[int, int, int]:
    """Return what to compare presets by: the grade, then how many of its models are installed, the embedding model
    first, then the order of GRADES."""
    models = [uri for uri in PRESETS[preset].values() if uri]
    embedder = catalogue.embedder(preset) in installed
    there = len(models) * embedder + sum(uri in installed for uri in models)
    return catalogue.GRADES[preset], there, -list(catalogue.GRADES).index(preset)


def _why_not(preset: str, documents: TextsToEmbed, host: Host) -> Why | None:
    if catalogue.memory_of(preset) > host.memory and not _fits_gpu(preset, host):
        return "memory"
    if preset in catalogue.NEED_A_CARD and not _fits_gpu(preset, host):
        return "card"
    if embed_s(preset, documents.tokens, host) > EMBED_LIMIT_S and not preset.startswith(_ALWAYS):
        return "time"
    reranker = PRESETS[preset]["rerank"]
    if reranker and tokens_per_s(reranker, host, on_gpu=_fits_gpu(preset, host)) < RERANK_TOKENS_PER_S:
        return "reranking"
    return None


def _fits_gpu(preset: str, host: Host) -> bool:
    return catalogue.memory_of(preset) <= host.gpu_memory


def tokens_per_s(uri: str, host: Host, *, on_gpu: bool) -> int:
    """Return how fast a model reads, by the catalogue."""
    known = catalogue.MODELS[uri]
    return max(known.per_core * host.cores, known.on_card if on_gpu else 0)


def embed_s(preset: str, tokens: int, host: Host) -> float:
    """Return the expected time to embed this number of tokens."""
    return tokens / tokens_per_s(catalogue.embedder(preset), host, on_gpu=_fits_gpu(preset, host))
