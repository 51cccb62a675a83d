"""`gnoctl search`: documents by keyword."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from gnoctl import freshness
from gnoctl.connection import Connection
from gnoctl.failures import note
from gnoctl.formats import FormatOptions
from gnoctl.hits import render
from gnoctl.json_output import print_json
from gnoctl.options import Command, argument, option
from gnod.protocol.params import Limit, NoParams, SearchLexicalParams, UnitScore
from gnod.protocol.results import CollectionListResult, SearchResult

PEOPLE_LIMIT = 5
PROGRAM_LIMIT = 20

HELP = """Find documents by keyword.

Several words are searched together and ranked; documents with all of them come first. "quoted words" are a
phrase, and -word leaves documents out: put such a query into single quotes.

Examples:

  gnoctl search rust error handling

  gnoctl search 'deploy "blue green" -kubernetes' -c notes -n 10

  gnoctl search invoice --since 30d --files
"""


class SearchOptions(FormatOptions, frozen=True, kw_only=True):
    query: Annotated[list[str], argument("QUERY", help="What to look for.")]
    limit: Annotated[
        Limit | None,
        option(
            "-n",
            "--limit",
            help=f"How many documents (default {PEOPLE_LIMIT}; {PROGRAM_LIMIT} for programs).",
        ),
    ] = None
    min_score: Annotated[UnitScore, option("--min-score", help="Leave out what scores less, 0 to 1.")] = 0.0
    collection: Annotated[
        list[str],
        option(
            "-c",
            "--collection",
            metavar="NAME",
            help="Only there; repeat it, or separate names by commas.",
            complete="collections",
        ),
    ] = field(default_factory=list)
    tag: Annotated[list[str], option("--tag", metavar="TAG", help="Only with all these tags.")] = field(
        default_factory=list
    )
    any_tag: Annotated[list[str], option("--any-tag", metavar="TAG", help="Only with one of these tags.")] = field(
        default_factory=list
    )
    lang: Annotated[list[str], option("--lang", metavar="CODE", help="Only in these languages (en, de, …).")] = field(
        default_factory=list
    )
    type: Annotated[list[str], option("--type", metavar="TYPE", help="Only of these frontmatter types.")] = field(
        default_factory=list
    )
    author: Annotated[str | None, option("--author", metavar="TEXT", help="Only by authors with this in the name.")] = (
        None
    )
    path: Annotated[str | None, option("--path", metavar="PREFIX", help="Only below this path in a collection.")] = None
    since: Annotated[
        str | None,
        option("--since", metavar="DATE", help="Only from that day on: 2026-11-21, or an age like 7d."),
    ] = None
    until: Annotated[str | None, option("--until", metavar="DATE", help="Only until that day.")] = None
    full: Annotated[bool, option("--full", help="Whole documents instead of snippets.")] = False
    line_numbers: Annotated[bool, option("--line-numbers", help="Number the lines shown.")] = False
    fresh: Annotated[bool, option("--fresh", help="Take in what changed on disk first.")] = False
    explain: Annotated[bool, option("--explain", help="Say how the ranking came about.")] = False


def search(options: SearchOptions) -> None:
    output = options.output
    params = _params(options, PEOPLE_LIMIT if output == "people" else PROGRAM_LIMIT)
    with options.connect() as daemon:
        result = daemon.call("search.lexical", params, SearchResult)
        if output == "json":
            print_json(result)
        elif output != "people":
            from gnoctl.records import hit_record, print_records

            print_records(output, map(hit_record, result.hits))
            if missed := freshness.describe(result.freshness, nothing_found=True):
                note(missed, quiet=options.quiet)
        elif result.hits:
            for line in render(result, options.terminal, line_numbers=options.line_numbers):
                print(line)
        else:
            _nothing_found(result, daemon)


def split_commas(values: list[str]) -> list[str]:
    return [part for value in values for part in value.split(",") if part]


def _params(options: SearchOptions, default_limit: int) -> SearchLexicalParams:
    return SearchLexicalParams(
        query=" ".join(options.query),
        limit=options.limit or default_limit,
        min_score=options.min_score,
        collections=split_commas(options.collection),
        tags_all=split_commas(options.tag),
        tags_any=split_commas(options.any_tag),
        languages=split_commas(options.lang),
        types=split_commas(options.type),
        path_prefix=options.path,
        author=options.author,
        since=options.since,
        until=options.until,
        full=options.full,
        fresh=options.fresh,
        explain=options.explain,
    )


def _nothing_found(result: SearchResult, daemon: Connection) -> None:
    """Say so, and why that may be."""
    note(f"No results for {result.query}")
    if missed := freshness.describe(result.freshness, nothing_found=True):
        note(missed)
    elif not daemon.call("collection.list", NoParams(), CollectionListResult).collections:
        note("Nothing is indexed yet: add a folder with `gnoctl init FOLDER`")


COMMAND = Command(SearchOptions, search, HELP)
