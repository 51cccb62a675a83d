"""Find the definitions in source code: functions, classes, methods. Parses with tree-sitter. Pure.

A text has no structure, and is treated as any other text, if it does not look like source code written by people or has
more errors than code. Time and size are bounded for every text (docs/adr/0046-code.md).
"""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from gnod.ingest.code.languages import BY_NAME, FoundDefinition, Language

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Node, Parser, Tree

MAX_CHARACTERS = 500_000
MAX_DEFINITIONS = 10_000
MAX_DEPTH = 8
MAX_NAME = 200
# The limit applies to CPU time, so that the result does not change on a busy machine.
TIME_LIMIT_S = 2.0
# Minified and generated files exceed these maximum and average lengths of lines.
_LONGEST_LINE = 4000
_AVERAGE_LINE = 160
_MOST_ERRORS = 0.5
# Shorter statements are not cut, so the statements inside them do not matter.
_LONG_STATEMENT = 2000
_MAX_STATEMENTS = 50_000
_PROSE_CHARACTERS = 4000
# With fewer characters of comments, the language is uncertain.
_LEAST_PROSE = 200
_PART = 1 << 16

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_CLOSING = re.compile(r"[ \t;,)]*$", re.MULTILINE)
_CODE_BEFORE = re.compile(r"[;}]")
_LEGAL = re.compile(r"copyright|licen[cs]e|spdx|-\*-|^#!", re.IGNORECASE)
_SIGNS = re.compile(r"^[ \t]*(?:/[/*]+!?|\*+/?|#+!?)|\*+/[ \t]*$|\w{0,2}(?:\"\"\"|''')|^=(?:begin|end)\b", re.MULTILINE)
_QUALIFIED = re.compile(r"~?\w+(?:::~?\w+)*")
_TEMPLATE = re.compile(r"[ \t]*template\b[ \t]*<.*>[ \t]*$", re.MULTILINE)
_SCOPES = frozenset({"scope", "implementation"})
_WITH_METHODS = frozenset({"class", "struct", "interface", "trait", "enum", "module", "implementation"})
# A node within one line can contain definitions only if its type has one of these endings.
_OPEN = ("declaration", "statement")
_STEPS = 256


class CodeDefinition(NamedTuple):
    """`text[start:end]`. The comments and decorators above it start at `lead`. `path`: the names of the enclosing
    definitions."""

    lead: int
    start: int
    end: int
    kind: str
    name: str
    path: tuple[str, ...] = ()

    @property
    def is_scope(self) -> bool:
        """Return whether it only contains definitions, like a namespace."""
        return self.kind in _SCOPES


class Structure(NamedTuple):
    """The definitions in order, with outer ones first. `statements`: the starts of the statements inside long nodes, by
    depth. `prose`: comments and docstrings, if there is enough text to detect the language."""

    definitions: list[CodeDefinition]
    statements: list[list[int]]
    prose: str


class _Nodes(NamedTuple):
    """The results of a walk through the tree. `leads`: comments and other nodes that are a part of the definition below
    them."""

    definitions: list[tuple[Node, FoundDefinition]]
    leads: list[Node]
    prose: list[Node]
    errors: list[Node]


def structure(text: str, language: Language) -> Structure | None:
    """Return the structure of a canonical text; None if it should not be treated as code."""
    if not _is_written_by_people(text):
        return None
    # Use one byte for each character, so that offsets in bytes are also offsets in the text. Names are read from the
    # text.
    source = _NOT_ASCII.sub("x", text).encode()
    deadline = time.process_time() + TIME_LIMIT_S
    found = _parsed(text, source, language, deadline)
    if language.otherwise and (found is None or found[1]):
        other = _parsed(text, source, BY_NAME[language.otherwise], deadline)
        found = min(filter(None, (found, other)), key=itemgetter(1), default=None)
    return found[0] if found and found[1] <= _MOST_ERRORS * len(text) else None


