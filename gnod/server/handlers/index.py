"""`index.*`: making the index equal the disk, and telling how far it does."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gnod.config import edit
from gnod.config.model import CollectionConfig
from gnod.errors import GnoError, RootUnavailable
from gnod.ingest.jobs import SKIP_KINDS
from gnod.ingest.plan import Plan, compare
from gnod.ingest.sync import SyncReport
from gnod.ingest.walk import Listing, walk
from gnod.protocol.params import IndexStatusParams, IndexSyncParams, IndexWhyParams, NoParams
from gnod.protocol.results import (
    CollectionStatus,
    CollectionSync,
    Freshness,
    IndexCleanupResult,
    IndexInitResult,
    IndexStatusResult,
    IndexSyncResult,
    IndexWhyResult,
    ProgressValue,
)
from gnod.server.collection_watch import WatchState
from gnod.server.dispatcher import Call, Handler
from gnod.server.handlers.embedding import embedding_status, inference_status
from gnod.server.handlers.shapes import ingest_error, iso
from gnod.server.handlers.why import why
from gnod.server.index import Index
from gnod.store import collections, damage, documents, failures, maintenance, restore, vectors
from gnod.store.database import Connection

# Nobody reads more, and their counts by kind are exact.
MAX_ERRORS = 1000


def handlers(served: Index) -> Mapping[str, Handler]:
    async def index_init(_: NoParams, __: Call) -> IndexInitResult:
        places = served.places
        created = await asyncio.to_thread(edit.create, places.config_file)
        await served.configuration.reload()
        return IndexInitResult(
            config_file=str(places.config_file),
            config_created=created,
            data_dir=str(places.data_dir),
            cache_dir=str(places.cache_dir),
            database=str(places.database),
            socket=str(places.socket),
        )

    async def index_sync(params: IndexSyncParams, call: Call) -> IndexSyncResult:
        started = time.monotonic()
        await served.configuration.reload()
        if served.configuration.error:
            raise served.configuration.error
        served.configuration.check_known(params.collections)
        wanted = set(params.collections)
        chosen = [c for c in served.configuration.current.collections if not wanted or c.name in wanted]
        if params.update:
            for collection in chosen:
                call.progress(ProgressValue(stage="update", done=0, label=collection.name))
                await served.syncing.run_update_command(collection)
        reports = await _sync_all(served, [c.name for c in chosen], call)
        return IndexSyncResult(
            collections=[_report(report) for report in reports],
            took_ms=_milliseconds(time.monotonic() - started),
        )

    async def index_status(params: IndexStatusParams, _: Call) -> IndexStatusResult:
        served.storage.look()
        await served.configuration.reload()
        noted = served.syncing.noted
        result = await _status(served, params.errors)
        for collection in result.collections:
            if collection.pending and served.syncing.noted == noted:
                served.watching.differs(collection.name)
        return result

    async def index_why(params: IndexWhyParams, _: Call) -> IndexWhyResult:
        configured = {c.name: c for c in served.configuration.current.collections}
        return await served.read(lambda c: why(c, params.path, configured, served.syncing.ignore_files))

    async def index_cleanup(_: NoParams, __: Call) -> IndexCleanupResult:
        before = _bytes_on_disk(served.places.database)
        removed_documents, removed_contents = await served.write(maintenance.purge)
        await asyncio.wrap_future(served.database.maintain(maintenance.compact))
        await asyncio.to_thread(damage.delete_set_aside, served.places.database)
        after = _bytes_on_disk(served.places.database)
        return IndexCleanupResult(
            removed_documents=removed_documents,
            removed_contents=removed_contents,
            freed_bytes=max(before - after, 0),
            database_bytes=after,
        )

    return {
        "index.init": index_init,
        "index.sync": index_sync,
        "index.status": index_status,
        "index.why": index_why,
        "index.cleanup": index_cleanup,
    }


async def _sync_all(served: Index, names: list[str], call: Call) -> list[SyncReport]:
    done: dict[str, int] = {}
    totals: dict[str, int] = {}

    def progress(stage: str, n: int, total: int | None, label: str | None) -> None:
        if label is not None and total is not None:
            done[label], totals[label] = n, total
        known = sum(totals.values()) if len(totals) == len(names) else None
        call.progress(ProgressValue(stage=stage, done=sum(done.values()), total=known, label=label))

    # Shielded: a client that goes away does not end work that the index needs.
    runs = [asyncio.shield(served.syncing.request(name, progress)) for name in names]
    return list(await asyncio.gather(*runs))


def _report(report: SyncReport) -> CollectionSync:
    return CollectionSync(
        name=report.name,
        available=report.available,
        seen=report.seen,
        added=report.added,
        updated=report.updated,
        unchanged=report.unchanged,
        removed=report.removed,
        failed=report.failed,
        skipped=report.skipped,
        took_ms=_milliseconds(report.took_s),
        reason=report.reason,
    )


async def _status(served: Index, with_errors: bool) -> IndexStatusResult:
    configuration = served.configuration
    config = configuration.current
    walks = await asyncio.gather(*(asyncio.to_thread(_walk, served, c) for c in config.collections))

    answering, wanted = served.embedding.served(), served.embedding.wanted()

    def work(connection: Connection) -> IndexStatusResult:
        models = {name: answering.get(name) or uri for name, uri in wanted.items()}
        embedded = {each.collection: each for each in vectors.coverage(connection, models)}
        statuses = [
            _with_embedded(
                _collection_status(
                    # Let go of in this thread: a walk may have found a hundred thousand files.
                    connection,
                    c,
                    walks.pop(0),
                    served.watching.state(c.name),
                    served.syncing.last_reconcile(c.name),
                ),
                embedded[c.name],
                wanted[c.name],
            )
            for c in config.collections
        ]
        totals = maintenance.totals(connection)
        failed = failures.listed(connection, MAX_ERRORS) if with_errors else []
        return IndexStatusResult(
            index=served.places.index,
            database=str(served.places.database),
            database_bytes=_bytes_on_disk(served.places.database),
            documents=totals.documents,
            chunks=totals.chunks,
            languages=documents.languages(connection),
            collections=statuses,
            freshness=_with_pending(served.freshness(connection, []), sum(status.pending for status in statuses)),
            syncing=served.syncing.is_running,
            embedding=embedding_status(served),
            inference=inference_status(served),
            config_file=str(configuration.path),
            config_warnings=list(configuration.warnings),
            config_error=configuration.error.message if configuration.error else None,
            storage_problems=served.storage.problems(),
            storage_notes=served.storage.notes(),
            restored_at=restore.restored_at(connection),
            errors=[ingest_error(f) for f in failed] if with_errors else None,
            errors_left_out=sum(status.failed for status in statuses) - len(failed) if with_errors else 0,
        )

    return await served.read(work)


def _with_embedded(status: CollectionStatus, covered: vectors.Coverage, wanted: str | None) -> CollectionStatus:
    return msgspec.structs.replace(
        status,
        chunks=covered.chunks,
        embedded=covered.embedded,
        unembeddable=covered.failed,
        model=covered.model,
        next_model=wanted if wanted != covered.model else None,
    )


def _with_pending(freshness: Freshness, pending: int) -> Freshness:
    """Return what the walk has found, which knows more than the daemon did."""
    return msgspec.structs.replace(freshness, pending=pending, current=freshness.current and not pending)


def _walk(served: Index, collection: CollectionConfig) -> Listing | RootUnavailable:
    try:
        listing = walk(collection, served.syncing.ignore_files)
    except RootUnavailable as error:
        return error
    # An empty folder may be a drive that is away: a sync knows, and takes nothing from the index.
    reason = served.syncing.why_unavailable(collection.name)
    return RootUnavailable(reason) if reason else listing


def _collection_status(
    connection: Connection,
    collection: CollectionConfig,
    walked: Listing | RootUnavailable,
    watch: WatchState,
    last_reconcile: float | None,
) -> CollectionStatus:
    try:
        collection_id = collections.id_of(connection, collection.name)
    except GnoError:  # added this moment, and not mirrored yet
        collection_id = -1
    known = documents.stats(connection, collection_id)
    failed = failures.of_collection(connection, collection_id)
    faults = [f for f in failed.values() if f.kind not in SKIP_KINDS]
    is_available = isinstance(walked, Listing)
    plan = compare(walked, known, failed, time.time()) if isinstance(walked, Listing) else Plan([], [], [], 0, [])
    last_sync = next((c.last_sync for c in collections.all_collections(connection) if c.id == collection_id), None)
    return CollectionStatus(
        name=collection.name,
        path=collection.path,
        available=is_available,
        reason=None if isinstance(walked, Listing) else walked.message,
        on_disk=len(walked.files) if isinstance(walked, Listing) else 0,
        indexed=len(known),
        pending=len([p for p in plan.read if _is_news(p, walked, failed)]) + len(plan.remove),
        failed=len(faults),
        failed_by_kind=dict(Counter(f.kind for f in faults)),
        skipped=len(failed) - len(faults),
        excluded=walked.excluded if isinstance(walked, Listing) else 0,
        watch=watch.mode,
        watch_reason=watch.reason,
        last_event=_iso(watch.last_event),
        last_sync=_iso(last_sync),
        last_reconcile=_iso(last_reconcile),
    )


def _is_news(path: str, walked: Listing | RootUnavailable, failed: dict[str, failures.FailedFile]) -> bool:
    """Tell whether a file that is to be read is not merely one that failed and is tried again."""
    if path not in failed or isinstance(walked, RootUnavailable):
        return True
    before = failed[path].stat
    return before is not None and before != walked.files[path]


def _iso(at: float | None) -> str | None:
    return iso(at) if at else None


def _bytes_on_disk(database: Path) -> int:
    """Return the size of the database with its write-ahead log."""
    sizes = []
    for path in (database, database.with_name(database.name + "-wal")):
        try:
            sizes.append(path.stat().st_size)
        except OSError:
            continue
    return sum(sizes)


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)
