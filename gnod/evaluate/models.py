"""The models of a measurement, for synchronous code, and the gate that checks where their texts go."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from gnod.config.model import IngestConfig
from gnod.config.model_uris import endpoint_of
from gnod.configured.models import physical_cores
from gnod.egress import Egress, Gate, Purpose, Role, Scope
from gnod.errors import EgressForbidden, StorageFailed
from gnod.ingest.workers.pool import WorkerPool
from gnod.models import readability
from gnod.models.files import Installed, ModelFiles
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

_OWNER = "(bench)"

T = TypeVar("T")
M = TypeVar("M")


class MeasurementGate:
    """The gate of a measurement. The user who starts it names the models, and with `egress` how far the texts may go.
    Sent bytes are recorded in the journal of the daemon."""

    def __init__(self, egress: Scope, journal: EgressJournal) -> None:
        self._egress = Egress(egress, "this measurement (--egress)")
        self._journal = journal

    def within(self, address: str, purpose: Purpose) -> Egress:  # noqa: ARG002  (the command line names the address)
        return self._egress

    def note(self, address: str, purpose: Purpose, *, requests: int, size: int) -> None:
        try:
            self._journal.note(address, purpose.role, [_OWNER], requests=requests, size=size)
        except StorageFailed as error:
            raise EgressForbidden(f"nothing was sent to {address}: {error.message}") from error


class EvaluationModels:
    """A context manager. `uri` is the embedding model; `expand` and `rerank` are optional. Methods raise the errors of
    the models. `gate`: by default, a gate that allows servers on this machine. `loop`: runs the models."""

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
        gate = gate or MeasurementGate("local", EgressJournal(files.folder / "egress.sqlite"))
        self.uri, self.expand, self.rerank = uri, expand, rerank
        self.loop = asyncio.Runner()
        self._files = files
        self._remote = RemoteModels(FingerprintsInMemory(), gate)
        self._inference = Inference(idle_unload_s=3600)
        self._readable: dict[str, Readability] = {}
        self._measuring = threading.Lock()
        self.embedder = self._make(Embedder, uri, "embed")
        if expand:
            self.generator = self._make(Generator, expand, "expand")
        if rerank:
            self.reranker = self._make(Reranker, rerank, "rerank")

    def _make(self, kind: Callable[..., M], uri: str, role: Role) -> M:
        endpoint = endpoint_of(uri)
        runner = self._remote.runner(endpoint, Purpose(role, "check")) if endpoint else self._inference
        return kind(uri, files=self._files, inference=runner, gpu=True, threads=physical_cores())

    def __enter__(self) -> Self:
        self.loop.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        with self.loop:  # closes the loop on exit
            self.run(self._inference.close())
            self.run(self._remote.close())

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine until it ends. Ctrl-C cancels it."""
        return self.loop.run(work)

    def check(self) -> None:
        """Load every model and run it once. Without this check, a hybrid query would skip a failing model and measure
        something else."""
        for model in (self.embedder, self.generator, self.reranker):
            if model:
                model.spec()  # report a missing model before the others take time to load
        self.run(self.embedder.texts(["otter"]))
        if self.generator:
            self.run(self.generator.generate([Message("user", "otter")], max_tokens=1))
        if self.reranker:
            self.run(self.reranker.score("otter", ["otters"]))

    def readability(self, uri: str) -> Readability | None:
        """Return what the embedding model can read; measure it the first time. Called in a search thread."""
        with self._measuring:
            installed, path = self._files.find(uri), self._files.readability_for(uri)
            if uri not in self._readable and installed:
                self._readable[uri] = readability.load(path, installed) or self._measured(installed, path)
            return self._readable.get(uri)

    def _measured(self, installed: Installed, path: Path) -> Readability:
        work = readability.measure(installed, self.embedder.sample)
        found = asyncio.run_coroutine_threadsafe(work, self.loop.get_loop()).result()
        with contextlib.suppress(OSError):
            readability.save(path, found)
        return found

    async def learn(self, database: Database, collection: str, progress: OnProgress) -> None:
        """Let a collection learn the weight of its vectors, as the daemon does after embedding it."""
        limits = IngestConfig()
        pool = WorkerPool(size=1, timeout_s=limits.timeout_s, memory_mb=limits.memory_mb)
        try:
            prior = await learn(database, collection, self.embedder, pool.run, progress)
        finally:
            await pool.close()
        await database.write(partial(_store, self.uri, prior))


def _store(uri: str, prior: Prior, connection: Connection) -> None:
    vectors.serve(connection, prior.collection, uri)
    learned_factors.put(connection, prior)
