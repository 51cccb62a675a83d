"""One YAML file as a tree of nodes: their positions in the text, and what a scalar means.

Plain values follow the core schema of YAML 1.2, as GNO reads them: `no` is a string, not false.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from gnod.config.faults import quoted

_CORE = "tag:yaml.org,2002:"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_INTEGER = re.compile(r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
# The Python types of the core schema's tags. A value of another type makes the tag a fault.
_TAGS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool,),
    "null": (type(None),),
}

# No number that a setting accepts is longer, and int() raises an exception for 4,300 digits.
_LONGEST_NUMBER = 40

Kind = Literal["scalar", "sequence", "mapping", "alias"]

Value = None | bool | int | float | str


class Opaque(msgspec.Struct, frozen=True):
    """A scalar with a tag that means nothing to gnod, such as `!!python/name`."""

    tag: str


class YamlNode(msgspec.Struct, kw_only=True, eq=False):
    """One value. `start` and `end` index the text; `end` excludes blanks and comments after it.

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
    """`root` is None for a file without content; new top-level text goes to `end`."""

    text: str
    root: YamlNode | None
    end: int


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
    """Name a value for a person: "the number 5", "a list"."""
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
