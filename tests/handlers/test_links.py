"""What the methods about links return: states, passages, places, suggestions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gnod.configured.configuration import Configuration
from gnod.errors import CollectionNotFound
from gnod.handlers import links
from gnod.protocol import links as wire
from gnod.rpc.call import Call
from gnod.store.documents import collections
from gnod.store.documents.collections import Folder
from tests.small_index import SmallIndex

TEXTS = {
    "start.md": "---\ntitle: Start\n---\n# Start\n\n\n\nSee [[b#First part]] and [[b#Second]] here.\n\n"
    "[x](missng.md) [y](picture.png) ![[b#^note]] [z](../x.md) https://example.org [[two]] [here](#start)\n",
    "b.md": "# B\n\n## First *part*\n\nWords. ^note\n\n```\n## Second\n```\n",
    "c/two.md": "[[start]]\n",
    "d/two.md": "Up: [s](../start.md#nothing)\n",
    "missing.md": "x\n",
}


async def call(index: SmallIndex, folder: Path, method: str, params: Any) -> Any:
    handlers = links.handlers(Configuration(folder / "index.yml", index.database), index.database)
    return await handlers[method](params, Call(lambda _: True))


def made(index: SmallIndex, folder: Path) -> None:
    index.database.submit_write(
        lambda connection: collections.mirror(connection, [Folder("notes", str(folder), None)], [])
    ).result()
    (folder / "index.yml").write_text(f"collections:\n  - {{name: notes, path: {folder}}}\n")
    (folder / "picture.png").write_bytes(b"")
    index.add(TEXTS)


async def test_links_of_a_document(small_index: SmallIndex, tmp_path: Path) -> None:
    made(small_index, tmp_path)
    found = await call(small_index, tmp_path, "document.links", wire.DocumentLinksParams(ref="notes/start.md"))
    assert [(link.target, link.line, link.state, link.to, link.has_place) for link in found.links] == [
        ("b#First part", 8, "resolved", "gno://notes/b.md", True),
        ("b#Second", 8, "resolved", "gno://notes/b.md", False),
        ("missng.md", 10, "unresolved", None, True),
        ("picture.png", 10, "unresolved", None, True),
        ("b#^note", 10, "resolved", "gno://notes/b.md", True),
        ("../x.md", 10, "outside", None, True),
        ("https://example.org", 10, "external", None, True),
        ("two", 10, "ambiguous", None, True),
        ("#start", 10, "resolved", "gno://notes/start.md", True),
    ]
    assert [link.to_line for link in found.links] == [3, None, None, None, 5, None, None, None, 4]
    assert found.links[0].passage == "See [[b#First part]] and [[b#Second]] here."
    assert found.links[7].candidates == ["gno://notes/c/two.md", "gno://notes/d/two.md"]
    assert (found.total_links, found.total_backlinks) == (9, 3)
    assert [(link.uri, link.passage, link.has_place) for link in found.backlinks[1:]] == [
        ("gno://notes/c/two.md", "[[start]]", True),
        ("gno://notes/d/two.md", "Up: [s](../start.md#nothing)", False),
    ]
    params = wire.DocumentLinksParams(ref="notes/b.md", direction="in", limit=1, offset=1)
    page = await call(small_index, tmp_path, "document.links", params)
    assert [link.target for link in page.backlinks] == ["b#Second"]
    assert (page.links, page.total_backlinks) == ([], 3)


async def test_dead_links_have_lines_and_suggestions(small_index: SmallIndex, tmp_path: Path) -> None:
    made(small_index, tmp_path)
    found = await call(small_index, tmp_path, "links.check", wire.LinksCheckParams())
    assert [(each.source, each.line, each.target, each.suggestion) for each in found.dead] == [
        (f"{tmp_path}/d/two.md", 1, "../start.md#nothing", None),
        (f"{tmp_path}/start.md", 8, "b#Second", None),
        (f"{tmp_path}/start.md", 10, "missng.md", "missing.md"),
        (f"{tmp_path}/start.md", 10, "../x.md", None),
    ]
    assert found.total == 4
    none = await call(small_index, tmp_path, "links.check", wire.LinksCheckParams(scope="notes/c"))
    assert none.total == 0


async def test_one_wikilink_leads_to_another_document_from_another_folder(
    small_index: SmallIndex, tmp_path: Path
) -> None:
    notes = {f"{folder}/plan.md": f"# Plan\n\n## {folder.upper()}\n" for folder in ("one", "two")}
    small_index.add({**notes, "one/a.md": "[[plan#ONE]]\n", "two/a.md": "[[plan#ONE]]\n", "b.md": "[[plan#ONE]]\n"})
    found = await call(small_index, tmp_path, "links.check", wire.LinksCheckParams())
    assert [each.uri for each in found.dead] == ["gno://notes/two/a.md"]
    graph = await call(small_index, tmp_path, "links.graph", wire.LinksGraphParams(ref="notes/one/plan.md"))
    assert graph.edges == [wire.GraphEdge("gno://notes/one/a.md", "gno://notes/one/plan.md", 1)]


async def test_what_is_outside_of_the_folder_is_not_looked_for(small_index: SmallIndex, tmp_path: Path) -> None:
    root = tmp_path / "notes"
    root.mkdir()
    (tmp_path / "outside.png").write_bytes(b"")
    made(small_index, root)
    ways = ["../outside.png", "%2e%2e/outside.png", "..%2foutside.png", "/../outside.png", "a/../../outside.png", "%00"]
    small_index.add({"start.md": "\n\n".join(f"[x]({way})" for way in [*ways, "picture.png", "./a/../picture.png"])})
    found = await call(small_index, root, "links.check", wire.LinksCheckParams(scope="notes/start.md"))
    assert [each.target for each in found.dead] == ways


async def test_unresolved_links_and_orphans(small_index: SmallIndex, tmp_path: Path) -> None:
    made(small_index, tmp_path)
    found = await call(small_index, tmp_path, "links.unresolved", wire.LinksScopeParams(scope="notes", limit=2))
    assert ([link.target for link in found.links], found.total) == (["missng.md", "picture.png"], 3)
    orphans = await call(small_index, tmp_path, "links.orphans", wire.LinksScopeParams())
    assert [each.path for each in orphans.documents] == ["missing.md"]


async def test_graph(small_index: SmallIndex, tmp_path: Path) -> None:
    made(small_index, tmp_path)
    found = await call(small_index, tmp_path, "links.graph", wire.LinksGraphParams(ref="notes/b.md", depth=1))
    assert [(node.uri, node.title, node.distance, node.links, node.backlinks) for node in found.nodes] == [
        ("gno://notes/b.md", "B", 0, 0, 1),
        ("gno://notes/start.md", "Start", 1, 1, 2),
    ]
    assert found.edges == [wire.GraphEdge("gno://notes/start.md", "gno://notes/b.md", 3)]
    whole = await call(small_index, tmp_path, "links.graph", wire.LinksGraphParams(scope="notes", limit=2))
    assert ([node.title for node in whole.nodes], whole.total, whole.is_cut) == (["Start", "B"], 5, True)
    with pytest.raises(CollectionNotFound):
        await call(small_index, tmp_path, "links.graph", wire.LinksGraphParams(scope="nothing"))


async def test_mentions(small_index: SmallIndex, tmp_path: Path) -> None:
    made(small_index, tmp_path)
    small_index.add(
        {
            "sea/boat.md": "---\ntitle: Sailing boat\naliases: [Dinghy, the]\nid: sails\n---\nA sailing boat.\n",
            "a.md": "[[boat]] and a dinghy, then the sailing\nboat. `dinghy`\n",
            "b.md": "---\ntitle: B\n---\n\n\n\nBoats; sails; **Sailing-boat** today\n",
            "copy.md": "A sailing boat in [a sailing boat](x.md).\n",
        }
    )
    small_index.add({"copies/copy.md": "A sailing boat in [a sailing boat](x.md).\n"})
    small_index.add({"x.md": "A sailing boat\n"}, collection="other")
    found = await call(small_index, tmp_path, "links.mentions", wire.LinksMentionsParams(ref="notes/sea/boat.md"))
    assert found.names == ["Sailing boat", "boat", "Dinghy"]
    assert [(each.uri, each.line, each.name, each.passage[slice(*each.marks[0])]) for each in found.mentions] == [
        ("gno://notes/b.md", 7, "Sailing boat", "Sailing-boat"),
        ("gno://notes/copies/copy.md", 1, "Sailing boat", "sailing boat"),
        ("gno://notes/a.md", 1, "Dinghy", "dinghy"),
        ("gno://notes/a.md", 1, "Sailing boat", "sailing\nboat"),
    ]
    assert (found.total, found.has_more, found.is_cut) == (4, False, False)
    page = wire.LinksMentionsParams(ref="notes/sea/boat.md", limit=2, offset=1)
    second = await call(small_index, tmp_path, "links.mentions", page)
    assert (second.mentions, second.total, second.has_more) == (found.mentions[1:3], None, True)
    assert (
        await call(small_index, tmp_path, "links.mentions", wire.LinksMentionsParams(ref="notes/c/two.md"))
    ).names == ["two"]


async def test_any_title_can_be_mentioned(small_index: SmallIndex, tmp_path: Path) -> None:
    made(small_index, tmp_path)
    titles = ['a" OR "b', "NEAR(boat", "(.*", "[a-z]+boat", "*** boat", "C++", "boat \\", "^boat$", "boat:boat"]
    titles += ["東京都庁", "🙂🙂🙂"]
    small_index.add({f"t/{at}.md": f"---\ntitle: {json.dumps(title)}\n---\n" for at, title in enumerate(titles)})
    small_index.add({"all.md": "\n\n".join(f"- {title}, so." for title in titles)})
    for at, title in enumerate(titles):
        found = await call(small_index, tmp_path, "links.mentions", wire.LinksMentionsParams(ref=f"notes/t/{at}.md"))
        assert found.total is not None
        assert [each.line for each in found.mentions] == [1 + 2 * at] * bool(found.names), title
