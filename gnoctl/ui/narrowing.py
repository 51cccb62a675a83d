"""The filters of the terminal UI: values of fields, like those of facets. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

FIELDS = {
    "collection": "Collection",
    "folder": "Folder",
    "ext": "File type",
    "type": "Type",
    "tag": "Tag",
    "lang": "Language",
    "author": "Author",
    "date": "Year",
    "after": "Newer than",
}
"""The built-in fields by their names in queries. The fields of the frontmatter follow them."""
AGES = {"7d": "7 days", "30d": "30 days", "1y": "a year"}


class FilterChoice(NamedTuple):
    field: str
    value: str


class Narrowing(NamedTuple):
    """The filters of the search. Without filters, it matches everything."""

    chosen: tuple[FilterChoice, ...] = ()

    @classmethod
    def to(cls, *, collections: Iterable[str] = (), tags: Iterable[str] = ()) -> Narrowing:
        by_collection = (FilterChoice("collection", name) for name in collections)
        return cls((*by_collection, *(FilterChoice("tag", tag) for tag in tags)))

    def toggled(self, choice: FilterChoice) -> Narrowing:
        """Add a value, or remove it. Only one age can be chosen, because each age includes the smaller ones."""
        if choice in self.chosen:
            return Narrowing(tuple(each for each in self.chosen if each != choice))
        kept = (each for each in self.chosen if each.field != "after" or choice.field != "after")
        return Narrowing((*kept, choice))

    def params(self) -> dict[str, object]:
        """Return the filters as parameters of a search. A document must have all the tags, and one of the other
        values."""
        fields = self._by_field()
        return {"collections": fields.pop("collection", []), "tags_all": fields.pop("tag", []), "fields": fields}

    def __str__(self) -> str:
        """Return the filters in words.

        >>> str(Narrowing.to(collections=["notes", "papers"], tags=["tax"]).toggled(FilterChoice("after", "7d")))
        'notes, papers · #tax · newer than 7 days'
        """
        return " · ".join(_in_words(field, values) for field, values in self._by_field().items())

    def _by_field(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for field, value in self.chosen:
            found.setdefault(field, []).append(value)
        return found


def title_of(field: str) -> str:
    return FIELDS.get(field, field)


def shown_value(choice: FilterChoice) -> str:
    return AGES.get(choice.value, choice.value) if choice.field == "after" else choice.value


def _in_words(field: str, values: list[str]) -> str:
    if field == "tag":
        return " ".join(f"#{tag}" for tag in values)
    shown = ", ".join(shown_value(FilterChoice(field, value)) for value in values)
    if field == "after":
        return f"newer than {shown}"
    return shown if field in FIELDS else f"{field}: {shown}"
