"""`index.status`: how the index compares with the disk, what is in progress, and what failed.

Counts come from the index, which stores them. Small folders are also walked; others only on request.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gnod.background.embedding_backlog import Backlog
from gnod.background.ocr_backlog import OcrBacklog
from gnod.config.model import CollectionConfig
from gnod.configured.configuration import Configuration
from gnod.configured.embedding_models import EmbeddingService
from gnod.configured.endpoints import EndpointUse, EndpointUses
from gnod.configured.models import ModelService
from gnod.disks.mounts import mounts, remote_mount
from gnod.errors import CollectionNotFound, RootUnavailable
from gnod.freshness.collection import SyncedCollection
from gnod.freshness.read_your_writes import FreshnessService
from gnod.freshness.scheduler import SyncScheduler
from gnod.handlers.wire_types import embedding_status, freshness_of, ingest_error, iso
from gnod.ingest.files.plan import FolderComparison
from gnod.ingest.files.walk import Walk, walk
from gnod.models.run.inference import Inference
from gnod.paths import IndexPaths
from gnod.protocol import index as wire
from gnod.protocol.base import copied
from gnod.protocol.collections import AttachedInfo, PublicationInfo
from gnod.search.meaning.vector_search import Nearest
from gnod.store.backup import restore, staging
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections
from gnod.store.health.monitor import StorageMonitor
from gnod.store.keyword_index.postings.versions import Postings
from gnod.store.tables import counts, documents, failures, scans
from gnod.store.tables.counts import CollectionCounts
from gnod.store.tables.egress_journal import EgressJournal
from gnod.store.tables.records import SKIP_KINDS
from gnod.store.vectors import vectors

# The maximum number of listed errors. The counts by kind are exact.
MAX_ERRORS = 1000
# The maximum number of files that one request examines in all collections: about 0.2 s.
MAX_WALKED = 20_000


class IndexServices(NamedTuple):
    """The services that the methods of the index use, and the checks of the doctor."""

    places: IndexPaths
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
    models: ModelService
    endpoints: EndpointUses
    journal: EgressJournal
    attached: Callable[[], list[AttachedInfo]]
    published: Callable[[], list[PublicationInfo]]


async def status_of(services: IndexServices, params: wire.IndexStatusParams) -> wire.IndexStatusResult:
    configuration = services.configuration
    config = configuration.current
    walks = await _walks(services, verify=params.verify)
    endpoints = [_endpoint(use) for use in await services.endpoints()]
    attached = services.attached()
    wanted, unused = services.embedding.wanted(), services.embedding.unused()
    answering = services.embedding.answering()

    def work(connection: Connection) -> wire.IndexStatusResult:
        models = {
            collection.name: answering.get(collection.name) or wanted.get(collection.name)
            for collection in config.collections
        }
        # Count again, because files may have been indexed during the walks.
        counted, kinds = counts.of_collections(connection), failures.by_kind(connection)
        known, parts = failures.acknowledged(connection), failures.in_part(connection)
        synced_at = {each.name: each.last_sync for each in collections.all_collections(connection)}
        statuses = [
            _collection_status(
                services.scheduler,
                each,
                # Free each walk in this thread: it may have found a hundred thousand files.
                *_compare(connection, services.scheduler.find(each.name), each.name, walks.pop(each.name, None)),
                counted.get(each.name, CollectionCounts()),
                kinds.get(each.name, Counter()),
                covered,
                last_sync=_iso(synced_at.get(each.name)),
                acknowledged=known.get(each.name, 0),
                partial_by_kind=parts.get(each.name, {}),
                unused_model=unused.get(each.name),
                next_model=wanted.get(each.name) if wanted.get(each.name) != covered.model else None,
            )
            for each, covered in zip(config.collections, vectors.coverage(connection, models), strict=True)
        ]
        failed = failures.listed(connection, MAX_ERRORS) if params.errors else []
        return wire.IndexStatusResult(
            index=services.places.index,
            database=str(services.places.database),
            database_bytes=staging.bytes_of(services.places.database),
            postings=_postings_status(services.database.postings),
            documents=sum(each.documents for each in counted.values()),
            chunks=counts.chunks(connection),
            languages={name or "": n for name, n in documents.count_by_language(connection).items()},
            collections=statuses,
            attached=attached,
            published=services.published(),
            freshness=freshness_of(
                services.freshness.report(connection, [])._replace(pending=sum(statuse.pending for statuse in statuses))
            ),
            syncing=services.scheduler.is_running,
            embedding=embedding_status(services.backlog),
            ocr=_ocr_status(connection, services.ocr),
            inference=copied(
                wire.InferenceStatus, services.inference.status(), vectors_bytes=services.nearest.memory_bytes()
            ),
            downloads_due_s={uri: round(due_s, 1) for uri, due_s in services.models.due_in_s().items()},
            endpoints=endpoints,
            config_file=str(configuration.path),
            config_warnings=list(configuration.warnings),
            config_error=configuration.error.message if configuration.error else None,
            storage_problems=services.storage.problems(),
            storage_notes=services.storage.notes(),
            restored_at=restore.restored_at(connection),
            errors=[ingest_error(f) for f in failed] if params.errors else None,
            errors_left_out=sum(status.failed for status in statuses) - len(failed) if params.errors else 0,
        )

    return await services.database.read(work)


def _endpoint(use: EndpointUse) -> wire.EndpointStatus:
    return copied(wire.EndpointStatus, use, last_sent=_iso(use.last_sent))


def _postings_status(postings: Postings | None) -> wire.PostingsStatus | None:
    version = postings.newest if postings else None
    if postings is None or version is None:
        return None
    return wire.PostingsStatus(documents=sum(part.size for part in version.parts), bytes=postings.bytes_on_disk())


async def _walks(services: IndexServices, *, verify: bool) -> dict[str, Walk | RootUnavailable]:
    """Walk all folders (`verify`) or only the small ones; return the results by collection."""
    every = services.configuration.current.collections
    chosen = every if verify else await services.database.read(lambda connection: _small(connection, every, services))
    found = await asyncio.gather(*(_walk(services.scheduler, each) for each in chosen))
    return dict(zip((each.name for each in chosen), found, strict=True))


def _small(
    connection: Connection, every: Sequence[CollectionConfig], services: IndexServices
) -> list[CollectionConfig]:
    """Return the collections to walk: the smallest ones on this machine, up to MAX_WALKED files together."""
    mounted = mounts()
    counted, kinds = counts.of_collections(connection), failures.by_kind(connection)

    def size(each: CollectionConfig) -> int:
        known = services.scheduler.find(each.name)
        indexed = counted.get(each.name, CollectionCounts()).files + kinds.get(each.name, Counter()).total()
        return indexed + (known.pending_files if known else 0)

    chosen, total = [], 0
    for each in sorted((each for each in every if remote_mount(each.path, mounted) is None), key=size):
        total += size(each)
        if total > MAX_WALKED:
            break
        chosen.append(each)
    return chosen


async def _walk(scheduler: SyncScheduler, collection: CollectionConfig) -> Walk | RootUnavailable:
    place = scheduler.looks.at(collection.path)

    def enter(path: str, *, is_file: bool = False) -> None:
        del path, is_file
        place.sign()

    try:
        listing = await place.run(lambda: walk(collection, scheduler.ignore_files, enter=enter))
    except RootUnavailable as error:
        return error
    # An empty folder may be an unmounted drive. The sync knows whether it is.
    known = scheduler.find(collection.name)
    reason = known.unavailable if known else None
    return RootUnavailable(reason) if reason else listing


def _compare(
    connection: Connection, known: SyncedCollection | None, name: str, walked: Walk | RootUnavailable | None
) -> tuple[Walk | RootUnavailable | None, int]:
    """Return the walk of a folder (None if it was not walked), and how many of its files differ from the index."""
    if walked is None:
        reason = known.unavailable if known else None
        return RootUnavailable(reason) if reason else None, known.pending_files if known else 0
    if isinstance(walked, RootUnavailable):
        return walked, 0
    try:
        collection_id = collections.id_of(connection, name)
    except CollectionNotFound:  # it was just added, and is not in the database yet
        return walked, len(walked.files)
    failed = failures.of_collection(connection, collection_id)
    found = FolderComparison(is_steady=known is None or known.is_steady)
    found.add(walked.files, documents.stats(connection, collection_id), failed, time.time())
    removed = found.plan(walked.unreadable, walked.undecodable).remove
    return walked, len(found.read) - found.again + len(removed)


def _collection_status(
    scheduler: SyncScheduler,
    collection: CollectionConfig,
    found: Walk | RootUnavailable | None,
    pending: int,
    counted: CollectionCounts,
    kinds: Counter[str],
    covered: vectors.Coverage,
    **more: Any,
) -> wire.CollectionStatus:
    """`more`: fields that the caller computes."""
    synced, watch = scheduler.find(collection.name), scheduler.watch_state(collection.name)
    faults = {kind: n for kind, n in kinds.items() if kind not in SKIP_KINDS}
    skips = {kind: n for kind, n in kinds.items() if kind in SKIP_KINDS}
    is_gone = isinstance(found, RootUnavailable)
    return wire.CollectionStatus(
        name=collection.name,
        path=collection.path,
        available=not is_gone,
        reason=found.message if isinstance(found, RootUnavailable) else None,
        verified=found is not None,
        on_disk=len(found.files) if isinstance(found, Walk) else 0 if is_gone else None,
        indexed=counted.files,
        pending=pending,
        failed=sum(faults.values()),
        failed_by_kind=faults,
        skipped=sum(skips.values()),
        skipped_by_kind=skips,
        excluded=found.excluded if isinstance(found, Walk) else 0 if is_gone else None,
        hidden=found.hidden if isinstance(found, Walk) else 0 if is_gone else None,
        watch=watch.mode,
        watch_reason=watch.reason,
        last_event=_iso(watch.last_event),
        last_reconcile=_iso(synced.last_reconcile if synced else None),
        chunks=covered.chunks,
        wordless=covered.wordless,
        embedded=covered.embedded,
        in_brief=covered.in_brief,
        in_full=covered.in_full,
        unembeddable=covered.failed,
        egress=collection.egress,
        model=covered.model,
        **more,
    )


def _ocr_status(connection: Connection, ocr: OcrBacklog) -> wire.OcrStatus:
    pending, state = scans.pending(connection), ocr.state()
    return wire.OcrStatus(
        state=state.state,
        reason=state.reason,
        pending=pending,
        failed=scans.failed(connection),
        left_s=None if state.page_s is None else round(pending * state.page_s, 1),
    )


def _iso(at: float | None) -> str | None:
    return iso(at) if at else None
