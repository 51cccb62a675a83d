"""`collection.*` and `context.*`: edit the config file. The changes are active at once."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from gnod.config import edit
from gnod.config.model import DEFAULT_EXCLUDES, CollectionConfig, Config, ContextConfig
from gnod.configured.configuration import Configuration
from gnod.disks.looks import answers
from gnod.disks.spellings import real_path
from gnod.errors import AlreadyPublished, FolderNotFound, FolderUnreadable, InvalidName
from gnod.handlers.wire_types import collection_info
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.preview import preview, subfolders
from gnod.ingest.files.walk import folder_problem
from gnod.protocol import collections as wire
from gnod.protocol.base import NoParams, copied
from gnod.rpc.dispatcher import Call, Handler, named
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.documents import collections
from gnod.store.tables import documents
from gnod.types import check_collection_name

_MOST_FOLDERS = 1000
_PREVIEW_S = 1.0


def handlers(
    configuration: Configuration,
    database: Database,
    attached: Callable[[], list[wire.AttachedInfo]],
    ignore_files: IgnoreFiles,
) -> Mapping[str, Handler]:
    async def collection_add(params: wire.CollectionAddParams, _: Call) -> wire.CollectionAddResult:
        collection = await asyncio.to_thread(_new_collection, params)
        await configuration.edit(partial(edit.add_collection, collection=collection))
        added = configuration.collection(collection.name)
        return wire.CollectionAddResult(collection=collection_info(added, 0), config_file=str(configuration.path))

    async def collection_folders(params: wire.CollectionFoldersParams, _: Call) -> wire.CollectionFoldersResult:
        return await asyncio.to_thread(_folders, params.path or "~")

    async def collection_preview(params: wire.CollectionPreviewParams, _: Call) -> wire.CollectionPreviewResult:
        await configuration.reload()
        return await asyncio.to_thread(_preview, params.path, configuration.current, ignore_files)

    async def collection_remove(params: wire.CollectionRemoveParams, _: Call) -> wire.CollectionRemoveResult:
        if configuration.collection(params.name).publish:
            raise AlreadyPublished(
                f"{params.name} is published: run `gnoctl collection unpublish {params.name}` first",
                {"name": params.name},
            )
        counts = await database.read(_counts)
        await configuration.edit(partial(edit.remove_collection, name=params.name))
        return wire.CollectionRemoveResult(name=params.name, removed_documents=counts.get(params.name, 0))

    async def collection_rename(params: wire.CollectionRenameParams, _: Call) -> wire.CollectionRenameResult:
        configuration.collection(params.name)
        check_collection_name(params.new_name)

        def change(path: Path) -> None:
            edit.rename_collection(path, params.name, params.new_name)
            # Rename before the config is mirrored. Otherwise the mirror would remove one collection and index another.
            rename = database.submit_write(lambda c: collections.rename(c, params.name, params.new_name))
            rename.result()

        await configuration.edit(change)
        return wire.CollectionRenameResult(name=params.name, new_name=params.new_name)

    async def collection_list(_: NoParams, __: Call) -> wire.CollectionListResult:
        counts = await database.read(_counts)
        infos = [collection_info(c, counts.get(c.name, 0)) for c in configuration.current.collections]
        return wire.CollectionListResult(collections=infos, attached=attached())

    async def context_add(params: wire.ContextAddParams, _: Call) -> wire.ContextAddResult:
        context = ContextConfig(scope=params.scope, text=params.text)
        await configuration.edit(partial(edit.add_context, context=context))
        return wire.ContextAddResult(context=copied(wire.ContextInfo, context))

    async def context_list(_: NoParams, __: Call) -> wire.ContextListResult:
        return wire.ContextListResult(
            contexts=[copied(wire.ContextInfo, context) for context in configuration.current.contexts]
        )

    async def context_remove(params: wire.ContextRemoveParams, _: Call) -> wire.ContextRemoveResult:
        removed = await configuration.edit(partial(edit.remove_context, scope=params.scope, text=params.text))
        return wire.ContextRemoveResult(removed=[copied(wire.ContextInfo, context) for context in removed])

    return named(
        *(collection_add, collection_folders, collection_preview),
        *(collection_remove, collection_rename, collection_list),
        *(context_add, context_list, context_remove),
    )


def _counts(connection: Connection) -> dict[str, int]:
    return {c.name: documents.count_under(connection, c.name, "") for c in collections.all_collections(connection)}


def _new_collection(params: wire.CollectionAddParams) -> CollectionConfig:
    """Raises FolderNotFound, FolderUnreadable, InvalidName."""
    path = _checked(params.path)
    return CollectionConfig(
        name=_name(params.name, path),
        path=path,
        pattern=params.pattern,
        include=tuple(f".{extension.lstrip('.').lower()}" for extension in params.include),
        exclude=DEFAULT_EXCLUDES if params.exclude is None else tuple(params.exclude),
        gitignore=params.gitignore,
        hidden=params.hidden,
        language=params.language,
        update_command=params.update_command,
        egress=params.egress,
        ocr=params.ocr,
    )


def _checked(written: str) -> str:
    """Return the absolute path of a folder to add. Raises FolderNotFound and FolderUnreadable."""
    path = os.path.abspath(os.path.expanduser(written))  # noqa: PTH100, PTH111  (keeps symbolic links)
    if answers(path):
        path = real_path(path)
        if not os.path.lexists(path):
            raise FolderNotFound(f"the folder {path} does not exist", {"path": path})
    if problem := folder_problem(path):
        raise FolderUnreadable(problem, {"path": path})
    return path


def _folders(written: str) -> wire.CollectionFoldersResult:
    path = _checked(written)
    names, is_complete = subfolders(path, _MOST_FOLDERS)
    return wire.CollectionFoldersResult(path=path, folders=names, has_more=not is_complete)


def _preview(written: str, config: Config, ignore_files: IgnoreFiles) -> wire.CollectionPreviewResult:
    collection = _new_collection(wire.CollectionAddParams(path=written, name="new"))
    found = preview(collection, ignore_files, _PREVIEW_S)
    return wire.CollectionPreviewResult(
        path=collection.path,
        name=_free(_proposed_name(collection.path), config),
        kinds=[
            wire.KindOfFile(kind=kind, files=files, is_read=is_read)
            for (kind, is_read), files in found.kinds.most_common()
        ],
        excluded=found.excluded,
        is_complete=found.is_complete,
        collections=[other.name for other in config.collections if _overlap(other.path, collection.path)],
    )


def _overlap(one: str, other: str) -> bool:
    return os.path.commonpath((one, other)) in (one.rstrip("/") or "/", other.rstrip("/") or "/")


def _free(name: str, config: Config) -> str:
    """Return a name that no collection has; add a number if the name is taken."""
    taken = {collection.name for collection in config.collections}
    numbered = (f"{name[:60]}-{number}" for number in itertools.count(2))
    return next(
        each for each in itertools.chain([name], numbered) if each not in taken and not config.is_attached(each)
    )


def _name(given: str | None, path: str) -> str:
    if given is not None:
        check_collection_name(given)
        return given
    if not (proposal := _proposed_name(path)):
        raise InvalidName(f"no collection name can be derived from {path}: use --name", {"path": path})
    return proposal


def _proposed_name(path: str) -> str:
    """Return a name for a collection, without accents; "" if no character of the folder's name is allowed."""
    plain = unicodedata.normalize("NFKD", Path(path).name.casefold()).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9_-]+", "-", plain).strip("-_")[:64]
