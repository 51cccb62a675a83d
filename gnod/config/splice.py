"""Makes small changes to YAML text: adds or removes items of a list, or replaces one value.

Each function returns the characters to replace and leaves all others alone, so comments, order and quoting stay as the
user wrote them. The functions work on nodes and text; they must not depend on the meaning of settings. They raise
`UneditableError` for layouts that they cannot edit. The caller parses the result again, so a wrong guess cannot reach
the file.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gnod.config.document import YamlDocument, YamlNode, is_null, skip_gap

# Write a string without quotes only if no YAML reader, even of version 1.1, could read it as something else.
_PLAIN = re.compile(r"[^\W\d_][\w/. @+-]*[\w/]|[^\W\d_]|[~/.]*/[\w/. @+-]*[\w/]|/|\.[^\W\d_]\w*")
_NOT_PLAIN = re.compile(r"(?:null|true|false|yes|no|on|off|y|n|\.inf|\.nan|[.\d_]+)", re.IGNORECASE)
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_EMPTY_LIST = re.compile(r"\[[ \t\r\n]*\]")
_PROPERTIES = re.compile(r"(?:[&!][^ \t\r\n]*[ \t\r\n]+)*")

Setting = str | bool | tuple[str, ...] | dict[str, str]
Settings = Mapping[str, Setting]


class UneditableError(Exception):
    """The layout of the text is not supported by edits."""


class Splice(NamedTuple):
    """Replaces the characters from `start` to `end` with `text`."""

    start: int
    end: int
    text: str


def apply(text: str, splices: Iterable[Splice]) -> str:
    """Return the changed text. The splices must not overlap; their order does not matter."""
    for splice in sorted(splices, reverse=True):
        text = text[: splice.start] + splice.text + text[splice.end :]
    return text


def append_item(document: YamlDocument, key: str, settings: Settings) -> list[Splice]:
    """Append a mapping to the top-level list `key`, which may be missing."""
    text, root = document.text, document.root
    entry = find_entry(root, key) if root else None
    if root is None or entry is None:
        return [_new_section(document, key, f"[{_flow(settings)}]", _block(settings, "  "))]
    name, items = entry
    if is_null(items) or _EMPTY_LIST.fullmatch(text, items.start, items.end):
        if root.flow:
            return [Splice(items.start, items.end, f" [{_flow(settings)}]")]
        return _first_item(text, name, items, settings)
    if items.flow:
        return [_into_flow(items, _flow(settings))]
    if items.kind != "sequence":
        raise UneditableError
    dash = _dashes(text, items)[-1]
    end = _block_end(text, items.children[-1], dash)
    return [_insert_lines(text, end, _block(settings, " " * _column(text, dash)))]


def set_string(document: YamlDocument, section: str, keys: Sequence[str], value: str) -> list[Splice]:
    """Set a string of a top-level mapping, under the first of `keys` that exists. If none does, add the first of
    `keys`.

    Both the setting and the mapping may be missing.
    """
    root = document.root
    line = f"{keys[0]}: {quote(value)}"
    entry = find_entry(root, section) if root else None
    if entry is None:
        return [_new_section(document, section, f"{{{line}}}", f"  {line}\n")]
    name, settings = entry
    if is_null(settings) or (settings.kind == "mapping" and settings.flow and not settings.children):
        return [_set_value(document.text, name, settings, f"{{{line}}}")]
    if settings.kind != "mapping":
        raise UneditableError
    for key in keys:
        if found := find_entry(settings, key):
            if is_null(found[1]):
                return [_set_value(document.text, *found, quote(value))]
            return [replace_string(document, found[1], value)]
    if settings.flow:
        return [_into_flow(settings, line)]
    first = settings.children[0]
    start = _line_start(document.text, first.start)
    return [_insert_lines(document.text, start, f"{' ' * first.column}{line}\n")]


def set_in_item(
    document: YamlDocument, section: str, index: int, keys: Sequence[str], value: str | None
) -> list[Splice]:
    """Set a string of an item of the top-level list `section`, under the first of `keys` that exists. If none does, add
    the first of `keys` below the item's name. None removes the setting."""
    text = document.text
    entry = find_entry(document.root, section) if document.root else None
    if entry is None or entry[1].kind != "sequence":
        raise UneditableError
    item = entry[1].children[index].target
    found, name = next(filter(None, (find_entry(item, key) for key in keys)), None), find_entry(item, "name")
    if found is None:
        return [] if value is None or name is None else [_below(text, item, name, f"{keys[0]}: {quote(value)}")]
    if value is not None:
        return [
            _set_value(text, *found, quote(value)) if is_null(found[1]) else replace_string(document, found[1], value)
        ]
    start, end = _line_start(text, found[0].start), _line_end(text, found[1].end)
    if item.flow or text[start : found[0].start].strip():  # other settings, or the item's dash, are on its line
        return [Splice(found[1].start, found[1].end, "null")]
    return [Splice(start, end, "")]


