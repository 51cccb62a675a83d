"""Parses YAML text into a tree of nodes. Only this module imports ruamel.yaml.

The tree is built from the parser's events, not from constructed Python values. So nothing in a file can run code, and
each alias stays one reference however often it is used. An edit can change a few characters and keep the rest of the
file, including comments and quoting, as the user wrote it. Plain values follow the core schema of YAML 1.2, as GNO
reads them: `no` is a string, not false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.reader import ReaderError

from gnod.config.faults import FaultReport, quoted
from gnod.errors import ConfigInvalid

MAX_DEPTH = 64

# This limits the parsing time, about 40 microseconds for each value. A thousand collections need 15,000.
MAX_VALUES = 100_000

_GAP = re.compile(r"(?:[ \t\r\n]+(?:#[^\r\n]*)?)*")

# GNO's manual writes `scopeKey: notes:`, which strict YAML rejects, because a colon at a line's end must be quoted. For
# the parser, replace this colon with a character that no file uses, so that all positions stay correct.
_BARE_SCOPE = re.compile(r"^([ \t]*(?:- +)?scope(?:Key)?: +[a-z0-9][a-z0-9_-]*):(?=[ \t]*(?:\r?$| #))", re.MULTILINE)
_COLON = "\ue000"

_SHORT = 40

_CORE = "tag:yaml.org,2002:"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# The Python types of the core schema's tags. For a value of another type, the tag is a fault.
_TAGS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}

# No setting accepts a longer number, and int() raises an exception for 4,300 digits.
_LONGEST_NUMBER = 40

Kind = Literal["scalar", "sequence", "mapping", "alias"]

Value = None | bool | int | float | str


class Opaque(msgspec.Struct, frozen=True):
    """A scalar with a tag that gnod does not know, such as `!!python/name`."""

    tag: str


class YamlNode(msgspec.Struct, kw_only=True, eq=False):
    """One value. `start` and `end` are indices into the text; `end` excludes blanks and comments after the value.

    `children` are a sequence's items, a mapping's keys and values in turn, or the node of an alias.
    """

    kind: Kind
    start: int
    end: int
    line: int
    column: int
    tag: str | None = None
    text: str = ""
    style: str = ""
    flow: bool = False
    children: list[YamlNode] = []

    @property
    def target(self) -> YamlNode:
        return self.children[0] if self.kind == "alias" else self

    @property
    def entries(self) -> list[tuple[YamlNode, YamlNode]]:
        return list(zip(self.children[::2], self.children[1::2], strict=True))


class YamlDocument(msgspec.Struct, kw_only=True, eq=False):
    """`root` is None for a file without content. New top-level text is inserted at `end`."""

    text: str
    root: YamlNode | None
    end: int


def parse(text: str, report: FaultReport) -> YamlDocument:
    """Return the tree of `text`. Reports duplicate keys. Raises ConfigInvalid if `text` is not YAML."""
    builder = _Builder(text, report)
    readable = text if _COLON in text else _BARE_SCOPE.sub(rf"\1{_COLON}", text)
    try:
        for event in YAML(typ="safe", pure=True).parse(readable):
            builder.take(event)
    except ConfigInvalid:
        raise
    except Exception as error:  # broken input makes ruamel raise ValueError, AssertionError, AttributeError and others
        raise report.rejection(*_syntax_fault(error, text)) from None
    if builder.root is not None:
        for key, where in _duplicates(builder.root, ""):
            report.fault(key.line, where, f"the key {quoted(key.text)} is given twice in the same mapping")
    return YamlDocument(text=text, root=builder.root, end=builder.end)


def skip_gap(text: str, position: int) -> int:
    """Return the position after blanks, line ends and comments."""
    match = _GAP.match(text, position)
    return match.end() if match else position


def _duplicates(node: YamlNode, where: str) -> Iterator[tuple[YamlNode, str]]:
    if node.kind == "sequence":
        for index, item in enumerate(node.children):
            yield from _duplicates(item, f"{where}[{index}]")
    elif node.kind == "mapping":
        seen: set[tuple[type, object]] = set()
        for key, value in node.entries:
            path = f"{where}.{key.text[:_SHORT]}".lstrip(".")
            if key.kind == "scalar":
                plain = value_of(key)
                if (type(plain), plain) in seen:
                    yield key, path
                seen.add((type(plain), plain))
            yield from _duplicates(value, path)


class _Builder:
    """Turns events into nodes, one at a time. Raises ConfigInvalid."""

    def __init__(self, text: str, report: FaultReport) -> None:
        self.root: YamlNode | None = None
        self.end = len(text)
        self._text = text
        self._report = report
        self._open: list[YamlNode] = []
        self._anchors: dict[str, YamlNode] = {}
        self._values = 0
        self._documents = 0

    def take(self, event: Any) -> None:
        match type(event).__name__:
            case "DocumentStartEvent":
                self._documents += 1
                if self._documents > 1:
                    raise self._report.rejection(
                        event.start_mark.line + 1, "only one YAML document is allowed ('---' starts another)"
                    )
            case "DocumentEndEvent" if event.explicit:
                self.end = event.start_mark.index
            case "ScalarEvent":
                self._add(event, "scalar")
            case "AliasEvent":
                self._add_alias(event)
            case "SequenceStartEvent":
                self._start(event, "sequence")
            case "MappingStartEvent":
                self._start(event, "mapping")
            case "SequenceEndEvent" | "MappingEndEvent":
                self._finish(event)

    def _add(self, event: Any, kind: Kind) -> YamlNode:
        mark = event.start_mark
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._report.rejection(mark.line + 1, f"the file has more than {MAX_VALUES:,} values")
        raw = self._text[mark.index : event.end_mark.index]
        tag = getattr(event, "tag", None)
        node = YamlNode(
            kind=kind,
            start=mark.index,
            end=mark.index + len(raw.rstrip()),
            line=mark.line + 1,
            column=mark.column,
            tag=None if tag is None else str(tag),
            text=self._written(getattr(event, "value", None) or ""),
            style=getattr(event, "style", None) or "",
            flow=bool(getattr(event, "flow_style", False)),
            children=[],
        )
        if not raw:
            self._place_empty(node)
        if event.anchor is not None and kind != "alias":
            self._anchors[event.anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        elif not (kind == "scalar" and not raw):
            self.root = node
        return node

    def _written(self, value: str) -> str:
        return value if _COLON in self._text else value.replace(_COLON, ":")

    def _place_empty(self, node: YamlNode) -> None:
        """Place a missing value right after its key's colon; ruamel places it at the next token."""
        parent = self._open[-1] if self._open else None
        if node.kind == "scalar" and parent and parent.kind == "mapping" and len(parent.children) % 2:
            key = parent.children[-1]
            colon = skip_gap(self._text, key.end)
            node.start = node.end = colon + 1 if self._text[colon : colon + 1] == ":" else key.end
            node.line = key.line

    def _add_alias(self, event: Any) -> None:
        target = self._anchors.get(event.anchor)
        if target is None:
            raise self._report.rejection(
                event.start_mark.line + 1, f"not valid YAML: the anchor {quoted(event.anchor)} is not defined"
            )
        self._add(event, "alias").children.append(target)

    def _start(self, event: Any, kind: Kind) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise self._report.rejection(event.start_mark.line + 1, f"nested more than {MAX_DEPTH} levels deep")
        self._open.append(self._add(event, kind))

    def _finish(self, event: Any) -> None:
        node = self._open.pop()
        if node.flow:
            node.end = event.end_mark.index
        elif node.children:
            node.end = node.children[-1].end


