"""Wire types of `document.…`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gnod.protocol.base import Location, Params, Result
from gnod.protocol.search import Limit, Reference

LineNumber = Annotated[int, Meta(ge=1)]


class DocumentGetParams(Params, frozen=True):
    """`ref`: `gno://collection/path`, `#docid` (at least 6 hex digits), `collection/path`, or a path on disk. It may
    end in `:LINE`, in a heading as links name it (`#Next steps`, `#next-steps`), or in the label (`:p12`,
    `:sheet Costs, row 4`) or the fragment (`#page=12`) of a location, which return that page alone. Lines are those of
    the file where it is text, otherwise those of its Markdown. A line, a heading or a page that the document does not
    have is an error, which says what it has. `locations`: also return where its pages, sheets and so on begin."""

    ref: Reference
    start_line: LineNumber | None = None
    max_lines: Annotated[int, Meta(ge=1)] | None = None
    locations: bool = False


class DocumentMultiGetParams(Params, frozen=True):
    """`refs`: references as in `document.get`, and globs over `collection/path` (`notes/**/*.md`). `skipped` names a
    document whose text has more than `max_bytes` bytes of UTF-8."""

    refs: Annotated[list[Reference], Meta(min_length=1, max_length=1000)]
    max_bytes: Annotated[int, Meta(ge=1)] = 10240
    limit: Limit = 100


class DocumentListParams(Params, frozen=True):
    """`scope`: a collection, `collection/prefix`, or a `gno://` address; null: all collections."""

    scope: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    offset: Annotated[int, Meta(ge=0, le=2**53)] = 0


class DocumentEntry(Result, frozen=True, kw_only=True):
    docid: str
    uri: str
    collection: str
    path: str
    source: str
    title: str
    mime: str
    language: str | None = None
    size: int
    modified: str


class LocatedLine(Result, frozen=True, kw_only=True):
    """`location` begins at `line`."""

    line: int
    location: Location


class DocumentText(DocumentEntry, frozen=True, kw_only=True):
    """The canonical Markdown, or the requested lines of it. `stale`: the file has changed since it was indexed.

    `truncated` is always false: it was set when `document.multi_get` shortened long texts, which it skips now.

    Line numbers are those of the file where it is text. Canonical text never has two blank lines in a row: `line_map`
    lists where lines were removed, as (line of the canonical text, lines removed so far); it is usually empty.
    `locations`: of the whole document, in order; empty if they were not requested.
    """

    text: str
    start_line: int
    end_line: int
    total_lines: int
    line_map: list[tuple[int, int]] = []
    truncated: bool = False
    stale: bool = False
    tags: list[str] = []
    metadata: dict[str, object] = {}
    converter: str
    context: str | None = None
    locations: list[LocatedLine] = []


class DocumentLocateParams(Params, frozen=True):
    """`ref`: as in `document.get`."""

    ref: Reference


class DocumentPlace(DocumentEntry, frozen=True, kw_only=True):
    """Where the file is (`source`), and where in it the reference leads: `line` where the file is text, otherwise null,
    with `location` where its format has one. `stale`: the file has changed since it was indexed. `viewer`: the command
    that the config has for such files; empty if none."""

    line: int | None = None
    location: Location | None = None
    stale: bool = False
    viewer: list[str] = []


class DocumentBoxesParams(Params, frozen=True):
    """`ref`: a page of a PDF file or of a picture (`gno://papers/report.pdf#page=12`), the first if it names none.
    `query`: as in `search.query`; its words are searched on the page, as in documents."""

    ref: Reference
    query: Annotated[str, Meta(max_length=4096)]


class PageBox(Result, frozen=True, kw_only=True):
    """`text`: a matched word as it is printed, or its part on one line. The edges are in points (1/72 inch), those of
    a picture in pixels, from the upper left corner of the page as it is shown."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float


class DocumentBoxesResult(Result, frozen=True, kw_only=True):
    """`width` and `height` of the page, in points; of a picture, in pixels. `recognised`: the text was recognised in an
    image, so a word's place on its line is estimated. `stale`: the file has changed since it was indexed. The boxes are
    those of the file as it is now; there are none if its text has to be recognised again."""

    uri: str
    page: int
    width: float
    height: float
    boxes: list[PageBox]
    recognised: bool = False
    stale: bool = False


class DocumentImageParams(Params, frozen=True):
    """`ref`: a page of a PDF file or of a picture. `page`: another one of its pages; by default the one that `ref`
    names, or the first. `width_px`: of the picture, at most."""

    ref: Reference
    page: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    width_px: Annotated[int, Meta(ge=16, le=2400)] = 1200


class DocumentImageResult(Result, frozen=True, kw_only=True):
    """`data`: the picture, in Base64. `width` and `height` in pixels. `pages`: how many the file has. `stale`: the file
    has changed since it was indexed; the picture shows it as it is now."""

    uri: str
    page: int
    pages: int
    mime: str
    width: int
    height: int
    data: bytes
    stale: bool = False


class SkippedReference(Result, frozen=True, kw_only=True):
    """`ref`: the reference that led nowhere, or the address of a document that was left out. `kind`: `too_large` (for
    `max_bytes`), `over_limit` (more than `limit` documents), `answer_full`, or that of an error, such as
    `document_not_found`. `reason`: in words, for people; it does not name a document that was left out."""

    ref: str
    kind: str
    reason: str


class DocumentMultiGetResult(Result, frozen=True, kw_only=True):
    documents: list[DocumentText]
    skipped: list[SkippedReference]


class DocumentListResult(Result, frozen=True, kw_only=True):
    documents: list[DocumentEntry]
    total: int
