"""`daemon.*`."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping

import apsw
import psutil

import gnod
from gnod.ingest.workers.pool import WorkerPool
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams, ProgressValue, copied
from gnod.protocol.daemon import DaemonRestartResult, DaemonShutdownResult, DaemonStatusResult, WorkerStatus
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.rpc.stats import Stats


def handlers(
    places: IndexPaths,
    stats: Stats,
    pool: WorkerPool,
    stop: Callable[[], None],
    restart: Callable[[Callable[[int], None]], Awaitable[str]],
) -> Mapping[str, Handler]:
    """`restart` takes who is told of how many requests it waits for, and returns the installed version."""
    process = psutil.Process()

    async def daemon_status(_: NoParams, __: Call) -> DaemonStatusResult:
        return DaemonStatusResult(
            version=gnod.__version__,
            pid=os.getpid(),
            index=places.index,
            socket=stats.socket,
            log_file=str(places.log_file),
            uptime_s=round(stats.uptime_s, 3),
            resident_bytes=process.memory_info().rss,
            connections=stats.connections,
            requests=stats.requests,
            workers=[copied(WorkerStatus, worker) for worker in pool.statuses()],
            sqlite_version=apsw.sqlite_lib_version(),
            manager=stats.manager,
        )

    async def daemon_restart(_: NoParams, call: Call) -> DaemonRestartResult:
        def report(waiting: int) -> None:
            call.progress(ProgressValue(stage="waiting for requests", done=waiting))

        return DaemonRestartResult(version=await restart(report))

    async def daemon_shutdown(_: NoParams, __: Call) -> DaemonShutdownResult:
        stop()
        return DaemonShutdownResult(stopping=True)

    return named(daemon_status, daemon_restart, daemon_shutdown)
