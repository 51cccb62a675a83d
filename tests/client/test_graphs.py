"""Graphs as text: a title stays a title, whatever it contains."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gnoctl.printing import graphs
from gnoctl.printing.terminal import Terminal
from gnod.protocol.links import GraphEdge, GraphNode, LinksGraphResult
from gnod.types import format_uri

HOSTILE = [
    *('"', '\\"', '"]; evil -> x; "', "a\nb", "#quot;", "%%{init}%%"),
    *("`x`", "</b><script>", "\\", "\x1b[31m", "日本", ""),
]
Titles = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)), min_size=1, max_size=6)

# The part of the DOT language that the output uses: quoted strings with \" and \\, and the words and signs between
# them.
_QUOTED = r'"((?:[^"\\\n]|\\["\\])*)"'
_NODE = re.compile(rf"  {_QUOTED} \[label={_QUOTED}\];")
_EDGE = re.compile(rf"  {_QUOTED} -> {_QUOTED}(?: \[label={_QUOTED}\])?;")


def node(uri: str, title: str, distance: int) -> GraphNode:
    return GraphNode(uri=uri, title=title, docid="#1", collection="n", distance=distance, links=1, backlinks=0)


def graph_of(titles: list[str]) -> LinksGraphResult:
    nodes = [node(format_uri("notes", f"{at}{title}.md"), title, min(at, 1)) for at, title in enumerate(titles)]
    uris = [each.uri for each in nodes]
    edges = [GraphEdge(uri, after, 1 + at % 2) for at, (uri, after) in enumerate(pairwise(uris))]
    return LinksGraphResult(nodes=nodes, edges=edges, total=len(nodes), is_cut=False)


def unquoted(text: str) -> str:
    return text.replace('\\"', '"').replace("\\\\", "\\")


@given(Titles)
def test_dot_is_read_as_it_was_meant(titles: list[str]) -> None:
    graph = graph_of(titles)
    first, _, *lines, last = graphs.dot(graph)
    assert (first, last) == ("digraph links {", "}")
    nodes = [_NODE.fullmatch(line) for line in lines[: len(graph.nodes)]]
    edges = [_EDGE.fullmatch(line) for line in lines[len(graph.nodes) :]]
    assert all(nodes)
    assert all(edges)
    assert len(edges) == len(graph.edges)
    assert [len(unquoted(match[2])) for match in nodes if match] == [len(n.title or n.uri) for n in graph.nodes]


@given(Titles)
def test_mermaid_is_one_node_a_line(titles: list[str]) -> None:
    graph = graph_of(titles)
    lines = list(graphs.mermaid(graph))
    assert len(lines) == 1 + len(graph.nodes) + len(graph.edges)
    for line, shown_node in zip(lines[1:], graph.nodes, strict=False):
        label = re.fullmatch(r'  n\d+\["((?:[^"#&<>`\\;%\n]|#\d+;)*)"\]', line)
        assert label
        shown = re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label[1])
        assert len(shown) == len(shown_node.title or shown_node.uri)


@given(Titles)
def test_a_tree_has_each_document_once(titles: list[str]) -> None:
    graph = graph_of(titles)
    lines = list(graphs.tree(graph, Terminal()))
    assert not any(char in line for line in lines for char in "\n\x1b\r")
    near = [each for each in graph.nodes if each.distance == 0]
    assert len(near) <= len(lines) <= len(graph.nodes)


def test_the_tree_shows_directions() -> None:
    nodes = [node(f"gno://n/{name}", name, at) for name, at in (("a", 0), ("b", 1), ("c", 1), ("d", 2))]
    edges = [GraphEdge(f"gno://n/{one}", f"gno://n/{other}", 1) for one, other in ("ab", "ba", "ca", "bd", "cd")]
    graph = LinksGraphResult(nodes=nodes, edges=edges, total=4, is_cut=False)
    assert list(graphs.tree(graph, Terminal())) == [
        "n/a  a  1 out, 0 in",
        "  ↔ n/b  b  1 out, 0 in",
        "    → n/d  d  1 out, 0 in",
        "  ← n/c  c  1 out, 0 in",
    ]