def _syntax_fault(error: Exception, text: str) -> tuple[int | None, str]:
    line: int | None = None
    problem = str(error)
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else None
        problem = ", ".join(str(part) for part in (error.context, error.problem) if part)
    elif isinstance(error, ReaderError):
        line = text.count("\n", 0, error.position) + 1
        problem = f"the character U+{ord(text[error.position]):04X} is not allowed"
    problem = " ".join(problem.split())[:200] or type(error).__name__
    hint = " (indent with spaces, not tabs)" if "\\t" in problem else ""
    return line, f"not valid YAML: {problem}{hint}"


def value_of(node: YamlNode) -> Value | Opaque:
    """Return the plain value of a scalar."""
    tag = (node.tag or "").removeprefix(_CORE)
    if tag in ("str", "!") or (not tag and node.style):
        return node.text
    value = _resolve(node.text)
    if not tag or isinstance(value, _TAGS.get(tag, ())):
        return value
    return Opaque(node.tag or "")


def is_null(node: YamlNode) -> bool:
    return node.target.kind == "scalar" and value_of(node.target) is None


def describe(node: YamlNode) -> str:
    """Return a value's name for people: "the number 5", "a list"."""
    node = node.target
    if node.tag and node.tag.removeprefix(_CORE) not in ("map", "seq", "str", "!", *_TAGS):
        return f"a value tagged {quoted(node.tag.replace(_CORE, '!!'))}"
    if node.kind != "scalar":
        return {"sequence": "a list", "mapping": "a mapping"}[node.kind]
    value = value_of(node)
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {node.text[:_LONGEST_NUMBER]}"
    return f"the string {quoted(node.text)}"


def _resolve(text: str) -> Value:
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) > _LONGEST_NUMBER and text[:1] in "+-.0123456789":
        return float("inf") if _INTEGER.fullmatch(text) or _FLOAT.fullmatch(text) else text
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        return float(re.sub(r"\.(inf|nan)\Z", r"\1", text.lower()))
    return text
