"""A document to be stored, as plain data. A converter worker sends it as msgpack."""

from __future__ import annotations

import os

import msgspec

from gnod.locations import Locations

# Kinds of failure that mean that a file is skipped.
SKIP_KINDS = frozenset({"too_large", "binary", "unsupported", "empty", "needs_ocr", "not_downloaded"})


_FOLDED_NS = 2**50  # this is 13 days


class FileStat(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Distinguishes a changed file from an unchanged one without opening it. Programs can set `mtime_ns` back, but not
    `ctime_ns`, when the kernel last noted a change; None: of what is not a file itself."""

    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int | None = None

    @classmethod
    def of(cls, found: os.stat_result) -> FileStat:
        """Make values fit SQLite's signed 64 bits: times before 1677 and after 2262, inodes that use all bits."""
        return cls(found.st_size, _clamped(found.st_mtime_ns), _signed(found.st_ino), _clamped(found.st_ctime_ns))

    def looks_like(self, found: FileStat) -> bool:
        """Tell whether size and time of modification are equal, which a program can arrange."""
        return (self.size, self.mtime_ns) == (found.size, found.mtime_ns)


class Between(msgspec.Struct, frozen=True):
    """The paths after one and up to another, in the order of their code points; None: without this end."""

    after: str | None = None
    last: str | None = None


ALL_PATHS = Between()


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """`markdown[start:end]` is the chunk; lines count from 1, `end_line` inclusive; `heading` is the path of
    headings above it, joined by ` > `. `embed_hash` is the SHA-256 of own title, heading path and text, which is
    what will be embedded; empty: the chunk has no words, and gets no vector."""

    start: int
    end: int
    start_line: int
    end_line: int
    heading: str
    embed_hash: str


class Terms(msgspec.Struct, frozen=True, array_like=True):
    """The analysed columns of the lexical index, each a space-separated stream of terms."""

    filepath: str
    title: str
    body: str


class StoredDefinition(msgspec.Struct, frozen=True, array_like=True):
    """A function, class, method, … of source code: `markdown[start:end]`, which begins in `line`; from `first_line` on
    with the comments above it. `path`: the names of what it is in, joined by ` > `."""

    start: int
    end: int
    first_line: int
    line: int
    end_line: int
    kind: str
    name: str
    path: str


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link: `markdown[start:end]` shows it (empty: the Markdown does not have it), in `line` of the file where it is
    text, otherwise of the Markdown. `kind`: its syntax; `target`: as written. `key`: the name that it looks for among
    the names of documents, `reach`: the worst rank of a name that counts (see `link_names`); `key` is None for an
    address outside the collection."""

    kind: str
    target: str
    key: str | None
    reach: int
    fragment: str
    line: int
    start: int
    end: int


class ScanReport(msgspec.Struct, frozen=True, kw_only=True):
    """The pages of a document that have no text. `reader` recognises them; `pending`: those that it has not recognised
    yet, `used`: how many texts of it are in the document. `note`: what is left out."""

    reader: str
    pending: list[int]
    used: int
    note: str | None = None


class RecognisedPage(msgspec.Struct, frozen=True, kw_only=True, tag="recognised_page"):
    """What was recognised of a page. `boxes`: for each line that is not empty, its left, top, right and bottom in
    1/10,000 of the page, in 16 bits each. `problem`: why the text could not be recognised."""

    text: str
    confidence: float
    boxes: bytes
    problem: str | None = None


class Unread(msgspec.Struct, frozen=True, array_like=True):
    """A file inside another one that is not a document, and why. `name` is "" for a part of the file itself."""

    name: str
    kind: str
    message: str


class LogMark(msgspec.Struct, frozen=True, array_like=True):
    """The `number`-th part of a log, from 1: where it ends in the file, in bytes, and what its reader knows there."""

    number: int
    end: int
    state: bytes


class LogPart(msgspec.Struct, frozen=True, array_like=True):
    """A part of a log that is indexed, with the hash of its bytes."""

    source_hash: str
    mark: LogMark


class PreparedDocument(msgspec.Struct, frozen=True, kw_only=True, tag="prepared"):
    """A document ready to be stored. `markdown` is canonical; `stat` is absent for a TextJob; `own_title` is what the
    text says of itself, "" when nothing (docs/adr/0008-lines-and-shared-chunks.md). `locations` has lines of
    `markdown`, for formats whose lines are not those of the file. `aliases` and `labels`: names of the
    document and of places in it (see `link_names`). `unread`: what of the file is not indexed.
    `log`: the document is a part of a log."""

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
    """Return the nearest time that fits, less its remainder: two saves of a file in the year 9999 differ."""
    if -(2**63) <= time_ns < 2**63:
        return time_ns
    rest = time_ns % _FOLDED_NS
    return 2**63 - 1 - rest if time_ns > 0 else rest - 2**63
