"""Wire types of `daemon.…` and `doctor.run`."""

from __future__ import annotations

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


class DaemonShutdownResult(Result, frozen=True, kw_only=True):
    stopping: bool


class Check(Result, frozen=True):
    """`status`: ok, warning or error. `remedy`: the command or step that fixes the problem."""

    name: str
    status: str
    message: str
    remedy: str | None = None


class DoctorResult(Result, frozen=True, kw_only=True):
    healthy: bool
    checks: list[Check]
