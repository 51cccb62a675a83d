"""`document.boxes` and `document.image` with a real worker: files that changed or broke since they were indexed."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import AsyncIterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PIL import Image

from gnod.configured.configuration import Configuration
from gnod.errors import InvalidReference, NotFound, Unavailable
from gnod.handlers.documents import document_pages
from gnod.ingest.workers.pool import WorkerPool
from gnod.locations import Locations, Start
from gnod.protocol.documents import DocumentBoxesParams, DocumentImageParams, DocumentLayersParams
from gnod.rpc.call import Call
from gnod.rpc.dispatcher import Handler
from gnod.store.connection import Connection
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from tests.pdf_files import page_of_text, pdf
from tests.pictures import encoded
from tests.small_index import SmallIndex, prepared

FILE = pdf(["one zqx", "studies of zqx"])


@contextlib.asynccontextmanager
async def pages_of(index: SmallIndex, folder: Path) -> AsyncIterator[Pages]:
    """Index `a.pdf`, write it, and yield an object that requests its boxes and images."""
    index.database.submit_write(partial(_index, folder)).result()
    (folder / "a.pdf").write_bytes(FILE)
    pool = WorkerPool(size=1, timeout_s=60, memory_mb=2048)
    try:
        handlers = document_pages.handlers(Configuration(folder / "index.yml", index.database), index.database, pool)
        yield Pages(handlers)
    finally:
        await pool.close()


class Pages:
    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers

    async def find(self, ref: str, query: str) -> Any:
        params = DocumentBoxesParams(ref=f"papers/{ref}", query=query)
        return await self._handlers["document.boxes"](params, Call(lambda _: True))

    async def layers(self, ref: str, **more: int) -> Any:
        params = DocumentLayersParams(ref=f"papers/{ref}", **more)
        return await self._handlers["document.layers"](params, Call(lambda _: True))

    async def draw(self, ref: str, **more: int) -> Any:
        params = DocumentImageParams(ref=f"papers/{ref}", **more)
        return await self._handlers["document.image"](params, Call(lambda _: True))


@pytest.mark.slow
async def test_boxes_are_those_of_the_file_as_it_is_now(small_index: SmallIndex, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    async with pages_of(small_index, tmp_path) as pages:
        found = await pages.find("a.pdf:p2", 'study "one" -zqx')
        assert (found.uri, found.page, found.stale) == ("gno://papers/a.pdf", 2, False)
        assert [box.text for box in found.boxes] == ["studies"]
        found = await pages.find("a.pdf:3", "zqx")
        assert (found.page, len(found.boxes)) == (2, 1)

        path.write_bytes(pdf(["other zqx zqx"]))
        found = await pages.find("a.pdf", "zqx")
        assert (len(found.boxes), found.stale) == (2, True)
        with pytest.raises(Unavailable, match=r"a\.pdf#page=2: The PDF has 1 pages, so it has no page 2"):
            await pages.find("a.pdf:p2", "zqx")
        path.unlink()
        with pytest.raises(NotFound, match="no longer exists"):
            await pages.find("a.pdf", "zqx")
        with pytest.raises(InvalidReference, match="only PDF files"):
            await pages.find("a.md", "zqx")


@pytest.mark.slow
async def test_the_text_of_pages_has_places(small_index: SmallIndex, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    async with pages_of(small_index, tmp_path) as pages:
        found = await pages.layers("a.pdf", count=9)
        assert (found.pages, [layer.page for layer in found.layers], found.stale) == (2, [1, 2], False)
        first, second = found.layers
        assert (first.width, first.height, [run.text for run in first.runs]) == (612, 792, ["one zqx\n"])
        (run,) = second.runs
        assert (round(run.x0), second.recognised) == (72, False)
        assert run.y0 < 792 - 700 < run.y1

        path.write_bytes(pdf(["one", "two", "", "four"]))  # the index knows two pages
        found = await pages.layers("a.pdf", page=3, count=2)
        assert (found.pages, [len(layer.runs) for layer in found.layers], found.stale) == (4, [0, 1], True)
        with pytest.raises(Unavailable, match="no page 5"):
            await pages.layers("a.pdf", page=5)
        path.write_bytes(encoded(Image.new("RGB", (300, 200), "red")))
        (layer,) = (await pages.layers("a.pdf")).layers
        assert (layer.width, layer.height, layer.runs) == (300, 200, [])


@pytest.mark.slow
async def test_a_page_is_drawn_anew_within_limits(small_index: SmallIndex, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    async with pages_of(small_index, tmp_path) as pages:
        drawn = await pages.draw("a.pdf:p2", width_px=306)
        assert (drawn.page, drawn.pages, drawn.mime, drawn.stale) == (2, 2, "image/jpeg", False)
        assert (drawn.width, drawn.height) == Image.open(io.BytesIO(drawn.data)).size == (306, 396)
        assert (await pages.draw("a.pdf:p2", page=1, width_px=306)).data != drawn.data

        path.write_bytes(page_of_text(b"", page=b"/MediaBox[0 0 10 14000]"))  # a thin strip
        drawn = await pages.draw("a.pdf", width_px=2400)
        assert drawn.stale
        assert drawn.width * drawn.height < 12_100_000
        path.write_bytes(encoded(Image.new("RGB", (300, 200), "red")))
        drawn = await pages.draw("a.pdf", width_px=100)
        assert (drawn.width, drawn.mime) == (100, "image/jpeg")
        with pytest.raises(Unavailable, match="no page 3"):
            await pages.draw("a.pdf", page=3)
        path.write_bytes(b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
        with pytest.raises(Unavailable, match="is damaged"):
            await pages.draw("a.pdf")


def _index(folder: Path, connection: Connection) -> None:
    collections.mirror(connection, [Folder("papers", str(folder), None)], [])
    found = replace(
        prepared("one zqx\n\nstudies of zqx\n", "a.pdf"),
        source_hash=hashlib.sha256(FILE).hexdigest(),
        mime="application/pdf",
        converter="pdf/3",
        locations=Locations("page", [Start(1, 1), Start(3, 2)]),
    )
    id_ = collections.id_of(connection, "papers")
    writing.put(connection, id_, "a.pdf", found, now=0.0)
    writing.put(connection, id_, "a.md", prepared("# A\n", "a.md"), now=0.0)
