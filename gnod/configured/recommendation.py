"""Recommends a preset: looks at the machine, the documents, and which models are installed or can be downloaded."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from gnod.configured.configuration import Configuration
from gnod.configured.models import ModelService, physical_cores
from gnod.configured.readability import ReadabilityService
from gnod.models import readability
from gnod.models.supply import catalogue, choice
from gnod.models.supply.choice import Host, PresetChoice, TextsToEmbed
from gnod.models.supply.free_memory import free_memory
from gnod.models.supply.sizing.asking import ask_sizes
from gnod.models.supply.sizing.messages import DownloadSize
from gnod.models.supply.speed.measuring import OnProgress, Speeds, measure
from gnod.presets import PRESETS
from gnod.store.database import Database
from gnod.store.tables.extent import Extent, extent

# Measured with MiniLM and e5-small: .31 and .35 for technical Markdown, .24 for prose. The titles before each piece add
# a tenth.
_TOKENS_PER_CHARACTER = 0.3
_TOKENS_PER_CHARACTER_UNSPACED = 0.65
_UNSPACED = frozenset({"zh", "ja", "ko", "th"})
_WITH_TITLES = 1.1
# The samples that measure which languages a new model reads: 114,000 characters in 88 languages.
_READABILITY_TOKENS = 50_000

_log = logging.getLogger(__name__)


class Recommendation(NamedTuple):
    """`choice`: the preset and why. `tokens_per_s`: of its embedding model, measured, and `embed_s`: the time to embed
    all documents with it; None if it was not. `sizes`: of the models that are not installed. `memory`: free bytes.
    `load`: processes that want to run, the mean of a minute."""

    choice: PresetChoice
    extent: Extent
    documents: TextsToEmbed
    cores: int
    load: float
    memory: int
    speeds: Speeds
    tokens_per_s: float | None
    embed_s: float | None
    sizes: dict[str, DownloadSize]
    installed: frozenset[str]


class RecommendationService:
    def __init__(
        self,
        configuration: Configuration,
        database: Database,
        models: ModelService,
        readability_service: ReadabilityService,
    ) -> None:
        self._configuration = configuration
        self._database = database
        self._models = models
        self._readability = readability_service
        self._one_at_a_time = asyncio.Lock()

    async def recommend(self, network: Mapping[str, str], on_progress: OnProgress) -> Recommendation:
        """Look at everything and choose. `network`: variables of the client's environment for the questions to the hub
        and the index. Changes nothing, and downloads nothing."""
        async with self._one_at_a_time:  # two measurements at once would disturb each other
            return await self._recommend(network, on_progress)

    async def _recommend(self, network: Mapping[str, str], on_progress: OnProgress) -> Recommendation:
        settings = self._configuration.current.models
        found = await self._database.read(extent)
        documents = await asyncio.to_thread(_documents, found)
        installed = await asyncio.to_thread(self._installed)
        cores = settings.threads or physical_cores()
        load = os.getloadavg()[0]  # read this before the measurement adds to it
        asking = asyncio.create_task(ask_sizes([uri for uri in catalogue.MODELS if uri not in installed], network))
        try:
            speeds = await measure(
                list(choice.shapes_to_measure(documents)),
                threads=cores,
                gpu=settings.gpu == "auto",
                least_tokens_per_s=choice.RERANK_TOKENS_PER_S,
                on_progress=on_progress,
            )
            sizes = await asking
        finally:
            asking.cancel()
        card = max((gpu.free_bytes for gpu in speeds.gpus), default=0)
        host = Host(free_memory(), card, speeds.tokens_per_s, speeds.too_slow)
        reads = await asyncio.to_thread(self._measured_languages, installed)
        chosen = choice.choose(
            documents,
            host,
            languages=reads,
            installed=installed,
            reachable=[uri for uri, size in sizes.items() if size.problem is None],
        )
        speed = speeds.tokens_per_s.get(catalogue.shape_of(chosen.preset)) if chosen.preset else None
        embed_s = None
        if chosen.preset and speed:
            is_new = catalogue.embedder(chosen.preset) not in reads
            embed_s = (documents.tokens + is_new * _READABILITY_TOKENS) / speed
            embed_s *= 1.0 if chosen.on_gpu else slowdown(load, cores)
        fields = {"preset": chosen.preset, "tokens_per_s": speed and round(speed), "failure": speeds.failure}
        _log.info("models.recommended", extra={"fields": fields})
        return Recommendation(
            *(chosen, found, documents, cores, load, host.memory, speeds, speed, embed_s, sizes, installed)
        )

    def _installed(self) -> frozenset[str]:
        return frozenset(uri for uri in catalogue.MODELS if self._models.find(uri))

    def _measured_languages(self, installed: frozenset[str]) -> dict[str, frozenset[str]]:
        """Return the languages that installed embedding models read, as far as that was measured."""
        embedders = {catalogue.embedder(preset) for preset in PRESETS} & installed
        stored = {uri: self._readability.stored(uri) for uri in embedders}
        return {
            uri: frozenset(language for language in known.languages if known.reads(language))
            for uri, known in stored.items()
            if known
        }


def slowdown(load: float, cores: int) -> float:
    """Return how much longer embedding takes on a machine with that load than the measured speed says: documents are
    embedded at a lower priority than the one of the measurement.

    >>> slowdown(0.4, 2), slowdown(9.0, 2)
    (1.0, 4.5)
    """
    return max(1.0, load / cores)


def _documents(found: Extent) -> TextsToEmbed:
    """Return what the choice needs to know."""
    languages = choice.prevalent(found.languages)
    of_unknown = Counter(script for text in found.samples if (script := readability.script_of(text)))
    share = len(found.samples) and (found.documents - sum(found.languages.values())) / found.documents
    scripts = choice.prevalent(of_unknown) if share >= choice.SHARE else frozenset[str]()
    unspaced = sum(found.languages.get(language, 0) for language in _UNSPACED) / max(found.documents, 1)
    rate = unspaced * _TOKENS_PER_CHARACTER_UNSPACED + (1 - unspaced) * _TOKENS_PER_CHARACTER
    tokens = round(found.characters * rate * _WITH_TITLES)
    return TextsToEmbed(languages, scripts, tokens, any_language=not found.documents)
