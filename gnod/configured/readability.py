"""What the embedding models of this machine can read: measured once per model, in the background.

A pulled model is measured at once, another one when a search first needs to know. Until then nothing is excluded. A
measurement that failed is repeated after a while, or when the model is pulled again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

from gnod.configured.models import ModelFactory, ModelService
from gnod.egress import Purpose
from gnod.errors import GnoError
from gnod.models import readability
from gnod.models.readability import Readability
from gnod.models.run.roles import Embedder

RETRY_S = 600.0
# The purpose of the measurement. Only installed models are measured, so nothing is sent.
_SAMPLES = Purpose("embed", "check")

_log = logging.getLogger(__name__)


class ReadabilityService:
    """`retry_s`: how long to wait after a measurement that failed."""

    def __init__(self, models: ModelService, factory: ModelFactory, retry_s: float = RETRY_S) -> None:
        self._models = models
        self._factory = factory
        self._retry_s = retry_s
        self._known: dict[str, Readability | None] = {}
        self._failed_at: dict[str, float] = {}
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
        return readability.load(self._models.files.readability_for(uri), installed) if installed else None

    def is_measuring(self, uri: str) -> bool:
        return uri in self._tasks

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    def _installed(self, uri: str) -> None:
        self._known.pop(uri, None)
        self._failed_at.pop(uri, None)
        if any(use.role == "embed" and use.uri == uri for use in self._models.uses()):
            self._begin(uri)

    def _begin(self, uri: str) -> None:
        has_just_failed = uri in self._failed_at and time.monotonic() < self._failed_at[uri] + self._retry_s
        if uri not in self._tasks and not has_just_failed and self._models.find(uri):
            task = self._tasks[uri] = asyncio.create_task(self._measure(uri), name=f"measure {uri}")
            task.add_done_callback(lambda _: self._tasks.pop(uri, None))

    async def _measure(self, uri: str) -> None:
        try:
            installed = self._models.require(uri)
            found = await readability.measure(installed, self._factory.make(Embedder, uri, _SAMPLES).sample)
            await asyncio.to_thread(readability.save, self._models.files.readability_for(uri), found)
        except (GnoError, OSError) as error:
            self._failed_at[uri] = time.monotonic()
            _log.warning("model.not_measured", extra={"fields": {"uri": uri, "reason": str(error)}})
            return
        self._known[uri] = found
        unread = readability.unread_scripts(found)
        _log.info("model.measured", extra={"fields": {"uri": uri, "unread_scripts": unread}})
