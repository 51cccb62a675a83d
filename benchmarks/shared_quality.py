"""Compare searches over a published collection with searches over the index of its publisher. Prints figures.

    .venv/bin/python -m benchmarks.shared_quality [--model GGUF] [--documents N] NAME…

NAME is a test collection of ../shared/collections. The engine is milvus-lite, a separate process on loopback. The
searching daemon has no documents of its own. Without --model, only keyword search is compared. --documents limits the
documents besides the judged ones, because embedding takes a tenth of a second for each.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from benchmarks.local_engine import LocalEngine
from benchmarks.milvus_lite import MilvusLite, milvus_lite
from gnod.configured.configuration import Configuration
from gnod.evaluate.dataset import Dataset, read
from gnod.evaluate.index import COLLECTION, Index, temporary_index
from gnod.evaluate.measures import measure
from gnod.evaluate.models import EvaluationModels
from gnod.evaluate.searching import MeasuredModels, retriever
from gnod.models.files import ModelFiles
from gnod.search.hybrid import across_indexes, stages
from gnod.search.hybrid.across_indexes import Joined
from gnod.search.hybrid.stages import HybridSettings
from gnod.search.meaning.vector_search import Nearest, QueryVectors
from gnod.search.query.parsing import parse_clauses, parse_query
from gnod.search.ranking.ranked import RankedDocument
from gnod.shared.attached import AttachedCollections
from gnod.shared.engine import SharedEngine
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.tables import documents
from gnod.store.tables.filters import Filters

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "collections"
LIMIT = 100

Scores = dict[str, float]
Search = Callable[[Joined, str], Awaitable[list[RankedDocument]]]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--documents", type=int)
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--collections", type=Path, default=FOLDER)
    options = parser.parse_args(words)
    print(f"{'':<12}{'mode':<8}{'queries':>8}{'local':>8}{'shared':>8}{'common':>8}{'local ms':>10}{'shared ms':>10}")
    with tempfile.TemporaryDirectory() as folder, _models(options.model, Path(folder)) as models:
        for name in options.names:
            dataset = _part(read(options.collections / name), options.documents)
            with temporary_index(dataset, lambda *_: None, models) as index:
                own = Path(folder) / name
                own.mkdir()
                with milvus_lite(own / "milvus") as server:
                    _publish(index, server)
                    asyncio.run(_compare(dataset, index, server, own, options.queries))
    return 0


@contextlib.contextmanager
def _models(gguf: Path | None, folder: Path) -> Iterator[EvaluationModels | None]:
    if gguf is None:
        yield None
        return
    with EvaluationModels(f"file:{gguf}", ModelFiles(folder / "models")) as models:
        yield models


def _part(dataset: Dataset, most: int | None) -> Dataset:
    """Keep the judged documents and the first `most` others."""
    if most is None:
        return dataset
    judged = {id_ for found in dataset.qrels.values() for id_ in found}
    others = [each for each in sorted(dataset.documents) if each.id not in judged][:most]
    return dataset._replace(documents=[*(each for each in dataset.documents if each.id in judged), *others])


def _publish(index: Index, server: MilvusLite) -> None:
    started = time.monotonic()
    here = LocalEngine(index.database.open_reader(), COLLECTION, index.models.uri if index.models else None)
    header = here.header()
    assert header
    there = server.engine(COLLECTION)
    there.create(header)
    every = here.documents(None)
    for start in range(0, len(every), 500):
        there.put(every[start : start + 500], former="nothing")
    there.set_frequencies(here.term_frequencies())
    there.close()
    server.flush(COLLECTION)
    print(f"published {header.documents:,} documents in {time.monotonic() - started:.0f} s", file=sys.stderr)


@contextlib.asynccontextmanager
async def _attached(server: MilvusLite, folder: Path) -> AsyncIterator[tuple[Database, AttachedCollections]]:
    async def connect(_: str, __: str) -> SharedEngine:
        return server.engine(COLLECTION)

    config = folder / "index.yml"
    config.write_text(f"attached: [{{name: {COLLECTION}, address: '{server.address(COLLECTION)}', budget_s: 60}}]")
    database = Database(folder / "index.sqlite")
    attached = AttachedCollections(Configuration(config, database), folder, "shared-", connect, lambda uri, _: uri)
    attached.reload()
    try:
        while not ((found := attached.of(COLLECTION)) and found.shared and found.shared.sample):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        yield database, attached
    finally:
        await attached.close()
        database.close()


async def _compare(dataset: Dataset, index: Index, server: MilvusLite, folder: Path, most: int) -> None:
    queries = dict(list(dataset.queries.items())[:most])
    async with _attached(server, folder) as (database, attached):
        for mode, search in _searches(index, database).items():
            here = retriever(index, mode)
            local: dict[str, Scores] = {}
            shared: dict[str, Scores] = {}
            took: tuple[list[float], list[float]] = ([], [])
            for id_, query in queries.items():
                text = query.replace('"', " ")
                started = time.perf_counter()
                local[id_] = dict((await asyncio.to_thread(here, text)).ranking)
                took[0].append(time.perf_counter() - started)
                started = time.perf_counter()
                shared[id_] = await _run(database, attached, search, text)
                took[1].append(time.perf_counter() - started)
            _print(dataset, mode, local, shared, took)


async def _run(database: Database, attached: AttachedCollections, search: Search, query: str) -> Scores:
    async with database.snapshot() as read, attached.searching(read, Filters()) as found:
        ranked = await search(found, query)
        assert not found.notes, found.notes

        def paths(connection: Connection) -> Scores:
            by_id = documents.by_ids(connection, [each.id for each in ranked])
            return {by_id[each.id].path: each.score for each in ranked}

        return await found.read(paths)


def _searches(index: Index, database: Database) -> dict[str, Search]:
    async def words(shared: Joined, query: str) -> list[RankedDocument]:
        given = (shared.read, shared.sources, parse_clauses(query), Filters())
        return (await across_indexes.search_words(*given, limit=LIMIT)).ranked

    models = index.models
    if models is None:
        return {"keyword": words}
    nearest = Nearest()

    async def embed(queries: Sequence[str], passages: Sequence[str]) -> QueryVectors:
        rows = await asyncio.to_thread(models.run, models.embedder.texts(queries, passages))
        return QueryVectors({models.uri: rows}, {COLLECTION: models.uri})

    async def vectors(shared: Joined, query: str) -> list[RankedDocument]:
        asked = await embed([query], [])
        return await across_indexes.search_vectors(shared.read, nearest, shared.sources, asked, Filters(), limit=LIMIT)

    async def both(shared: Joined, query: str) -> list[RankedDocument]:
        dependencies = (
            MeasuredModels(database, models)
            .search_dependencies()
            ._replace(read=shared.read, sources=shared.sources, embed=embed)
        )
        options = HybridSettings(limit=LIMIT, budget_s=3600.0)
        return (await stages.search(dependencies, parse_query(query), Filters(), options)).ranked

    return {"keyword": words, "vector": vectors, "hybrid": both}


def _print(
    dataset: Dataset,
    mode: str,
    local: Mapping[str, Scores],
    shared: Mapping[str, Scores],
    took: tuple[Sequence[float], Sequence[float]],
) -> None:
    qrels = {id_: dataset.qrels[id_] for id_ in local}
    figures = [measure(qrels, {id_: list(found.items()) for id_, found in run.items()}) for run in (local, shared)]
    ndcg = [each.mean["nDCG@10"] for each in figures]
    common = mean(
        len({*list(local[id_])[:10]} & {*list(shared[id_])[:10]}) / max(len(list(local[id_])[:10]), 1)
        for id_ in local
        if local[id_]
    )
    ms = [1000 * float(np.percentile(each, 50)) for each in took]
    print(
        f"{dataset.name:<12}{mode:<8}{len(local):>8}{ndcg[0]:>8.4f}{ndcg[1]:>8.4f}{common:>8.1%}"
        f"{ms[0]:>10.1f}{ms[1]:>10.1f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
