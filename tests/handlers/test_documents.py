"""What `document.multi_get` returns, and what it names instead."""

from __future__ import annotations

from pathlib import Path

from gnod.handlers import document
from gnod.protocol.documents import DocumentMultiGetParams, DocumentMultiGetResult
from gnod.rpc.call import Call
from gnod.services.configuration import Configuration
from tests.small_index import SmallIndex

SHORT = "# Short\n\ntext\n"
LONG = "# Löng\n\n" + "line\n" * 20


async def multi_get(index: SmallIndex, folder: Path, max_bytes: int) -> DocumentMultiGetResult:
    handlers = document.handlers(Configuration(folder / "index.yml", index.database), index.database)
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
