"""Wire types of `daemon.…` and `doctor.run`."""

from __future__ import annotations

from typing import Any

from gnod.protocol.base import Result


class WorkerStatus(Result, frozen=True, kw_only=True):
    pid: int
    state: str
    resident_bytes: int
    jobs: int


class DaemonStatusResult(Result, frozen=True, kw_only=True):
    """`manager`: "systemd" or "launchd" if it runs the daemon as a service, otherwise null."""

    version: str
    pid: int
    index: str
    socket: str
    log_file: str
    uptime_s: float
    resident_bytes: int
    connections: int
    requests: int
    workers: list[WorkerStatus]
    sqlite_version: str
    manager: str | None = None


class ProcessMemory(Result, frozen=True, kw_only=True):
    """`process`: daemon, the module of gnod that a worker runs, or `program` for any other process."""

    process: str
    pid: int
    resident_bytes: int


class MethodTimes(Result, frozen=True, kw_only=True):
    """The calls of one method since the daemon started.

    - `failures`: the number of calls that failed, by the kind of the error.
    - `p50_ms`, `p95_ms`: the median and the 95th percentile of the duration of the last 256 calls.
    - `last_ms`: how long the last calls took, the latest one last.
    """

    method: str
    calls: int
    total_ms: float
    failures: dict[str, int] = {}
    p50_ms: float
    p95_ms: float
    last_ms: list[float]


class EmbeddedChunks(Result, frozen=True, kw_only=True):
    """The number of chunks that a model embedded in the hour that begins at `start`."""

    start: str
    model: str | None = None
    chunks: int


class CacheSize(Result, frozen=True, kw_only=True):
    """`cache`: words, vectors or postings. `limit_bytes`: null if the size of the index decides."""

    cache: str
    bytes: int
    limit_bytes: int | None = None


class DaemonStatsResult(Result, frozen=True, kw_only=True):
    """`embedded`: the last 48 hours since the start of the daemon in which chunks were embedded."""

    uptime_s: float
    connections: int
    processes: list[ProcessMemory]
    methods: list[MethodTimes]
    embedded: list[EmbeddedChunks]
    pending_chunks: int
    caches: list[CacheSize]


class DaemonMetricsResult(Result, frozen=True, kw_only=True):
    """`text`: the figures of `daemon.stats` in the text format of Prometheus (version 0.0.4)."""

    text: str


class DaemonShutdownResult(Result, frozen=True, kw_only=True):
    stopping: bool


class DaemonRestartResult(Result, frozen=True, kw_only=True):
    """`version`: the version of the gnod that replaces this one. It answers on the next connection."""

    version: str


class Check(Result, frozen=True):
    """`status`: ok, warning or error. `remedy`: the command or step that fixes the problem."""

    name: str
    status: str
    message: str
    remedy: str | None = None


class DoctorResult(Result, frozen=True, kw_only=True):
    healthy: bool
    checks: list[Check]


class DoctorConfigResult(Result, frozen=True, kw_only=True):
    """`config`: the settings in force, including defaults, in the form that docs/settings.md describes."""

    config: dict[str, Any]
