"""The options of a plain search, declared without msgspec. The options of the commands refer to them."""

from __future__ import annotations

from gnoctl.arguments.parser import Spec

FILTERS = "Filters"
PEOPLE_LIMIT = 5
PROGRAM_LIMIT = 20

QUERY = Spec((), "What to search for", "QUERY", group="Arguments", name="query", repeats=True, required=True)
LIMIT = Spec(
    ("-n", "--limit"),
    f"Return at most this many documents [default: {PEOPLE_LIMIT}; {PROGRAM_LIMIT} with --json, --csv, …]",
    "NUMBER",
    group="Output",
    name="limit",
    kind=int,
)
COLLECTIONS = Spec(
    ("-c", "--collection"),
    "Search only this collection; repeat it, or separate names by commas",
    "NAME",
    complete="collections",
    group=FILTERS,
    name="collections",
    repeats=True,
)
JSON = Spec(("--json",), "Print the daemon's answer as JSON", "", group="Output", name="json", kind=bool)


def split_commas(values: list[str]) -> list[str]:
    return [part for value in values for part in value.split(",") if part]
