"""Build a temporary index with the ingestion that also indexes folders.

A document of a test collection is a text in memory instead of a file; everything else is the same as in a sync.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol, TypeVar

from gnod.config.model import IngestConfig
from gnod.evaluate.dataset import CorpusDocument, Dataset
from gnod.evaluate.models import EvaluationModels
from gnod.ingest.workers.jobs import Failure, Outcome, TextJob
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections, writing
from gnod.store.keyword_index import fulltext
from gnod.store.tables import documents
from gnod.store.tables.records import PreparedDocument, Terms

T = TypeVar("T")

COLLECTION = "bench"
BATCH_DOCUMENTS = 100
_MAX_WORKERS = 4
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

Progress = Callable[[str, int, int], None]
"""Called with the current task, the number of items that are done, and the number of all."""


class IndexRun(Protocol):
    def __call__(self, work: Coroutine[object, object, T], /) -> T: ...


class Index(NamedTuple):
    """`ids` maps the store's document ids to those of the test collection. `failed`: why a document is not indexed, by
    its id. `models`: those that embedded it; None: it has no vectors. `run`: runs a coroutine in their loop, and
    waits for it."""

    database: Database
    ids: dict[int, str]
    failed: dict[str, str]
    took_s: float
    models: EvaluationModels | None
    run: IndexRun


@contextmanager
def temporary_index(
    dataset: Dataset, progress: Progress, models: EvaluationModels | None = None, *, tune: bool = False
) -> Iterator[Index]:
    """Index the whole collection, and embed it if there are models. `tune`: let it learn how much its vectors count.
    The context manager removes the index at its end.

    Raises WorkerFailed and the errors of the models."""
    with TemporaryDirectory(prefix="gnod-bench-", ignore_cleanup_errors=True) as folder:
        database = Database(Path(folder) / "index.sqlite", readers=1)
        try:
            started = time.monotonic()
            failed = _run(_fill(database, dataset, progress))
            if models is not None:
                models.embed_all(database, COLLECTION, partial(progress, f"embedding {dataset.name}"))
            took_s = time.monotonic() - started
            if models is not None and tune:
                models.learn(database, COLLECTION, lambda task, *done: progress(f"{task} {dataset.name}", *done))
            ids = database.submit_read(lambda connection: {n: path for n, _, path in documents.addresses(connection)})
            yield Index(database, ids.result(), failed, took_s, models, models.run if models else _run)
        finally:
            database.close()


def _run(work: Coroutine[object, object, T]) -> T:
    """Run `work` in a loop of its own. Ctrl-C and SIGTERM raise CancelledError.

    The signals are blocked while the loop is created, and then handled by the loop. A Python handler could run between
    any two instructions and leave the loop or a future in an inconsistent state.
    """
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}

    async def interruptible() -> T:
        task = asyncio.current_task()
        assert task is not None
        for number in _SIGNALS:
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
        try:
            return await work
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)

    try:
        return asyncio.run(interruptible())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


async def _fill(database: Database, dataset: Dataset, progress: Progress) -> dict[str, str]:
    """Index every document. Return the reasons of those that failed, by id."""
    limits = IngestConfig()
    pool = WorkerPool(
        size=min(os.cpu_count() or 1, _MAX_WORKERS), timeout_s=limits.timeout_s, memory_mb=limits.memory_mb
    )
    try:
        collection_id = await database.write(partial(_add_collection, str(dataset.path)))
        return await _index(database, pool, collection_id, dataset, progress)
    finally:
        await pool.close()


async def _index(
    database: Database, pool: WorkerPool, collection_id: int, dataset: Dataset, progress: Progress
) -> dict[str, str]:
    failed: dict[str, str] = {}
    done, total = 0, len(dataset.documents)
    # Use the order of docids: the order in which documents are stored must not depend on the speed of the workers.
    waiting = iter(sorted(dataset.documents))
    under_way: deque[tuple[str, asyncio.Task[Outcome]]] = deque()
    try:
        while done < total:
            for document in islice(waiting, 2 * BATCH_DOCUMENTS - len(under_way)):
                under_way.append((document.id, asyncio.create_task(pool.run(_job(document)))))
            outcomes: list[tuple[str, Outcome]] = []
            while under_way and len(outcomes) < BATCH_DOCUMENTS:
                document_id, task = under_way[0]
                outcomes.append((document_id, await task))
                under_way.popleft()
            failed |= await database.write(partial(_store, collection_id, outcomes))
            done += len(outcomes)
            progress(f"indexing {dataset.name}", done, total)
        return failed
    finally:
        for _, task in under_way:
            task.cancel()
        await asyncio.gather(*(task for _, task in under_way), return_exceptions=True)


def _job(document: CorpusDocument) -> TextJob:
    """Return the job of a document. An empty text becomes a heading with the title."""
    text = document.text if document.text.strip() else f"# {document.title}" if document.title else ""
    return TextJob(text=text, relative_path=document.id, title=document.title or None)


def _add_collection(path: str, connection: Connection) -> int:
    collections.mirror(connection, [collections.Folder(COLLECTION, path, None)], [])
    return collections.id_of(connection, COLLECTION)


def _store(collection_id: int, outcomes: list[tuple[str, Outcome]], connection: Connection) -> dict[str, str]:
    now = time.time()
    failed: dict[str, str] = {}
    terms: dict[int, Terms] = {}
    for document_id, outcome in outcomes:
        match outcome:
            case PreparedDocument():
                writing.put(connection, collection_id, document_id, outcome, now=now, terms=terms)
            case Failure():
                failed[document_id] = f"{outcome.kind}: {outcome.message}"
    fulltext.store(connection, terms)
    return failed
