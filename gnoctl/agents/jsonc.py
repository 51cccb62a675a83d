"""Change one value in a JSON text and no other character. Pure. Must not depend on agents.

The text may contain comments and trailing commas, as in the settings of editors (JSONC).
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_DECODER = json.JSONDecoder()


class Unfit(Exception):
    """The text cannot be changed safely; the message says why."""


class JsoncValue(NamedTuple):
    """The value in `text[start:end]`. `members` (of an object): where each key begins, and its value. `comma`: whether
    a comma follows the last member."""

    start: int
    end: int
    data: Any
    members: dict[str, tuple[int, JsoncValue]]
    comma: bool = False


def parse(text: str) -> JsoncValue:
    """Return the one value of `text`. Raises Unfit."""
    try:
        value = _value(text, _skip(text, 1 if text.startswith("\ufeff") else 0))
        if _skip(text, value.end) != len(text):
            raise _fault(text, value.end, "the end")
    except (json.JSONDecodeError, RecursionError) as error:
        raise Unfit(f"it is not valid JSON ({error})") from None
    return value


def data_of(text: str) -> Any:
    """Return the data of a text, which may be empty. Raises Unfit."""
    return parse(text).data if text.strip("\ufeff \t\r\n") else {}


def with_value(text: str, path: Sequence[str], value: object) -> str:
    """Return `text` with `value` at `path`; missing objects on the way are created. Raises Unfit."""
    if not text.strip("\ufeff \t\r\n"):
        text += "{}\n"
    root = parse(text)
    changed = _changed(text, root, list(path), value)
    # A layout that gnod does not support must not damage the user's settings.
    if parse(changed).data != _expected(root.data, path, value):
        raise Unfit("its layout is too unusual")
    return changed


def _changed(text: str, root: JsoncValue, path: list[str], value: object) -> str:
    at = root
    for depth, key in enumerate(path):
        if not isinstance(at.data, dict):
            where = f"'{path[depth - 1]}'" if depth else "the file"
            raise Unfit(f"{where} is not an object")
        if key not in at.members:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _inserted(text, root, at, key, value)
        at = at.members[key][1]
    if at.data == value:
        return text
    newline, unit = _newline(text), _unit(text, root)
    return text[: at.start] + _render(value, unit, newline + _indent(text, at.start)) + text[at.end :]


def _inserted(text: str, root: JsoncValue, into: JsoncValue, key: str, value: object) -> str:
    """Return `text` with one more member at the end of the object `into`."""
    close = into.end - 1
    name = json.dumps(key, ensure_ascii=False)
    if into.members and "\n" not in text[into.start : into.end]:
        rest = text[into.start + 1 : close]
        comma = "" if into.comma else ","
        return (
            f"{text[: close - _blank_end(rest)]}{comma} {name}: {json.dumps(value, ensure_ascii=False)}{text[close:]}"
        )
    unit, newline = _unit(text, root), _newline(text)
    base = _indent(text, close)
    indent = base + unit
    last = max((value.end for _, value in into.members.values()), default=into.start + 1)
    if into.members:
        first = min(start for start, _ in into.members.values())
        if not text[:first].rpartition("\n")[2].strip():
            indent = _indent(text, first)
    end = close - _blank_end(text[last:close])  # write after the comments that follow the last member
    comma = "," if into.members and not into.comma else ""
    member = f"{newline}{indent}{name}: {_render(value, unit, newline + indent)}{',' if into.comma else ''}"
    return text[:last] + comma + text[last:end] + member + newline + base + text[close:]


def _render(value: object, unit: str, newline: str) -> str:
    """Return `value` as JSON: an object with one member per line, everything else on one line."""
    if not isinstance(value, Mapping) or not value:
        return json.dumps(value, ensure_ascii=False)
    deeper = newline + unit
    members = (f"{json.dumps(key, ensure_ascii=False)}: {_render(each, unit, deeper)}" for key, each in value.items())
    return "{" + deeper + f",{deeper}".join(members) + newline + "}"


def _expected(data: Any, path: Sequence[str], value: object) -> Any:
    expected = copy.deepcopy(data)
    at = expected
    for key in path[:-1]:
        at = at.setdefault(key, {})
    at[path[-1]] = value
    return expected


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str, root: JsoncValue) -> str:
    """Return the indentation of one level."""
    for start, _ in root.members.values():
        if text[:start].rpartition("\n")[1] and (indent := _indent(text, start)):
            return indent
    return "  "


def _indent(text: str, at: int) -> str:
    line = text[:at].rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _blank_end(text: str) -> int:
    return len(text) - len(text.rstrip())


def _value(text: str, at: int) -> JsoncValue:
    if text.startswith("{", at):
        return _object(text, at)
    if text.startswith("[", at):
        return _array(text, at)
    data, end = _DECODER.raw_decode(text, at)
    return JsoncValue(at, end, data, {})


def _object(text: str, start: int) -> JsoncValue:
    members: dict[str, tuple[int, JsoncValue]] = {}
    comma, at = False, _skip(text, start + 1)
    while not text.startswith("}", at):
        if members and not comma:
            raise _fault(text, at, "',' or '}'")
        if not text.startswith('"', at):
            raise _fault(text, at, "a key in quotation marks")
        key, colon = _DECODER.raw_decode(text, at)
        colon = _skip(text, colon)
        if not text.startswith(":", colon):
            raise _fault(text, colon, "':'")
        value = _value(text, _skip(text, colon + 1))
        members[key] = (at, value)
        comma, at = _comma(text, value.end)
    return JsoncValue(start, at + 1, {key: value.data for key, (_, value) in members.items()}, members, comma)


def _array(text: str, start: int) -> JsoncValue:
    items: list[Any] = []
    comma, at = False, _skip(text, start + 1)
    while not text.startswith("]", at):
        if items and not comma:
            raise _fault(text, at, "',' or ']'")
        value = _value(text, at)
        items.append(value.data)
        comma, at = _comma(text, value.end)
    return JsoncValue(start, at + 1, items, {})


def _comma(text: str, at: int) -> tuple[bool, int]:
    at = _skip(text, at)
    if text.startswith(",", at):
        return True, _skip(text, at + 1)
    return False, at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _fault(text: str, at: int, expected: str) -> json.JSONDecodeError:
    return json.JSONDecodeError(f"{expected} expected", text, at)
