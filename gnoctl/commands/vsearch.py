"""`gnoctl vsearch`: documents by meaning."""

from __future__ import annotations

from gnoctl.options import Command
from gnoctl.searching import QueryOptions, find, params_of
from gnod.protocol.params import SearchVectorParams

HELP = """Find documents by meaning.

Ask in your own words: a page is found that says the same with other words, and in another language where the model
knows it. Quotes and minus signs have no meaning of their own here; for names and exact words there is `gnoctl search`.
It needs an embedding model on this machine: `gnoctl models pull embed` fetches one.

Examples:

  gnoctl vsearch how do we bring a release to production

  gnoctl vsearch 'what to do when the disk is full' -c notes -n 10

  gnoctl vsearch complaints about delivery --since 30d --min-score 0.7 --files
"""


def vsearch(options: QueryOptions) -> None:
    query = " ".join(options.query)
    params = params_of(options, SearchVectorParams, query=query)
    find(options, "search.vector", params, nothing=f"No results for {query}")


COMMAND = Command(QueryOptions, vsearch, HELP)
