"""List the programming languages that gnod parses, and find the names and kinds of definitions in their nodes.

To add a language, add an entry here and its grammar to pyproject.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_DECLARATORS = 8
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_NAMES = frozenset(
    {"identifier", "field_identifier", "type_identifier", "qualified_identifier", "destructor_name", "operator_name"}
)


class FoundDefinition(NamedTuple):
    """`owner`: the class of a method that is written outside its class."""

    kind: str
    name: Node
    owner: Node | None = None


Find = Callable[["Node"], FoundDefinition | None]
"""Returns the definition that a node makes; None if it makes none."""


def _in_field(kind: str, field: str = "name", *, needs: str | None = None) -> Find:
    """Take the name from a field. `needs`: a node without this field only mentions the name."""

    def find(node: Node) -> FoundDefinition | None:
        name = node.child_by_field_name(field)
        if name is None or (needs and node.child_by_field_name(needs) is None):
            return None
        return FoundDefinition(kind, name)

    return find


def _declared(kind: str) -> Find:
    """Take the name from inside declarators, as in C: `int *(*name)(void)`."""

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


def _assigned(name_field: str, value_field: str) -> Find:
    """Find a function or class that is assigned to a name: `const name = () => …`."""

    def find(node: Node) -> FoundDefinition | None:
        name, value = node.child_by_field_name(name_field), node.child_by_field_name(value_field)
        if name is None or value is None or not (value.type in _FUNCTIONS or value.type == "class"):
            return None
        if name.type == "member_expression":
            name = name.child_by_field_name("property")
        return FoundDefinition("class" if value.type == "class" else "function", name) if name is not None else None

    return find


def _by_type(kinds: dict[str, str], other: str) -> Find:
    """Choose the kind by the named type, as in Go."""

    def find(node: Node) -> FoundDefinition | None:
        name, of = node.child_by_field_name("name"), node.child_by_field_name("type")
        return FoundDefinition(kinds.get(of.type if of else "", other), name) if name is not None else None

    return find


def _method_of_receiver(node: Node) -> FoundDefinition | None:
    """Find a method in Go: `func (s *Server) Start()`."""
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    if name is None:
        return None
    return FoundDefinition("method", name, None if receiver is None else _innermost_type(receiver))


def _implementation(node: Node) -> FoundDefinition | None:
    """Return the type of an `impl` block in Rust."""
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


class Language(NamedTuple):
    """`name`: the name after `text/x-` in the MIME type. Spaces separate `extensions` and `file_names`. `grammar`: the
    module and function that return the grammar. `definitions`: types of nodes that define something, and the functions
    that find the names; the kinds `scope` and `implementation` only contain definitions. `leads`: nodes other than
    comments that are a part of the definition below them. `docstrings`: strings that are statements are prose.
    `otherwise`: the language to try if the text has errors."""

    name: str
    extensions: str
    grammar: str
    definitions: Mapping[str, Find]
    file_names: str = ""
    leads: frozenset[str] = frozenset()
    docstrings: bool = False
    otherwise: str = ""

    @property
    def mime(self) -> str:
        return f"text/x-{self.name}"


def _named(words: str) -> dict[str, Find]:
    """Return an entry for each word `node_type:kind` whose name is in the field `name`."""
    return {node: _in_field(kind) for node, kind in (word.split(":") for word in words.split())}


_DECORATOR = frozenset(["decorator"])

_PYTHON = _named("class_definition:class function_definition:function")

_JAVASCRIPT = {
    **_named("function_declaration:function generator_function_declaration:function method_definition:function"),
    **_named("class_declaration:class"),
    "variable_declarator": _assigned("name", "value"),
    "assignment_expression": _assigned("left", "right"),
    "pair": _assigned("key", "value"),
    "field_definition": _assigned("property", "value"),
}
_TYPESCRIPT = {
    **_JAVASCRIPT,
    **_named("abstract_class_declaration:class interface_declaration:interface enum_declaration:enum"),
    **_named("type_alias_declaration:type internal_module:scope module:scope"),
    **_named("function_signature:function abstract_method_signature:function"),
    "public_field_definition": _assigned("name", "value"),
}

_GO = {
    **_named("function_declaration:function type_alias:type"),
    "method_declaration": _method_of_receiver,
    "type_spec": _by_type({"struct_type": "struct", "interface_type": "interface"}, "type"),
}

_RUST = {
    **_named("function_item:function function_signature_item:function struct_item:struct union_item:struct"),
    **_named("enum_item:enum trait_item:trait type_item:type macro_definition:macro"),
    "impl_item": _implementation,
    "mod_item": _in_field("scope", needs="body"),
}

_C = {
    "function_definition": _declared("function"),
    "struct_specifier": _in_field("struct", needs="body"),
    "union_specifier": _in_field("struct", needs="body"),
    "enum_specifier": _in_field("enum", needs="body"),
    "type_definition": _in_field("type", "declarator"),
    "preproc_function_def": _in_field("macro"),
}
_CPP = {
    **_C,
    **_named("alias_declaration:type concept_definition:type namespace_definition:scope"),
    "class_specifier": _in_field("class", needs="body"),
}

_JAVA = _named(
    "class_declaration:class record_declaration:class interface_declaration:interface enum_declaration:enum"
    " annotation_type_declaration:interface method_declaration:function constructor_declaration:function"
)

_C_SHARP = _named(
    "class_declaration:class record_declaration:class struct_declaration:struct interface_declaration:interface"
    " enum_declaration:enum delegate_declaration:type method_declaration:function constructor_declaration:function"
    " property_declaration:property local_function_statement:function namespace_declaration:scope"
)

_RUBY = _named("class:class module:module method:function singleton_method:function")

_PHP = {
    **_named("class_declaration:class interface_declaration:interface trait_declaration:trait enum_declaration:enum"),
    **_named("function_definition:function method_declaration:function"),
    "namespace_definition": _in_field("scope", needs="body"),
}

_SHELL = _named("function_definition:function")

LANGUAGES = (
    Language("c", "c h", "tree_sitter_c.language", _C, otherwise="c++"),
    Language("c++", "cc cpp cxx hpp hh hxx", "tree_sitter_cpp.language", _CPP),
    Language("csharp", "cs", "tree_sitter_c_sharp.language", _C_SHARP),
    Language("go", "go", "tree_sitter_go.language", _GO),
    Language("java", "java", "tree_sitter_java.language", _JAVA),
    Language("javascript", "js mjs cjs jsx", "tree_sitter_javascript.language", _JAVASCRIPT, leads=_DECORATOR),
    Language("php", "php", "tree_sitter_php.language_php", _PHP),
    Language(
        "python",
        "py pyi pyw bzl",
        "tree_sitter_python.language",
        _PYTHON,
        leads=_DECORATOR,
        docstrings=True,
    ),
    Language("ruby", "rb", "tree_sitter_ruby.language", _RUBY, file_names="rakefile gemfile vagrantfile brewfile"),
    Language("rust", "rs", "tree_sitter_rust.language", _RUST, leads=frozenset(["attribute_item"])),
    Language("shell", "sh bash zsh", "tree_sitter_bash.language", _SHELL),
    Language("tsx", "tsx", "tree_sitter_typescript.language_tsx", _TYPESCRIPT, leads=_DECORATOR),
    Language("typescript", "ts mts cts", "tree_sitter_typescript.language_typescript", _TYPESCRIPT, leads=_DECORATOR),
)
BY_NAME = {language.name: language for language in LANGUAGES}
BY_MIME = {language.mime: language for language in LANGUAGES}
_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions.split()}


def by_path(path: str) -> Language | None:
    """Return the language that the extension or name of a file indicates."""
    return _BY_EXTENSION.get(path.rpartition(".")[2].lower()) if "." in path else None
