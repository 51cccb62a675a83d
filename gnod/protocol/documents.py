"""Wire types of `document.…`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from gnod.protocol.base import Location, Params, Result
from gnod.protocol.search import Limit, Reference

LineNumber = Annotated[int, Meta(ge=1)]


class DocumentGetParams(Params, frozen=True):
    """If the document does not have the line, heading or page, the call fails, and the message lists what it has.

    - `ref`: `gno://collection/path`, `#docid` (at least 6 hex digits), `collection/path`, or a path on disk. It may end
      in `:LINE`. It may also end in `:LINE-LINE`, in a heading in the form of links or hits (`#Next steps`,
      `#next-steps`, `#Setup > Linux`), in a definition of source code (`#Retry.run`), or in the label (`:p12`,
      `:sheet Costs, row 4`) or the fragment (`#page=12`) of a location. Then the daemon returns only these lines, or
      this section, definition or page.
    - `start_line`, `max_lines`: the lines to return. They count lines of the file if it is text, otherwise lines of its
      Markdown.
    - `locations`: also return the lines at which its pages, sheets and so on begin.
    """

    ref: Reference
    start_line: LineNumber | None = None
    max_lines: Annotated[int, Meta(ge=1)] | None = None
    locations: bool = False


class DocumentMultiGetParams(Params, frozen=True):
    """Selects the documents to return.

    - `refs`: references (see `document.get`) and globs over `collection/path` (`notes/**/*.md`).
    - `max_bytes`: the maximum length of a text in UTF-8. Longer documents are not returned; `skipped` names them.
    - `limit`: the maximum number of documents.
    """

    refs: Annotated[list[Reference], Meta(min_length=1, max_length=1000)]
    max_bytes: Annotated[int, Meta(ge=1)] = 10240
    limit: Limit = 100


class DocumentMatchesParams(Params, frozen=True):
    """`ref`: see `document.get`; a line or a heading in it is ignored. `query`: see `search.query`."""

    ref: Reference
    query: Annotated[str, Meta(max_length=4096)]


class DocumentMatchesResult(Result, frozen=True, kw_only=True):
    """The lines in which a document has words or phrases of a query.

    - `lines`: the line of each match, in order, counted as in `document.get`; at most 100,000. `exact`: there are no
      more.
    - `words`: the different words and phrases that matched, ignoring case; at most 500. A space in a phrase stands for
      any space, underscore and markup. An asterisk at an end marks a word that continues there: it is a part of an
      identifier, or its script has no spaces.
    """

    uri: str
    lines: list[int]
    exact: bool
    words: list[str]


class DocumentListParams(Params, frozen=True):
    """Selects the documents to list.

    - `scope`: a collection, `collection/prefix`, or a `gno://` address; null for all collections.
    - `metadata`: also return the tags and the metadata of each document.
    """

    scope: str | None = None
    metadata: bool = False
    limit: Annotated[int, Meta(ge=1, le=100_000)] = 1000
    offset: Annotated[int, Meta(ge=0, le=2**53)] = 0


class DocumentCaptureParams(Params, frozen=True):
    """Contains the note to write.

    - `text`: Markdown. The file is named after the title in its first line.
    - `collection`: the collection to write to. The default is `capture` in index.yml.
    """

    text: Annotated[str, Meta(min_length=1, max_length=1_000_000)]
    collection: str | None = None


class DocumentCaptureResult(Result, frozen=True, kw_only=True):
    """`is_indexed`: searches already find the note. If false, gnod has to read other files first."""

    uri: str
    source: str
    is_indexed: bool


class DocumentEntry(Result, frozen=True, kw_only=True):
    """A document. `tags` and `metadata` are present if they were requested."""

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
    tags: list[str] | UnsetType = UNSET
    metadata: dict[str, object] | UnsetType = UNSET


class LocatedLine(Result, frozen=True, kw_only=True):
    """`location` begins at `line`."""

    line: int
    location: Location


class DocumentText(DocumentEntry, frozen=True, kw_only=True):
    """The canonical Markdown of a document, or its requested lines.

    - `start_line`, `end_line`: lines of the file if it is text.
    - `line_map`: where blank lines were removed, as (line of the canonical text, lines removed so far). Canonical text
      never has two blank lines in a row. The list is usually empty.
    - `truncated`: there are more lines after `end_line`.
    - `stale`: the file has changed since it was indexed.
    - `locations`: all locations of the document, in order; empty if they were not requested.
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
    """`ref`: see `document.get`."""

    ref: Reference


class DocumentPlace(DocumentEntry, frozen=True, kw_only=True):
    """The place on disk that a reference leads to.

    - `source`: the path of the file.
    - `line`: the line in the file if it is text, otherwise null.
    - `location`: the place in the file, if its format has locations.
    - `stale`: the file has changed since it was indexed.
    - `viewer`: the command that the config sets for such files; empty if it sets none.
    - `obsidian`: the `obsidian://` address of the file, if it is in a vault.
    """

    line: int | None = None
    location: Location | None = None
    stale: bool = False
    viewer: list[str] = []
    obsidian: str | None = None


PageNumber = Annotated[int, Meta(ge=1, le=1_000_000)]


