"""Pages of PDF files and pictures, which a converter worker reads from the file, now: for `document.boxes` and
`document.image`."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from gnod.errors import InvalidReference, Unavailable
from gnod.handlers.documents.document import require_source
from gnod.ingest.workers.jobs import Failure, ImageJob, ImageRead, PageJob, PageRead
from gnod.ingest.workers.pool import WorkerPool
from gnod.search.query import references
from gnod.store.connection import Connection
from gnod.store.tables.documents import DocumentRow
from gnod.types import format_uri

T = TypeVar("T", PageRead, ImageRead)

_PDF = "application/pdf"
_PICTURE = "image/"


class ShownPage(NamedTuple):
    document: DocumentRow
    number: int

    @property
    def uri(self) -> str:
        return format_uri(self.document.collection, self.document.path)


def find_page(connection: Connection, ref: str) -> ShownPage:
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
    return ShownPage(document, number)


async def read(pool: WorkerPool, page: ShownPage, job: PageJob | ImageJob, kind: type[T]) -> T:
    """Return the outcome of a job that reads the page. Raises Unavailable for one that cannot be read."""
    outcome = await pool.run(job, urgent=True)
    if isinstance(outcome, kind):
        return outcome
    reason = outcome.message if isinstance(outcome, Failure) else "The converter sent an invalid result."
    raise Unavailable(f"{page.uri}#page={page.number}: {reason}")


def _number(document: DocumentRow, line: int) -> int | None:
    if not (document.mime == _PDF or document.mime.startswith(_PICTURE)):
        return None
    where = document.location_of(line)
    return where.value if where and isinstance(where.value, int) else 1
