"""`daemon.*`: the state of the process, restart and shutdown; statistics of requests, memory and embedding."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice

import apsw
import psutil

import gnod
from gnod.background.embedding_backlog import Backlog
from gnod.caches import WORDS
from gnod.handlers.wire_types import iso
from gnod.ingest.workers.pool import WorkerPool
from gnod.paths import IndexPaths
from gnod.protocol import daemon as wire
from gnod.protocol.base import NoParams, ProgressValue, copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.rpc.stats import MethodCalls, Stats
from gnod.search.meaning.vector_search import Nearest
from gnod.store.database import Database

_LAST_CALLS = 10


def handlers(
    places: IndexPaths,
    stats: Stats,
    pool: WorkerPool,
    database: Database,
    nearest: Nearest,
    backlog: Backlog,
    stop: Callable[[], None],
    restart: Callable[[Callable[[int], None]], Awaitable[str]],
) -> Mapping[str, Handler]:
    """`restart`: takes a callback that gets the number of requests that it waits for; returns the installed version."""
    process = psutil.Process()

    async def daemon_status(_: NoParams, __: Call) -> wire.DaemonStatusResult:
        return wire.DaemonStatusResult(
            version=gnod.__version__,
            pid=os.getpid(),
            index=places.index,
            socket=stats.socket,
            log_file=str(places.log_file),
            uptime_s=round(stats.uptime_s, 3),
            resident_bytes=process.memory_info().rss,
            connections=stats.connections,
            requests=stats.requests,
            workers=[copied(wire.WorkerStatus, worker) for worker in pool.statuses()],
            sqlite_version=apsw.sqlite_lib_version(),
            manager=stats.manager,
        )

    async def daemon_restart(_: NoParams, call: Call) -> wire.DaemonRestartResult:
        def report(waiting: int) -> None:
            call.progress(ProgressValue(stage="waiting for requests", done=waiting))

        return wire.DaemonRestartResult(version=await restart(report))

    async def daemon_shutdown(_: NoParams, __: Call) -> wire.DaemonShutdownResult:
        stop()
        return wire.DaemonShutdownResult(stopping=True)

    async def daemon_stats(_: NoParams, __: Call) -> wire.DaemonStatsResult:
        return wire.DaemonStatsResult(
            uptime_s=round(stats.uptime_s, 3),
            connections=stats.connections,
            processes=await asyncio.to_thread(_processes),
            methods=[_times(method, calls) for method, calls in sorted(stats.calls.items())],
            embedded=[copied(wire.EmbeddedChunks, hour, start=iso(hour.start)) for hour in backlog.hours],
            pending_chunks=backlog.state().pending,
            caches=_caches(database, nearest),
        )

    async def daemon_metrics(params: NoParams, call: Call) -> wire.DaemonMetricsResult:
        return wire.DaemonMetricsResult(text="".join(f"{line}\n" for line in metrics(await daemon_stats(params, call))))

    return named(daemon_status, daemon_restart, daemon_shutdown, daemon_stats, daemon_metrics)


def _times(method: str, calls: MethodCalls) -> wire.MethodTimes:
    return wire.MethodTimes(
        method=method,
        calls=calls.calls,
        total_ms=_ms(calls.total_s),
        failures=dict(calls.failures),
        p50_ms=_ms(calls.percentile_s(0.5)),
        p95_ms=_ms(calls.percentile_s(0.95)),
        last_ms=[_ms(took_s) for took_s in islice(reversed(calls.recent_s), _LAST_CALLS)][::-1],
    )


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _processes() -> list[wire.ProcessMemory]:
    """Return the memory of the daemon and all its child processes."""
    daemon = psutil.Process()
    found = []
    for process in [daemon, *daemon.children(recursive=True)]:
        try:
            name = "daemon" if process == daemon else _name(process.cmdline())
            found.append(
                wire.ProcessMemory(process=name, pid=process.pid, resident_bytes=int(process.memory_info().rss))
            )
        except psutil.Error:
            continue  # it has ended
    return found


def _name(command: list[str]) -> str:
    """Name a process by the module of gnod that it runs; "program" for others (git, tesseract).

    >>> _name(["python", "-P", "-m", "gnod.models.run.worker", "7"]), _name(["tesseract", "/home/ada/a.png"])
    ('models.run.worker', 'program')
    """
    module = next((word for word in command if word.startswith("gnod.")), None)
    return module.removeprefix("gnod.") if module else "program"


def _caches(database: Database, nearest: Nearest) -> list[wire.CacheSize]:
    """`postings` are files that the system keeps in memory while it has room."""
    postings = database.postings.bytes_on_disk() if database.postings else 0
    return [
        wire.CacheSize(cache="words", bytes=WORDS.used_bytes, limit_bytes=WORDS.most_bytes),
        wire.CacheSize(cache="vectors", bytes=nearest.memory_bytes()),
        wire.CacheSize(cache="postings", bytes=postings),
    ]


def metrics(stats: wire.DaemonStatsResult) -> Iterator[str]:
    """Yield the lines of Prometheus' text format, 0.0.4. All labels are gnod's own names, which need no escapes."""
    resident: Counter[str] = Counter()  # without process ids, because each worker would start a new series
    for process in stats.processes:
        resident[f'{{process="{process.process}"}}'] += process.resident_bytes
    failures = [
        (f'{{method="{each.method}",kind="{kind}"}}', number)
        for each in stats.methods
        for kind, number in sorted(each.failures.items())
    ]
    yield from _metric("uptime_seconds gauge", "Time since the start.", [("", stats.uptime_s)])
    yield from _metric("connections gauge", "Open connections.", [("", stats.connections)])
    yield from _metric("pending_chunks gauge", "Chunks without a vector.", [("", stats.pending_chunks)])
    yield from _metric("resident_bytes gauge", "Memory of the processes of a kind.", [*resident.items()])
    caches = [(f'{{cache="{cache.cache}"}}', cache.bytes) for cache in stats.caches]
    yield from _metric("cache_bytes gauge", "Size of each cache.", caches)
    yield from _metric("request_failures_total counter", "Requests that failed.", failures)
    times = [sample for method in stats.methods for sample in _summary(method)]
    yield from _metric("request_seconds summary", "How long requests took; quantiles of the last 256.", times)


def _summary(times: wire.MethodTimes) -> list[tuple[str, float]]:
    method = f'method="{times.method}"'
    return [
        (f'{{{method},quantile="0.5"}}', round(times.p50_ms / 1000, 6)),
        (f'{{{method},quantile="0.95"}}', round(times.p95_ms / 1000, 6)),
        (f"_sum{{{method}}}", round(times.total_ms / 1000, 6)),
        (f"_count{{{method}}}", times.calls),
    ]


def _metric(name_and_type: str, meaning: str, samples: Sequence[tuple[str, float]]) -> Iterator[str]:
    """Yield a metric and its samples. A sample has the text after the metric's name, and the value."""
    name = name_and_type.split()[0]
    yield f"# HELP gnod_{name} {meaning}"
    yield f"# TYPE gnod_{name_and_type}"
    yield from (f"gnod_{name}{labels} {value}" for labels, value in samples)
