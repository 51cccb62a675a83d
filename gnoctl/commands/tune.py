"""`gnoctl tune`: learn from a collection how much its vectors should count in hybrid search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from gnoctl import text
from gnoctl.command import JsonOptions, command
from gnoctl.failures import NOTHING_INDEXED, note
from gnoctl.options import argument, option
from gnoctl.table import columns
from gnod.errors import UsageError
from gnod.protocol.tuning import CollectionPrior, IndexTuneParams, IndexTuneResult


class TuneOptions(JsonOptions, frozen=True, kw_only=True):
    collections: Annotated[
        list[str], argument("COLLECTION", help="Only these collections [default: all]", complete="collections")
    ] = []
    only_show: Annotated[bool, option("--show", help="Show what was learned; learn nothing")] = False
    reset: Annotated[bool, option("--reset", help="Forget what was learned")] = False


@command("tune", TuneOptions)
def tune(options: TuneOptions) -> None:
    """Learn how much vectors should count in a collection.

    Makes questions from its titles, headings, first sentences, docstrings and links, removes each from its document,
    and measures which mix of keyword and vector search finds the document again. The mix changes only if a statistical
    test says that this helps. The daemon does it once by itself, after a collection is embedded and the machine has
    been idle. Nothing leaves this machine, and only the figures are kept.

    Examples:
      gnoctl tune
      gnoctl tune notes --show
      gnoctl tune notes --reset
    """
    if options.only_show and options.reset:
        raise UsageError("--show and --reset exclude each other")
    action: Literal["tune", "show", "reset"] = "show" if options.only_show else "reset" if options.reset else "tune"
    params = IndexTuneParams(collections=options.collections, action=action)
    result = options.call("index.tune", params, IndexTuneResult, shows_progress=action == "tune")
    options.show(result, _table(result, options))
    if options.json:
        return
    if not result.collections:
        note(NOTHING_INDEXED)
    for each in result.collections:
        if action == "tune" and not each.questions:
            options.note(f"{each.name}: its documents make too few questions, so nothing changes")


def _table(result: IndexTuneResult, options: TuneOptions) -> Iterator[str]:
    rows = [
        [
            each.name,
            _factor(each),
            f"{each.questions:,}",
            *map(_figure, (each.keyword, each.vector, each.before, each.after)),
            each.measured_at or "never",
        ]
        for each in result.collections
    ]
    if rows:
        headers = ["collection", "vectors count", "questions", "keyword", "vector", "hybrid", "now", "measured"]
        yield from columns(headers, rows, options.terminal)
    if any(each.questions for each in result.collections):
        yield ""
        yield text.line("keyword, vector, hybrid (before) and now: nDCG@10 over the questions")


def _factor(prior: CollectionPrior) -> str:
    return "as usual" if prior.vector_odds == 1 else f"{prior.vector_odds:g} times"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