class DocumentBoxesParams(Params, frozen=True):
    """Selects a page and the words to find on it.

    - `ref`: a page of a PDF file or of a picture (`gno://papers/report.pdf#page=12`). The default is the first page.
    - `page`: the page, instead of the one that `ref` names. It may have no text.
    - `query`: see `search.query`. Its words are matched in the same way as in documents.
    """

    ref: Reference
    query: Annotated[str, Meta(max_length=4096)]
    page: PageNumber | None = None


class PageBox(Result, frozen=True, kw_only=True):
    """The rectangle around a matched word.

    - `text`: the printed word, or its part on one line.
    - `x0`, `y0`, `x1`, `y1`: the edges, measured from the upper left corner of the displayed page. The unit is points
      (1/72 inch) for a page, pixels for a picture.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float


class DocumentBoxesResult(Result, frozen=True, kw_only=True):
    """The boxes refer to the current file. The list is empty if OCR has to recognise its text again.

    - `width`, `height`: the size of the page in points, or of the picture in pixels.
    - `recognised`: the text was recognised in an image, so the position of a word on its line is an estimate.
    - `stale`: the file has changed since it was indexed.
    """

    uri: str
    page: int
    width: float
    height: float
    boxes: list[PageBox]
    recognised: bool = False
    stale: bool = False


class DocumentImageParams(Params, frozen=True):
    """Selects the page to show as an image.

    - `ref`: a page of a PDF file or of a picture.
    - `page`: the page to show. The default is the page that `ref` names, or the first page.
    - `width_px`: the maximum width of the image.
    """

    ref: Reference
    page: PageNumber | None = None
    width_px: Annotated[int, Meta(ge=16, le=2400)] = 1200


class DocumentImageResult(Result, frozen=True, kw_only=True):
    """A page as an image.

    - `pages`: the number of pages in the file.
    - `width`, `height`: the size of the image in pixels.
    - `data`: the image, in Base64. It shows the current file.
    - `stale`: the file has changed since it was indexed.
    """

    uri: str
    page: int
    pages: int
    mime: str
    width: int
    height: int
    data: bytes
    stale: bool = False


class DocumentPictureParams(Params, frozen=True):
    """Selects a picture that a document shows. It must be a file in the collection of the document, but not a document
    itself.

    - `ref`: the document; see `document.get`.
    - `target`: the target of the picture, exactly as it is written in the document.
    - `kind`: `embed` for `![[target]]`, `markdown` for `![](target)`.
    """

    ref: Reference
    target: Annotated[str, Meta(min_length=1, max_length=4096)]
    kind: Literal["embed", "markdown"] = "markdown"


class DocumentPictureResult(Result, frozen=True, kw_only=True):
    """`data`: the picture, in Base64, read from the current file. PNG, JPEG, GIF, WebP, AVIF and SVG are returned
    unchanged; other formats, and large pictures, are converted to JPEG. An SVG may contain scripts, so show it as a
    picture only."""

    mime: str
    data: bytes


class DocumentLayersParams(Params, frozen=True):
    """Selects the pages whose text layers to return.

    - `ref`, `page`: the first page; see DocumentBoxesParams.
    - `count`: the number of pages.
    """

    ref: Reference
    page: PageNumber | None = None
    count: Annotated[int, Meta(ge=1, le=20)] = 1


class PageLink(Result, frozen=True, kw_only=True):
    """A rectangle that links to a `page` of the file or to a web `address` (http, https or mailto). PageBox describes
    the edges."""

    page: int | None = None
    address: str | None = None
    x0: float
    y0: float
    x1: float
    y1: float


class PageLayer(Result, frozen=True, kw_only=True):
    """The layer over the picture of a page, with selectable text and links.

    - `width`, `height`: see DocumentBoxesResult.
    - `runs`: the text, split at wide gaps. The last run of a line ends in a line end.
    - `recognised`: the text was recognised in an image.
    """

    page: int
    width: float
    height: float
    runs: list[PageBox]
    links: list[PageLink] = []
    recognised: bool = False


class OutlinePage(Result, frozen=True, kw_only=True):
    """An entry of a file's outline; level 1 is the highest."""

    level: int
    title: str
    page: int


class DocumentLayersResult(Result, frozen=True, kw_only=True):
    """The pages of the current file.

    - `pages`: the number of pages in the file.
    - `outline`: the outline of the file, if the first page was requested.
    - `stale`: the file has changed since it was indexed.
    """

    uri: str
    pages: int
    layers: list[PageLayer]
    outline: list[OutlinePage] = []
    stale: bool = False


class SkippedReference(Result, frozen=True, kw_only=True):
    """A reference without a document in the result.

    - `ref`: the unresolved reference, or the address of the document that was left out.
    - `kind`: `too_large` (for `max_bytes`), `over_limit` (more than `limit` documents), `answer_full`, or the kind of
      an error, such as `document_not_found`.
    - `reason`: a text for people. It does not name the document.
    """

    ref: str
    kind: str
    reason: str


class DocumentMultiGetResult(Result, frozen=True, kw_only=True):
    documents: list[DocumentText]
    skipped: list[SkippedReference]


class DocumentListResult(Result, frozen=True, kw_only=True):
    documents: list[DocumentEntry]
    total: int
