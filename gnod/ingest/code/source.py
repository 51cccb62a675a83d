"""Extract the chunks, definitions and prose of source code for the preparation of a document. Pure.

A function, class or method is in one chunk if it fits, with the comments above it. A definition of more than a few
lines gets a separate chunk; smaller definitions and the lines between definitions share one. A definition that does not
fit is split into its inner definitions, and then between statements, by content as in `gnod.ingest.text.chunking`, so
that an edit moves only the cuts around it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from gnod.ingest.code.languages import BY_MIME
from gnod.ingest.code.structure import CodeDefinition, Structure, structure
from gnod.ingest.text import chunking
from gnod.ingest.text.chunking import MAX_CHARACTERS, Boundaries, ChunkText
from gnod.store.tables.records import StoredDefinition

# A smaller definition shares its chunk with its neighbours.
_OWN_CHUNK = 600
# Less text than this between two chunks becomes part of one of them.
_FEW = 200
_LINE = re.compile(r"\n")
# Modules in files with these names have the name of their folder.
_OF_FOLDER = frozenset({"__init__", "index", "mod"})


class SourceCode(NamedTuple):
    """`identity`: values besides the text that determine the passages. `prose`: comments and docstrings."""

    identity: str
    passages: list[ChunkText]
    definitions: list[StoredDefinition]
    prose: str


class _CodeBlock(NamedTuple):
    """`text[start:end]`, which becomes one chunk or, if it does not fit, several. `is_run`: it consists of small
    definitions and other lines."""

    start: int
    end: int
    path: tuple[str, ...]
    is_run: bool


class _Node(NamedTuple):
    start: int
    end: int
    path: tuple[str, ...]
    children: list[_Node]


def read(markdown: str, mime: str, relative_path: str) -> SourceCode | None:
    """Return the parts of a canonical text; None if it is not source code, or is not treated as such."""
    language = BY_MIME.get(mime)
    if language is None:
        return None
    found = structure(markdown, language)
    if found is None:
        return None
    module = module_of(relative_path)
    passages = _cut(markdown, module, found)
    return SourceCode(f"{mime}\0{module}", passages, _records(markdown, found.definitions), found.prose)


def module_of(path: str) -> str:
    """Return the name of the module in a file.

    >>> module_of("src/net/backoff.py"), module_of("src/net/__init__.py")
    ('backoff', 'net')
    """
    file = PurePosixPath(path)
    name = file.name.partition(".")[0] or file.name
    return file.parent.name if name in _OF_FOLDER and file.parent.name else name


def _records(text: str, definitions: Iterable[CodeDefinition]) -> list[StoredDefinition]:
    line_starts = [0, *(match.end() for match in _LINE.finditer(text))]

    def line_of(place: int) -> int:
        return bisect_right(line_starts, place)

    return [
        StoredDefinition(
            definition.start,
            definition.end,
            line_of(definition.lead),
            line_of(definition.start),
            line_of(max(definition.end - 1, definition.start)),
            definition.kind,
            definition.name,
            " > ".join(definition.path),
        )
        for definition in definitions
        if not definition.is_scope
    ]


def _cut(text: str, module: str, structure: Structure) -> list[ChunkText]:
    """Return the passages of a canonical text in order; they cover everything except white space. The heading of a
    passage is the path of its enclosing definition: `module > class > method`."""
    nodes = _tree(structure.definitions)
    whole = list(_whole(nodes))
    boundaries = _boundaries(text, whole, structure.statements)
    blocks = _joined(list(_blocks(0, len(text), (module,), nodes)))
    return chunking.placed(
        text,
        (
            (start, end, " > ".join(block.path))
            for block in blocks
            for start, end in chunking.spans(text, block.start, block.end, boundaries)
        ),
    )


def _tree(definitions: Sequence[CodeDefinition]) -> list[_Node]:
    """Return the definitions as a tree. Neighbours do not overlap."""
    roots: list[_Node] = []
    around: list[_Node] = []
    for definition in definitions:
        while around and around[-1].end < definition.end:
            around.pop()
        siblings = around[-1].children if around else roots
        least = siblings[-1].end if siblings else around[-1].start if around else 0
        start = max(definition.lead if definition.end - definition.lead <= MAX_CHARACTERS else definition.start, least)
        if start < definition.end:
            node = _Node(start, definition.end, (*definition.path, definition.name), [])
            siblings.append(node)
            around.append(node)
    return roots


def _whole(nodes: Sequence[_Node]) -> Iterator[_Node]:
    """Yield the outermost definitions that fit into a chunk."""
    for node in nodes:
        if node.end - node.start <= MAX_CHARACTERS:
            yield node
        else:
            yield from _whole(node.children)


def _boundaries(text: str, whole: Sequence[_Node], statements: Sequence[Sequence[int]]) -> Boundaries:
    starts = [node.start for node in whole]

    def is_outside(place: int) -> bool:
        at = bisect_right(starts, place) - 1
        return at < 0 or place == starts[at] or place >= whole[at].end

    levels = [list(filter(is_outside, level)) for level in statements]
    return Boundaries(text, [starts, *levels], [(node.start, node.end) for node in whole], chunking.CODE)


def _blocks(start: int, end: int, path: tuple[str, ...], nodes: Sequence[_Node]) -> Iterator[_CodeBlock]:
    """Yield the blocks of `text[start:end]`: large definitions, and runs of everything else."""
    at = start
    for node in nodes:
        if node.end - node.start < _OWN_CHUNK:
            continue
        if node.start > at:
            yield _CodeBlock(at, node.start, path, is_run=True)
        inner = (path[0], *node.path)
        if node.end - node.start <= MAX_CHARACTERS or not node.children:
            yield _CodeBlock(node.start, node.end, inner, is_run=False)
        else:
            yield from _blocks(node.start, node.end, inner, node.children)
        at = node.end
    if at < end:
        yield _CodeBlock(at, end, path, is_run=True)


def _joined(blocks: Sequence[_CodeBlock]) -> list[_CodeBlock]:
    """Add runs of a few characters to the next block, or otherwise to the previous one."""
    found: list[_CodeBlock] = []
    for block in reversed(blocks):
        behind = found[-1] if found else None
        if behind and behind.end - block.start <= MAX_CHARACTERS and (_is_little(block) or _is_little(behind)):
            path = behind.path if _is_little(block) else block.path
            found[-1] = _CodeBlock(block.start, behind.end, path, block.is_run and behind.is_run)
        else:
            found.append(block)
    return found[::-1]


def _is_little(block: _CodeBlock) -> bool:
    return block.is_run and block.end - block.start < _FEW
