"""Sort results by a field: `title`, `-size`, or a field of the documents' own metadata."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

import msgspec

from gnod.errors import InvalidParams
from gnod.search.fields import frontmatter, registry
from gnod.search.ranking.ranked import RankedDocument
from gnod.store.connection import Connection, by_id

# Sort at most this many of the best documents.
DEPTH = 20_000
_BY_AGE = {"newest": "-date", "oldest": "date"}

Key = tuple[float, str]


def ordered(connection: Connection, ranked: Sequence[RankedDocument], sort: str) -> list[RankedDocument]:
    """Return the documents by a field, ascending; with a minus before its name, descending; `newest` and `oldest` by
    date. Those with all words of the query stay before the others, and those without the field come last. Raises
    InvalidParams."""
    sort = _BY_AGE.get(sort.lower(), sort)
    name, is_descending = sort.removeprefix("-").lower(), sort.startswith("-")
    keys = _keys(connection, name, [each.id for each in ranked])
    there = [each for each in ranked if each.id in keys]
    # The sort is stable, so the better of two equals stays first.
    there.sort(key=lambda each: keys[each.id], reverse=is_descending)
    found = there + [each for each in ranked if each.id not in keys]
    return sorted(found, key=lambda each: -each.components.get("every_word", 1.0))


def _keys(connection: Connection, name: str, ids: Sequence[int]) -> dict[int, Key]:
    return _keys_by(connection, ids, *_expression(connection, name))


@by_id
def _keys_by(
    connection: Connection, ids: Collection[int], expression: str, values: tuple[object, ...]
) -> dict[int, Key]:
    statement = f"SELECT d.id, {expression} FROM json_each(?) wanted CROSS JOIN documents d ON d.id = wanted.value"
    rows = connection.execute(statement, (*values, msgspec.json.encode(list(ids)).decode()))
    return {id_: _key(value) for id_, value in rows if value not in (None, "")}


def _expression(connection: Connection, name: str) -> tuple[str, tuple[object, ...]]:
    field = registry.BY_NAME.get(name)
    if field and field.order:
        return field.order, ()
    spellings = frontmatter.spellings(connection)
    if not field and name in spellings:
        return frontmatter.first_value(spellings[name])
    offered = [each.name for each in registry.FIELDS if each.order]
    raise InvalidParams(f"results cannot be sorted by {name!r}: {_advice(name, offered, list(spellings))}")


def _advice(name: str, offered: Sequence[str], more: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, [*offered, *more], n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"use {', '.join(offered)}, or a field that is in a document's frontmatter"


def _key(value: object) -> Key:
    """Return a key that puts numbers, including those written as texts, before texts."""
    if isinstance(value, int | float):
        return (float(value), "")
    text = str(value)
    if frontmatter.is_number(text):
        return (float(text), "")
    return (float("inf"), text.casefold())
