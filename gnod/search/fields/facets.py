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


def count(connection: Connection, names: Sequence[str], ids: Sequence[int]) -> dict[str, list[Count]]:
    """Return the most frequent values of each field, and in how many of the documents they are; copies count once.
    Raises InvalidParams."""
    sources = {name: _source(connection, name.lower()) for name in names}
    copied = representatives(connection, ids).by_id
    different = [id_ for id_ in ids if id_ not in copied]
    return {name: _added(_counts(connection, different, source)) for name, source in sources.items()}


def _added(counts: Sequence[Count]) -> list[Count]:
    """Add the counts of a value, and return the most frequent values."""
    sums = Counter[str]()
    for value, n in counts:
        sums[value] += n
    return [Count(*each) for each in sums.most_common(MAX_VALUES)]


@by_id
def _counts(connection: Connection, ids: Collection[int], source: tuple[str, str, tuple[object, ...]]) -> list[Count]:
    tables, expression, values = source
    rows = connection.execute(
        f"SELECT value, count(DISTINCT id) AS n FROM (SELECT {expression} AS value, d.id AS id FROM json_each(?) wanted"
        f" CROSS JOIN documents d ON d.id = wanted.value {tables})"
        f" WHERE value <> '' GROUP BY value ORDER BY n DESC, value LIMIT {MAX_VALUES}",
        (msgspec.json.encode(list(ids)).decode(), *values),
    )
    return [Count(str(value), n) for value, n in rows]


def _source(connection: Connection, name: str) -> tuple[str, str, tuple[object, ...]]:
    """Return the tables with the values, the SQL expression of a value, and what both are bound to."""
    field = registry.BY_NAME.get(name)
    if field and field.counted:
        return "JOIN tags t ON t.document_id = d.id" if field.name == "tag" else "", field.counted, ()
    spellings = frontmatter.spellings(connection)
    if not field and name in spellings:
        return frontmatter.all_values(spellings[name])
    offered = ", ".join(each.name for each in registry.FIELDS if each.counted)
    raise InvalidParams(f"there are no facets for {name!r}: use {offered}, or a field of the frontmatter")
