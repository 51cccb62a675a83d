"""Recommends a preset according to the machine, the documents, and the installed models."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from typing import NamedTuple

from gnod import extras
from gnod.configured.configuration import Configuration
from gnod.configured.embedding_models import ReadabilityService
from gnod.configured.models import ModelService, physical_cores
from gnod.models import readability
from gnod.models.run.memory import free_memory
from gnod.models.supply import catalogue, choice, devices
from gnod.models.supply.choice import Host, PresetChoice, TextsToEmbed
from gnod.models.supply.devices import Gpu
from gnod.presets import PRESETS
from gnod.store.database import Database
from gnod.store.tables.counts import Extent, extent

# Measured with MiniLM and e5-small: .31 and .35 for technical Markdown, .24 for prose. The titles before the pieces add
# a tenth.
_TOKENS_PER_CHARACTER = 0.3
_TOKENS_PER_CHARACTER_UNSPACED = 0.65
_UNSPACED = frozenset({"zh", "ja", "ko", "th"})
_WITH_TITLES = 1.1
# The samples for measuring the languages of a new model: 114,000 characters in 88 languages.
_READABILITY_TOKENS = 50_000

_log = logging.getLogger(__name__)


class Recommendation(NamedTuple):
    """`choice`: the preset and the reasons. `tokens_per_s`: the catalogue's speed of its embedding model. `embed_s`:
    the time to embed all documents with it. `memory`: free bytes. `load`: runnable processes, as the mean of a
    minute."""

    choice: PresetChoice
    extent: Extent
    documents: TextsToEmbed
    cores: int
    load: float
    memory: int
    gpus: list[Gpu]
    tokens_per_s: int | None
    embed_s: float | None
    installed: frozenset[str]


async def recommend(
    configuration: Configuration, database: Database, models: ModelService, readability_service: ReadabilityService
) -> Recommendation:
    """Examine everything and choose. Changes nothing, and asks the user nothing."""
    settings = configuration.current.models
    found = await database.read(extent)
    documents = await asyncio.to_thread(_documents, found)
    installed = await asyncio.to_thread(lambda: frozenset(uri for uri in catalogue.MODELS if models.find(uri)))
    cores = settings.threads or physical_cores()
    load = os.getloadavg()[0]
    cards = await devices.gpus() if settings.gpu == "auto" else []
    host = Host(
        free_memory(),
        max((gpu.free_bytes for gpu in cards), default=0),
        cores,
        runs_gguf=extras.is_installed("llama_cpp"),
    )
    reads = await asyncio.to_thread(_measured_languages, readability_service, installed)
    chosen = choice.choose(documents, host, reads)
    speed, embed_s = None, None
    if chosen.preset:
        embedder = catalogue.embedder(chosen.preset)
        speed = choice.tokens_per_s(embedder, host, on_gpu=chosen.on_gpu)
        embed_s = (documents.tokens + (embedder not in reads) * _READABILITY_TOKENS) / speed
        embed_s *= 1.0 if chosen.on_gpu else slowdown(load, cores)
    _log.info("models.recommended", extra={"fields": {"preset": chosen.preset, "tokens_per_s": speed}})
    return Recommendation(chosen, found, documents, cores, load, host.memory, cards, speed, embed_s, installed)


def _measured_languages(
    readability_service: ReadabilityService, installed: frozenset[str]
) -> dict[str, frozenset[str]]:
    """Return the measured languages of the installed embedding models."""
    embedders = {catalogue.embedder(preset) for preset in PRESETS} & installed
    stored = {uri: readability_service.stored(uri) for uri in embedders}
    return {
        uri: frozenset(language for language in known.languages if known.reads(language))
        for uri, known in stored.items()
        if known
    }


def slowdown(load: float, cores: int) -> float:
    """Return the factor by which this load slows down embedding, which runs at a low priority.

    >>> slowdown(0.4, 2), slowdown(9.0, 2)
    (1.0, 4.5)
    """
    return max(1.0, load / cores)


def _documents(found: Extent) -> TextsToEmbed:
    """Return the facts that the choice needs."""
    languages = choice.prevalent(found.languages)
    of_unknown = Counter(script for text in found.samples if (script := readability.script_of(text)))
    share = len(found.samples) and (found.documents - sum(found.languages.values())) / found.documents
    scripts = choice.prevalent(of_unknown) if share >= choice.SHARE else frozenset[str]()
    unspaced = sum(found.languages.get(language, 0) for language in _UNSPACED) / max(found.documents, 1)
    rate = unspaced * _TOKENS_PER_CHARACTER_UNSPACED + (1 - unspaced) * _TOKENS_PER_CHARACTER
    tokens = round(found.characters * rate * _WITH_TITLES)
    return TextsToEmbed(languages, scripts, tokens, any_language=not found.documents)
