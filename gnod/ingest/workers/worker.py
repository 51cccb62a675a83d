"""Run a converter worker, `python -m gnod.ingest.workers.worker`: read jobs from a socket and answer them in order.

Files and the libraries that read them are untrusted, so the process is confined (`gnod.ingest.workers.confinement`)
before it reads the first file. It ends with the daemon, and only frames reach the socket. The daemon enforces time
limits. This module imports little: converters load their libraries when they need them.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket
import sys
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gnod.child import frames
from gnod.child.child_setup import set_up_child, silence
from gnod.child.priority import lower_process
from gnod.ingest.files.unreadable import refuse_downloads
from gnod.ingest.workers import jobs, logs
from gnod.ingest.workers.confinement import Confinement
from gnod.ingest.workers.jobs import (
    Container,
    Failure,
    FileJob,
    FilesDone,
    FilesJob,
    ImageJob,
    Job,
    LayersJob,
    LogRead,
    OcrJob,
    Outcome,
    PageJob,
    PageRead,
    PictureJob,
    SourceJob,
    TextJob,
    Unchanged,
)
from gnod.ingest.workers.source_file import ReadFailed, read_source, regular
from gnod.store.tables.records import FileStat, PreparedDocument, ScanReport

if TYPE_CHECKING:
    from gnod.ingest.reading.result import Scans

_HEAVY_MODULES = frozenset(["markitdown", "cv2"])
_FULL = frozenset([errno.EFBIG, errno.ENOSPC, errno.EDQUOT])


PagesJob = PageJob | ImageJob | PictureJob | LayersJob | OcrJob


def main(arguments: list[str]) -> int:
    """Serve the socket `FD` while the process `PARENT` lives."""
    descriptor, parent = map(int, arguments)
    with socket.socket(fileno=descriptor) as channel:
        channel.setblocking(True)
        set_up_child(parent)
        refuse_downloads()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            limits = frames.receive(channel, jobs.LIMITS)
            if limits is not None:
                lower_process(limits.nice)
                serve(channel, Confinement(limits))
    return 0


def serve(channel: socket.socket, confinement: Confinement) -> None:
    """Answer jobs until the other end closes the socket, or until a new worker must read the files."""
    protections = confinement.begin()
    channel.sendall(frames.encode(jobs.ReaderReady(protections=protections)))
    silence(confinement.errors)
    while (job := frames.receive(channel, jobs.REQUESTS)) is not None:
        if confinement.is_outdated(_paths(job)):
            return
        channel.sendall(frames.encode(jobs.Taken(stat=_glance(job))))
        confinement.begin_job()
        answer = _answer(perform(job))
        confinement.end_job()
        channel.sendall(answer)


def _paths(job: Job) -> list[str]:
    if isinstance(job, FilesJob):
        return [each.path for each in job.jobs]
    return [job.path] if isinstance(job, SourceJob) else []


def _glance(job: Job) -> FileStat | None:
    if not isinstance(job, SourceJob):
        return None
    try:
        return regular(os.stat(job.path))  # noqa: PTH116
    except (OSError, ValueError, ReadFailed):
        return None


def _answer(outcome: Outcome) -> bytes:
    heavy = not _HEAVY_MODULES.isdisjoint(sys.modules)
    try:
        return frames.encode(jobs.ReadDone(outcome=outcome, heavy=heavy))
    except MemoryError:
        failure = Failure(stage="prepare", kind="memory", message="There was not enough memory for the text.")
    except (UnicodeEncodeError, frames.FrameError):
        failure = Failure(stage="prepare", kind="failed", message="The text cannot be stored.")
    return frames.encode(jobs.ReadDone(outcome=failure, heavy=True))


def perform(job: Job) -> Outcome:
    """Do one job. Never raises: a problem with a file is an outcome."""
    match job:
        case FileJob():
            return _perform_file(job)
        case FilesJob():
            return FilesDone(outcomes=[_perform_file(each) for each in job.jobs])
        case TextJob():
            return _perform_text(job)
    return _perform_pages(job)


def _perform_file(job: FileJob) -> PreparedDocument | Container | LogRead | Unchanged | Failure:
    stage = "read"
    found: FileStat | None = None
    try:
        if logs.may_be_log(job.relative_path) and (parts := logs.read(job)):
            return parts
        read = read_source(job.path, job.max_bytes)
        data, found = read
        source_hash = hashlib.sha256(data).hexdigest()
        if source_hash == job.known_source_hash:
            return Unchanged(source_hash=source_hash, stat=found)
        stage = "convert"
        from gnod.ingest.formats import convert

        scans = _scans(job, source_hash)
        converted = convert(data, job.relative_path, max_characters=job.max_characters, scans=scans)
        if read.left_out:
            converted = replace(converted, left_out={"too_large": read.left_out, **converted.left_out})
        del data, read
        stage = "prepare"
        from gnod.ingest.workers.members import prepared

        return prepared(converted, job, source_hash, found, partial(_failure, "convert"), _scan_report(job, scans))
    except ReadFailed as failure:
        return Failure(stage="read", kind=failure.kind, message=failure.message, stat=failure.stat)
    except Exception as error:
        return _failure(stage, error, found)


def _scans(job: FileJob, source_hash: str) -> Scans:
    """Return the known texts of pages without text. Ignore texts of an older version of the file."""
    from gnod.ingest.reading.result import Scans

    known = job.recognised if job.recognised_of == source_hash else {}
    return Scans(known, None if job.reader else job.refusal)


def _scan_report(job: FileJob, scans: Scans) -> ScanReport | None:
    if job.reader is None or not scans.found:
        return None
    return ScanReport(reader=job.reader, pending=scans.pending, used=scans.used, note=scans.note)


def _perform_pages(job: PagesJob) -> Outcome:
    """Read the file of a job, then its pages."""
    found: FileStat | None = None
    try:
        source = read_source(job.path, job.max_bytes)
        found = source.stat
        return _pages(job, source.data)
    except ReadFailed as failure:
        return Failure(stage="read", kind=failure.kind, message=failure.message, stat=failure.stat or found)
    except Exception as error:
        return _failure("convert", error, found)


def _pages(job: PagesJob, data: bytes) -> Outcome:
    match job:
        case PageJob():
            return _page(job.number, data)
        case OcrJob():
            from gnod.ingest.ocr.page import recognise
            from gnod.ingest.ocr.readers import named

            if hashlib.sha256(data).hexdigest() != job.source_hash:
                raise ReadFailed("unstable", "The file has changed.")
            return recognise(data, job.page, named(job.reader))
        case LayersJob():
            from gnod.ingest.formats.pdf.shown import read_layers

            return read_layers(data, job.number, job.count)
        case ImageJob():
            from gnod.ingest.formats.pdf.shown import draw_page

            return draw_page(data, job.number, job.width)
        case PictureJob():
            from gnod.ingest.formats.pdf.shown import shown_picture

            return shown_picture(data, is_svg=job.relative_path.lower().endswith(".svg"))


def _page(number: int, data: bytes) -> PageRead:
    from gnod.ingest.reading import pictures

    source_hash = hashlib.sha256(data).hexdigest()
    if not pictures.is_pdf(data):
        width, height = pictures.size(data, number)
        return PageRead(source_hash=source_hash, width=width, height=height, text="", boxes=b"")
    from gnod.ingest.formats.pdf.page_text import read_page

    page = read_page(data, number)
    return PageRead(
        source_hash=source_hash, width=page.width, height=page.height, text=page.text, boxes=page.boxes.tobytes()
    )


def _perform_text(job: TextJob) -> Outcome:
    try:
        from gnod.ingest.code import languages
        from gnod.ingest.formats import Converted
        from gnod.ingest.prepare import prepare

        code = languages.by_path(job.relative_path)
        mime = code.mime if code else "text/markdown"
        return prepare(
            Converted(markdown=job.text, mime=mime, converter="markdown/1", keeps_lines=True),
            relative_path=job.relative_path,
            # Make hashes unique, so that no document counts as a copy: documents of a test collection are judged
            # separately.
            source_hash=hashlib.sha256(f"{job.relative_path}\0{job.text}".encode("utf-8", "replace")).hexdigest(),
            stat=None,
            language=job.language,
            title=job.title,
        )
    except Exception as error:
        return _failure("prepare", error, None)


def _failure(stage: str, error: Exception, found: FileStat | None = None) -> Failure:
    """Convert an error to a failure with a message for the user."""
    from gnod.ingest.reading.result import ConversionFailed

    if isinstance(error, ConversionFailed):
        kind, message = error.kind, error.message
    elif isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        kind, message = "memory", "The file needs more memory than a converter may use."
    elif isinstance(error, RecursionError):
        kind, message = "failed", "The file is nested too deeply."
    elif isinstance(error, PermissionError):
        kind, message = "refused", f"The converter was blocked by the sandbox: {error}."
    elif isinstance(error, OSError) and error.errno in _FULL:
        kind, message = "failed", "The converter exceeded its limit of temporary files."
    elif isinstance(error, OSError) and error.errno == errno.EMFILE:
        kind, message = "failed", "The converter exceeded its limit of open files."
    else:
        kind, message = "failed", f"The file could not be processed ({type(error).__name__})."
    return Failure(stage=stage, kind=kind, message=message, stat=found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
