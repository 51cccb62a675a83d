"""Plain data of a document that will be stored. A converter worker sends it as msgpack."""

from __future__ import annotations

import os

import msgspec

from gnod.locations import Locations

# A failure of one of these kinds means that the file is skipped.
SKIP_KINDS = frozenset({"too_large", "binary", "unsupported", "empty", "needs_ocr", "not_downloaded"})


_FOLDED_NS = 2**50  # this is 13 days


class FileStat(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Distinguishes a changed file from an unchanged one without opening it. `ctime_ns` is the time at which the kernel
    last noted a change. Programs can set `mtime_ns` back, but not `ctime_ns`. It is None for members."""

    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int | None = None

    @classmethod
    def of(cls, found: os.stat_result) -> FileStat:
        """Make the values fit SQLite's signed 64 bits. Times before 1677 or after 2262 do not fit, nor do inodes that
        use all bits."""
        return cls(found.st_size, _clamped(found.st_mtime_ns), _signed(found.st_ino), _clamped(found.st_ctime_ns))

    def looks_like(self, found: FileStat) -> bool:
        """Tell whether size and modification time are equal. A program can set both."""
        return (self.size, self.mtime_ns) == (found.size, found.mtime_ns)


class Between(msgspec.Struct, frozen=True):
    """The range of paths after `after`, up to and including `last`, in code point order. None: open at this end."""

    after: str | None = None
    last: str | None = None


ALL_PATHS = Between()


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """`markdown[start:end]` is the chunk. Lines count from 1; `end_line` is inclusive. `heading` is the path of the
    headings above it, joined by ` > `. `embed_hash` is the SHA-256 of what will be embedded: own title, heading path
    and text. It is empty for a chunk without words, which gets no vector."""

    start: int
    end: int
    start_line: int
    end_line: int
    heading: str
    embed_hash: str


class Terms(msgspec.Struct, frozen=True, array_like=True):
    """The analysed columns of the full-text index. Each is a space-separated stream of terms."""

    filepath: str
    title: str
    body: str


class StoredDefinition(msgspec.Struct, frozen=True, array_like=True):
    """A function, class, method, … of source code: `markdown[start:end]`, which begins in `line`. The comments above it
    begin in `first_line`. `path`: the names of the enclosing definitions, joined by ` > `."""

    start: int
    end: int
    first_line: int
    line: int
    end_line: int
    kind: str
    name: str
    path: str


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link. `markdown[start:end]` shows it; the span is empty if the Markdown does not contain the link. `line`
    counts in the file if that is text, otherwise in the Markdown. `kind`: its syntax. `target`: as written. `key`: the
    name to look for among the names of documents; None for an address outside the collection. `reach`: the worst rank
    of a name that counts (see `link_names`)."""

    kind: str
    target: str
    key: str | None
    reach: int
    fragment: str
    line: int
    start: int
    end: int


class ScanReport(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of a document that have no text. `reader` recognises them. `pending`: pages that it has not recognised
    yet. `used`: how many recognised texts the document contains. `note`: what is left out."""

    reader: str
    pending: list[int]
    used: int
    note: str | None = None


class RecognisedPage(msgspec.Struct, frozen=True, kw_only=True, tag="recognised_page"):
    """The recognised text of a page. `boxes`: the left, top, right and bottom of each line that is not empty, in
    1/10,000 of the page, 16 bits each. `problem`: why the text could not be recognised."""

    text: str
    confidence: float
    boxes: bytes
    problem: str | None = None


class Unread(msgspec.Struct, frozen=True, array_like=True):
    """A member that is not a document, and the reason. `name` is "" for a part of the container itself."""

    name: str
    kind: str
    message: str


class LogMark(msgspec.Struct, frozen=True, array_like=True):
    """The end of a part of a log. `number` counts the parts from 1; `end` is the offset in the file in bytes. The mark
    also has the state of the reader at that point."""

    number: int
    end: int
    state: bytes


class LogPart(msgspec.Struct, frozen=True, array_like=True):
    """An indexed part of a log, with the hash of its bytes."""

    source_hash: str
    mark: LogMark


class PreparedDocument(msgspec.Struct, frozen=True, kw_only=True, tag="prepared"):
    """A document ready to be stored. `markdown` is canonical. `stat` is None for a TextJob. `own_title` is the title
    inside the text, or "" (docs/adr/0008-lines-and-shared-chunks.md). `locations` refers to lines of `markdown`, for
    formats whose lines are not those of the file. `aliases` and `labels`: names of the document and of places in it
    (see `link_names`). `unread`: the parts of the file that are not indexed. `log`: set if the document is a part of a
    log."""

    source_hash: str
    stat: FileStat | None
    mime: str
    converter: str
    title: str
    own_title: str
    language: str | None
    metadata: dict[str, object]
    tags: list[str]
    line_map: list[tuple[int, int]]
    locations: Locations | None = None
    markdown: str
    mirror_hash: str
    chunks: list[Chunk]
    terms: Terms
    definitions: list[StoredDefinition] = []
    links: list[Link] = []
    aliases: list[str] = []
    labels: list[str] = []
    scans: ScanReport | None = None
    unread: list[Unread] = []
    log: LogMark | None = None


def _signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _clamped(time_ns: int) -> int:
    """Return the nearest time that fits, less the remainder, so that two saves of a file in the year 9999 differ."""
    if -(2**63) <= time_ns < 2**63:
        return time_ns
    rest = time_ns % _FOLDED_NS
    return 2**63 - 1 - rest if time_ns > 0 else rest - 2**63
