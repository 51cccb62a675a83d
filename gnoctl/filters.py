"""The filters of `search`, `vsearch`, `query`, `similar` and `ask`, as options. Named like the wire's parameters."""

from __future__ import annotations

from typing import Annotated

from gnoctl.command import JsonOptions
from gnoctl.options import option

FILTERS = "Filters"

Collections = Annotated[
    list[str],
    option(
        "-c",
        "--collection",
        metavar="NAME",
        group=FILTERS,
        complete="collections",
        help="Search only this collection; repeat it, or separate names by commas",
    ),
]


def _filter(flag: str, metavar: str, help: str) -> object:
    return option(flag, metavar=metavar, group=FILTERS, help=help)


class FilterOptions(JsonOptions, frozen=True, kw_only=True):
    collections: Collections = []
    tags_all: Annotated[list[str], _filter("--tag", "TAG", "Only documents with all these tags")] = []
    tags_any: Annotated[list[str], _filter("--any-tag", "TAG", "Only documents with one of these tags")] = []
    languages: Annotated[list[str], _filter("--lang", "CODE", "Only documents in these languages: en, de, …")] = []
    types: Annotated[list[str], _filter("--type", "TYPE", "Only documents with this `type` in the frontmatter")] = []
    author: Annotated[str | None, _filter("--author", "TEXT", "Only documents whose author contains this text")] = None
    path_prefix: Annotated[
        str | None, _filter("--path", "PREFIX", "Only paths in the collection that begin with this")
    ] = None
    since: Annotated[
        str | None, _filter("--since", "DATE", "Only documents modified since: 2026-11-21, or an age such as 7d")
    ] = None
    until: Annotated[str | None, _filter("--until", "DATE", "Only documents modified until this date")] = None
    fresh: Annotated[bool, option("--fresh", help="Index what changed on disk first")] = False
    explain: Annotated[bool, option("--explain", help="Show how the results and scores came about")] = False


def filter_values(options: FilterOptions) -> dict[str, object]:
    """Return the wire's parameters."""
    names = (name for name in FilterOptions.__struct_fields__ if name not in JsonOptions.__struct_fields__)
    values = {name: getattr(options, name) for name in names}
    return {name: split_commas(value) if isinstance(value, list) else value for name, value in values.items()}


def split_commas(values: list[str]) -> list[str]:
    return [part for value in values for part in value.split(",") if part]
