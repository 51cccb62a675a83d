"""How the name and the kind of a definition are found in its node. Knows tree-sitter's nodes, and no language."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DECLARATORS = 8
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_NAMES = frozenset(
    {"identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name", "operator_name"}
)


class FoundDefinition(NamedTuple):
    """`owner`: the class of a method that is written outside of it."""

    kind: str
    name: Node
    owner: Node | None = None


Find = Callable[["Node"], FoundDefinition | None]
"""Returns what a node defines; None if it defines nothing."""


def named(kind: str, field: str = "name", *, needs: str | None = None) -> Find:
    """The name is in a field. `needs`: without this field, the node is only a mention."""

    def find(node: Node) -> FoundDefinition | None:
        name = node.child_by_field_name(field)
        if name is None or (needs and node.child_by_field_name(needs) is None):
            return None
        return FoundDefinition(kind, name)

    return find


def declared(kind: str) -> Find:
    """The name is inside declarators, as in C: `int *(*name)(void)`."""

    def find(node: Node) -> FoundDefinition | None:
        inner: Node | None = node
        for _ in range(_MAX_DECLARATORS):
            if inner is None or inner.type in _NAMES:
                break
            found = inner.child_by_field_name("declarator")
            # A reference does not have this field.
            inner = found or (inner.named_children[-1] if inner is not node and inner.named_children else None)
        return FoundDefinition(kind, inner) if inner is not None and inner.type in _NAMES else None

    return find


def assigned(name_field: str, value_field: str) -> Find:
    """A function or a class that is the value of something: `const name = () => …`."""

    def find(node: Node) -> FoundDefinition | None:
        name, value = node.child_by_field_name(name_field), node.child_by_field_name(value_field)
        if name is None or value is None or not (value.type in _FUNCTIONS or value.type == "class"):
            return None
        if name.type == "member_expression":
            name = name.child_by_field_name("property")
        return FoundDefinition("class" if value.type == "class" else "function", name) if name is not None else None

    return find


def by_type(kinds: dict[str, str], other: str) -> Find:
    """The kind depends on the type that is named, as in Go."""

    def find(node: Node) -> FoundDefinition | None:
        name, of = node.child_by_field_name("name"), node.child_by_field_name("type")
        return FoundDefinition(kinds.get(of.type if of else "", other), name) if name is not None else None

    return find


def method_of_receiver(node: Node) -> FoundDefinition | None:
    """A method of Go: `func (s *Server) Start()`."""
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    if name is None:
        return None
    return FoundDefinition("method", name, None if receiver is None else _innermost_type(receiver))


def implementation(node: Node) -> FoundDefinition | None:
    """Return the type for which Rust implements something."""
    of = node.child_by_field_name("type")
    name = None if of is None else _innermost_type(of)
    return None if name is None else FoundDefinition("implementation", name)


def _innermost_type(node: Node) -> Node | None:
    """Return the name of a type without its path, parameters and signs."""
    inner: Node | None = node
    for _ in range(_MAX_DECLARATORS):
        if inner is None or inner.type == "type_identifier":
            break
        inner = (
            inner.child_by_field_name("type")
            or inner.child_by_field_name("name")
            or next(iter(inner.named_children), None)
        )
    return inner if inner is not None and inner.type == "type_identifier" else None
