"""A graph of documents as text: a tree for people, DOT (Graphviz) and Mermaid for programs. Pure.

Titles come from documents: whatever they contain, they stay inside their quotation marks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnoctl.printing import text
from gnoctl.printing.terminal import BOLD, DIM, Terminal
from gnod.protocol.links import GraphEdge, GraphNode, LinksGraphResult
from gnod.types import SCHEME

# Characters that would end a label, or begin markup in it.
_MERMAID = {ord(char): f"#{ord(char)};" for char in '"#&<>`\\;%'}
_DOT = {ord("\\"): "\\\\", ord('"'): '\\"'}


def dot(graph: LinksGraphResult) -> Iterator[str]:
    """Yield the lines of a graph in the DOT language (https://graphviz.org/doc/info/lang.html)."""
    yield "digraph links {"
    yield "  node [shape=box];"
    for node in graph.nodes:
        yield f"  {_dot(node.uri)} [label={_dot(_label(node))}];"
    for edge in graph.edges:
        count = f" [label={_dot(str(edge.count))}]" if edge.count > 1 else ""
        yield f"  {_dot(edge.source)} -> {_dot(edge.target)}{count};"
    yield "}"


def mermaid(graph: LinksGraphResult) -> Iterator[str]:
    """Yield the lines of a Mermaid flow chart (https://mermaid.js.org/syntax/flowchart.html)."""
    number = {node.uri: f"n{at}" for at, node in enumerate(graph.nodes)}
    yield "flowchart LR"
    for node in graph.nodes:
        yield f'  {number[node.uri]}["{_label(node).translate(_MERMAID)}"]'
    for edge in graph.edges:
        count = f"|{edge.count}|" if edge.count > 1 else ""
        yield f"  {number[edge.source]} -->{count} {number[edge.target]}"


def tree(graph: LinksGraphResult, terminal: Terminal) -> Iterator[str]:
    """Yield a line for each document, indented below one that is nearer to the first."""
    for node, arrow in branches(graph):
        address = terminal.line(node.uri.removeprefix(SCHEME), BOLD)
        counts = terminal.paint(f"{node.links:,} out, {node.backlinks:,} in", DIM)
        yield f"{'  ' * node.distance}{arrow}{address}  {text.line(node.title)}  {counts}"


def branches(graph: LinksGraphResult) -> Iterator[tuple[GraphNode, str]]:
    """Yield each document below one that is nearer to the first, with the direction of the links between them."""
    at = {node.uri: node for node in graph.nodes}
    below = _below(graph)
    waiting = [(node, "") for node in reversed(graph.nodes) if node.distance == 0]
    while waiting:
        node, arrow = waiting.pop()
        yield node, arrow
        waiting += [(at[uri], f"{arrow} ") for uri, arrow in reversed(below.get(node.uri, []))]


def _below(graph: LinksGraphResult) -> dict[str, list[tuple[str, str]]]:
    """Return, for each document, the documents that are shown below it, each with the direction of its links."""
    arrows = _arrows(graph.edges)
    distance = {node.uri: node.distance for node in graph.nodes}
    below: dict[str, list[tuple[str, str]]] = {}
    placed: set[str] = set()
    for node in graph.nodes:
        for other, arrow in arrows.get(node.uri, {}).items():
            if distance[other] == node.distance + 1 and other not in placed:
                placed.add(other)
                below.setdefault(node.uri, []).append((other, arrow))
    return below


def _arrows(edges: Sequence[GraphEdge]) -> dict[str, dict[str, str]]:
    """Return, for each document, its neighbours: the document links to them (→), they link to it (←), or both (↔)."""
    found: dict[str, dict[str, str]] = {}
    for edge in edges:
        for uri, other, arrow, back in ((edge.source, edge.target, "→", "←"), (edge.target, edge.source, "←", "→")):
            neighbours = found.setdefault(uri, {})
            neighbours[other] = "↔" if neighbours.get(other, arrow) == back else arrow
    return found


def _label(node: GraphNode) -> str:
    """Return the title as one line without characters that control a terminal."""
    return text.line(node.title) or node.uri


def _dot(value: str) -> str:
    return f'"{text.line(value).translate(_DOT)}"'
