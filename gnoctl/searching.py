"""What every search command shares: its options, the call, and what is printed of the answer."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from msgspec import field

from gnoctl import freshness
from gnoctl.failures import note
from gnoctl.formats import FormatOptions
from gnoctl.hits import render
from gnoctl.json_output import print_json
from gnoctl.options import argument, option
from gnoctl.progress import Progress
from gnod.client.connection import Connection
from gnod.protocol.params import FilterParams, Limit, NoParams, UnitScore
from gnod.protocol.results import CollectionListResult, SearchResult

PEOPLE_LIMIT = 5
PROGRAM_LIMIT = 20

P = TypeVar("P", bound=FilterParams)


# What every search takes, `ask` too. A struct has one base, so each lists the fields; what they are stands here.
Names = Annotated[
    list[str],
    option(
        "-c",
        "--collection",
        metavar="NAME",
        help="Only there; repeat it, or separate names by commas.",
        complete="collections",
    ),
]
Tags = Annotated[list[str], option("--tag", metavar="TAG", help="Only with all these tags.")]
AnyTags = Annotated[list[str], option("--any-tag", metavar="TAG", help="Only with one of these tags.")]
Languages = Annotated[list[str], option("--lang", metavar="CODE", help="Only in these languages (en, de, …).")]
Types = Annotated[list[str], option("--type", metavar="TYPE", help="Only of these frontmatter types.")]
Author = Annotated[str | None, option("--author", metavar="TEXT", help="Only by authors with this in the name.")]
PathPrefix = Annotated[str | None, option("--path", metavar="PREFIX", help="Only below this path in a collection.")]
Since = Annotated[
    str | None, option("--since", metavar="DATE", help="Only from that day on: 2026-11-21, or an age like 7d.")
]
Until = Annotated[str | None, option("--until", metavar="DATE", help="Only until that day.")]
Fresh = Annotated[bool, option("--fresh", help="Take in what changed on disk first.")]
Explain = Annotated[bool, option("--explain", help="Say how the result came about.")]


class FilterOptions(FormatOptions, frozen=True, kw_only=True):
    limit: Annotated[
        Limit | None,
        option(
            "-n",
            "--limit",
            help=f"How many documents (default {PEOPLE_LIMIT}; {PROGRAM_LIMIT} for programs).",
        ),
    ] = None
    min_score: Annotated[UnitScore, option("--min-score", help="Leave out what scores less, 0 to 1.")] = 0.0
    collection: Names = field(default_factory=list)
    tag: Tags = field(default_factory=list)
    any_tag: AnyTags = field(default_factory=list)
    lang: Languages = field(default_factory=list)
    type: Types = field(default_factory=list)
    author: Author = None
    path: PathPrefix = None
    since: Since = None
    until: Until = None
    full: Annotated[bool, option("--full", help="Whole documents instead of snippets.")] = False
    line_numbers: Annotated[bool, option("--line-numbers", help="Number the lines shown.")] = False
    fresh: Fresh = False
    explain: Explain = False


class QueryOptions(FilterOptions, frozen=True, kw_only=True):
    query: Annotated[list[str], argument("QUERY", help="What to look for.")]


def params_of(options: FilterOptions, kind: type[P], **what: Any) -> P:
    """Return the parameters of one search; `what` is what its kind takes besides."""
    return kind(
        limit=options.limit or (PEOPLE_LIMIT if options.output == "people" else PROGRAM_LIMIT),
        min_score=options.min_score,
        full=options.full,
        **scope_of(options),
        **what,
    )


def scope_of(options: Any) -> dict[str, Any]:
    """Return the parameters that every search takes, from options with the fields above."""
    return {
        "collections": split_commas(options.collection),
        "tags_all": split_commas(options.tag),
        "tags_any": split_commas(options.any_tag),
        "languages": split_commas(options.lang),
        "types": split_commas(options.type),
        "path_prefix": options.path,
        "author": options.author,
        "since": options.since,
        "until": options.until,
        "fresh": options.fresh,
        "explain": options.explain,
    }


def find(options: FilterOptions, method: str, params: FilterParams, *, nothing: str, may_last: bool = False) -> None:
    """Ask for the documents and print them; `nothing` is said where there are none. `may_last`: show progress."""
    output = options.output
    with options.connect() as daemon:
        with Progress(quiet=options.quiet or output != "people", no_color=options.no_color) as progress:
            result = daemon.call(method, params, SearchResult, on_progress=progress if may_last else None)
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
            note(nothing)
            _why_nothing(result, params, daemon)


def split_commas(values: list[str]) -> list[str]:
    return [part for value in values for part in value.split(",") if part]


def _why_nothing(result: SearchResult, params: FilterParams, daemon: Connection) -> None:
    if missed := freshness.describe(result.freshness, nothing_found=True):
        note(missed)
    elif not daemon.call("collection.list", NoParams(), CollectionListResult).collections:
        note("Nothing is indexed yet: add a folder with `gnoctl init FOLDER`")
    elif params.min_score and result.mode != "lexical":  # by keyword, the best one has the score 1
        note(f"There may be some that score less than {params.min_score:g}: `--min-score` leaves them out")
