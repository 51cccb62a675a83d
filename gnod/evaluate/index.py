"""Build a temporary index with the ingestion that also indexes folders.

A document of a test collection is a text in memory, not a file. Everything else is the same as in a sync.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from gnod.config.model import IngestConfig
from gnod.evaluate.dataset import CorpusDocument, Dataset
from gnod.evaluate.models import EvaluationModels
from gnod.ingest.workers.jobs import Failure, Outcome, TextJob
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.database import Database
from gnod.store.tables import documents
from gnod.store.tables.records import PreparedDocument
from gnod.tuning.experiment import add_collection, embed_all, store

COLLECTION = "bench"
BATCH_DOCUMENTS = 100
_MAX_WORKERS = 4

Progress = Callable[[str, int, int], None]
"""Called with the current task, the number of finished items, and the number of all items."""


class Index(NamedTuple):
    """`ids` maps the store's document ids to those of the test collection. `failed`: why documents are not indexed, by
    id. `models`: the models that embedded the index; None if it has no vectors. `loop`: runs the searches."""

    database: Database
    ids: dict[int, str]
    failed: dict[str, str]
    took_s: float
    models: EvaluationModels | None
    loop: asyncio.Runner


@contextmanager
def temporary_index(
    dataset: Dataset, progress: Progress, models: EvaluationModels | None = None, *, tune: bool = False
) -> Iterator[Index]:
    """Index the whole collection, and embed it if there are models. `tune`: learn the weight of the vectors. The
    context manager removes the index on exit.

    Raises WorkerFailed and the errors of the models."""
    with (
        TemporaryDirectory(prefix="gnod-bench-", ignore_cleanup_errors=True) as folder,
        contextlib.nullcontext(models.loop) if models else asyncio.Runner() as loop,
    ):
        database = Database(Path(folder) / "index.sqlite", readers=1)
        try:
            started = time.monotonic()
            failed = loop.run(_fill(database, dataset, progress))
            if models is not None:
                embedding = partial(progress, f"embedding {dataset.name}")
                loop.run(embed_all(database, models.embedder, COLLECTION, embedding))
            took_s = time.monotonic() - started
            if models is not None and tune:
                learning = models.learn(
                    database, COLLECTION, lambda task, *done: progress(f"{task} {dataset.name}", *done)
                )
                loop.run(learning)
            ids = database.submit_read(lambda connection: {n: path for n, _, path in documents.addresses(connection)})
            yield Index(database, ids.result(), failed, took_s, models, loop)
        finally:
            # Close it in the loop, because a thread of the database may still wait for the loop.
            loop.run(asyncio.to_thread(database.close))


async def _fill(database: Database, dataset: Dataset, progress: Progress) -> dict[str, str]:
    """Index every document. Return the reason of each failure by document id."""
    limits = IngestConfig()
    pool = WorkerPool(
        size=min(os.cpu_count() or 1, _MAX_WORKERS), timeout_s=limits.timeout_s, memory_mb=limits.memory_mb
    )
    try:
        collection_id = await database.write(partial(add_collection, COLLECTION, str(dataset.path)))
        return await _index(database, pool, collection_id, dataset, progress)
    finally:
        await pool.close()


async def _index(
    database: Database, pool: WorkerPool, collection_id: int, dataset: Dataset, progress: Progress
) -> dict[str, str]:
    failed: dict[str, str] = {}
    done, total = 0, len(dataset.documents)
    # Store documents in the order of their ids, so that the order does not depend on the speed of the workers.
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
            failed |= {id_: f"{each.kind}: {each.message}" for id_, each in outcomes if isinstance(each, Failure)}
            prepared = [(id_, outcome) for id_, outcome in outcomes if isinstance(outcome, PreparedDocument)]
            await database.write(partial(store, collection_id, prepared, time.time()))
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
