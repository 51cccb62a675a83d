"""`document.image`: a page as a picture, which a converter worker draws and encodes."""

from __future__ import annotations

from collections.abc import Mapping

from gnod.configured.configuration import Configuration
from gnod.handlers.documents import document_pages
from gnod.handlers.documents.document_pages import find_page
from gnod.ingest.workers.jobs import ImageJob, ImageRead
from gnod.ingest.workers.pool import WorkerPool
from gnod.protocol import documents as wire
from gnod.protocol.base import copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.store.database import Database


def handlers(configuration: Configuration, database: Database, pool: WorkerPool) -> Mapping[str, Handler]:
    async def document_image(params: wire.DocumentImageParams, _: Call) -> wire.DocumentImageResult:
        page = await database.read(lambda connection: find_page(connection, params.ref))
        page = page._replace(number=params.page or page.number)
        job = ImageJob(
            path=page.document.source,
            relative_path=page.document.path,
            max_bytes=configuration.current.ingest.max_file_mb * 1024 * 1024,
            number=page.number,
            width=params.width_px,
        )
        image = await document_pages.read(pool, page, job, ImageRead)
        stale = image.source_hash != page.document.source_hash
        return copied(wire.DocumentImageResult, image, uri=page.uri, page=page.number, stale=stale)

    return named(document_image)
