"""`document.boxes`, `document.image` and `document.layers`: pages of PDF files and pictures, which a converter worker
reads from the file at each request. For text that was recognised in an image, the index has the boxes of the lines (ADR
42).

`document.picture`: a picture that a document shows, even if the picture is not a document itself. Only files that the
last sync saw are candidates, so no path written in a document reaches the disk. The rules of the collection are checked
again, because a link may have replaced the file.
"""

from __future__ import annotations

import asyncio
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from gnod.config.faults import quoted
from gnod.config.model import CollectionConfig
from gnod.configured.configuration import Configuration
from gnod.errors import InvalidReference, NotFound, Unavailable
from gnod.handlers.documents.document import require_source
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.walk import folder_problem, why_not_listed
from gnod.ingest.links.targets import LinkTarget, WrittenLink, target_of
from gnod.ingest.reading.layers import ImageRead, LayerRead, LayersRead, PictureRead, runs_of
from gnod.ingest.workers.jobs import Failure, ImageJob, LayersJob, PageJob, PageRead, PictureJob
from gnod.ingest.workers.pool import WorkerPool
from gnod.protocol import documents as wire
from gnod.protocol.base import copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.fields import reading
from gnod.search.keyword import lexical
from gnod.search.passages.boxes import WordBox, edges_of_lines, find_boxes
from gnod.search.query import references
from gnod.search.query.parsing import parse_query
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents.collections import id_of
from gnod.store.link_names import PATH, key
from gnod.store.tables import failures, scans
from gnod.store.tables.documents import DocumentRow
from gnod.store.tables.records import RecognisedPage

T = TypeVar("T", PageRead, ImageRead, LayersRead, PictureRead)

_Job = PageJob | ImageJob | LayersJob | PictureJob
_OfPage = wire.DocumentBoxesParams | wire.DocumentImageParams | wire.DocumentLayersParams

_PDF = "application/pdf"
_PICTURE = "image/"
# The edges of recognised lines are stored as fractions of the page's sides, in units of 1/10,000.
_WHOLE = 10_000


class _Page(NamedTuple):
    document: DocumentRow
    number: int


def handlers(configuration: Configuration, database: Database, pool: WorkerPool) -> Mapping[str, Handler]:
    ignore_files = IgnoreFiles()

    def max_bytes() -> int:
        return configuration.current.ingest.max_file_mb * 1024 * 1024

    def source_of(page: _Page) -> dict[str, Any]:
        document, number = page.document, page.number
        return {"path": document.source, "relative_path": document.path, "max_bytes": max_bytes(), "number": number}

    async def find_page(params: _OfPage) -> _Page:
        page = await database.read(lambda connection: _find_page(connection, params.ref))
        return page._replace(number=params.page or page.number)

    async def document_boxes(params: wire.DocumentBoxesParams, _: Call) -> wire.DocumentBoxesResult:
        saved = configuration.current.saved_queries
        clauses = parse_query((await reading.read_in(database.read, params.query, saved)).text).terms
        page = await find_page(params)
        read = await _read(pool, page, PageJob(**source_of(page)), PageRead)
        stale = read.source_hash != page.document.source_hash
        recognised = None if stale else await database.read(partial(_recognised_page, page, page.number))
        text, edges = (
            _recognised(recognised, read.width, read.height) if recognised else (read.text, array("f", read.boxes))
        )

        def work(connection: Connection) -> list[WordBox]:
            analyzers = lexical.analyzers_of_index(connection)
            return find_boxes(text, edges, lexical.query_terms(clauses, analyzers), analyzers)

        return wire.DocumentBoxesResult(
            uri=page.document.uri,
            page=page.number,
            width=_rounded(read.width),
            height=_rounded(read.height),
            boxes=[wire.PageBox(text=box.text, **_edges(box[1:])) for box in await database.read(work)],
            recognised=recognised is not None,
            stale=stale,
        )

    async def document_image(params: wire.DocumentImageParams, _: Call) -> wire.DocumentImageResult:
        page = await find_page(params)
        image = await _read(pool, page, ImageJob(**source_of(page), width=params.width_px), ImageRead)
        stale = image.source_hash != page.document.source_hash
        return copied(wire.DocumentImageResult, image, uri=page.document.uri, page=page.number, stale=stale)

    async def document_layers(params: wire.DocumentLayersParams, _: Call) -> wire.DocumentLayersResult:
        page = await find_page(params)
        read = await _read(pool, page, LayersJob(**source_of(page), count=params.count), LayersRead)
        stale = read.source_hash != page.document.source_hash

        def work(connection: Connection) -> list[wire.PageLayer]:
            return [
                _layer(each, None if stale else _recognised_page(page, each.number, connection)) for each in read.layers
            ]

        return wire.DocumentLayersResult(
            uri=page.document.uri,
            pages=read.pages,
            layers=await database.read(work),
            outline=[wire.OutlinePage(**entry._asdict()) for entry in read.outline],
            stale=stale,
        )

    async def document_picture(params: wire.DocumentPictureParams, _: Call) -> wire.DocumentPictureResult:
        name, path = await database.read(lambda connection: _find_picture(connection, params))
        collection = configuration.collection(name)
        if reason := await asyncio.to_thread(_why_not_shown, collection, path, ignore_files):
            raise NotFound(f"{path} is not shown: {reason}")
        source = f"{collection.path.rstrip('/')}/{path}"
        job = PictureJob(path=source, relative_path=path, max_bytes=max_bytes())
        picture = await _outcome(pool, job, PictureRead)
        return wire.DocumentPictureResult(mime=picture.mime, data=picture.data)

    return named(document_boxes, document_image, document_layers, document_picture)


