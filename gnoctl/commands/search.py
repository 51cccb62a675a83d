"""`gnoctl search`: documents by keyword."""

from __future__ import annotations

from gnoctl.options import Command
from gnoctl.searching import QueryOptions, find, params_of
from gnod.protocol.params import SearchLexicalParams

HELP = """Find documents by keyword.

Several words are searched together and ranked; documents with all of them come first. "quoted words" are a
phrase, and -word leaves documents out: put such a query into single quotes.

Examples:

  gnoctl search rust error handling

  gnoctl search 'deploy "blue green" -kubernetes' -c notes -n 10

  gnoctl search invoice --since 30d --files
"""


def search(options: QueryOptions) -> None:
    query = " ".join(options.query)
    params = params_of(options, SearchLexicalParams, query=query)
    find(options, "search.lexical", params, nothing=f"No results for {query}")


COMMAND = Command(QueryOptions, search, HELP)
