"""The programming languages that are parsed. A new one is one more entry, and its grammar in pyproject.toml."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gnod.ingest.code.finding import Find, assigned, by_type, declared, implementation, method_of_receiver, named


class Language(NamedTuple):
    """`name` is that of `text/x-…`. `extensions` and `file_names` are separated by spaces. `grammar`: the module and
    the function that returns it. `definitions`: the nodes that define something, and how their names are found; `scope`
    and `implementation` are kinds that only contain definitions. `leads`: nodes besides comments that are a part of the
    definition below them. `docstrings`: strings that are statements are prose. `otherwise`: the language to try for a
    text with errors."""

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
    return {node: named(kind) for node, kind in (word.split(":") for word in words.split())}


_DECORATOR = frozenset(["decorator"])

_PYTHON = _named("class_definition:class function_definition:function")

_JAVASCRIPT = {
    **_named("function_declaration:function generator_function_declaration:function method_definition:function"),
    **_named("class_declaration:class"),
    "variable_declarator": assigned("name", "value"),
    "assignment_expression": assigned("left", "right"),
    "pair": assigned("key", "value"),
    "field_definition": assigned("property", "value"),
}
_TYPESCRIPT = {
    **_JAVASCRIPT,
    **_named("abstract_class_declaration:class interface_declaration:interface enum_declaration:enum"),
    **_named("type_alias_declaration:type internal_module:scope module:scope"),
    **_named("function_signature:function abstract_method_signature:function"),
    "public_field_definition": assigned("name", "value"),
}

_GO = {
    **_named("function_declaration:function type_alias:type"),
    "method_declaration": method_of_receiver,
    "type_spec": by_type({"struct_type": "struct", "interface_type": "interface"}, "type"),
}

_RUST = {
    **_named("function_item:function function_signature_item:function struct_item:struct union_item:struct"),
    **_named("enum_item:enum trait_item:trait type_item:type macro_definition:macro"),
    "impl_item": implementation,
    "mod_item": named("scope", needs="body"),
}

_C = {
    "function_definition": declared("function"),
    "struct_specifier": named("struct", needs="body"),
    "union_specifier": named("struct", needs="body"),
    "enum_specifier": named("enum", needs="body"),
    "type_definition": named("type", "declarator"),
    "preproc_function_def": named("macro"),
}
_CPP = {
    **_C,
    **_named("alias_declaration:type concept_definition:type namespace_definition:scope"),
    "class_specifier": named("class", needs="body"),
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
    "namespace_definition": named("scope", needs="body"),
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
    """Return the language that the extension of a file says."""
    return _BY_EXTENSION.get(path.rpartition(".")[2].lower()) if "." in path else None
