"""Count the values of fields over documents: how many have each tag, type, year …"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from gnod.errors import InvalidParams
from gnod.search.fields import frontmatter, registry
from gnod.search.ranking.distinct import representatives
from gnod.store.connection import Connection, by_id

MAX_VALUES = 50
# Count at most this many documents.
MAX_DOCUMENTS = 100_000


class Count(NamedTuple):
    value: str
    documents: int


class _Values(NamedTuple):
    """The values of a field in SQL: `tables` that have them, to be joined; how one is shown, and how it is compared."""

    tables: str
    shown: str
    compared: str
    bound: tuple[object, ...] = ()


_TAGS = _Values("JOIN tags t ON t.document_id = d.id", "t.written", "t.tag")


def count(connection: Connection, names: Sequence[str], ids: Sequence[int]) -> dict[str, list[Count]]:
    """Return the most frequent values of each field, and in how many of the documents they are; copies count once. A
    document with a tag also counts for the tags above it. Raises InvalidParams."""
    sources = {name: _source(connection, name.lower()) for name in names}
    copied = representatives(connection, ids).by_id
    different = [id_ for id_ in ids if id_ not in copied]
    return {name: _added(_counts(connection, different, source)) for name, source in sources.items()}


def _added(counts: Sequence[tuple[str, str, int]]) -> list[Count]:
    """Add the counts of a value, and return the most frequent values."""
    sums = Counter[str]()
    shown: dict[str, str] = {}
    for compared, value, n in counts:
        sums[compared] += n
        shown.setdefault(compared, value)
    return [Count(shown[compared], n) for compared, n in sums.most_common(MAX_VALUES)]


@by_id
def _counts(connection: Connection, ids: Collection[int], values: _Values) -> list[tuple[str, str, int]]:
    rows = connection.execute(
        "SELECT compared, min(shown), count(DISTINCT id) AS n FROM"
        f" (SELECT {values.compared} AS compared, {values.shown} AS shown, d.id AS id FROM json_each(?) wanted"
        f" CROSS JOIN documents d ON d.id = wanted.value {values.tables})"
        f" WHERE compared <> '' GROUP BY compared ORDER BY n DESC, compared LIMIT {MAX_VALUES}",
        (msgspec.json.encode(list(ids)).decode(), *values.bound),
    )
    return [(str(compared), str(shown), n) for compared, shown, n in rows]


def _source(connection: Connection, name: str) -> _Values:
    field = registry.BY_NAME.get(name)
    if field and field.name == "tag":
        return _TAGS
    if field and field.counted:
        return _Values("", field.counted, field.counted)
    spellings = frontmatter.spellings(connection)
    if field and field.stated:
        return _stated([spelling for each in field.stated for spelling in spellings.get(each, [])])
    if not field and name in spellings:
        return _stated(spellings[name])
    offered = ", ".join(each.name for each in registry.FIELDS if each.counted or each.stated or each.name == "tag")
    raise InvalidParams(f"there are no facets for {name!r}: use {offered}, or a field of the frontmatter")


def _stated(names: list[str]) -> _Values:
    tables, value, bound = frontmatter.all_values(names)
    return _Values(tables, value, value, bound)
