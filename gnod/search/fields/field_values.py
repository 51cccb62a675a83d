"""The values of documents in fields: count them as facets, sort results by them, return them as rows.

A counted value can be a filter (`reading.chosen`); the same documents then pass it. Must not depend on how values are
printed.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from gnod.errors import InvalidParams
from gnod.search.fields import frontmatter, registry
from gnod.search.query.filter_dates import moment
from gnod.search.ranking.ranked import RankedDocument, representatives
from gnod.store.connection import Connection, by_id
from gnod.store.tables import documents, tags
from gnod.store.tables.documents import DocumentRow

MAX_VALUES = 50
# Count at most this many documents.
MAX_DOCUMENTS = 100_000
# Sort at most this many of the best documents.
MOST_SORTED = 20_000
_BY_AGE = {"newest": "-date", "oldest": "date"}

Key = tuple[float, str]


class Count(NamedTuple):
    value: str
    documents: int


class _Values(NamedTuple):
    """The values of a field in SQL. `tables`: to join. `shown`, `compared`: the expressions of a value for display and
    for comparison. `part`: returns the part of a path that is counted."""

    tables: str
    shown: str
    compared: str
    bound: tuple[object, ...] = ()
    part: Callable[[str], str] | None = None


_TAGS = _Values("JOIN tags t ON t.document_id = d.id", "t.written", "t.tag")
# Each age includes the shorter ones.
_AGES = ("7d", "30d", "1y")
# This name means every field of the documents' own metadata.
OWN = "*"
_MAX_OWN_FIELDS = 40
# Longer texts are prose, not values to choose from.
_MAX_OWN_CHARS = 100


def count(
    connection: Connection, names: Sequence[str], ids: Sequence[int], most: int = MAX_VALUES
) -> dict[str, list[Count]]:
    """Return the `most` frequent values of each field, with the number of documents; copies count once. A document also
    counts for the parents of its tags and of its folder. Raises InvalidParams."""
    sources = {name: _source(connection, name.lower()) for name in names if name != OWN}
    copied = representatives(connection, ids)
    different = [id_ for id_ in ids if id_ not in copied]
    found = {name: _added(_counts(connection, different, source), most) for name, source in sources.items()}
    return found | (_own(connection, different, most) if OWN in names else {})


def is_own(connection: Connection, name: str) -> bool:
    return _is_listed(name) and name in frontmatter.spellings(connection)


def _is_listed(name: str) -> bool:
    """Return whether OWN includes this field."""
    return name not in registry.BY_NAME or registry.BY_NAME[name].is_own


def _added(counts: Iterable[tuple[str, str, int]], most: int) -> list[Count]:
    """Add the counts of a value, and return the most frequent values."""
    sums = Counter[str]()
    shown: dict[str, str] = {}
    for compared, value, n in counts:
        sums[compared] += n
        shown[compared] = min(value, shown.get(compared, value))
    frequent = sorted(sums, key=lambda value: (-sums[value], value))[:most]
    return [Count(shown[value], sums[value]) for value in frequent]


def _counts(connection: Connection, ids: Collection[int], values: _Values) -> Iterable[tuple[str, str, int]]:
    counted = _counted(connection, ids, values)
    if values.part is None:
        return counted
    parts = Counter(map(values.part, (path for _, path, _ in counted)))
    return ((part.lower(), part, n) for whole, n in parts.items() for part in _with_those_above(whole))


def _with_those_above(path: str) -> list[str]:
    """Return a folder, and the folders above it.

    >>> _with_those_above("notes/a"), _with_those_above("")
    (['notes', 'notes/a'], [])
    """
    parts = path.split("/") if path else []
    return ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]


def _folder(address: str) -> str:
    return address.rpartition("/")[0]


def extension(path: str) -> str:
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot else ""


_PARTS: dict[str, Callable[[str], str]] = {"folder": _folder, "ext": extension}


@by_id
def _counted(connection: Connection, ids: Collection[int], values: _Values) -> list[tuple[str, str, int]]:
    rows = connection.execute(
        "SELECT compared, min(shown), count(DISTINCT id) FROM"
        f" (SELECT {values.compared} AS compared, {values.shown} AS shown, d.id AS id FROM json_each(?) wanted"
        f" CROSS JOIN documents d ON d.id = wanted.value {values.tables})"
        " WHERE compared <> '' GROUP BY compared",
        (msgspec.json.encode(list(ids)).decode(), *values.bound),
    )
    return [(str(compared), str(shown), n) for compared, shown, n in rows]


def _own(connection: Connection, ids: Collection[int], most: int) -> dict[str, list[Count]]:
    """Return the counts for the fields of the documents' own metadata. Fields with repeated values come first."""
    own: dict[str, list[tuple[str, str, int]]] = {}
    for name, value, n in _own_counts(connection, ids):
        if _is_listed(name):
            own.setdefault(name, []).append((value, value, n))
    useful = sorted(own, key=lambda name: (-sum(n - 1 for *_, n in own[name]), name))[:_MAX_OWN_FIELDS]
    return {name: _added(own[name], most) for name in useful}


@by_id
def _own_counts(connection: Connection, ids: Collection[int]) -> list[tuple[str, str, int]]:
    tables, value = frontmatter.ALL_FIELDS
    rows = connection.execute(
        "SELECT name, shown, count(DISTINCT id) FROM"
        f" (SELECT f.key AS name, {value} AS shown, d.id AS id FROM json_each(?) wanted"
        f" CROSS JOIN documents d ON d.id = wanted.value AND d.metadata <> '{{}}' {tables})"
        f" WHERE shown <> '' AND length(shown) <= {_MAX_OWN_CHARS} GROUP BY name, shown",
        (msgspec.json.encode(list(ids)).decode(),),
    )
    return [(str(name).lower(), str(shown), n) for name, shown, n in rows]


