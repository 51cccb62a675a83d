"""What the daemon and a converter worker say to each other, frame by frame."""

from __future__ import annotations

import os

import msgspec

from gnod.ingest.jobs import FileJob, FileStat, Job, Outcome


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A job on its way to a worker. `path` stands for the job's own where that is not valid Unicode: file
    names are bytes, and msgpack takes no lone surrogates."""

    job: Job
    path: bytes | None = None


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What comes before all jobs. `time_limit_s`: of the processor's time, each job. `scratch`: the only folder
    in which files may be made. `roots`: below these files may be read; None: all. Paths are bytes, as in a request."""

    memory_mb: int
    time_limit_s: float
    scratch: bytes | None
    roots: list[bytes] | None


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started. `protections`: what bars it from the rest of the machine, in words."""

    protections: list[str] = []


class Taken(msgspec.Struct, frozen=True, tag="taken"):
    """The worker has the job: if it ends now, the job is to blame. `stat` is the file at first sight, for a
    failure that the worker cannot report itself."""

    stat: FileStat | None = None


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """`heavy`: the process holds big libraries now, and should not be kept for long."""

    outcome: Outcome
    heavy: bool


Reply = Ready | Taken | Done
LIMITS = msgspec.msgpack.Decoder(Limits)
REQUESTS = msgspec.msgpack.Decoder(Request)
REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)


def request(job: Job) -> Request:
    """Wrap a job so that it can be encoded whatever its file is called."""
    if not isinstance(job, FileJob) or _is_unicode(job.path + job.relative_path):
        return Request(job=job)
    shown = job.relative_path.encode("utf-8", "replace").decode()
    sent = msgspec.structs.replace(job, path="", relative_path=shown)
    return Request(job=sent, path=os.fsencode(job.path))


def job_of(received: Request) -> Job:
    """Undo `request`; the relative path keeps its replacement characters."""
    if received.path is None or not isinstance(received.job, FileJob):
        return received.job
    return msgspec.structs.replace(received.job, path=os.fsdecode(received.path))


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
