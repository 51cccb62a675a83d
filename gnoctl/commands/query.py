"""`gnoctl query`: documents by keyword and by meaning."""

from __future__ import annotations

from typing import Annotated, Literal

from gnoctl.options import Command, option
from gnoctl.searching import QueryOptions, find, params_of
from gnod.protocol.params import SearchQueryParams

HELP = """Find documents by keyword and by meaning: the best search there is here.

Ask as you like, in a few words or in a sentence. "quoted words" must be there, and -word leaves documents out. What
models are on this machine decides what is done: without any, it is a search by keyword; with more, the query is also
asked in other words, and the best documents are read again. `--explain` shows every step, and why one was left out.

For control, write one search a line: `lex:` by keyword, `vec:` by meaning, `hyde:` a passage that would answer.

Examples:

  gnoctl query how do we bring a release to production

  gnoctl query 'restore "point in time" -mysql' -c notes -n 10 --explain

  gnoctl query $'lex: "blue green" deploy\\nvec: switching traffic to a new version without downtime'
"""


class HybridOptions(QueryOptions, frozen=True, kw_only=True):
    no_expand: Annotated[bool, option("--no-expand", help="Do not let a model add other wordings.")] = False
    no_rerank: Annotated[bool, option("--no-rerank", help="Do not let a model read the best documents again.")] = False
    no_floor: Annotated[
        bool, option("--no-floor", help="Let reranking bury documents that have the query's own words.")
    ] = False
    candidates: Annotated[
        int, option("--candidates", metavar="N", help="How many documents are read again (default 20).")
    ] = 20
    rrf: Annotated[bool, option("--rrf", help="Fuse by ranks instead of by scores.")] = False
    budget: Annotated[
        float, option("--budget", metavar="SECONDS", help="Time for the steps that need a model (default 2).")
    ] = 2.0


def query(options: HybridOptions) -> None:
    text = " ".join(options.query)
    fusion: Literal["convex", "rrf"] = "rrf" if options.rrf else "convex"
    params = params_of(
        options,
        SearchQueryParams,
        query=text,
        expand=not options.no_expand,
        rerank=not options.no_rerank,
        floor=not options.no_floor,
        candidates=options.candidates,
        fusion=fusion,
        budget_s=options.budget,
    )
    find(options, "search.query", params, nothing=f"No results for {text}", may_last=True)


COMMAND = Command(HybridOptions, query, HELP)
