"""What the embedding models of this machine can read: measured once per model, in the background.

A pulled model is measured at once, another one when a search first needs to know. Until then nothing is excluded.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from gnod.errors import GnoError
from gnod.models import readability
from gnod.models.embedder import Embedder
from gnod.models.readability import Readability
from gnod.services.model_factory import ModelFactory
from gnod.services.models import ModelService

_log = logging.getLogger(__name__)


class ReadabilityService:
    def __init__(self, models: ModelService, factory: ModelFactory) -> None:
        self._models = models
        self._factory = factory
        self._known: dict[str, Readability | None] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._loop = asyncio.get_running_loop()
        models.installed.connect(self._installed)

    def of(self, uri: str) -> Readability | None:
        """Return what was measured of a model, in any thread. If nothing was yet, begin to measure it."""
        if uri not in self._known:
            self._known[uri] = self.stored(uri)
        if (known := self._known[uri]) is None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._begin, uri)
        return known

    def stored(self, uri: str) -> Readability | None:
        """Return what was measured of a model. Reads a file."""
        installed = self._models.find(uri)
        return installed and readability.load(self._models.files.readability_for(uri), installed)

    def is_measuring(self, uri: str) -> bool:
        return uri in self._tasks

    async def measured(self, uri: str) -> Readability | None:
        """Return what was measured of a model, waiting for a measurement that is under way."""
        if task := self._tasks.get(uri):
            await asyncio.wait([task])
        return self.stored(uri)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _installed(self, uri: str) -> None:
        self._known.pop(uri, None)
        if any(use.role == "embed" and use.uri == uri for use in self._models.uses()):
            self._begin(uri)

    def _begin(self, uri: str) -> None:
        if uri not in self._tasks and self._models.find(uri):
            task = self._tasks[uri] = asyncio.create_task(self._measure(uri), name=f"measure {uri}")
            task.add_done_callback(lambda _: self._tasks.pop(uri, None))

    async def _measure(self, uri: str) -> None:
        try:
            installed = self._models.require(uri)
            found = await readability.measure(installed, self._factory.make(Embedder, uri).sample)
            await asyncio.to_thread(readability.save, self._models.files.readability_for(uri), found)
        except (GnoError, OSError) as error:
            _log.warning("model.not_measured", extra={"fields": {"uri": uri, "reason": str(error)}})
            return
        self._known[uri] = found
        unread = readability.unread_scripts(found)
        _log.info("model.measured", extra={"fields": {"uri": uri, "unread_scripts": unread}})
