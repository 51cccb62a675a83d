"""The filters of the terminal UI: collection, tag, type, language and date. Pure."""

from __future__ import annotations

from typing import NamedTuple

AGES = {"7d": "last 7 days", "30d": "last 30 days", "1y": "last year"}


class NarrowingField(NamedTuple):
    """`name`: of the facet and of the field in queries; `filter`: the parameter of a search."""

    name: str
    filter: str
    title: str


FIELDS = (
    NarrowingField("collection", "collections", "Collection"),
    NarrowingField("tag", "tags_all", "Tag"),
    NarrowingField("type", "types", "Type"),
    NarrowingField("lang", "languages", "Language"),
)


class Narrowing(NamedTuple):
    """The filters of the search. An empty filter matches everything."""

    collections: tuple[str, ...] = ()
    tags_all: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    since: str | None = None

    def toggled(self, filter: str, value: str) -> Narrowing:
        """Add a value, or take it away. There is one date."""
        if filter == "since":
            return self._replace(since=None if self.since == value else value)
        chosen: tuple[str, ...] = getattr(self, filter)
        changed = tuple(each for each in chosen if each != value) if value in chosen else (*chosen, value)
        return self._replace(**{filter: changed})  # type: ignore[arg-type]

    def has(self, filter: str, value: str) -> bool:
        return self.since == value if filter == "since" else value in getattr(self, filter)

    def without(self, filter: str) -> Narrowing:
        """Return the others: the counts of a field's values do not depend on the field itself."""
        return self._replace(since=None) if filter == "since" else self._replace(**{filter: ()})  # type: ignore[arg-type]

    def params(self) -> dict[str, object]:
        return {name: [*value] if isinstance(value, tuple) else value for name, value in self._asdict().items()}

    def query(self) -> str:
        """Return a query that lists the documents.

        >>> Narrowing(tags_all=("tax",), since="7d").query()
        'tag:"tax" modified:>7d'
        """
        words = [f'{field.name}:"{value}"' for field in FIELDS for value in getattr(self, field.filter)]
        return " ".join([*words, *([f"modified:>{self.since}"] if self.since else [])])

    def __str__(self) -> str:
        """Return the filters in words.

        >>> str(Narrowing(collections=("notes", "papers"), tags_all=("tax",)))
        'notes, papers · #tax'
        """
        parts = [
            ", ".join(self.collections),
            " ".join(f"#{tag}" for tag in self.tags_all),
            ", ".join(self.types),
            ", ".join(self.languages),
            AGES.get(self.since or "", self.since or ""),
        ]
        return " · ".join(filter(None, parts))
