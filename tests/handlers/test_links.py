"""The results of the methods for links: states, passages, places, suggestions."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gnod.configured.configuration import Configuration
from gnod.errors import CollectionNotFound
from gnod.handlers import links
from gnod.protocol.links import GraphEdge
from gnod.protocol.methods import METHODS
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


Ask = Callable[..., Awaitable[Any]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def ask(small_index: SmallIndex, root: Path) -> Ask:
    """Index the texts; return a function that calls a method."""
    root.mkdir()
    folder = [Folder("notes", str(root), None)]
    small_index.database.submit_write(lambda connection: collections.mirror(connection, folder, [])).result()
    config = root / "index.yml"
    config.write_text(f"collections:\n  - {{name: notes, path: {root}}}\n")
    (root / "picture.png").write_bytes(b"")
    small_index.add(TEXTS)
    handlers = links.handlers(Configuration(config, small_index.database), small_index.database)

    async def call(method: str, **params: Any) -> Any:
        return await handlers[method](METHODS[method].params(**params), Call(lambda _: True))

    return call


async def test_links_of_a_document(ask: Ask) -> None:
    found = await ask("document.links", ref="notes/start.md")
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
    assert found.links[0].passage == "See b > First part and b > Second here."
    assert found.links[7].candidates == ["gno://notes/c/two.md", "gno://notes/d/two.md"]
    assert (found.total_links, found.total_backlinks) == (9, 3)
    assert [(link.uri, link.passage, link.has_place) for link in found.backlinks[1:]] == [
        ("gno://notes/c/two.md", "start", True),
        ("gno://notes/d/two.md", "Up: s", False),
    ]
    page = await ask("document.links", ref="notes/b.md", direction="in", limit=1, offset=1)
    assert [link.target for link in page.backlinks] == ["b#Second"]
    assert (page.links, page.total_backlinks) == ([], 3)


async def test_dead_links_have_lines_and_suggestions(ask: Ask, root: Path) -> None:
    found = await ask("links.check")
    assert [(each.source, each.line, each.target, each.suggestion) for each in found.dead] == [
        (f"{root}/d/two.md", 1, "../start.md#nothing", None),
        (f"{root}/start.md", 8, "b#Second", None),
        (f"{root}/start.md", 10, "missng.md", "missing.md"),
        (f"{root}/start.md", 10, "../x.md", None),
    ]
    assert found.total == 4
    none = await ask("links.check", scope="notes/c")
    assert none.total == 0


async def test_a_link_may_compose_letters_otherwise(ask: Ask, small_index: SmallIndex, root: Path) -> None:
    (root / "e\u0301").mkdir()
    (root / "e\u0301/\xfc.png").write_bytes(b"")
    small_index.add(
        {"e\u0301/\xe4.md": "", "l.md": "[[a\u0308]] [x](\xe9/a\u0308.md) ![](\xe9/u\u0308.png) ![](\xc9/\xdc.png)"}
    )
    assert [each.target for each in (await ask("links.check", scope="notes/l.md")).dead] == ["\xc9/\xdc.png"]


async def test_one_wikilink_leads_to_another_document_from_another_folder(ask: Ask, small_index: SmallIndex) -> None:
    notes = {f"{folder}/plan.md": f"# Plan\n\n## {folder.upper()}\n" for folder in ("one", "two")}
    small_index.add({**notes, "one/a.md": "[[plan#ONE]]\n", "two/a.md": "[[plan#ONE]]\n", "b.md": "[[plan#ONE]]\n"})
    found = await ask("links.check")
    assert [each.uri for each in found.dead if "plan" in each.target] == ["gno://notes/two/a.md"]
    graph = await ask("links.graph", ref="notes/one/plan.md")
    assert graph.edges == [GraphEdge("gno://notes/one/a.md", "gno://notes/one/plan.md", 1)]


async def test_what_is_outside_of_the_folder_is_not_looked_for(ask: Ask, small_index: SmallIndex, root: Path) -> None:
    (root.parent / "outside.png").write_bytes(b"")
    ways = ["../outside.png", "%2e%2e/outside.png", "..%2foutside.png", "/../outside.png", "a/../../outside.png", "%00"]
    small_index.add({"start.md": "\n\n".join(f"[x]({way})" for way in [*ways, "picture.png", "./a/../picture.png"])})
    found = await ask("links.check", scope="notes/start.md")
    assert [each.target for each in found.dead] == ways


async def test_unresolved_links_and_orphans(ask: Ask) -> None:
    found = await ask("links.unresolved", scope="notes", limit=2)
    assert ([link.target for link in found.links], found.total) == (["missng.md", "picture.png"], 3)
    orphans = await ask("links.orphans")
    assert [each.path for each in orphans.documents] == ["missing.md"]


async def test_graph(ask: Ask) -> None:
    found = await ask("links.graph", ref="notes/b.md", depth=1)
    assert [(node.uri, node.title, node.distance, node.links, node.backlinks) for node in found.nodes] == [
        ("gno://notes/b.md", "B", 0, 0, 1),
        ("gno://notes/start.md", "Start", 1, 1, 2),
    ]
    assert found.edges == [GraphEdge("gno://notes/start.md", "gno://notes/b.md", 3)]
    whole = await ask("links.graph", scope="notes", limit=2)
    assert ([node.title for node in whole.nodes], whole.total, whole.is_cut) == (["Start", "B"], 5, True)
    with pytest.raises(CollectionNotFound):
        await ask("links.graph", scope="nothing")


async def test_mentions(ask: Ask, small_index: SmallIndex) -> None:
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
    found = await ask("links.mentions", ref="notes/sea/boat.md")
    assert found.names == ["Sailing boat", "boat", "Dinghy"]
    assert [(each.uri, each.line, each.name, each.passage[slice(*each.marks[0])]) for each in found.mentions] == [
        ("gno://notes/b.md", 7, "Sailing boat", "Sailing-boat"),
        ("gno://notes/copies/copy.md", 1, "Sailing boat", "sailing boat"),
        ("gno://notes/a.md", 1, "Dinghy", "dinghy"),
        ("gno://notes/a.md", 1, "Sailing boat", "sailing\nboat"),
    ]
    assert (found.total, found.has_more, found.is_cut) == (4, False, False)
    second = await ask("links.mentions", ref="notes/sea/boat.md", limit=2, offset=1)
    assert (second.mentions, second.total, second.has_more) == (found.mentions[1:3], None, True)
    assert (await ask("links.mentions", ref="notes/c/two.md")).names == ["two"]


async def test_any_title_can_be_mentioned(ask: Ask, small_index: SmallIndex) -> None:
    titles = ['a" OR "b', "NEAR(boat", "(.*", "[a-z]+boat", "*** boat", "C++", "boat \\", "^boat$", "boat:boat"]
    titles += ["東京都庁", "🙂🙂🙂"]
    small_index.add({f"t/{at}.md": f"---\ntitle: {json.dumps(title)}\n---\n" for at, title in enumerate(titles)})
    small_index.add({"all.md": "\n\n".join(f"- {title}, so." for title in titles)})
    for at, title in enumerate(titles):
        found = await ask("links.mentions", ref=f"notes/t/{at}.md")
        assert found.total is not None
        assert [each.line for each in found.mentions] == [1 + 2 * at] * bool(found.names), title
