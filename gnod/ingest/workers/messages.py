"""The messages between the daemon and a converter worker, one per frame."""

from __future__ import annotations

import os

import msgspec

from gnod.ingest.workers.jobs import Job, Outcome, SourceJob
from gnod.store.tables.records import FileStat


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A job. `path` replaces the job's own if that is not valid Unicode: file names are bytes, and msgpack does not
    accept lone surrogates."""

    job: Job
    path: bytes | None = None


class WorkerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Sent before all jobs. `time_limit_s`: CPU time for each job. `scratch`: the only folder in which files may be
    created. `roots`: files below these may be read; None: all files. Paths are bytes, as in a request."""

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
REQUESTS = msgspec.msgpack.Decoder(ReadRequest)
REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def request(job: Job) -> ReadRequest:
    """Wrap a job so that it can be encoded, whatever the file's name is."""
    if not isinstance(job, SourceJob) or _is_unicode(job.path + job.relative_path):
        return ReadRequest(job=job)
    shown = job.relative_path.encode("utf-8", "replace").decode()
    sent = msgspec.structs.replace(job, path="", relative_path=shown)
    return ReadRequest(job=sent, path=os.fsencode(job.path))


def job_of(received: ReadRequest) -> Job:
    """Undo `request`; the relative path keeps its replacement characters."""
    if received.path is None or not isinstance(received.job, SourceJob):
        return received.job
    return msgspec.structs.replace(received.job, path=os.fsdecode(received.path))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
