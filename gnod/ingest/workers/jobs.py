"""Define the messages between the daemon and a converter worker, one per frame: limits, jobs and their outcomes.

They are plain data that crosses a process boundary as msgpack.
"""

from __future__ import annotations

import msgspec

from gnod.ingest.reading.layers import ImageRead, LayersRead, PictureRead
from gnod.store.tables.records import FileStat, LogMark, LogPart, PreparedDocument, RecognisedPage


class SourceJob(msgspec.Struct, frozen=True, kw_only=True):
    """A job that reads a file. `path`: the absolute path. `relative_path`: relative to the root, with slashes."""

    path: str
    relative_path: str
    max_bytes: int


class FileJob(SourceJob, frozen=True, kw_only=True, tag="file"):
    """Read, hash, convert and prepare one file. If its hash is `known_source_hash`, the outcome is `Unchanged`.

    `reader`: the program that will recognise pages without text (`gnod.ingest.ocr.readers`); None: gnod does not
    recognise them, and `refusal` says why. `recognised`: the texts of pages by number, valid only for a file with the
    hash `recognised_of`.

    `known_members`: the hashes of its indexed members, by path. `members_s`: seconds after which no more members are
    read. `without_members`: why no member is read.

    `known_parts`: the indexed parts of a log, in order. `read_on`: read only the parts after this one.
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
    """Read several small files. The outcome is `FilesDone`, or a Failure if the worker ended; then try each file alone.
    Paths are valid Unicode."""

    jobs: list[FileJob]


class PageJob(SourceJob, frozen=True, kw_only=True, tag="page"):
    """Read the characters of a page of a PDF file, with their boxes. For a picture, read only its size."""

    number: int


class ImageJob(SourceJob, frozen=True, kw_only=True, tag="image"):
    """Draw a page of a PDF file or of a picture, at most `width` pixels wide."""

    number: int
    width: int


class PictureJob(SourceJob, frozen=True, kw_only=True, tag="picture"):
    """Read a picture for display in a document."""


class LayersJob(SourceJob, frozen=True, kw_only=True, tag="layers"):
    """Read the text and links that a user can select and follow on `count` pages of a PDF file, from page `number`."""

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
    """`boxes`: numbers of 4 bytes, as in `gnod.ingest.formats.pdf.page_text.PageText`. Sizes are in points; sizes of
    pictures are in pixels."""

    source_hash: str
    width: float
    height: float
    text: str
    boxes: bytes


class Container(msgspec.Struct, frozen=True, kw_only=True, tag="container"):
    """A file with other files in it. `members`: their paths in the collection, and their outcomes."""

    document: PreparedDocument
    members: list[tuple[str, PreparedDocument | Unchanged]]


class LogRead(msgspec.Struct, frozen=True, kw_only=True, tag="log_read"):
    """The next parts of a log; the first one has the number `first`, and all earlier parts are unchanged.
    `is_complete`: no more parts follow. `stat`: the stat of the file before it was read."""

    first: int
    parts: list[PreparedDocument]
    is_complete: bool
    stat: FileStat


class Failure(msgspec.Struct, frozen=True, kw_only=True, tag="failure"):
    """The reason why a file is not indexed.

    `stage`: read, convert, prepare. `kind`: a stable name. For skipped files: too_large, binary, unsupported, empty,
    needs_ocr, not_downloaded.
    Faults: vanished, unreadable, not_a_file, unstable, encrypted, corrupt, too_long, timeout, memory, refused (blocked
    by the sandbox), crashed, failed.
    """

    stage: str
    kind: str
    message: str
    stat: FileStat | None = None


class FilesDone(msgspec.Struct, frozen=True, kw_only=True, tag="files_done"):
    """The outcomes in the order of the jobs."""

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
    """The daemon sends this before all jobs. `nice` lowers the priority. `time_limit_s`: CPU time for each job.
    `scratch`: the only folder in which the worker may create files. `roots`: the worker may read files below these;
    None: all files. Paths are bytes, because some are not valid Unicode."""

    nice: int
    memory_mb: int
    time_limit_s: float
    scratch: bytes | None
    roots: list[bytes] | None


class ReaderReady(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started. `protections`: descriptions of the limits that its sandbox enforces."""

    protections: list[str] = []


class Taken(msgspec.Struct, frozen=True, tag="taken"):
    """The worker has taken the job; if it ends now, the job is the cause. `stat`: the stat of the file, for failures
    that the worker cannot report."""

    stat: FileStat | None = None


class ReadDone(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """`heavy`: the process has loaded large libraries and should not be kept for long."""

    outcome: Outcome
    heavy: bool


Reply = ReaderReady | Taken | ReadDone
LIMITS = msgspec.msgpack.Decoder(WorkerLimits)
REQUESTS: msgspec.msgpack.Decoder[Job] = msgspec.msgpack.Decoder(Job)
REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