def _below(text: str, item: YamlNode, entry: tuple[YamlNode, YamlNode], line: str) -> Splice:
    if item.flow:
        return _into_flow(item, line)
    return _insert_lines(text, _line_end(text, entry[1].end), f"{' ' * item.column}{line}\n")


def remove_items(document: YamlDocument, key: str, indexes: Iterable[int]) -> list[Splice]:
    """Remove items of the top-level list `key` with the comments inside them, but none outside."""
    text, gone = document.text, sorted(set(indexes))
    entry = find_entry(document.root, key) if document.root else None
    if not gone or entry is None or entry[1].kind != "sequence":
        return []
    name, items = entry
    if items.flow:
        return [splice for index in gone for splice in _flow_removal(text, items, index, gone)]
    dashes = _dashes(text, items)
    splices = [
        Splice(_line_start(text, dashes[index]), _block_end(text, items.children[index], dashes[index]), "")
        for index in gone
    ]
    if len(gone) == len(items.children):
        splices.append(_empty_list(text, name, items))
    return splices


def replace_string(document: YamlDocument, node: YamlNode, value: str) -> Splice:
    """Replace a string in place. Keep its quotes if possible."""
    written = document.text[node.start : node.end]
    properties = _PROPERTIES.match(written)
    start = node.start + (properties.end() if properties and node.kind == "scalar" else 0)
    if node.style == "'" and value.isprintable():
        return Splice(start, node.end, "'" + value.replace("'", "''") + "'")
    return Splice(start, node.end, _double_quoted(value) if node.style == '"' else quote(value))


def find_entry(root: YamlNode, key: str) -> tuple[YamlNode, YamlNode] | None:
    """Return the key and value of a mapping's entry. Raises UneditableError if `root` is not a mapping."""
    if root.kind != "mapping":
        raise UneditableError
    return next(((name, value) for name, value in root.entries if name.target.text == key), None)


def quote(text: str) -> str:
    """Return `text` as YAML, quoted if any reader could misread it."""
    plain = _PLAIN.fullmatch(text) and not _NOT_PLAIN.fullmatch(text)
    return text if plain else _double_quoted(text)


def _double_quoted(text: str) -> str:
    # A JSON string is a YAML string, except for characters that YAML does not print or folds as line ends.
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", json.dumps(text, ensure_ascii=False))


def _value(setting: Setting) -> str:
    if isinstance(setting, bool):
        return str(setting).lower()
    if isinstance(setting, str):
        return quote(setting)
    if isinstance(setting, tuple):
        return "[" + ", ".join(quote(text) for text in setting) + "]"
    return _flow(setting)


def _flow(settings: Mapping[str, Setting]) -> str:
    return "{" + ", ".join(f"{key}: {_value(setting)}" for key, setting in settings.items()) + "}"


def _block(settings: Settings, indent: str) -> str:
    lines = [f"{indent}  {key}: {_value(setting)}\n" for key, setting in settings.items()]
    return f"{indent}- {lines[0].lstrip()}" + "".join(lines[1:])


