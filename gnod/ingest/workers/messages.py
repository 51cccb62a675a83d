"""The messages between the daemon and a converter worker, one per frame."""

from __future__ import annotations

import msgspec

from gnod.ingest.workers.jobs import Job, Outcome
from gnod.store.tables.records import FileStat


class WorkerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Sent before all jobs. `time_limit_s`: CPU time for each job. `scratch`: the only folder in which files may be
    created. `roots`: files below these may be read; None: all files. Paths are bytes, because not all are Unicode."""

    memory_mb: int
    time_limit_s: float
    scratch: bytes | None
    roots: list[bytes] | None


class ReaderReady(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started. `protections`: what its sandbox enforces, in words."""

    protections: list[str] = []


class Taken(msgspec.Struct, frozen=True, tag="taken"):
    """The worker has the job: if it ends now, the job is the cause. `stat` is the file's, for a failure that the worker
    cannot report itself."""

    stat: FileStat | None = None


class ReadDone(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """`heavy`: the process has loaded large libraries and should not be kept for long."""

    outcome: Outcome
    heavy: bool


Reply = ReaderReady | Taken | ReadDone
LIMITS = msgspec.msgpack.Decoder(WorkerLimits)
REQUESTS: msgspec.msgpack.Decoder[Job] = msgspec.msgpack.Decoder(Job)
REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
