"""What `document.multi_get` returns and what it names instead; where `document.locate` leads."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from pathlib import Path

import pytest

from gnod.errors import NotFound, RootUnavailable
from gnod.handlers import document
from gnod.protocol.documents import (
    DocumentLocateParams,
    DocumentMultiGetParams,
    DocumentMultiGetResult,
    DocumentPlace,
)
from gnod.rpc.call import Call
from gnod.rpc.dispatcher import Handler
from gnod.services.configuration import Configuration
from gnod.store.database import Connection
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from tests.shared.attaching import not_attached
from tests.small_index import SmallIndex, prepared

SHORT = "# Short\n\ntext\n"
LONG = "# Löng\n\n" + "line\n" * 20


def handlers_of(index: SmallIndex, folder: Path) -> Mapping[str, Handler]:
    configuration = Configuration(folder / "index.yml", index.database)
    return document.handlers(configuration, index.database, not_attached(configuration, folder))


async def multi_get(index: SmallIndex, folder: Path, max_bytes: int) -> DocumentMultiGetResult:
    handlers = handlers_of(index, folder)
    params = DocumentMultiGetParams(refs=["notes/*.md"], max_bytes=max_bytes)
    result = await handlers["document.multi_get"](params, Call(lambda _: True))
    assert isinstance(result, DocumentMultiGetResult)
    return result


async def test_a_larger_document_is_skipped_and_never_shortened(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.add({"long.md": LONG, "short.md": SHORT})
    size = len(LONG.encode())

    result = await multi_get(small_index, tmp_path, size - 1)
    assert [found.text for found in result.documents] == [SHORT]
    (skipped,) = result.skipped
    assert skipped.ref == "gno://notes/long.md"
    assert skipped.reason == f"larger than {size - 1} bytes ({size}): raise the limit, or get it by itself"

    result = await multi_get(small_index, tmp_path, size)
    assert [(found.text, found.truncated) for found in result.documents] == [(LONG, False), (SHORT, False)]
    assert result.skipped == []


def locate(index: SmallIndex, folder: Path, ref: str) -> Awaitable[object]:
    handlers = handlers_of(index, folder)
    return handlers["document.locate"](DocumentLocateParams(ref=ref), Call(lambda _: True))


async def test_where_a_reference_leads(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"

    def work(connection: Connection) -> None:
        collections.mirror(connection, [Folder("notes", str(root), None)], [])
        found = prepared("# A\n\n\n\nfive\n", "a.md")
        writing.put(connection, collections.id_of(connection, "notes"), "a.md", found, now=0.0)

    small_index.database.submit_write(work).result()
    with pytest.raises(RootUnavailable, match="an unmounted drive"):
        await locate(small_index, tmp_path, "notes/a.md")
    root.mkdir()
    with pytest.raises(NotFound, match="is not there any more"):
        await locate(small_index, tmp_path, "notes/a.md")
    (root / "a.md").write_text("changed")
    place = await locate(small_index, tmp_path, "notes/a.md:5")
    assert isinstance(place, DocumentPlace)
    assert (place.source, place.line, place.location, place.stale) == (f"{root}/a.md", 5, None, True)
