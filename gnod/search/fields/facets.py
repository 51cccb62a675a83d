"""Count the values of fields over documents: how many have each tag, type, year …

A value that is counted can be a filter (`reading.chosen`), which then passes these documents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

import msgspec

from gnod.errors import InvalidParams
from gnod.search.fields import frontmatter, registry
from gnod.search.query.filter_dates import moment
from gnod.search.ranking.ranked import representatives
from gnod.store.connection import Connection, by_id

MAX_VALUES = 50
# Count at most this many documents.
MAX_DOCUMENTS = 100_000


class Count(NamedTuple):
    value: str
    documents: int


class _Values(NamedTuple):
    """The values of a field in SQL: `tables` that have them, to be joined; how one is shown, and how it is compared.
    `part`: of such a path, what is counted."""

    tables: str
    shown: str
    compared: str
    bound: tuple[object, ...] = ()
    part: Callable[[str], str] | None = None


_TAGS = _Values("JOIN tags t ON t.document_id = d.id", "t.written", "t.tag")
# Each age includes those before it.
_AGES = ("7d", "30d", "1y")
# The name that stands for every field of the documents' own metadata.
OWN = "*"
_MAX_OWN_FIELDS = 40
# Longer texts are prose, not values to choose from.
_MAX_OWN_CHARS = 100


def count(
    connection: Connection, names: Sequence[str], ids: Sequence[int], most: int = MAX_VALUES
) -> dict[str, list[Count]]:
    """Return the `most` frequent values of each field, and in how many of the documents they are; copies count once. A
    document with a tag also counts for the tags above it, one in a folder for the folders above it. Raises
    InvalidParams."""
    sources = {name: _source(connection, name.lower()) for name in names if name != OWN}
    copied = representatives(connection, ids)
    different = [id_ for id_ in ids if id_ not in copied]
    found = {name: _added(_counts(connection, different, source), most) for name, source in sources.items()}
    return found | (_own(connection, different, most) if OWN in names else {})


def is_own(connection: Connection, name: str) -> bool:
    return _is_listed(name) and name in frontmatter.spellings(connection)


def _is_listed(name: str) -> bool:
    """Tell whether OWN stands for a field, too."""
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
    """Return those of the fields of the documents' own metadata: first those whose values occur again and again."""
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
