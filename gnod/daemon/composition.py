"""The composition root: makes every service in order, passes its dependencies, and closes the services in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from gnod.analysis.terms import VERSION
from gnod.answers.query_models import ConfiguredModels
from gnod.answers.service import AnswerService
from gnod.background.embedding_backlog import Backlog
from gnod.background.ocr_backlog import OcrBacklog
from gnod.background.throttling import low_disk
from gnod.background.tuning import TuningService
from gnod.config import shared_addresses
from gnod.configured.configuration import Configuration
from gnod.configured.egress_gate import EgressPolicy
from gnod.configured.embedding_models import EmbeddingService, ReadabilityService
from gnod.configured.endpoints import endpoint_uses
from gnod.configured.models import ModelFactory, ModelService
from gnod.configured.recommendation import recommend
from gnod.daemon.lifecycle import Control
from gnod.daemon.replacing import Replacement
from gnod.disks.looks import Looks
from gnod.egress import Purpose
from gnod.errors import DaemonNotRunning, DatabaseCorrupt, GnoError, OutdatedDatabase
from gnod.freshness.read_your_writes import FreshnessService
from gnod.freshness.scheduler import SyncScheduler
from gnod.handlers import answers as answer_handlers
from gnod.handlers import (
    backup,
    collection,
    daemon,
    index,
    index_status,
    links,
    memory,
    models,
    search,
    subscribe,
)
from gnod.handlers import shared as shared_handlers
from gnod.handlers.checks import doctor
from gnod.handlers.documents import capture, document, document_pages, move
from gnod.ingest.reading.versions import VERSIONS, is_current
from gnod.ingest.text.document_terms import terms_of
from gnod.ingest.workers.pool import WorkerPool
from gnod.memory.service import MemoryService
from gnod.models.remote.addresses import Addresses
from gnod.models.remote.models import RemoteModels
from gnod.models.run.inference import Inference
from gnod.paths import IndexPaths
from gnod.private import private_folder
from gnod.rpc.dispatcher import Handler
from gnod.rpc.stats import Stats
from gnod.rpc.subscriptions import Subscriptions
from gnod.search.correction.correction_service import Corrector
from gnod.search.meaning.vector_search import Nearest
from gnod.search.service import SearchService
from gnod.shared import models as shared_models
from gnod.shared import opening
from gnod.shared.attached import AttachedCollections
from gnod.shared.engine import SharedEngine
from gnod.shared.publisher import PublishingService
from gnod.store import index_schema
from gnod.store.backup import restore
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import writing
from gnod.store.health import damage
from gnod.store.health.monitor import StorageMonitor
from gnod.store.keyword_index.postings.builder import Builder
from gnod.store.keyword_index.postings.following import Following
from gnod.store.keyword_index.postings.versions import Postings, folder_of
from gnod.store.readers.readers import Readers
from gnod.store.tables import changes
from gnod.store.tables.egress_journal import EgressJournal
from gnod.store.vectors.fingerprints import StoredFingerprints

_MAX_WORKERS = 4
_MAX_READERS = 4
# When the daemon stops, requests in flight may take this long.
_SHUTDOWN_GRACE_S = 5.0
# An engine is unreachable if it does not answer within this time. Searches wait less.
_ENGINE_S = 5.0
# The start waits this long for the postings, which are read during its first steps. Until they are read, a search takes
# seconds in an index of a million documents.
_POSTINGS_S = 3.0
_LOWEST_PRIORITY = 19  # not SCHED_IDLE: on a machine that is always busy, the worker would not even start
# OCR models need more than 1 GB of address space, and run only while the processor is idle.
_OCR_MEMORY_MB = 2048
_OCR_TIME_FACTOR = 5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ComposedServices:
    """The services that `lifecycle.serve` keeps while the daemon runs. `closing` ends them in reverse order."""

    handlers: Mapping[str, Handler]
    configuration: Configuration
    attached: AttachedCollections
    publishing: PublishingService
    journal: EgressJournal
    database: Database
    inference: Inference
    backlog: Backlog
    freshness: FreshnessService
    subscriptions: Subscriptions
    closing: contextlib.AsyncExitStack
    shutdown_grace_s: float = _SHUTDOWN_GRACE_S

    async def reload(self) -> None:
        await self.configuration.reload()

    async def heartbeat(self) -> None:
        await asyncio.wrap_future(self.database.heartbeat())

    async def close(self) -> None:
        await self.closing.aclose()


async def start(
    places: IndexPaths,
    stats: Stats,
    control: Control,
    *,
    log_level: str | None = None,
    on_demand: bool = False,
    addresses: Addresses | None = None,
) -> ComposedServices:
    """Open the database, read the config, and watch and sync every collection in the background. Quarantine a database
    that is damaged or older than the first release, and create a new one.

    `log_level` overrides the level in the config. `addresses` decides where model servers are. Raises ConfigInvalid,
    ForeignDatabase, NewerDatabase, DatabaseCorrupt, StorageFailed, and DaemonNotRunning if the start is `on_demand` and
    the config forbids that.
    """
    await asyncio.to_thread(restore.finish, places)
    opened = partial(
        _start, places, stats, control, log_level=log_level, on_demand=on_demand, addresses=addresses or Addresses()
    )
    try:
        return await opened()
    except DatabaseCorrupt:
        _log.exception("index.damaged")
        await asyncio.to_thread(damage.renew, places.database)
    except OutdatedDatabase as error:
        _log.warning("index.outdated", extra={"fields": {"reason": error.message}})
        await asyncio.to_thread(damage.renew, places.database, "outdated")
    return await opened()


async def _start(
    places: IndexPaths,
    stats: Stats,
    control: Control,
    *,
    log_level: str | None,
    on_demand: bool,
    addresses: Addresses,
) -> ComposedServices:
    database = await asyncio.to_thread(Database, places.database)
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(asyncio.to_thread, database.close)
        # The config folder must exist to be watched. The code that writes the config reports the error.
        with contextlib.suppress(OSError, GnoError):
            private_folder(places.config_dir)
        configuration = Configuration(places.config_file, database)
        # Make this before anything reads the database, so that all readers have the postings.
        following = Following(database, Postings(folder_of(places.database), VERSION), Builder(terms_of))
        closing.push_async_callback(asyncio.to_thread, following.close)
        settings = configuration.current.daemon
        if on_demand and not settings.autostart:
            raise DaemonNotRunning("gnod is not running, and index.yml turns autostart off: run `gnoctl daemon start`")
        logging.getLogger("gnod").setLevel((log_level or settings.log_level).upper())
        await database.write(changes.leap)
        following.start()  # after `leap`, because it compares the data that it reads with the clock
        await configuration.mirror()
        await database.write(_rebuild_after_tokenizer_change)
        await database.write(_rebuild_after_converter_change)
        return await _compose(places, stats, control, configuration, database, following, addresses, closing)


async def _compose(
    places: IndexPaths,
    stats: Stats,
    control: Control,
    configuration: Configuration,
    database: Database,
    following: Following,
    addresses: Addresses,
    closing: contextlib.AsyncExitStack,
) -> ComposedServices:
    """Make the services in the order of their dependencies. They receive a new config in the order in which they
    connect to `configuration.changed`."""
    model_service = ModelService(configuration, places.models_dir)
    inference = Inference(idle_unload_s=configuration.current.models.idle_unload_s)
    closing.push_async_callback(inference.close)
    configuration.changed.connect(lambda _: inference.keep_idle_for(configuration.current.models.idle_unload_s))
    journal = EgressJournal(places.egress_journal)
    closing.callback(journal.close)
    egress = EgressPolicy(configuration, journal)
    remote = RemoteModels(StoredFingerprints(database), egress, addresses)
    closing.push_async_callback(remote.close)
    configuration.changed.connect(lambda _: remote.close_soon({use.uri for use in model_service.uses()}))
    factory = ModelFactory(configuration, model_service.files, inference, remote)
    attached = AttachedCollections(
        configuration,
        places.data_dir,
        f"shared-{places.index}-",
        partial(_engine, egress, addresses),
        partial(shared_models.same, model_service),
    )
    embedding_service = EmbeddingService(configuration, database, model_service, factory, egress, attached.served)
    await embedding_service.load()
    # Wait before background work starts.
    await asyncio.to_thread(following.wait_until_loaded, _POSTINGS_S)
    readability = ReadabilityService(model_service, factory)
    closing.push_async_callback(readability.close)
    recommendation = partial(recommend, configuration, database, model_service, readability)
    looks = Looks()
    pool = _pool(places, configuration, looks)
    closing.push_async_callback(pool.close)
    storage = StorageMonitor(database, control.reopen)
    nearest = Nearest()
    database.submit_read(partial(_load_vectors, nearest, sorted(set(embedding_service.served().values()))))
    backlog = Backlog(configuration, embedding_service, database, inference, model_service.installed)
    closing.push_async_callback(backlog.close)
    tuning_service = TuningService(
        database,
        embedding_service,
        pool,
        backlog,
        embed_on_battery=lambda: configuration.current.models.embed_on_battery,
    )
    closing.push_async_callback(tuning_service.close)
    scheduler = SyncScheduler(
        configuration,
        database,
        pool,
        hold_reason=lambda: low_disk(places.data_dir),
        on_index_changed=backlog.chunks_changed,
        on_check=storage.check,
        looks=looks,
    )
    closing.push_async_callback(scheduler.close)
    ocr = OcrBacklog(
        configuration,
        database,
        _pool(places, configuration, looks, for_ocr=True),
        backlog,
        is_syncing=lambda: scheduler.is_busy,
        reread=scheduler.note_changed,
    )
    closing.push_async_callback(ocr.close)
    scheduler.state_changed.connect(ocr.request)
    freshness = FreshnessService(configuration, scheduler, embedding_service, backlog)
    memory_service = MemoryService(places.memory_database, configuration, model_service, factory)
    closing.push_async_callback(memory_service.close)
    endpoints = partial(endpoint_uses, configuration, remote, egress)
    publications = PublishingService(
        *(configuration, database, embedding_service, model_service, egress, addresses, places.data_dir)
    )
    closing.push_async_callback(publications.close)
    query_models = ConfiguredModels(database, model_service, factory, embedding_service, nearest, readability, egress)
    corrector = Corrector(database.submit_read)
    readers = Readers(database, _readers(configuration.current.daemon.readers), search.__name__)
    closing.push_async_callback(readers.close)
    closing.push_async_callback(model_service.close)  # closed first, because it notifies the others of installed models
    searches = SearchService(
        *(configuration, database, freshness, query_models, nearest, corrector, readers, attached),
    )
    answers = AnswerService(searches, query_models)
    subscriptions = Subscriptions()
    scheduler.state_changed.connect(subscriptions.wake)
    backlog.changed.connect(lambda _: subscriptions.wake())
    configuration.changed.connect(lambda _: subscriptions.wake())
    replacement = Replacement(stats, control.replace)
    closing.callback(asyncio.create_task(replacement.follow_upgrades()).cancel)
    attached_infos = partial(shared_handlers.attached_infos, attached)
    index_services = index_status.IndexServices(
        *(places, configuration, database, storage, scheduler, freshness, embedding_service, backlog),
        *(ocr, inference, nearest, model_service, endpoints, journal, attached_infos),
        partial(shared_handlers.publication_infos, publications),
    )
    families = (
        answer_handlers.handlers(answers),
        backup.handlers(places, database, control.reopen),
        collection.handlers(configuration, database, attached_infos, scheduler.ignore_files),
        daemon.handlers(places, stats, pool, database, nearest, backlog, control.stop, replacement.when_idle),
        doctor.handlers(
            *(index_services, stats, pool, factory, memory_service),
            partial(shared_handlers.checks, attached, publications),
        ),
        capture.handlers(configuration, scheduler),
        document.handlers(configuration, database, attached),
        document_pages.handlers(configuration, database, pool),
        index.handlers(index_services, tuning_service),
        links.handlers(configuration, database),
        move.handlers(places, configuration, database, scheduler),
        memory.handlers(memory_service),
        models.handlers(
            *(configuration, model_service, readability, recommendation, embedding_service, backlog, memory_service)
        ),
        search.handlers(searches, configuration, database),
        shared_handlers.handlers(configuration, database, attached, publications, egress),
        subscribe.handlers(index_services, subscriptions),
    )
    attached.reload()
    closing.push_async_callback(attached.close)
    return ComposedServices(
        handlers={name: handler for family in families for name, handler in family.items()},
        configuration=configuration,
        attached=attached,
        publishing=publications,
        journal=journal,
        database=database,
        inference=inference,
        backlog=backlog,
        freshness=freshness,
        subscriptions=subscriptions,
        closing=closing.pop_all(),
    )


async def _engine(egress: EgressPolicy, addresses: Addresses, written: str, name: str) -> SharedEngine:
    purpose = Purpose("search", collections=(name,), users=(name,))
    return await opening.open_engine(shared_addresses.parse(written), egress, purpose, addresses, _ENGINE_S)


def _pool(places: IndexPaths, configuration: Configuration, looks: Looks, *, for_ocr: bool = False) -> WorkerPool:
    limits = configuration.current.ingest

    def roots() -> list[str]:
        """Return the folders that answer: a worker opens all of them when it starts."""
        return [each.path for each in configuration.current.collections if not looks.is_silent(each.path)]

    return WorkerPool(
        size=1 if for_ocr else limits.workers or min(os.cpu_count() or 1, _MAX_WORKERS),
        timeout_s=limits.timeout_s * (_OCR_TIME_FACTOR if for_ocr else 1),
        memory_mb=max(limits.memory_mb, _OCR_MEMORY_MB) if for_ocr else limits.memory_mb,
        roots=roots,
        before_start=lambda: looks.probe(roots()),
        scratch_folder=places.ocr_scratch_dir if for_ocr else places.scratch_dir,
        nice=_LOWEST_PRIORITY if for_ocr else 10,
    )


def _readers(configured: int | None) -> int:
    """Return the number of reader processes: by default, one for each core, up to a limit."""
    cores = os.cpu_count() or 1
    return (min(cores, _MAX_READERS) if cores > 1 else 0) if configured is None else configured


def _load_vectors(nearest: Nearest, uris: list[str], connection: Connection) -> None:
    """Load the vectors now, so that the first search does not wait."""
    for uri in uris:
        nearest.load(connection, uri)


def _rebuild_after_tokenizer_change(connection: Connection) -> None:
    """Rebuild the index if its terms come from another version of the analyser: queries would silently miss them."""
    if not index_schema.tokenizer_is_current(connection):
        writing.invalidate(connection)
        index_schema.record_tokenizer(connection)
        _log.info("index.rebuild", extra={"fields": {"reason": "the tokenizer changed"}})


def _rebuild_after_converter_change(connection: Connection) -> None:
    """Convert documents again if the version of their converter is outdated, although their files have not changed."""
    if converters := writing.invalidate_converted(connection, str(VERSIONS), is_current):
        _log.info("index.rebuild", extra={"fields": {"reason": f"{converters} converters changed"}})
