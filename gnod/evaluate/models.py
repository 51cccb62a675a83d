"""The models of a measurement, for synchronous code: an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from functools import partial
from typing import Self, TypeVar

from gnod.config.model import IngestConfig
from gnod.config.model_uris import endpoint_of
from gnod.configured.models import physical_cores
from gnod.egress import Gate, Purpose, Role
from gnod.evaluate.gate import MeasurementGate
from gnod.ingest.workers.pool import WorkerPool
from gnod.models import readability
from gnod.models.files import ModelFiles
from gnod.models.readability import Readability
from gnod.models.remote.models import FingerprintsInMemory, RemoteModels
from gnod.models.run.inference import Inference
from gnod.models.run.roles import Embedder, Generator, Message, Reranker
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.tables import learned_factors
from gnod.store.tables.egress_journal import EgressJournal
from gnod.store.tables.learned_factors import Prior
from gnod.store.vectors import vectors
from gnod.tuning.experiment import OnProgress, learn

_SIGNAL_CHECK_S = 0.5  # a signal that comes just before a wait begins does not interrupt it

T = TypeVar("T")
M = TypeVar("M")


class LoopThread:
    """A context manager: an event loop in a thread of its own, so that no signal interrupts it."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loop", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine in the loop and wait for it. Ctrl-C ends it, at whichever line it comes."""
        done: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            task = self._loop.create_task(work)
            task.add_done_callback(partial(_copy, done))
            tasks.append(task)

        def cancel() -> None:
            if tasks:
                tasks[0].cancel()
            else:
                work.close()
                done.set_exception(asyncio.CancelledError())

        try:
            self._loop.call_soon_threadsafe(start)
            while not wait([done], timeout=_SIGNAL_CHECK_S).done:
                pass
            return done.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(cancel)  # after `start`, if that was called
            wait([done])  # what it uses may be closed only after it
            raise


def _copy(to: Future[T], task: asyncio.Task[T]) -> None:
    try:
        to.set_result(task.result())
    except (Exception, asyncio.CancelledError) as error:
        to.set_exception(error)


class EvaluationModels(LoopThread):
    """A context manager. `uri` is the embedding model; `expand` and `rerank` are optional. Methods raise the errors of
    the models. `gate`: by default, one that lets texts go to servers on this machine."""

    embedder: Embedder
    generator: Generator | None = None
    reranker: Reranker | None = None

    def __init__(
        self,
        uri: str,
        files: ModelFiles,
        *,
        expand: str | None = None,
        rerank: str | None = None,
        gate: Gate | None = None,
    ) -> None:
        self._remote = RemoteModels(
            FingerprintsInMemory(), gate or MeasurementGate("local", EgressJournal(files.folder / "egress.sqlite"))
        )
        self.uri = uri
        self.expand = expand
        self.rerank = rerank
        self._files = files
        self._readable: dict[str, Readability] = {}
        self._measuring = threading.Lock()

    def __enter__(self) -> Self:
        super().__enter__()
        self._inference = self.run(self._start())
        try:
            self._make_models(self._inference)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _make_models(self, inference: Inference) -> None:
        self.embedder = self._make(Embedder, self.uri, "embed", inference)
        if self.expand:
            self.generator = self._make(Generator, self.expand, "expand", inference)
        if self.rerank:
            self.reranker = self._make(Reranker, self.rerank, "rerank", inference)

    def _make(self, kind: Callable[..., M], uri: str, role: Role, inference: Inference) -> M:
        endpoint = endpoint_of(uri)
        runner = self._remote.runner(endpoint, Purpose(role, "check")) if endpoint else inference
        return kind(uri, files=self._files, inference=runner, gpu=True, threads=physical_cores())

    def __exit__(self, *_: object) -> None:
        self.run(self._inference.close())
        self.run(self._remote.close())
        super().__exit__()

    def check(self) -> None:
        """Load every model and run it once. A hybrid query skips a model that fails, so it would measure something
        else."""
        for model in (self.embedder, self.generator, self.reranker):
            if model:
                model.spec()  # report a missing model before another one takes time to load
        self.run(self.embedder.texts(["otter"]))
        if self.generator:
            self.run(self.generator.generate([Message("user", "otter")], max_tokens=1))
        if self.reranker:
            self.run(self.reranker.score("otter", ["otters"]))

    def readability(self, uri: str) -> Readability | None:
        """Return what the embedding model can read; measure it if that was never done. In any thread but the loop's."""
        with self._measuring:
            installed, path = self._files.find(uri), self._files.readability_for(uri)
            if uri not in self._readable and installed:
                found = readability.load(path, installed) or self.run(
                    readability.measure(installed, self.embedder.sample)
                )
                with contextlib.suppress(OSError):
                    readability.save(path, found)
                self._readable[uri] = found
            return self._readable.get(uri)

    def learn(self, database: Database, collection: str, progress: OnProgress) -> None:
        """Let a collection learn how much its vectors count, as the daemon does after embedding it."""
        self.run(self._learn(database, collection, progress))

    async def _learn(self, database: Database, collection: str, progress: OnProgress) -> None:
        limits = IngestConfig()
        pool = WorkerPool(size=1, timeout_s=limits.timeout_s, memory_mb=limits.memory_mb)
        try:
            prior = await learn(database, collection, self.embedder, pool.run, progress)
        finally:
            await pool.close()
        await database.write(partial(_store, self.uri, prior))

    async def _start(self) -> Inference:
        return Inference(idle_unload_s=3600)


def _store(uri: str, prior: Prior, connection: Connection) -> None:
    vectors.serve(connection, prior.collection, uri)
    learned_factors.put(connection, prior)