def _source(connection: Connection, name: str) -> _Values:
    field = registry.BY_NAME.get(name)
    if field and field.name == "tag":
        return _TAGS
    if field and field.name == "after":
        ages = msgspec.json.encode({age: moment(age) for age in _AGES}).decode()
        return _Values("JOIN json_each(?) age ON d.dated >= age.value", "age.key", "age.key", (ages,))
    if field and field.counted:
        return _Values("", field.counted, field.counted, part=_PARTS.get(field.name))
    spellings = frontmatter.spellings(connection)
    if field and field.stated:
        return _stated([spelling for each in field.stated for spelling in spellings.get(each, [])])
    if not field and name in spellings:
        return _stated(spellings[name])
    offered = ", ".join(each.name for each in registry.FIELDS if each.counted or each.stated)
    raise InvalidParams(f"there are no facets for {name!r}: use tag, after, {offered}, or a field of the frontmatter")


def _stated(names: list[str]) -> _Values:
    tables, value, bound = frontmatter.all_values(names)
    return _Values(tables, value, value, bound)


def ordered(connection: Connection, ranked: Sequence[RankedDocument], sort: str) -> list[RankedDocument]:
    """Sort the documents by a field, ascending; with a minus before its name, descending; `newest` and `oldest` by
    date. Documents with all words of the query stay before the others, and documents without the field come last.
    Raises InvalidParams."""
    sort = _BY_AGE.get(sort.lower(), sort)
    name, is_descending = sort.removeprefix("-").lower(), sort.startswith("-")
    keys = _keys(connection, [each.id for each in ranked], *_expression(connection, name))
    there = [each for each in ranked if each.id in keys]
    # The sort is stable: among equals, the better document stays first.
    there.sort(key=lambda each: keys[each.id], reverse=is_descending)
    found = there + [each for each in ranked if each.id not in keys]
    return sorted(found, key=lambda each: -each.components.get("every_word", 1.0))


@by_id
def _keys(connection: Connection, ids: Collection[int], expression: str, values: tuple[object, ...]) -> dict[int, Key]:
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
    """Return a key that sorts numbers, including numbers in texts, before texts."""
    if isinstance(value, int | float):
        return (float(value), "")
    text = str(value)
    if frontmatter.is_number(text):
        return (float(text), "")
    return (float("inf"), text.casefold())


class DocumentValues(NamedTuple):
    """`values`: the document's values, by column."""

    docid: str
    uri: str
    values: dict[str, object]


def _day(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds).date().isoformat()
    except (OverflowError, ValueError, OSError):  # a file's time may have any value
        return None


_OF_FILE: Mapping[str, Callable[[DocumentRow], object]] = {
    "docid": lambda document: document.docid,
    "uri": lambda document: document.uri,
    "source": lambda document: document.source,
    "mime": lambda document: document.mime,
    "title": lambda document: document.title,
    "path": lambda document: document.path,
    "lang": lambda document: document.language,
    "ext": lambda document: extension(document.path),
    "folder": lambda document: f"{document.collection}/{document.path}".rpartition("/")[0],
    "collection": lambda document: document.collection,
    "date": lambda document: _day(document.dated),
    "modified": lambda document: _day(document.mtime_ns / 1e9),
    "size": lambda document: document.size,
}
_STATED = {field.name: field.stated for field in registry.FIELDS if field.stated}
_BUILT_IN = ("tag", *_OF_FILE, *_STATED)


def rows(connection: Connection, ids: Sequence[int], names: Sequence[str]) -> list[DocumentValues]:
    """Return a row for each document, in order. Raises InvalidParams for a column that no document has."""
    _check(connection, names)
    found = _rows(connection, ids, names) if ids else {}
    return [found[id_] for id_ in ids if id_ in found]


@by_id
def _rows(connection: Connection, ids: Collection[int], names: Sequence[str]) -> dict[int, DocumentValues]:
    found = documents.by_ids(connection, ids)
    return {id_: DocumentValues(each.docid, each.uri, _values(connection, each, names)) for id_, each in found.items()}


def _values(connection: Connection, document: DocumentRow, names: Sequence[str]) -> dict[str, object]:
    metadata = msgspec.json.decode(document.metadata, type=dict[str, object])
    own = {name.lower(): value for name, value in reversed(metadata.items())}
    values = {name: _value(connection, document, own, _canonical(name)) for name in names}
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def _value(connection: Connection, document: DocumentRow, own: Mapping[str, object], name: str) -> object:
    if name == "tag":
        return tags.of(connection, document.id)
    if name in _OF_FILE:
        return _OF_FILE[name](document)
    return next((own[each] for each in _STATED.get(name, (name,)) if each in own), None)


def _canonical(name: str) -> str:
    field = registry.BY_NAME.get(name.lower())
    return field.name if field and field.name in _BUILT_IN else name.lower()


def _check(connection: Connection, names: Sequence[str]) -> None:
    for name in names:
        if _canonical(name) not in _BUILT_IN and name.lower() not in (known := frontmatter.spellings(connection)):
            close = difflib.get_close_matches(name.lower(), [*_BUILT_IN, *known], n=1)
            advice = f"did you mean {close[0]}?" if close else f"use {', '.join(_BUILT_IN)}, or a field of documents"
            raise InvalidParams(f"no document has a column {name!r}: {advice}")
