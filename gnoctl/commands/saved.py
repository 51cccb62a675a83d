"""`gnoctl saved …`: searches with a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from gnoctl.arguments.options import argument
from gnoctl.arguments.shared_options import DocumentFilterOptions, filter_values
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.output import note
from gnod.protocol import search as wire
from gnod.protocol.base import NoParams


class SaveOptions(DocumentFilterOptions, frozen=True, kw_only=True):
    name: Annotated[str, argument("NAME", help="Lower-case letters, digits, - and _")]
    query: Annotated[list[str], argument("QUERY", help="What to search for; fields are part of it")]


@command("saved add", SaveOptions)
def add(options: SaveOptions) -> None:
    """Save a search under a name.

    `@name` at the beginning of a query then stands for it, in every search, in `ask`, in editors and for agents; more
    words may follow. Filters become fields of the query. A search with the same name is replaced. Saved searches are in
    index.yml.

    Examples:
      gnoctl saved add todo 'tag:work -status:done'
      gnoctl saved add papers 'year:2020.. ext:pdf' -c papers
      gnoctl search @todo invoice --sort -modified
    """
    params = wire.SearchSaveParams(name=options.name, query=" ".join(options.query), **filter_values(options))  # type: ignore[arg-type]
    result = options.call("search.save", params, wire.SearchSaveResult)
    options.show(result, _line(result.search))


@command("saved list", JsonOptions)
def list_searches(options: JsonOptions) -> None:
    """List the saved searches."""
    result = options.call("search.list", NoParams(), wire.SearchListResult)
    options.show(result, _lines(result))


def _lines(result: wire.SearchListResult) -> Iterator[str]:
    if not result.searches:
        note("No search is saved yet: run `gnoctl saved add NAME QUERY`")
    width = max((text.cells(search.name) for search in result.searches), default=0)
    for each in result.searches:
        yield _line(each, width)


def _line(search: wire.SavedSearch, width: int = 0) -> str:
    return f"@{text.pad(search.name, width)}  {text.line(search.query)}"


class ForgetSearchOptions(JsonOptions, frozen=True, kw_only=True):
    name: Annotated[str, argument("NAME", help="The name of the search")]


@command("saved remove", ForgetSearchOptions)
def remove(options: ForgetSearchOptions) -> None:
    """Remove a saved search."""
    params = wire.SearchRemoveParams(name=options.name.removeprefix("@"))
    result = options.call("search.remove", params, wire.SearchRemoveResult)
    options.show(result, f"removed {_line(result.removed)}")
