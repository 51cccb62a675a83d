"""`document.boxes`: a converter worker reads the page from the file, now. Of text that was recognised in an image,
the index holds the boxes of the lines (ADR 42)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gnod.errors import InvalidReference, Unavailable
from gnod.handlers.document import require_source
from gnod.handlers.hits import marked
from gnod.ingest.jobs import Failure, PageJob, PageRead
from gnod.ingest.pool import WorkerPool
from gnod.pipeline import references
from gnod.pipeline.boxes import Box, edges_of_lines, find_boxes
from gnod.pipeline.fields import reading
from gnod.pipeline.query import parse_query
from gnod.protocol import documents as wire
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.configuration import Configuration
from gnod.store.database import Connection, Database
from gnod.store.documents import scans
from gnod.store.documents.documents import Document
from gnod.store.documents.records import RecognisedPage
from gnod.types import format_uri

_PDF = "application/pdf"
_PICTURE = "image/"
# The edges of recognised lines are stored as shares of the page's sides.
_WHOLE = 10_000


class _Page(NamedTuple):
    """`recognised`: what text recognition found on it, if it has no text of its own."""

    document: Document
    number: int
    recognised: RecognisedPage | None

    @property
    def uri(self) -> str:
        return format_uri(self.document.collection, self.document.path)


def handlers(configuration: Configuration, database: Database, pool: WorkerPool) -> Mapping[str, Handler]:
    async def document_boxes(params: wire.DocumentBoxesParams, _: Call) -> wire.DocumentBoxesResult:
        saved = configuration.current.saved_queries
        clauses = parse_query((await reading.read_in(database.read, params.query, saved)).text).terms
        page = await database.read(lambda connection: _page(connection, params.ref))
        read = await _read(pool, page, configuration.current.ingest.max_file_mb)
        stale = read.source_hash != page.document.source_hash
        recognised = None if stale else page.recognised
        text, edges = _recognised(recognised, read) if recognised else (read.text, array("f", read.boxes))

        def work(connection: Connection) -> list[Box]:
            words = marked(connection, clauses)
            return find_boxes(text, edges, words.expression.query_terms(), words.analyzers)

        return wire.DocumentBoxesResult(
            uri=page.uri,
            page=page.number,
            width=_rounded(read.width),
            height=_rounded(read.height),
            boxes=[_wire(box) for box in await database.read(work)],
            recognised=recognised is not None,
            stale=stale,
        )

    return {"document.boxes": document_boxes}


def _page(connection: Connection, ref: str) -> _Page:
    """Return the page that a reference names, or the first one. Raises InvalidReference where the document has no
    pages."""
    document, line, _ = references.resolve(connection, ref)
    number = _number(document, line or 1)
    if number is None:
        message = f"{document.path} has no pages with boxes: only PDF files and pictures have"
        raise InvalidReference(message, {"reference": ref})
    if document.container:
        raise InvalidReference(f"{document.path} is in another file: only files on disk have boxes", {"reference": ref})
    require_source(document)
    return _Page(document, number, scans.recognised(connection, document.id, number))


def _number(document: Document, line: int) -> int | None:
    where = document.location_of(line)
    if document.mime.startswith(_PICTURE):
        return where.value if where and isinstance(where.value, int) else 1
    return where.value if document.mime == _PDF and where and isinstance(where.value, int) else None


def _recognised(page: RecognisedPage, read: PageRead) -> tuple[str, Sequence[float]]:
    """Return the text of a page that was recognised, and the edges of its characters."""
    shares = array("H", page.boxes)
    sides = (read.width, read.height) * 2
    lines = [
        [share * side / _WHOLE for share, side in zip(shares[at : at + 4], sides, strict=True)]
        for at in range(0, len(shares), 4)
    ]
    return page.text, edges_of_lines(page.text, lines)


async def _read(pool: WorkerPool, page: _Page, max_file_mb: int) -> PageRead:
    """Raises Unavailable for a page that cannot be read."""
    document = page.document
    job = PageJob(
        path=document.source, relative_path=document.path, max_bytes=max_file_mb * 1024 * 1024, number=page.number
    )
    outcome = await pool.run(job, urgent=True)
    if isinstance(outcome, PageRead):
        return outcome
    reason = outcome.message if isinstance(outcome, Failure) else "The converter sent something else."
    raise Unavailable(f"{page.uri}#page={page.number}: {reason}")


def _wire(box: Box) -> wire.PageBox:
    left, top, right, bottom = map(_rounded, box[1:])
    return wire.PageBox(text=box.text, x0=left, y0=top, x1=right, y1=bottom)


def _rounded(points: float) -> float:
    return round(points, 2)
