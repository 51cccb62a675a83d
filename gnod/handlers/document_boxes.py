"""`document.boxes`: a converter worker reads the page from the file, now; the index holds no boxes (ADR 42)."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import NamedTuple

from gnod.errors import InvalidReference, Unavailable
from gnod.handlers.document import require_source
from gnod.handlers.search import marked
from gnod.ingest.jobs import Failure, PageJob, PageRead
from gnod.ingest.pool import WorkerPool
from gnod.pipeline import references
from gnod.pipeline.boxes import Box, find_boxes
from gnod.pipeline.query import parse_query
from gnod.protocol import documents as wire
from gnod.rpc.dispatcher import Call, Handler
from gnod.services.configuration import Configuration
from gnod.store.database import Connection, Database
from gnod.store.documents.documents import Document
from gnod.types import format_uri

_PDF = "application/pdf"


class _Page(NamedTuple):
    document: Document
    number: int

    @property
    def uri(self) -> str:
        return format_uri(self.document.collection, self.document.path)


def handlers(configuration: Configuration, database: Database, pool: WorkerPool) -> Mapping[str, Handler]:
    async def document_boxes(params: wire.DocumentBoxesParams, _: Call) -> wire.DocumentBoxesResult:
        clauses = parse_query(params.query).terms
        page = await database.read(lambda connection: _page(connection, params.ref))
        read = await _read(pool, page, configuration.current.ingest.max_file_mb)
        # Pages whose text was recognised in an image have the boxes of their lines with that text: use these here.

        def work(connection: Connection) -> list[Box]:
            words = marked(connection, clauses)
            return find_boxes(read.text, array("f", read.boxes), words.expression.query_terms(), words.analyzers)

        return wire.DocumentBoxesResult(
            uri=page.uri,
            page=page.number,
            width=_rounded(read.width),
            height=_rounded(read.height),
            boxes=[_wire(box) for box in await database.read(work)],
            stale=read.source_hash != page.document.source_hash,
        )

    return {"document.boxes": document_boxes}


def _page(connection: Connection, ref: str) -> _Page:
    """Return the page that a reference names, or the first one. Raises InvalidReference where the document has no
    pages."""
    document, line, _ = references.resolve(connection, ref)
    where = document.location_of(line or 1) if document.mime == _PDF else None
    if where is None or not isinstance(where.value, int):
        raise InvalidReference(f"{document.path} has no pages with boxes: only PDF files have", {"reference": ref})
    if document.container:
        raise InvalidReference(f"{document.path} is in another file: only files on disk have boxes", {"reference": ref})
    require_source(document)
    return _Page(document, where.value)


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
