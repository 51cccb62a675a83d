"""What `document.multi_get` returns and what it skips; the files that `document.locate` finds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from gnod.configured.configuration import Configuration
from gnod.errors import InvalidParams, InvalidReference, NotFound, QuerySyntaxError, RootUnavailable
from gnod.handlers.documents import document
from gnod.locations import Locations, Start
from gnod.protocol.base import Params
from gnod.protocol.documents import (
    DocumentGetParams,
    DocumentLocateParams,
    DocumentMatchesParams,
    DocumentMultiGetParams,
)
from gnod.rpc.call import Call
from gnod.search.hybrid.across_indexes import NoSources
from gnod.store.connection import Connection
from gnod.store.documents import collections, writing
from gnod.store.documents.collections import Folder
from tests.small_index import SmallIndex, prepared

SHORT = "# Short\n\ntext\n"
LONG = "# Löng\n\n" + "line\n" * 20


async def call(index: SmallIndex, folder: Path, method: str, params: Params) -> Any:
    configuration = Configuration(folder / "index.yml", index.database)
    handlers = document.handlers(configuration, index.database, NoSources())
    return await handlers[method](params, Call(lambda _: True))


async def multi_get(index: SmallIndex, folder: Path, *refs: str, **more: int) -> Any:
    return await call(index, folder, "document.multi_get", DocumentMultiGetParams(refs=[*refs], **more))


async def test_a_larger_document_is_skipped_and_never_shortened(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.add({"long.md": LONG, "short.md": SHORT})
    size = len(LONG.encode())

    result = await multi_get(small_index, tmp_path, "notes/*.md", max_bytes=size - 1)
    assert [found.text for found in result.documents] == [SHORT]
    (skipped,) = result.skipped
    assert skipped.ref == "gno://notes/long.md"
    assert skipped.kind == "too_large"
    assert skipped.reason == f"larger than {size - 1} bytes: raise max_bytes, or use `gnoctl get`"

    result = await multi_get(small_index, tmp_path, "notes/*.md", max_bytes=size)
    assert [found.text for found in result.documents] == [LONG, SHORT]
    assert result.skipped == []


async def test_matches_are_all_of_the_document(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.add(
        {
            "many.md": "# Sails\n\n\n\n" + "A sail is sailing.\n\n" * 2000,
            "words.md": "Blue **green** sea, snake_case, backOff.\n",
            "unspaced.md": "帆船の帆です。\n",
        }
    )

    async def find(path: str, query: str) -> Any:
        params = DocumentMatchesParams(ref=f"notes/{path}", query=query)
        return await call(small_index, tmp_path, "document.matches", params)

    found = await find("many.md", "sails")
    assert (found.lines[:4], len(found.lines), found.exact) == ([1, 5, 5, 7], 4001, True)
    assert {word.lower() for word in found.words} == {"sails", "sail", "sailing"}
    for path, query, words in [
        ("words.md", '"blue green"', ["Blue green"]),
        ("words.md", "off", ["backOff"]),
        ("words.md", "nothing", []),
        ("words.md", "tag:x", []),
        ("unspaced.md", "帆船", ["帆船*"]),
    ]:
        assert (await find(path, query)).words == words, query
    with pytest.raises(QuerySyntaxError):
        await find("words.md", 'open "quote')


async def test_thousands_of_pages_are_listed_at_once(small_index: SmallIndex, tmp_path: Path) -> None:
    def put(connection: Connection) -> None:
        collections.mirror(connection, [Folder("papers", str(tmp_path), None)], [])
        starts = [Start(number, number) for number in range(1, 5001)]
        found = replace(prepared("page\n" * 5000, "a.pdf"), locations=Locations("page", starts))
        writing.put(connection, collections.id_of(connection, "papers"), "a.pdf", found, now=0.0)

    small_index.write(put)
    started = time.process_time()
    found = await call(small_index, tmp_path, "document.get", DocumentGetParams(ref="papers/a.pdf", locations=True))
    assert [each.location.page for each in found.locations] == [*range(1, 5001)]
    assert time.process_time() - started < 1  # 5 s if each page decodes the locations of all pages


TREE = "# Tree\n\n## A\n\n### Setup\n\na\n\n## B\n\n### Setup\n\nb\n"
CODE = "# Setup\nclass Retry:\n    def run(self):\n        return 1\n\n    def stop(self):\n        return 2\n"
PLAN = "# Plan\n\n\n\nIntro\n\n## Next steps\n\nDo it. ^todo\n\n## Ende (Übung)\n\nlast\n"


async def test_lines_and_headings_that_a_document_has_and_has_not(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.add({"plan.md": PLAN, "flat.md": "no heading\n", "c#.md": "sharp\n", "tree.md": TREE, "retry.py": CODE})

    async def get(ref: str, **more: Any) -> Any:
        return await call(small_index, tmp_path, "document.get", DocumentGetParams(ref=ref, **more))

    for ref, first in {
        "notes/plan.md#Next steps": "## Next steps\n",
        "notes/plan.md#next-steps": "## Next steps\n",
        "gno://notes/plan.md#Next%20steps": "## Next steps\n",
        "notes/plan.md#^todo": "Do it. ^todo\n",
        "notes/plan.md#ende-übung": "## Ende (Übung)\n",
        "notes/plan.md:7": "## Next steps\n",
        "notes/plan.md:13": "last\n",
        "notes/c#.md": "sharp\n",
    }.items():
        assert (await get(ref, max_lines=1)).text == first, ref
    for ref, lines in {
        "notes/plan.md:7-9": "## Next steps\n\nDo it. ^todo\n",
        "notes/plan.md#Next steps": "## Next steps\n\nDo it. ^todo\n\n",
        "notes/tree.md#A > Setup": "### Setup\n\na\n\n",
        "notes/tree.md#Tree > B > Setup": "### Setup\n\nb\n",
        "notes/tree.md#B#Setup": "### Setup\n\nb\n",
        "notes/tree.md#A": "## A\n\n### Setup\n\na\n\n",
        "notes/retry.py#Retry.run": "    def run(self):\n        return 1\n",
        "notes/retry.py#run()": "    def run(self):\n        return 1\n",
    }.items():
        assert (await get(ref)).text == lines, ref
        assert (await get(ref, max_lines=1)).text == lines.split("\n")[0] + "\n", ref
    pages = [await get("notes/plan.md", max_lines=5)]
    while pages[-1].truncated:
        pages.append(await get("notes/plan.md", start_line=pages[-1].end_line + 1, max_lines=5))
    assert "".join(page.text for page in pages) == (await get("notes/plan.md")).text
    for ref, start, message in [
        ("notes/plan.md:14", None, "gno://notes/plan.md has no line 14: its last line is 13"),
        ("notes/plan.md", 99999, "gno://notes/plan.md has no line 99,999: its last line is 13"),
        ("notes/flat.md", 2, "gno://notes/flat.md has no line 2: its last line is 1"),
        ("notes/plan.md#Nex stepps", None, "notes/plan.md has no heading 'Nex stepps': did you mean #Next steps?"),
        ("notes/plan.md#x", None, "no heading 'x': did you mean #Plan or #Next steps or #Ende (Übung)?"),
        ("notes/flat.md#x", None, "no heading 'x': it has lines, such as :12"),
        ("notes/plan.md:9-7", None, "the last line is before the first: swap them"),
        ("notes/retry.py#Zzz", None, "retry.py has no definition 'Zzz': did you mean #Retry or #run or #stop?"),
        ("notes/retry.py#rum", None, "retry.py has no definition 'rum': did you mean #run?"),
        ("notes/plan.md#page=2", None, "has no page 2: it has lines, such as :12"),
    ]:
        with pytest.raises(InvalidParams if start else InvalidReference) as error:
            await get(ref, start_line=start)
        assert message in error.value.message


async def test_what_is_left_out_has_a_kind(small_index: SmallIndex, tmp_path: Path) -> None:
    small_index.add({f"{n}.md": f"note {n}\n" for n in range(1, 5)} | {"0.md": LONG})
    refs = ("notes/*.md", "notes/nothing.md", "#zz", "notes/1.md:0")
    result = await multi_get(small_index, tmp_path, *refs, limit=2, max_bytes=20)
    assert [each.path for each in result.documents] == ["1.md", "2.md"]  # a document that is too large does not count
    assert [(each.ref, each.kind) for each in result.skipped] == [
        ("notes/nothing.md", "document_not_found"),
        ("#zz", "invalid_reference"),
        ("notes/1.md:0", "invalid_reference"),
        ("gno://notes/0.md", "too_large"),
        ("gno://notes/3.md", "over_limit"),
        ("gno://notes/4.md", "over_limit"),
    ]


async def test_where_a_reference_leads(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"

    async def locate(ref: str) -> Any:
        return await call(small_index, tmp_path, "document.locate", DocumentLocateParams(ref=ref))

    def work(connection: Connection) -> None:
        collections.mirror(connection, [Folder("notes", str(root), None)], [])
        found = prepared("# A\n\n\n\nfive\n", "a.md")
        writing.put(connection, collections.id_of(connection, "notes"), "a.md", found, now=0.0)

    small_index.database.submit_write(work).result()
    with pytest.raises(RootUnavailable, match="an unmounted drive"):
        await locate("notes/a.md")
    root.mkdir()
    with pytest.raises(NotFound, match="no longer exists"):
        await locate("notes/a.md")
    (root / "a.md").write_text("changed")
    place = await locate("notes/a.md:5")
    assert (place.source, place.line, place.location, place.stale) == (f"{root}/a.md", 5, None, True)
    assert place.obsidian is None
    (tmp_path / ".obsidian").mkdir()
    address = f"obsidian://open?vault={quote(tmp_path.name)}&file="
    assert (await locate("notes/a.md")).obsidian == f"{address}notes%2Fa.md"
    (root / ".obsidian").mkdir()  # the nearest folder is the vault
    assert (await locate("notes/a.md")).obsidian == "obsidian://open?vault=notes&file=a.md"
