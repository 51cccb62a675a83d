"""`document.boxes` and `document.image`: pages of PDF files and pictures, which a converter worker reads from the file,
now. Of text that was recognised in an image, the index holds the boxes of the lines (ADR 42)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

from gnod.configured.configuration import Configuration
from gnod.errors import InvalidReference, Unavailable
from gnod.handlers.documents.document import require_source
from gnod.ingest.workers.jobs import Failure, ImageJob, ImageRead, PageJob, PageRead
from gnod.ingest.workers.pool import WorkerPool
from gnod.protocol import documents as wire
from gnod.protocol.base import copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.fields import reading
from gnod.search.hits import marked
from gnod.search.passages.boxes import WordBox, edges_of_lines, find_boxes
from gnod.search.query import references
from gnod.search.query.parsing import parse_query
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.tables import scans
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.records import RecognisedPage

T = TypeVar("T", PageRead, ImageRead)

_PDF = "application/pdf"
_PICTURE = "image/"
# The edges of recognised lines are stored as shares of the page's sides.
_WHOLE = 10_000


class _Page(NamedTuple):
    document: DocumentRow
    number: int


def handlers(configuration: Configuration, database: Database, pool: WorkerPool) -> Mapping[str, Handler]:
    def source_of(page: _Page) -> dict[str, Any]:
        document, max_bytes = page.document, configuration.current.ingest.max_file_mb * 1024 * 1024
        return {"path": document.source, "relative_path": document.path, "max_bytes": max_bytes, "number": page.number}

    async def document_boxes(params: wire.DocumentBoxesParams, _: Call) -> wire.DocumentBoxesResult:
        saved = configuration.current.saved_queries
        clauses = parse_query((await reading.read_in(database.read, params.query, saved)).text).terms
        page = await database.read(lambda connection: _find_page(connection, params.ref))
        read = await _read(pool, page, PageJob(**source_of(page)), PageRead)
        stale = read.source_hash != page.document.source_hash
        recognised = None if stale else await database.read(partial(_recognised_page, page))
        text, edges = _recognised(recognised, read) if recognised else (read.text, array("f", read.boxes))

        def work(connection: Connection) -> list[WordBox]:
            words = marked(connection, clauses)
            return find_boxes(text, edges, words.expression.query_terms(), words.analyzers)

        return wire.DocumentBoxesResult(
            uri=page.document.uri,
            page=page.number,
            width=_rounded(read.width),
            height=_rounded(read.height),
            boxes=[_wire(box) for box in await database.read(work)],
            recognised=recognised is not None,
            stale=stale,
        )

    async def document_image(params: wire.DocumentImageParams, _: Call) -> wire.DocumentImageResult:
        page = await database.read(lambda connection: _find_page(connection, params.ref))
        page = page._replace(number=params.page or page.number)
        image = await _read(pool, page, ImageJob(**source_of(page), width=params.width_px), ImageRead)
        stale = image.source_hash != page.document.source_hash
        return copied(wire.DocumentImageResult, image, uri=page.document.uri, page=page.number, stale=stale)

    return named(document_boxes, document_image)


def _find_page(connection: Connection, ref: str) -> _Page:
    """Return the page that a reference names, or the first one. Raises InvalidReference if the document has no
    pages."""
    document, line, *_ = references.resolve(connection, ref)
    number = _number(document, line or 1)
    if number is None:
        message = f"{document.path} has no pages that can be shown: only PDF files and pictures have"
        raise InvalidReference(message, {"reference": ref})
    if document.container:
        message = f"{document.path} is inside another file: only pages of files on disk can be shown"
        raise InvalidReference(message, {"reference": ref})
    require_source(document)
    return _Page(document, number)


async def _read(pool: WorkerPool, page: _Page, job: PageJob | ImageJob, kind: type[T]) -> T:
    """Return the outcome of a job that reads the page. Raises Unavailable for one that cannot be read."""
    outcome = await pool.run(job, urgent=True)
    if isinstance(outcome, kind):
        return outcome
    reason = outcome.message if isinstance(outcome, Failure) else "The converter sent an invalid result."
    raise Unavailable(f"{page.document.uri}#page={page.number}: {reason}")


def _number(document: DocumentRow, line: int) -> int | None:
    if not (document.mime == _PDF or document.mime.startswith(_PICTURE)):
        return None
    where = document.location_of(line)
    return where.value if where and isinstance(where.value, int) else 1


def _recognised_page(page: _Page, connection: Connection) -> RecognisedPage | None:
    """Return the recognised text of a page, if it has no text of its own."""
    return scans.recognised(connection, page.document.id, page.number)


def _recognised(page: RecognisedPage, read: PageRead) -> tuple[str, Sequence[float]]:
    """Return the text of a page that was recognised, and the edges of its characters."""
    shares = array("H", page.boxes)
    sides = (read.width, read.height) * 2
    lines = [
        [share * side / _WHOLE for share, side in zip(shares[at : at + 4], sides, strict=True)]
        for at in range(0, len(shares), 4)
    ]
    return page.text, edges_of_lines(page.text, lines)


def _wire(box: WordBox) -> wire.PageBox:
    left, top, right, bottom = map(_rounded, box[1:])
    return wire.PageBox(text=box.text, x0=left, y0=top, x1=right, y1=bottom)


def _rounded(points: float) -> float:
    return round(points, 2)