def _new_section(document: YamlDocument, key: str, flow: str, block: str) -> Splice:
    """Add a top-level key with its value in brackets or in lines, depending on the style of the file."""
    root = document.root
    if root and root.flow:
        return _into_flow(root, f"{key}: {flow}")
    lines = textwrap.indent(f"{key}:\n{block}", " " * root.column if root else "")
    return _insert_lines(document.text, document.end, lines)


def _set_value(text: str, name: YamlNode, value: YamlNode, written: str) -> Splice:
    """Replace a missing value or an empty mapping."""
    colon = skip_gap(text, name.end)
    if value.kind == "alias" or text[colon : colon + 1] != ":":
        raise UneditableError
    if value.end > value.start:
        return Splice(value.start, value.end, written)
    return Splice(colon + 1, colon + 1, f" {written}")


def _first_item(text: str, name: YamlNode, items: YamlNode, settings: Settings) -> list[Splice]:
    """Replace an empty value with lines below its key, and keep a comment beside the key in place."""
    start = items.start
    while text[start - 1] in " \t" and not text[items.end : items.end + 1].strip():
        start -= 1
    below = _line_end(text, items.end)
    # A comment that is indented deeper than the new item would look like a part of it, and be removed with it.
    comment = re.compile(r"\s*^( *)#", re.MULTILINE).match(text, below)
    indent = max(name.column + 2, len(comment[1]) if comment else 0)
    lines = _insert_lines(text, below, _block(settings, " " * indent))
    if start == lines.start:
        return [lines]
    return [Splice(start, items.end, ""), lines]


def _insert_lines(text: str, position: int, lines: str) -> Splice:
    if position > 0 and text[position - 1] != "\n":
        lines = f"\n{lines}"
    if "\r\n" in text:
        lines = lines.replace("\n", "\r\n")
    return Splice(position, position, lines)


def _into_flow(collection: YamlNode, item: str) -> Splice:
    if not collection.children:
        return Splice(collection.end - 1, collection.end - 1, item)
    end = collection.children[-1].end
    return Splice(end, end, f", {item}")


def _empty_list(text: str, name: YamlNode, items: YamlNode) -> Splice:
    properties = _PROPERTIES.match(text, items.start)
    written = properties[0].rstrip() if properties else ""
    position = items.start + len(written) if written else skip_gap(text, name.end) + 1
    return Splice(position, position, " []")


def _dashes(text: str, items: YamlNode) -> list[int]:
    """Return the positions of the dashes of a block list."""
    properties = _PROPERTIES.match(text, items.start)
    start = properties.end() if properties else items.start
    dashes: list[int] = []
    for item in items.children:
        start = skip_gap(text, start)
        if text[start : start + 1] != "-" or text[_line_start(text, start) : start].strip(" "):
            raise UneditableError
        dashes.append(start)
        start = item.end
    return dashes


def _block_end(text: str, item: YamlNode, dash: int) -> int:
    """Return the end of an item's lines, including comments right below it that are indented as part of it."""
    inside = re.compile(rf"(?: {{{_column(text, dash) + 1},}}#[^\n]*(?:\n|\Z))*")
    end = _line_end(text, item.end)
    comments = inside.match(text, end)
    return comments.end() if comments else end


def _flow_removal(text: str, items: YamlNode, index: int, gone: list[int]) -> list[Splice]:
    """Remove an item and one comma. Keep the comments between items."""
    item = items.children[index]
    comma = skip_gap(text, item.end)
    if text[comma] != ",":
        splices = [Splice(item.start, item.end, "")]
        if index > 0 and index - 1 not in gone:
            before = skip_gap(text, items.children[index - 1].end)
            splices.append(Splice(before, before + 1, ""))
        return splices
    if comma > item.end:
        return [Splice(item.start, item.end, ""), Splice(comma, comma + 1, "")]
    blanks = re.compile(r"[ \t]*").match(text, comma + 1)
    return [Splice(item.start, blanks.end() if blanks else comma + 1, "")]


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _line_end(text: str, position: int) -> int:
    """Return the position after the end of the line."""
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _column(text: str, position: int) -> int:
    return position - _line_start(text, position)
