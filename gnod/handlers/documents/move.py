"""`document.move` and `document.unmove`: move a file or folder, and update the links to it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import accumulate, takewhile
from pathlib import Path

from gnod.configured.configuration import Configuration
from gnod.errors import Busy, InvalidParams, MoveConflict
from gnod.freshness.scheduler import SyncScheduler
from gnod.handlers.documents.capture import indexed
from gnod.ingest.moving import journal
from gnod.ingest.moving.plan import MovePlan, plan
from gnod.paths import IndexPaths
from gnod.protocol import links as wire
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.search.query import references
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.types import format_uri

_MOST_LEFT = 1000
_DIFF_CHARACTERS = 1_000_000


def handlers(
    places: IndexPaths, configuration: Configuration, database: Database, scheduler: SyncScheduler
) -> Mapping[str, Handler]:
    moves = asyncio.Lock()

    async def document_move(params: wire.DocumentMoveParams, _: Call) -> wire.DocumentMoveResult:
        await configuration.reload()
        name, old = await database.read(lambda connection: _place(connection, params.old))
        new = (await database.read(lambda connection: _place(connection, params.new, name)))[1]
        collection = configuration.collection(name)
        async with moves:
            if not await indexed(scheduler, name):
                raise Busy("files of the collection are being read: try again in a moment")
            found = await database.read(lambda c: plan(c, collection, old, new, scheduler.ignore_files))
            if params.digest and params.digest != found.digest:
                raise MoveConflict("files have changed since the preview: request a new one")
            if not params.dry_run:
                await asyncio.to_thread(journal.carry_out, places.move_journal, name, found)
                await indexed(scheduler, name)
        return await asyncio.to_thread(_result, name, found, is_done=not params.dry_run)

    async def document_unmove(_: wire.DocumentUnmoveParams, __: Call) -> wire.DocumentUnmoveResult:
        async with moves:
            move = await asyncio.to_thread(journal.undo, places.move_journal)
            if any(each.name == move.collection for each in configuration.current.collections):
                await indexed(scheduler, move.collection)
        return wire.DocumentUnmoveResult(
            source=str(Path(move.root, move.new)), destination=str(Path(move.root, move.old)), files=len(move.files)
        )

    return named(document_move, document_unmove)


def _place(connection: Connection, reference: str, collection: str | None = None) -> tuple[str, str]:
    """Return the collection and the path in it, which may not exist yet. Raises InvalidParams if the path is not in
    `collection`."""
    if reference.startswith("/"):
        found = [
            each for each in references.places_of(connection, reference) if collection is None or each[0] == collection
        ]
    else:
        name, path = references.scope(reference.rstrip("/"))
        found = [(name, path)] if name and collection in (None, name) else []
    if not found:
        where = f"in the collection {collection}" if collection else "in the folder of a collection"
        raise InvalidParams(f"{reference} is not {where}: write a path on disk, or collection/path")
    # A folder may be in several collections: use the innermost one.
    return min(found, key=lambda each: len(each[1]))


def _result(collection: str, found: MovePlan, *, is_done: bool) -> wire.DocumentMoveResult:
    return wire.DocumentMoveResult(
        source=str(Path(found.root, found.old)),
        destination=str(Path(found.root, found.new)),
        files=len(found.files),
        links=sum(len(file.edits) for file in found.files),
        diff=_diff(found),
        left=[
            wire.LinkToRepair(
                uri=format_uri(collection, link.path), line=link.line, target=link.target, problem=link.problem
            )
            for link in found.left[:_MOST_LEFT]
        ],
        digest=found.digest,
        is_done=is_done,
    )


def _diff(found: MovePlan) -> str:
    lines = [f"{line[:_DIFF_CHARACTERS]}\n" for line in found.diff()]
    sizes = accumulate(map(len, lines))
    return "".join(
        line for line, _ in takewhile(lambda each: each[1] <= _DIFF_CHARACTERS, zip(lines, sizes, strict=True))
    )
