"""`index.*`: sync the index with the disk, embed and tune it, and report how current it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from gnod.background.embedding_backlog import BacklogState
from gnod.background.tuning import TuningService
from gnod.config import edit
from gnod.freshness.scheduler import SyncScheduler
from gnod.freshness.update_command import run_update_command
from gnod.handlers.checks.why import why
from gnod.handlers.index_status import IndexServices, status_of
from gnod.handlers.wire_types import embedding_status, ingest_error, iso
from gnod.ingest.sync import SyncReport
from gnod.protocol import index as wire
from gnod.protocol.base import NoParams, ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.hybrid.budget import milliseconds_since
from gnod.store.backup import staging
from gnod.store.documents import writing
from gnod.store.health import damage
from gnod.store.tables import counts, failures
from gnod.store.tables.egress_journal import SentBytes
from gnod.store.tables.learned_factors import Prior
from gnod.tuning.experiment import OnProgress

_MAX_BUCKETS = 1000


def handlers(services: IndexServices, tuning: TuningService) -> Mapping[str, Handler]:
    places, configuration, scheduler = services.places, services.configuration, services.scheduler
    backlog = services.backlog

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
        names = set(params.collections)
        chosen = [c for c in configuration.current.collections if not names or c.name in names]
        if params.update:
            for collection in chosen:
                call.progress(ProgressValue(stage="update", done=0, label=collection.name))
                if collection.update_command:
                    configuration.check_commands()
                await run_update_command(collection)
        reports = await _sync_all(scheduler, [c.name for c in chosen], call)
        synced = [copied(wire.CollectionSync, report, took_ms=_milliseconds(report.took_s)) for report in reports]
        return wire.IndexSyncResult(collections=synced, took_ms=_milliseconds(time.monotonic() - started))

    async def index_status(params: wire.IndexStatusParams, _: Call) -> wire.IndexStatusResult:
        services.storage.check()
        await configuration.reload()
        known = [scheduler.collection(c.name) for c in configuration.current.collections]
        noted = [collection.changes_noted for collection in known]
        result = await status_of(services, params)
        pending = {status.name for status in result.collections if status.verified and status.pending}
        for collection, before in zip(known, noted, strict=True):
            if collection.config.name in pending and collection.changes_noted == before:
                collection.note_missed()
        return result

    async def index_egress(_: NoParams, __: Call) -> wire.IndexEgressResult:
        sent = await asyncio.to_thread(services.journal.lines)
        return wire.IndexEgressResult(entries=[_sent(line) for line in sent], journal=str(places.egress_journal))

    async def index_activity(params: wire.IndexActivityParams, _: Call) -> wire.IndexActivityResult:
        bucket_s = params.bucket_minutes * 60
        count = min(-(-params.hours * 3600 // bucket_s), _MAX_BUCKETS)
        now = time.time()
        found = await services.database.read(lambda connection: counts.activity(connection, now, count, bucket_s))
        return wire.IndexActivityResult(
            buckets=[copied(wire.ActivityBucket, bucket, start=iso(bucket.start)) for bucket in found]
        )

    async def index_why(params: wire.IndexWhyParams, _: Call) -> wire.IndexWhyResult:
        configured = {c.name: c for c in configuration.current.collections}
        return await services.database.read(lambda c: why(c, params.path, configured, scheduler.ignore_files))

    async def index_cleanup(_: NoParams, __: Call) -> wire.IndexCleanupResult:
        before = staging.bytes_of(places.database)
        removed_documents, removed_contents = await services.database.write(writing.purge)
        await services.database.maintain(writing.compact)
        await asyncio.to_thread(damage.delete_quarantined, places.database)
        after = staging.bytes_of(places.database)
        return wire.IndexCleanupResult(
            removed_documents=removed_documents,
            removed_contents=removed_contents,
            freed_bytes=max(before - after, 0),
            database_bytes=after,
        )

    async def index_skipped(params: wire.IndexSkippedParams, _: Call) -> wire.IndexSkippedResult:
        configuration.check_known([params.collection] if params.collection else [])
        found, total = await services.database.read(
            lambda connection: failures.skipped(connection, params.collection, params.limit, params.offset)
        )
        return wire.IndexSkippedResult(files=[ingest_error(failed) for failed in found], total=total)

    async def index_acknowledge(params: wire.IndexAcknowledgeParams, _: Call) -> wire.IndexAcknowledgeResult:
        names = chosen_names(params.collections)
        files = await services.database.write(lambda c: failures.acknowledge(c, names, params.kinds))
        return wire.IndexAcknowledgeResult(files=files)

    async def index_retry(params: wire.IndexRetryParams, _: Call) -> wire.IndexRetryResult:
        names = chosen_names(params.collections)
        files = await services.database.write(lambda c: failures.try_again(c, names, params.kinds))
        await scheduler.sync(names)
        return wire.IndexRetryResult(files=files)

    async def index_embed(_: wire.IndexEmbedParams, call: Call) -> wire.IndexEmbedResult:
        started = time.perf_counter()

        def report(state: BacklogState) -> None:
            call.progress(
                ProgressValue(stage="embed", done=state.done, total=state.done + state.pending, label=_pace(state))
            )

        report(backlog.state())
        state = await backlog.follow(report)
        return wire.IndexEmbedResult(**state._asdict() | {"took_ms": milliseconds_since(started)})

    async def index_pause(_: NoParams, __: Call) -> wire.EmbeddingStatus:
        await backlog.pause()
        return embedding_status(backlog)

    async def index_resume(_: NoParams, __: Call) -> wire.EmbeddingStatus:
        await backlog.resume()
        return embedding_status(backlog)

    async def index_tune(params: wire.IndexTuneParams, call: Call) -> wire.IndexTuneResult:
        started = time.perf_counter()
        names = chosen_names(params.collections)
        for name in names:
            if params.action == "tune":
                await tuning.tune(name, _reporter(call, name))
            elif params.action == "reset":
                await tuning.reset(name)
        known = await tuning.priors()
        return wire.IndexTuneResult(
            collections=[_prior(name, known.get(name)) for name in names], took_ms=milliseconds_since(started)
        )

    def chosen_names(given: list[str]) -> list[str]:
        configuration.check_known(given)
        return given or [each.name for each in configuration.current.collections]

    return named(
        *(index_init, index_sync, index_status, index_activity, index_why, index_cleanup),
        *(index_skipped, index_acknowledge, index_retry, index_egress),
        *(index_embed, index_pause, index_resume, index_tune),
    )


async def _sync_all(scheduler: SyncScheduler, names: list[str], call: Call) -> list[SyncReport]:
    done: dict[str, int] = {}
    totals: dict[str, int] = {}

    def progress(stage: str, n: int, total: int | None, label: str | None) -> None:
        if label is not None and total is not None:
            done[label], totals[label] = n, total
        known = sum(totals.values()) if len(totals) == len(names) else None
        call.progress(ProgressValue(stage=stage, done=sum(done.values()), total=known, label=label))

    # Shield the syncs, so that a client that disconnects does not cancel them.
    runs = [asyncio.shield(scheduler.collection(name).request(progress)) for name in names]
    return list(await asyncio.gather(*runs))


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)


def _sent(line: SentBytes) -> wire.EgressEntry:
    return copied(
        wire.EgressEntry,
        line,
        collection=line.collection or None,
        first_at=iso(line.first),
        last_at=iso(line.last),
    )


def _pace(state: BacklogState) -> str | None:
    if not state.chunks_per_s:
        return "the beginnings of the documents first" if state.state == "embedding" and not state.done else None
    left_s = state.pending / state.chunks_per_s
    left = f"{left_s:.0f} s" if left_s < 90 else f"{left_s / 60:.0f} min" if left_s < 5400 else f"{left_s / 3600:.1f} h"
    return f"{state.chunks_per_s:.1f} chunks/s, {left} left"


def _reporter(call: Call, collection: str) -> OnProgress:
    def report(task: str, done: int, total: int) -> None:
        call.progress(ProgressValue(stage=task, done=done, total=total, label=collection))

    return report


def _prior(name: str, prior: Prior | None) -> wire.CollectionPrior:
    if prior is None:
        return wire.CollectionPrior(name=name)
    figures = ("keyword", "vector", "before", "after") if prior.questions else ()
    return wire.CollectionPrior(
        name=name,
        vector_odds=prior.vector_odds,
        model=prior.model,
        questions=prior.questions,
        measured_at=iso(prior.measured_at) if prior.measured_at else None,
        **{figure: round(getattr(prior, figure), 4) for figure in figures},
    )
