"""`document.boxes`: a converter worker reads the page from the file, now. Of text that was recognised in an image,
the index holds the boxes of the lines (ADR 42)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import partial

from gnod.configured.configuration import Configuration
from gnod.handlers.documents import document_pages
from gnod.handlers.documents.document_pages import ShownPage, find_page
from gnod.ingest.workers.jobs import PageJob, PageRead
from gnod.ingest.workers.pool import WorkerPool
from gnod.protocol import documents as wire
from gnod.rpc.dispatcher import Call, Handler
from gnod.search.fields import reading
from gnod.search.hits import marked
from gnod.search.passages.boxes import WordBox, edges_of_lines, find_boxes
from gnod.search.query.parsing import parse_query
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.tables import scans
from gnod.store.tables.records import RecognisedPage

# The edges of recognised lines are stored as shares of the page's sides.
_WHOLE = 10_000


def handlers(configuration: Configuration, database: Database, pool: WorkerPool) -> Mapping[str, Handler]:
    async def document_boxes(params: wire.DocumentBoxesParams, _: Call) -> wire.DocumentBoxesResult:
        saved = configuration.current.saved_queries
        clauses = parse_query((await reading.read_in(database.read, params.query, saved)).text).terms
        page = await database.read(lambda connection: find_page(connection, params.ref))
        read = await _read(pool, page, configuration.current.ingest.max_file_mb)
        stale = read.source_hash != page.document.source_hash
        recognised = None if stale else await database.read(partial(_recognised_page, page))
        text, edges = _recognised(recognised, read) if recognised else (read.text, array("f", read.boxes))

        def work(connection: Connection) -> list[WordBox]:
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


def _recognised_page(page: ShownPage, connection: Connection) -> RecognisedPage | None:
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


async def _read(pool: WorkerPool, page: ShownPage, max_file_mb: int) -> PageRead:
    document = page.document
    job = PageJob(
        path=document.source, relative_path=document.path, max_bytes=max_file_mb * 1024 * 1024, number=page.number
    )
    return await document_pages.read(pool, page, job, PageRead)


def _wire(box: WordBox) -> wire.PageBox:
    left, top, right, bottom = map(_rounded, box[1:])
    return wire.PageBox(text=box.text, x0=left, y0=top, x1=right, y1=bottom)


def _rounded(points: float) -> float:
    return round(points, 2)
