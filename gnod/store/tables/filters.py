"""Turn the filters of all searches into a condition on the table of documents (alias `d`)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple
from unicodedata import normalize

from gnod.store.connection import json_list


class Condition(NamedTuple):
    """An SQL condition on documents (alias `d`) with its values."""

    where: str
    values: tuple[object, ...] = ()

    def with_ids(self, ids: Collection[int]) -> Condition:
        listed = json_list(sorted(ids))
        return Condition(f"d.id IN (SELECT value FROM json_each(?)) AND {self.where}", (listed, *self.values))


class Filters(NamedTuple):
    """Empty tuples and None mean no filter. `since` and `until` are in seconds since 1970, inclusive. `excluded`: ids
    of documents to leave out, for evaluation. `conditions`: the conditions from fields in the query."""

    collections: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    path_prefix: str | None = None
    author: str | None = None
    since: float | None = None
    until: float | None = None
    excluded: frozenset[int] = frozenset()
    conditions: tuple[Condition, ...] = ()

    @property
    def are_empty(self) -> bool:
        return self == Filters()

    def condition(self) -> Condition:
        """Return all filters as one condition."""
        conditions: list[str] = ["d.active"]
        values: list[object] = []

        def add(condition: str, *bound: object) -> None:
            conditions.append(condition)
            values.extend(bound)

        if self.collections:
            add(
                f"d.collection_id IN (SELECT id FROM collections WHERE name IN {_marks(self.collections)})",
                *self.collections,
            )
        for tag in self.tags_all:
            add("EXISTS (SELECT 1 FROM tags WHERE document_id = d.id AND tag = ?)", tag)
        if self.tags_any:
            add(
                f"EXISTS (SELECT 1 FROM tags WHERE document_id = d.id AND tag IN {_marks(self.tags_any)})",
                *self.tags_any,
            )
        if self.languages:
            add(f"d.language IN {_marks(self.languages)}", *self.languages)
        if self.types:
            one_of = " OR ".join(["instr(', ' || lower(d.doc_type) || ',', ', ' || ? || ',') > 0"] * len(self.types))
            add(f"({one_of})", *self.types)
        if self.path_prefix:
            path = "d.path" if self.path_prefix.isascii() else "composed(d.path)"
            prefix = normalize("NFC", self.path_prefix)
            add(f"substr({path}, 1, ?) = ?", len(prefix), prefix)
        if self.author:
            add("instr(lower(d.author), ?) > 0", self.author)
        if self.since is not None:
            add("d.dated >= ?", self.since)
        if self.until is not None:
            add("d.dated <= ?", self.until)
        if self.excluded:
            listed = json_list(sorted(self.excluded))
            add("d.id NOT IN (SELECT value FROM json_each(?))", listed)
        for condition in self.conditions:
            add(condition.where, *condition.values)
        return Condition(" AND ".join(conditions), tuple(values))


def _marks(values: tuple[str, ...]) -> str:
    return "(" + ",".join("?" * len(values)) + ")"
