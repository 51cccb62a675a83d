"""`document.picture`: a picture that a document shows, also one that is not a document itself.

It is looked for among the files that the last sync saw, so no path that a document writes reaches the disk. Then the
rules of the collection are asked again: a link may have taken the place of the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from gnod.config.faults import quoted
from gnod.config.model import CollectionConfig
from gnod.configured.configuration import Configuration
from gnod.errors import NotFound, Unavailable
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.walk import folder_problem, why_not_listed
from gnod.ingest.links.targets import LinkTarget, WrittenLink, target_of
from gnod.ingest.reading.layers import PictureRead
from gnod.ingest.workers.jobs import Failure, PictureJob
from gnod.ingest.workers.pool import WorkerPool
from gnod.protocol import documents as wire
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.query import references
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents.collections import id_of
from gnod.store.link_names import PATH, key
from gnod.store.tables import failures


class _Place(NamedTuple):
    collection: str
    path: str


def handlers(configuration: Configuration, database: Database, pool: WorkerPool) -> Mapping[str, Handler]:
    ignore_files = IgnoreFiles()

    async def document_picture(params: wire.DocumentPictureParams, _: Call) -> wire.DocumentPictureResult:
        place = await database.read(lambda connection: _find(connection, params))
        collection = configuration.collection(place.collection)
        if reason := await asyncio.to_thread(_why_not_shown, collection, place.path, ignore_files):
            raise NotFound(f"{place.path} is not shown: {reason}")
        max_bytes = configuration.current.ingest.max_file_mb * 1024 * 1024
        source = f"{collection.path.rstrip('/')}/{place.path}"
        outcome = await pool.run(PictureJob(path=source, relative_path=place.path, max_bytes=max_bytes), urgent=True)
        if isinstance(outcome, PictureRead):
            return wire.DocumentPictureResult(mime=outcome.mime, data=outcome.data)
        raise Unavailable(outcome.message if isinstance(outcome, Failure) else "the converter sent an invalid result")

    return named(document_picture)


def _why_not_shown(collection: CollectionConfig, path: str, ignore_files: IgnoreFiles) -> str | None:
    return folder_problem(collection.path) or why_not_listed(collection, path, ignore_files)


def _find(connection: Connection, params: wire.DocumentPictureParams) -> _Place:
    """Return the picture that is meant. Raises NotFound."""
    document = references.resolve(connection, params.ref).document
    collection_id = id_of(connection, document.collection)
    for written in _meanings(params):
        target = target_of(written, document.path)
        name = unquote(written.target).partition("#")[0].rpartition("/")[2]
        known = failures.files_named(connection, collection_id, name) if target and target.key and name else []
        if target and (path := _meant(known, target, document.path)):
            return _Place(document.collection, path)
    raise NotFound(f"no file of {document.collection} is called {quoted(params.target)}: `gnoctl index` looks again")


def _meanings(params: wire.DocumentPictureParams) -> list[WrittenLink]:
    """Return what a target may mean: a link of its syntax, then the name of a file, which Obsidian writes in Markdown
    too."""
    if params.kind == "embed":
        return [WrittenLink(0, 0, "embed", params.target, "name")]
    as_name = WrittenLink(0, 0, "markdown", unquote(params.target), "name")
    return [WrittenLink(0, 0, "markdown", params.target), as_name]


def _meant(known: Iterable[str], target: LinkTarget, path: str) -> str | None:
    """Return the file that a link leads to: a path, or the end of a path, as `gnod.store.links.links` resolves it.
    Files below the folder of the document are preferred, then those with the shortest path."""
    folder = path[: path.rfind("/") + 1]
    wanted = target.key or ""
    exact = [each for each in known if key(each) == wanted]
    if exact or target.reach == PATH:
        return min(exact, default=None)
    ends = [each for each in known if key(each).endswith(f"/{wanted}")]
    return min(ends, key=lambda each: (not each.startswith(folder), each.count("/"), each), default=None)
