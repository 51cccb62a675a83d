"""Documents that links connect: the graph around a document and of a folder."""

from __future__ import annotations

import pytest

from gnod.search.related import link_graph
from gnod.search.related.link_graph import Graph
from gnod.store.connection import Connection
from gnod.store.tables import documents
from tests.small_index import SmallIndex

Shown = tuple[list[tuple[str, int, int, int]], list[tuple[str, str, int]], int | None, bool]


def shown(connection: Connection, found: Graph) -> Shown:
    paths = {id_: each.path for id_, each in documents.by_ids(connection, [node.id for node in found.nodes]).items()}
    return (
        [(paths[node.id], node.distance, node.links, node.backlinks) for node in found.nodes],
        [(paths[edge.source], paths[edge.target], edge.times) for edge in found.edges],
        found.total,
        found.is_cut,
    )


def around(
    index: SmallIndex, path: str, depth: int = 2, limit: int = 200, scope: link_graph.Scope = (None, "")
) -> Shown:
    connection = index.reader
    document = documents.by_path(connection, "notes", path)
    assert document is not None
    return shown(connection, link_graph.around(connection, document.id, scope, depth, limit))


def of_scope(index: SmallIndex, scope: link_graph.Scope, limit: int = 200) -> Shown:
    return shown(index.reader, link_graph.of_scope(index.reader, scope, limit))


TEXTS = {
    "a.md": "[[b]] [[b]] [[a]] [[c]] https://example.org [[nothing]]",
    "b.md": "[[c]] [[a]]",
    "c.md": "[[d/far]]",
    "d/far.md": "[[d/further]]",
    "d/further.md": "[x](../../other/x.md)",
    "alone.md": "x",
}


def test_around_a_document(small_index: SmallIndex) -> None:
    small_index.add(TEXTS)
    assert around(small_index, "a.md", 1) == (
        [("a.md", 0, 2, 1), ("b.md", 1, 2, 1), ("c.md", 1, 1, 2)],
        [("a.md", "b.md", 2), ("a.md", "c.md", 1), ("b.md", "a.md", 1), ("b.md", "c.md", 1)],
        3,
        False,
    )
    nodes, edges, total, is_cut = around(small_index, "d/further.md", 5)
    assert [node[:2] for node in nodes] == [("d/further.md", 0), ("d/far.md", 1), ("c.md", 2), ("a.md", 3), ("b.md", 3)]
    assert (len(edges), total, is_cut) == (6, 5, False)
    assert around(small_index, "alone.md") == ([("alone.md", 0, 0, 0)], [], 1, False)
    assert [node[0] for node in around(small_index, "c.md", 5, scope=("notes", "d"))[0]] == [
        "c.md", "d/far.md", "d/further.md",
    ]  # fmt: skip


def test_a_limit_keeps_the_best_connected(small_index: SmallIndex) -> None:
    small_index.add(TEXTS)
    nodes, edges, total, is_cut = around(small_index, "c.md", 1, 2)
    assert ([node[0] for node in nodes], edges, total, is_cut) == (["c.md", "a.md"], [("a.md", "c.md", 1)], 4, True)
    assert around(small_index, "c.md", 3, 2)[2:] == (None, True)
    assert around(small_index, "c.md", 1, 1) == ([("c.md", 0, 1, 2)], [], 4, True)


def test_degrees_of_a_scope(small_index: SmallIndex) -> None:
    small_index.add(TEXTS)
    small_index.add({"a.md": "[[b]]", "b.md": "x"}, collection="other")
    nodes, _, total, is_cut = of_scope(small_index, ("notes", ""))
    assert [node[0] for node in nodes] == ["a.md", "b.md", "c.md", "d/far.md", "d/further.md", "alone.md"]
    assert (total, is_cut) == (6, False)
    nodes, edges, total, is_cut = of_scope(small_index, ("notes", "d"), 1)
    assert (nodes, edges, total, is_cut) == ([("d/far.md", 0, 1, 1)], [], 2, True)
    assert len(of_scope(small_index, (None, ""))[0]) == 8


def test_ambiguous_links_connect_nothing_unless_case_tells_apart(small_index: SmallIndex) -> None:
    small_index.add(
        {
            "start.md": "[[two]] [[Note]] [[Note]] [[NOTE]]",
            "c/two.md": "[[start]]",
            "d/two.md": "x",
            "Note.md": "x",
            "note.md": "[[Note]]",
        }
    )
    nodes, edges, _, _ = around(small_index, "start.md", 3)
    assert edges == [("start.md", "Note.md", 2), ("c/two.md", "start.md", 1), ("note.md", "Note.md", 1)]
    assert ("Note.md", 1, 0, 2) in nodes
    assert around(small_index, "Note.md", 1)[1] == [("start.md", "Note.md", 2), ("note.md", "Note.md", 1)]


@pytest.mark.slow
def test_cycles_hubs_and_very_many_links(small_index: SmallIndex) -> None:
    ring = {f"ring-{number}.md": f"[[ring-{(number + 1) % 5}]] [[hub]]" for number in range(5)}
    small_index.add({**ring, "hub.md": "".join(f"[[gone-{number}]]\n" for number in range(10_000)) + "[[ring-0]]"})
    nodes, edges, total, is_cut = around(small_index, "hub.md", 5, 3)
    assert [node[0] for node in nodes] == ["hub.md", "ring-0.md", "ring-1.md"]
    assert nodes[0][2:] == (1, 5)
    assert (len(edges), total, is_cut) == (4, None, True)
    assert len(around(small_index, "ring-2.md", 5)[0]) == 6
