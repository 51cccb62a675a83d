"""`daemon.*`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

import apsw
import psutil

import gnod
from gnod.ingest.workers.pool import WorkerPool
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams, copied
from gnod.protocol.daemon import DaemonShutdownResult, DaemonStatusResult, WorkerStatus
from gnod.rpc.dispatcher import Call, Handler
from gnod.rpc.stats import Stats


def handlers(places: IndexPaths, stats: Stats, pool: WorkerPool, stop: Callable[[], None]) -> Mapping[str, Handler]:
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

    async def daemon_shutdown(_: NoParams, __: Call) -> DaemonShutdownResult:
        stop()
        return DaemonShutdownResult(stopping=True)

    return {"daemon.status": daemon_status, "daemon.shutdown": daemon_shutdown}
