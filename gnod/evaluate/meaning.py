"""An embedding model for code that is no coroutine: a loop in a thread, and in it the worker that runs the model."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import TypeVar

import numpy as np
import psutil
from numpy.typing import NDArray

from gnod.ingest.embedding import EmbeddingRun
from gnod.models.embedder import Embedder
from gnod.models.files import ModelFiles
from gnod.models.inference import Inference
from gnod.store.database import Database

T = TypeVar("T")


class Meaning:
    """A context manager. The calls raise what those of `Embedder` raise."""

    def __init__(self, uri: str, files: ModelFiles) -> None:
        self.uri = uri
        self._files = files

    def __enter__(self) -> Meaning:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="models", daemon=True)
        self._thread.start()
        self._inference = self._call(self._start())
        self._embedder = Embedder(
            self.uri,
            files=self._files,
            inference=self._inference,
            gpu=True,
            threads=psutil.cpu_count(logical=False) or os.cpu_count() or 1,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._inference.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query."""
        return self._call(self._embedder.query(text))

    def embed_all(self, database: Database, collection: str, progress: Callable[[int, int], None]) -> None:
        """Embed every chunk of a collection; `progress` is called with how many are done, and of how many."""
        run = EmbeddingRun(database, self._embedder, [collection])
        total = self._call(run.count())
        done = 0
        while (step := self._call(run.step())) is not None:
            done += step.embedded + step.failed
            progress(done, total)

    async def _start(self) -> Inference:
        return Inference(idle_unload_s=3600)

    def _call(self, work: Coroutine[object, object, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
