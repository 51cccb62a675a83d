"""Change one table of a TOML text and no other line. Pure. Must not depend on agents."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import InlineTable

from gnoctl.agents.jsonc import Unfit


def parse(text: str) -> dict[str, Any]:
    """Return the data in `text`. Raises Unfit."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unfit(f"it is not valid TOML ({error})") from None


def with_table(text: str, path: Sequence[str], values: Mapping[str, object], drop: Collection[str] = ()) -> str:
    """Return `text` with `values` in the table `path`. Its other keys stay, except those in `drop`. Raises Unfit."""
    expected = copy.deepcopy(parse(text))
    table = _table(expected, path)
    for key in drop:
        table.pop(key, None)
    table.update(values)
    try:
        document = tomlkit.parse(text)
        _put(document, path, values, drop)
        changed = tomlkit.dumps(document)
        same = tomllib.loads(changed) == expected
    except (TOMLKitError, ValueError):  # this includes tomllib's error
        same = False
    # A layout that gnod does not support must not damage the user's settings.
    if not same:
        raise Unfit("its layout is too unusual")
    return changed


def render(path: Sequence[str], values: Mapping[str, object]) -> str:
    return with_table("", path, values)


def _put(
    document: tomlkit.TOMLDocument, path: Sequence[str], values: Mapping[str, object], drop: Collection[str]
) -> None:
    table: Any = document
    for depth, key in enumerate(path):
        if key not in table:
            # A table that only contains another one needs no separate line.
            is_inline = isinstance(table, InlineTable)
            table[key] = tomlkit.inline_table() if is_inline else tomlkit.table(depth < len(path) - 1)
        table = table[key]
    for key in drop:
        table.pop(key, None)
    for key, value in values.items():
        if key not in table or table[key] != value:
            table[key] = _item(value)


def _item(value: object) -> Any:
    if not isinstance(value, Mapping):
        return value
    inline = tomlkit.inline_table()
    inline.update(value)
    return inline


def _table(data: dict[str, Any], path: Sequence[str]) -> dict[str, Any]:
    """Return the table `path`, created if it is missing. Raises Unfit."""
    for key in path:
        data = data.setdefault(key, {})
        if not isinstance(data, dict):
            raise Unfit(f"'{key}' is not a table")
    return data