def _find_page(connection: Connection, ref: str) -> _Page:
    """Return the page that a reference names, by default the first one. Raises InvalidReference if the document has no
    pages."""
    document, line, *_ = references.resolve(connection, ref)
    number = _number(document, line or 1)
    if number is None:
        message = f"{document.path} has no pages that can be shown: only PDF files and pictures have pages"
        raise InvalidReference(message, {"reference": ref})
    if document.container:
        message = f"{document.path} is inside another file: only pages of files on disk can be shown"
        raise InvalidReference(message, {"reference": ref})
    require_source(document)
    return _Page(document, number)


async def _read(pool: WorkerPool, page: _Page, job: _Job, kind: type[T]) -> T:
    """Return the outcome of a job that reads the page. Raises Unavailable if the page cannot be read."""
    try:
        return await _outcome(pool, job, kind)
    except Unavailable as error:
        raise Unavailable(f"{page.document.uri}#page={page.number}: {error.message}") from None


async def _outcome(pool: WorkerPool, job: _Job, kind: type[T]) -> T:
    outcome = await pool.run(job, urgent=True)
    if isinstance(outcome, kind):
        return outcome
    raise Unavailable(outcome.message if isinstance(outcome, Failure) else "The converter sent an invalid result.")


def _number(document: DocumentRow, line: int) -> int | None:
    if not (document.mime == _PDF or document.mime.startswith(_PICTURE)):
        return None
    where = document.location_of(line)
    return where.value if where and isinstance(where.value, int) else 1


def _recognised_page(page: _Page, number: int, connection: Connection) -> RecognisedPage | None:
    """Return the recognised text of a page; None if the page contains text itself."""
    return scans.recognised(connection, page.document.id, number)


def _recognised(page: RecognisedPage, width: float, height: float) -> tuple[str, array[float]]:
    """Return the recognised text of a page, and the edges of its characters."""
    shares = array("H", page.boxes)
    sides = (width, height) * 2
    lines = [
        [share * side / _WHOLE for share, side in zip(shares[at : at + 4], sides, strict=True)]
        for at in range(0, len(shares), 4)
    ]
    return page.text, edges_of_lines(page.text, lines)


def _layer(read: LayerRead, recognised: RecognisedPage | None) -> wire.PageLayer:
    runs = runs_of(*_recognised(recognised, read.width, read.height)) if recognised else read.runs
    return wire.PageLayer(
        page=read.number,
        width=_rounded(read.width),
        height=_rounded(read.height),
        runs=[wire.PageBox(text=run.text, **_edges(run[1:])) for run in runs],
        links=[wire.PageLink(page=link.page, address=link.address, **_edges(link[:4])) for link in read.links],
        recognised=recognised is not None,
    )


def _edges(box: Sequence[float]) -> dict[str, float]:
    return dict(zip(("x0", "y0", "x1", "y1"), map(_rounded, box), strict=True))


def _rounded(points: float) -> float:
    return round(points, 2)


def _why_not_shown(collection: CollectionConfig, path: str, ignore_files: IgnoreFiles) -> str | None:
    return folder_problem(collection.path) or why_not_listed(collection, path, ignore_files)


def _find_picture(connection: Connection, params: wire.DocumentPictureParams) -> tuple[str, str]:
    """Return the collection and the path of the requested picture. Raises NotFound."""
    document = references.resolve(connection, params.ref).document
    collection_id = id_of(connection, document.collection)
    for written in _meanings(params):
        target = target_of(written, document.path)
        name = unquote(written.target).partition("#")[0].rpartition("/")[2]
        known = failures.files_named(connection, collection_id, name) if target and target.key and name else []
        if target and (path := _meant(known, target, document.path)):
            return document.collection, path
    raise NotFound(f"no file of {document.collection} is called {quoted(params.target)}: run `gnoctl index` to update")


def _meanings(params: wire.DocumentPictureParams) -> list[WrittenLink]:
    """Return the possible meanings of a target: a link of its syntax, then the name of a file, because Obsidian also
    writes names in Markdown links."""
    if params.kind == "embed":
        return [WrittenLink(0, 0, "embed", params.target, "name")]
    as_name = WrittenLink(0, 0, "markdown", unquote(params.target), "name")
    return [WrittenLink(0, 0, "markdown", params.target), as_name]


def _meant(known: Iterable[str], target: LinkTarget, path: str) -> str | None:
    """Return the file that a link leads to: a path, or the end of a path, as `gnod.store.links.links` resolves it.
    Files below the folder of the document come first, then the shortest path."""
    folder = path[: path.rfind("/") + 1]
    target_key = target.key or ""
    exact = [each for each in known if key(each) == target_key]
    if exact or target.reach == PATH:
        return min(exact, default=None)
    ends = [each for each in known if key(each).endswith(f"/{target_key}")]
    return min(ends, key=lambda each: (not each.startswith(folder), each.count("/"), each), default=None)