def _is_written_by_people(text: str) -> bool:
    if len(text) > MAX_CHARACTERS or len(text) > _AVERAGE_LINE * (text.count("\n") + 1):
        return False
    return max(map(len, text.split("\n"))) <= _LONGEST_LINE


def _parsed(text: str, source: bytes, language: Language, deadline: float) -> tuple[Structure, int] | None:
    """Return the structure and the number of characters in errors; None if parsing takes too long."""
    tree = _parse(source, language.grammar, deadline)
    nodes = _walk(text, tree, language, deadline) if tree else None
    if tree is None or nodes is None:
        return None
    leads = _leads(text, nodes.leads)
    definitions = [_definition(text, node, found, leads) for node, found in nodes.definitions]
    nested = _nested(sorted(filter(None, definitions), key=lambda each: (each.start, -each.end)))
    return Structure(nested, _statements(text, tree), _prose(text, nodes.prose)), _errors(nodes.errors, nested)


@cache
def _grammar(name: str) -> Grammar:
    from tree_sitter import Language as Grammar

    module, _, function = name.rpartition(".")
    return Grammar(getattr(importlib.import_module(module), function)())


@cache
def _parser(grammar: str) -> Parser:
    from tree_sitter import Parser

    return Parser(_grammar(grammar))


def _parse(source: bytes, grammar: str, deadline: float) -> Tree | None:
    """Return the tree; None if parsing takes too long."""
    steps = count()
    parser = _parser(grammar)
    parser.reset()  # the previous text may have taken too long
    try:
        return parser.parse(
            lambda start, _: source[start : start + _PART],
            progress_callback=lambda *_: next(steps) % _STEPS == 0 and _is_late(deadline),
        )
    except ValueError:
        return None


def _is_late(deadline: float) -> bool:
    return time.process_time() > deadline


def _walk(text: str, tree: Tree, language: Language, deadline: float) -> _Nodes | None:
    """Return the relevant nodes; None if the walk takes too long. It does not use recursion or a query of tree-sitter,
    whose time grows with the square of the number of children of an error."""
    found = _Nodes([], [], [], [])
    waiting = [tree.root_node]
    steps = 0
    while waiting:
        steps += 1
        if steps % _STEPS == 0 and _is_late(deadline):
            return None
        for node in waiting.pop().named_children:
            if _note(node, language, found) and (
                node.type.endswith(_OPEN) or text.find("\n", node.start_byte, node.end_byte) >= 0
            ):
                waiting.append(node)
    return found


def _note(node: Node, language: Language, found: _Nodes) -> bool:
    """Add a node to the results. Returns whether nodes inside it can be relevant."""
    type_ = node.type
    if find := language.definitions.get(type_):
        if (definition := find(node)) and len(found.definitions) < MAX_DEFINITIONS:
            found.definitions.append((node, definition))
    elif type_.endswith("comment"):
        found.leads.append(node)
        found.prose.append(node)
        return False
    elif type_ in language.leads:
        found.leads.append(node)
    elif type_ == "ERROR":
        found.errors.append(node)
    elif language.docstrings and type_ == "string":
        if (parent := node.parent) and parent.type == "expression_statement":
            found.prose.append(node)
        return False
    return True


def _definition(text: str, node: Node, found: FoundDefinition, leads: Mapping[int, int]) -> CodeDefinition | None:
    names = [*_names(text, found.owner), *_names(text, found.name)]
    if not names:
        return None
    start, end = _whole_lines(text, node)
    return CodeDefinition(_with_leads(leads, start), start, end, found.kind, names[-1], tuple(names[:-1]))


def _names(text: str, node: Node | None) -> list[str]:
    """Return the parts of a name: the scopes that are written before it, as in `Server::start`, and then the name."""
    name = text[node.start_byte : node.end_byte].strip("'\"") if node else ""
    if not name or len(name) > MAX_NAME or "\n" in name:
        return []
    return [part for part in name.split("::") if part] if _QUALIFIED.fullmatch(name) else [name]


