"""`index.*`: sync the index with the disk, and report how current it is."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from gnod.config import edit
from gnod.config.model import CollectionConfig
from gnod.errors import GnoError, RootUnavailable
from gnod.handlers.embedding import embedding_status, inference_status
from gnod.handlers.why import why
from gnod.handlers.wire_types import freshness_of, ingest_error, iso
from gnod.ingest.plan import Plan, compare
from gnod.ingest.sync import SyncReport
from gnod.ingest.walk import Listing, walk
from gnod.models.inference import Inference
from gnod.paths import Places
from gnod.pipeline.nearest import Nearest
from gnod.protocol import index as wire
from gnod.protocol.base import Freshness, NoParams, ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.backlog import Backlog
from gnod.services.configuration import Configuration
from gnod.services.embedding import EmbeddingService
from gnod.services.endpoints import EndpointReport
from gnod.services.ocr import OcrBacklog
from gnod.services.storage import StorageMonitor
from gnod.store.backup import restore
from gnod.store.database import Connection, Database
from gnod.store.documents import activity, collections, documents, failures, maintenance, scans
from gnod.store.documents.records import SKIP_KINDS
from gnod.store.health import damage
from gnod.store.vectors import vectors
from gnod.sync.freshness import FreshnessService
from gnod.sync.scheduler import SyncScheduler
from gnod.sync.update_command import run_update_command

# The counts by kind are exact.
MAX_ERRORS = 1000
_MAX_BUCKETS = 1000


class IndexServices(NamedTuple):
    """What the methods use."""

    places: Places
    configuration: Configuration
    database: Database
    storage: StorageMonitor
    scheduler: SyncScheduler
    freshness: FreshnessService
    embedding: EmbeddingService
    backlog: Backlog
    ocr: OcrBacklog
    inference: Inference
    nearest: Nearest
    endpoints: EndpointReport


def handlers(services: IndexServices) -> Mapping[str, Handler]:
    places, configuration, scheduler = services.places, services.configuration, services.scheduler

    async def index_init(_: NoParams, __: Call) -> wire.IndexInitResult:
        created = await asyncio.to_thread(edit.create, places.config_file)
        await configuration.reload()
        return wire.IndexInitResult(
            config_file=str(places.config_file),
            config_created=created,
            data_dir=str(places.data_dir),
            cache_dir=str(places.cache_dir),
            database=str(places.database),
            socket=str(places.socket),
            has_preset=await asyncio.to_thread(edit.names_preset, places.config_file),
        )

    async def index_sync(params: wire.IndexSyncParams, call: Call) -> wire.IndexSyncResult:
        started = time.monotonic()
        await configuration.reload()
        if configuration.error:
            raise configuration.error
        configuration.check_known(params.collections)
        wanted = set(params.collections)
        chosen = [c for c in configuration.current.collections if not wanted or c.name in wanted]
        if params.update:
            for collection in chosen:
                call.progress(ProgressValue(stage="update", done=0, label=collection.name))
                await run_update_command(collection)
        reports = await _sync_all(scheduler, [c.name for c in chosen], call)
        synced = [copied(wire.CollectionSync, each, took_ms=_milliseconds(each.took_s)) for each in reports]
        return wire.IndexSyncResult(collections=synced, took_ms=_milliseconds(time.monotonic() - started))

    async def index_status(params: wire.IndexStatusParams, _: Call) -> wire.IndexStatusResult:
        services.storage.check()
        await configuration.reload()
        known = [scheduler.collection(c.name) for c in configuration.current.collections]
        noted = [collection.changes_noted for collection in known]
        result = await _status(services, params.errors)
        pending = {status.name for status in result.collections if status.pending}
        for collection, before in zip(known, noted, strict=True):
            if collection.config.name in pending and collection.changes_noted == before:
                collection.note_missed()
        return result

    async def index_activity(params: wire.IndexActivityParams, _: Call) -> wire.IndexActivityResult:
        bucket_s = params.bucket_minutes * 60
        count = min(-(-params.hours * 3600 // bucket_s), _MAX_BUCKETS)
        now = time.time()
        found = await services.database.read(lambda connection: activity.read(connection, now, count, bucket_s))
        return wire.IndexActivityResult(
            buckets=[copied(wire.ActivityBucket, each, start=iso(each.start)) for each in found]
        )

    async def index_why(params: wire.IndexWhyParams, _: Call) -> wire.IndexWhyResult:
        configured = {c.name: c for c in configuration.current.collections}
        return await services.database.read(lambda c: why(c, params.path, configured, scheduler.ignore_files))

    async def index_cleanup(_: NoParams, __: Call) -> wire.IndexCleanupResult:
        before = _bytes_on_disk(places.database)
        removed_documents, removed_contents = await services.database.write(maintenance.purge)
        await services.database.maintain(maintenance.compact)
        await asyncio.to_thread(damage.delete_quarantined, places.database)
        after = _bytes_on_disk(places.database)
        return wire.IndexCleanupResult(
            removed_documents=removed_documents,
            removed_contents=removed_contents,
            freed_bytes=max(before - after, 0),
            database_bytes=after,
        )

    return {
        "index.init": index_init,
        "index.sync": index_sync,
        "index.status": index_status,
        "index.activity": index_activity,
        "index.why": index_why,
        "index.cleanup": index_cleanup,
    }


async def _sync_all(scheduler: SyncScheduler, names: list[str], call: Call) -> list[SyncReport]:
    done: dict[str, int] = {}
    totals: dict[str, int] = {}

    def progress(stage: str, n: int, total: int | None, label: str | None) -> None:
        if label is not None and total is not None:
            done[label], totals[label] = n, total
        known = sum(totals.values()) if len(totals) == len(names) else None
        call.progress(ProgressValue(stage=stage, done=sum(done.values()), total=known, label=label))

    # Shielded: a client that disconnects does not cancel a sync.
    runs = [asyncio.shield(scheduler.collection(name).request(progress)) for name in names]
    return list(await asyncio.gather(*runs))


async def _status(services: IndexServices, with_errors: bool) -> wire.IndexStatusResult:
    configuration, scheduler = services.configuration, services.scheduler
    config = configuration.current
    walks = await asyncio.gather(*(asyncio.to_thread(_walk, scheduler, c) for c in config.collections))

    endpoints = [copied(wire.EndpointStatus, each) for each in await services.endpoints.uses()]
    answering, wanted = services.embedding.served(), services.embedding.wanted()

    def work(connection: Connection) -> wire.IndexStatusResult:
        models = {name: answering.get(name) or uri for name, uri in wanted.items()}
        embedded = {each.collection: each for each in vectors.coverage(connection, models)}
        # Walks are freed in this thread: one may have found a hundred thousand files.
        statuses = [
            _collection_status(connection, c, walks.pop(0), scheduler, embedded[c.name], wanted[c.name])
            for c in config.collections
        ]
        totals = maintenance.totals(connection)
        failed = failures.listed(connection, MAX_ERRORS) if with_errors else []
        return wire.IndexStatusResult(
            index=services.places.index,
            database=str(services.places.database),
            database_bytes=_bytes_on_disk(services.places.database),
            documents=totals.documents,
            chunks=totals.chunks,
            languages=documents.languages(connection),
            collections=statuses,
            freshness=_with_pending(
                freshness_of(services.freshness.report(connection, [])), sum(status.pending for status in statuses)
            ),
            syncing=scheduler.is_running,
            embedding=embedding_status(services.backlog),
            ocr=_ocr_status(connection, services.ocr),
            inference=inference_status(services.inference, services.nearest),
            endpoints=endpoints,
            config_file=str(configuration.path),
            config_warnings=list(configuration.warnings),
            config_error=configuration.error.message if configuration.error else None,
            storage_problems=services.storage.problems(),
            storage_notes=services.storage.notes(),
            restored_at=restore.restored_at(connection),
            errors=[ingest_error(f) for f in failed] if with_errors else None,
            errors_left_out=sum(status.failed for status in statuses) - len(failed) if with_errors else 0,
        )

    return await services.database.read(work)


def _ocr_status(connection: Connection, ocr: OcrBacklog) -> wire.OcrStatus:
    pending, state = scans.pending(connection), ocr.state()
    return wire.OcrStatus(
        state=state.state,
        reason=state.reason,
        pending=pending,
        failed=scans.failed(connection),
        left_s=None if state.page_s is None else round(pending * state.page_s, 1),
    )


def _with_pending(freshness: Freshness, pending: int) -> Freshness:
    """Use the number of pending files that the walk found."""
    return msgspec.structs.replace(freshness, pending=pending, current=freshness.current and not pending)


def _walk(scheduler: SyncScheduler, collection: CollectionConfig) -> Listing | RootUnavailable:
    try:
        listing = walk(collection, scheduler.ignore_files)
    except RootUnavailable as error:
        return error
    # An empty folder may be an unmounted drive: the sync knows.
    known = scheduler.find(collection.name)
    reason = known.unavailable if known else None
    return RootUnavailable(reason) if reason else listing


def _collection_status(
    connection: Connection,
    collection: CollectionConfig,
    walked: Listing | RootUnavailable,
    scheduler: SyncScheduler,
    covered: vectors.Coverage,
    wanted: str | None,
) -> wire.CollectionStatus:
    """`wanted`: the model that the config asks for."""
    synced, watch = scheduler.find(collection.name), scheduler.watch_state(collection.name)
    try:
        collection_id = collections.id_of(connection, collection.name)
    except GnoError:  # just added, and not in the database yet
        collection_id = -1
    known = documents.stats(connection, collection_id)
    failed = failures.of_collection(connection, collection_id)
    faults = [f for f in failed.values() if f.kind not in SKIP_KINDS]
    is_available = isinstance(walked, Listing)
    plan = compare(walked, known, failed, time.time()) if isinstance(walked, Listing) else Plan([], [], [], 0, [])
    last_sync = next((c.last_sync for c in collections.all_collections(connection) if c.id == collection_id), None)
    return wire.CollectionStatus(
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
        last_reconcile=_iso(synced.last_reconcile if synced else None),
        chunks=covered.chunks,
        embedded=covered.embedded,
        unembeddable=covered.failed,
        egress=collection.egress,
        model=covered.model,
        next_model=wanted if wanted != covered.model else None,
    )


def _is_news(path: str, walked: Listing | RootUnavailable, failed: dict[str, failures.FailedFile]) -> bool:
    """Tell whether a file to read is new or changed, and not only a failed one that is tried again."""
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
