"""`gnoctl recall`: what is remembered of something."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.memories import render_found
from gnoctl.options import Command, JsonOptions, argument, option
from gnod.errors import UsageError
from gnod.protocol.memory import (
    MAX_DEEP_RESULTS,
    MAX_RESULTS,
    MemoryDeepSearchParams,
    MemorySearchParams,
    MemorySearchResult,
)

HELP = """Find what was remembered, by meaning and by topic.

The number before each is its score: 0.30 and above is excellent, 0.20 to 0.30 good, below that weak. Texts are
shortened: `gnoctl memory show ID` prints the whole.

Examples:

  gnoctl recall how is the staging database filled

  gnoctl recall 'postgres restore' --deep --namespace team
"""

PEOPLE_LIMIT = 10


class RecallOptions(JsonOptions, frozen=True, kw_only=True):
    query: Annotated[list[str], argument("QUERY", help="What to look for.")]
    deep: Annotated[
        bool, option("--deep", help="Look among four times as many; needs two keywords or more, and more time.")
    ] = False
    namespace: Annotated[list[str], option("--namespace", metavar="NAME", help="Only there; repeat it for more.")] = (
        field(default_factory=list)
    )
    limit: Annotated[
        Annotated[int, Meta(ge=1, le=MAX_DEEP_RESULTS)] | None,
        option(
            "-n",
            "--limit",
            help=f"How many (default {PEOPLE_LIMIT}, with --json all; at most {MAX_RESULTS}, deep {MAX_DEEP_RESULTS}).",
        ),
    ] = None


def recall(options: RecallOptions) -> None:
    query = " ".join(options.query)
    method, params = _asked(options, query)
    with options.connect() as daemon:
        result = daemon.call(method, params, MemorySearchResult)
    if options.json:
        print_json(result)
    elif result.results:
        for line in render_found(result, options.terminal):
            print(line)
    else:
        note(f"Nothing is remembered of {query}")
        for each in result.notes:
            note(each, quiet=options.quiet)


def _asked(options: RecallOptions, query: str) -> tuple[str, MemorySearchParams]:
    most = MAX_DEEP_RESULTS if options.deep else MAX_RESULTS
    if options.limit and options.limit > most:
        raise UsageError(f"-n is at most {MAX_RESULTS}, and with --deep {MAX_DEEP_RESULTS}")
    limit = options.limit or (most if options.json else PEOPLE_LIMIT)
    if options.deep:
        return "memory.deep_search", MemoryDeepSearchParams(query=query, namespaces=options.namespace, limit=limit)
    return "memory.search", MemorySearchParams(query=query, namespaces=options.namespace, limit=limit)


COMMAND = Command(RecallOptions, recall, HELP)
