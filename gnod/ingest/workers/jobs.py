"""What the daemon and a converter worker tell each other, one message per frame: limits, jobs and their outcomes.

Plain data that crosses a process boundary as msgpack.
"""

from __future__ import annotations

import msgspec

from gnod.ingest.reading.layers import ImageRead, LayersRead, PictureRead
from gnod.store.tables.records import FileStat, LogMark, LogPart, PreparedDocument, RecognisedPage


class SourceJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that reads a file. `path` is absolute; `relative_path` is relative to the root, with slashes."""

    path: str
    relative_path: str
    max_bytes: int


class FileJob(SourceJob, frozen=True, kw_only=True, tag="file"):
    """Read, hash, convert and prepare one file. When its hash is `known_source_hash`, the outcome is `Unchanged`.

    `reader` names the program that will recognise pages without text (`gnod.ingest.ocr.readers`); None: none will, and
    `refusal` says why. `recognised` has the texts of pages by number, if the file's hash is still `recognised_of`.

    `known_members`: the hashes of the files in it that are indexed, by path. After `members_s` seconds, no more files
    inside it are read. `without_members`: why none of them is read.

    `known_parts`: if the file is a log, those of its parts that are indexed, in order. `read_on`: read only what is
    behind this part.
    """

    language: str | None = None
    mask_secrets: bool = True
    known_source_hash: str | None = None
    known_members: dict[str, str] = {}
    members_s: float = 30.0
    without_members: str | None = None
    max_characters: int
    reader: str | None = None
    refusal: str = ""
    recognised_of: str | None = None
    recognised: dict[int, str] = {}
    known_parts: list[LogPart] = []
    read_on: LogMark | None = None


class FilesJob(msgspec.Struct, frozen=True, kw_only=True, tag="files"):
    """Several small files. The outcome is `FilesDone`, or a Failure: then the worker ended, and each file must be tried
    alone. Paths are valid Unicode."""

    jobs: list[FileJob]


class PageJob(SourceJob, frozen=True, kw_only=True, tag="page"):
    """Read the characters of a page of a PDF file, with their boxes. For a picture, read only its size."""

    number: int


class ImageJob(SourceJob, frozen=True, kw_only=True, tag="image"):
    """Draw a page of a PDF file, or of a picture, at most `width` pixels wide."""

    number: int
    width: int


class PictureJob(SourceJob, frozen=True, kw_only=True, tag="picture"):
    """Read a picture that a document shows."""


class LayersJob(SourceJob, frozen=True, kw_only=True, tag="layers"):
    """Read what can be selected and followed on `count` pages of a PDF file, from the page `number`."""

    number: int
    count: int


class OcrJob(SourceJob, frozen=True, kw_only=True, tag="ocr"):
    """Recognise the text of one page of a file, if its hash is still `source_hash`."""

    source_hash: str
    page: int
    reader: str


class TextJob(msgspec.Struct, frozen=True, kw_only=True, tag="text"):
    """Prepare a Markdown text that is already in memory (evaluation)."""

    text: str
    relative_path: str
    title: str | None = None
    language: str | None = None


class Unchanged(msgspec.Struct, frozen=True, kw_only=True, tag="unchanged"):
    source_hash: str
    stat: FileStat


class PageRead(msgspec.Struct, frozen=True, kw_only=True, tag="page_read"):
    """`boxes`: numbers of 4 bytes each, as in `gnod.ingest.formats.pdf.page_text.PageText`.
    The sizes are in points, those of a picture in pixels."""

    source_hash: str
    width: float
    height: float
    text: str
    boxes: bytes


class Container(msgspec.Struct, frozen=True, kw_only=True, tag="container"):
    """A file with other files in it. `members`: their paths in the collection, and what became of them."""

    document: PreparedDocument
    members: list[tuple[str, PreparedDocument | Unchanged]]


class LogRead(msgspec.Struct, frozen=True, kw_only=True, tag="log_read"):
    """The next parts of a log, which are numbered from `first` on; the parts before them are unchanged. `is_complete`:
    the log has no more parts than these. `stat`: that of the file before it was read."""

    first: int
    parts: list[PreparedDocument]
    is_complete: bool
    stat: FileStat


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """Why a file is not indexed.

    `stage`: read, convert, prepare. `kind` is a stable word. Skipped files: too_large, binary, unsupported, empty,
    needs_ocr, not_downloaded.
    Faults: vanished, unreadable, not_a_file, unstable, encrypted, corrupt, too_long, timeout, memory, refused (blocked
    by the sandbox), crashed, failed.
    """

    stage: str
    kind: str
    message: str
    stat: FileStat | None = None


class FilesDone(msgspec.Struct, frozen=True, kw_only=True, tag="files_done"):
    """The outcome of each job, in their order."""

    outcomes: list[PreparedDocument | Container | LogRead | Unchanged | Failure]


Job = FileJob | FilesJob | PageJob | ImageJob | LayersJob | PictureJob | OcrJob | TextJob
Outcome = (
    PreparedDocument
    | Container
    | LogRead
    | Unchanged
    | FilesDone
    | PageRead
    | ImageRead
    | LayersRead
    | PictureRead
    | RecognisedPage
    | Failure
)


class WorkerLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Sent before all jobs. `nice` lowers the priority. `time_limit_s`: CPU time for each job. `scratch`: the only
    folder in which files may be created. `roots`: files below these may be read; None: all files. Paths are bytes,
    because not all are Unicode."""

    nice: int
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