def _whole_lines(text: str, node: Node) -> tuple[int, int]:
    """Return the range of a node, extended over the rest of its lines unless that is other code."""
    start, end = node.start_byte, node.end_byte
    line = text.rfind("\n", 0, start) + 1
    while line and _TEMPLATE.match(text, above := text.rfind("\n", 0, line - 1) + 1):
        line = above
    closing = _CLOSING.match(text, end)
    return start if _CODE_BEFORE.search(text, line, start) else line, closing.end() if closing else end


def _leads(text: str, nodes: Iterable[Node]) -> dict[int, int]:
    """Return the starts of comments and decorators on separate lines, by the end of their last line."""
    found: dict[int, int] = {}
    for node in nodes:
        start = text.rfind("\n", 0, node.start_byte) + 1
        if not text[start : node.start_byte].strip():
            end = text.find("\n", max(node.end_byte - 1, 0))
            found[end] = min(start, found.get(end, start))
    return found


def _with_leads(leads: Mapping[int, int], start: int) -> int:
    """Return the start of the comments and decorators directly above a line."""
    while start and (above := leads.get(start - 1)) is not None and above < start:
        start = above
    return start


def _nested(definitions: Iterable[CodeDefinition]) -> list[CodeDefinition]:
    """Complete the paths of sorted definitions. Omit definitions that are nested too deeply."""
    found: list[CodeDefinition] = []
    around: list[CodeDefinition] = []
    for each in definitions:
        while around and around[-1].end < each.end:
            around.pop()
        if len(around) >= MAX_DEPTH:
            continue
        parent = around[-1] if around else None
        path = (*parent.path, parent.name, *each.path) if parent else each.path
        is_method = each.kind == "function" and (each.path or (parent is not None and parent.kind in _WITH_METHODS))
        each = each._replace(path=path[:MAX_DEPTH], kind="method" if is_method else each.kind)
        found.append(each)
        around.append(each)
    return found


def _errors(nodes: Iterable[Node], definitions: Iterable[CodeDefinition]) -> int:
    """Return the number of characters in errors, without the definitions inside the errors."""
    last = 0
    outermost: list[tuple[int, int]] = []
    for start, end in sorted((node.start_byte, node.end_byte) for node in nodes):
        if start >= last:
            outermost.append((start, end))
            last = end
    total = sum(end - start for start, end in outermost)
    if outermost:
        total -= sum(_within(outermost, definition) for definition in definitions if not definition.path)
    return max(total, 0)


def _within(ranges: list[tuple[int, int]], definition: CodeDefinition) -> int:
    is_inside = any(start <= definition.start and definition.end <= end for start, end in ranges)
    return (definition.end - definition.start) * is_inside


def _statements(text: str, tree: Tree) -> list[list[int]]:
    """Return the starts of the lines of statements, by depth. A level has only the children of nodes that are too long
    in the level above."""
    levels: list[list[int]] = []
    long = [tree.root_node]
    seen = 0
    while long and seen < _MAX_STATEMENTS:
        children = [child for node in long for child in node.named_children]
        seen += len(children)
        starts = {text.rfind("\n", 0, child.start_byte) + 1: child.start_byte for child in reversed(children)}
        level = sorted(line for line, start in starts.items() if not text[line:start].strip())
        if level:
            levels.append(level)
        long = [child for child in children if child.end_byte - child.start_byte > _LONG_STATEMENT]
    return levels


def _prose(text: str, nodes: Iterable[Node]) -> str:
    """Return the beginning of comments and docstrings without comment signs and legal notes."""
    parts: list[str] = []
    length = 0
    for node in sorted(nodes, key=lambda each: each.start_byte):
        part = text[node.start_byte : node.end_byte][:_PROSE_CHARACTERS]
        if not _LEGAL.search(part):
            parts.append(_SIGNS.sub(" ", part).strip())
            length += len(part)
        if length > _PROSE_CHARACTERS:
            break
    return "\n".join(parts) if length >= _LEAST_PROSE else ""
