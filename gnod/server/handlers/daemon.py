"""`daemon.*`."""

from __future__ import annotations

import os
from collections.abc import Mapping

import apsw
import psutil

import gnod
from gnod.protocol.params import NoParams
from gnod.protocol.results import DaemonShutdownResult, DaemonStatusResult, WorkerStatus
from gnod.server.dispatcher import Call, Handler
from gnod.server.index import Index


def handlers(served: Index) -> Mapping[str, Handler]:
    process = psutil.Process()

    async def daemon_status(_: NoParams, __: Call) -> DaemonStatusResult:
        workers = [
            WorkerStatus(pid=w.pid, state=w.state, resident_bytes=w.resident_bytes, jobs=w.jobs)
            for w in served.pool.statuses()
        ]
        return DaemonStatusResult(
            version=gnod.__version__,
            pid=os.getpid(),
            index=served.places.index,
            socket=str(served.places.socket),
            log_file=str(served.places.log_file),
            uptime_s=round(served.stats.uptime_s, 3),
            resident_bytes=process.memory_info().rss,
            connections=served.stats.connections,
            requests=served.stats.requests,
            workers=workers,
            sqlite_version=apsw.sqlite_lib_version(),
            manager=served.stats.manager,
        )

    async def daemon_shutdown(_: NoParams, __: Call) -> DaemonShutdownResult:
        served.control.stop()
        return DaemonShutdownResult(stopping=True)

    return {"daemon.status": daemon_status, "daemon.shutdown": daemon_shutdown}
