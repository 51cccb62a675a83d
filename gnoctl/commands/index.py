"""`gnoctl index`, `update`, `embed`, `pause`, `resume`, `tune`, `cleanup`: the daemon's own work, on request."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from gnoctl.arguments.options import argument, option
from gnoctl.command import JsonOptions, Options, command
from gnoctl.printing import text
from gnoctl.printing.output import NOTHING_INDEXED, note
from gnoctl.printing.terminal import columns
from gnoctl.printing.wording import count, duration, size, unreadable
from gnod.client.connection import Connection
from gnod.errors import EXIT_RUNTIME, UsageError
from gnod.protocol import index as wire
from gnod.protocol.base import NoParams


class IndexOptions(JsonOptions, frozen=True, kw_only=True):
    collections: Annotated[
        list[str], argument("COLLECTION", "Only these collections [default: all]", complete="collections")
    ] = []


@command("index", IndexOptions)
def index(options: IndexOptions) -> int:
    """Make the index equal the disk now.

    The daemon does this automatically. Run it if a change must be found at once. Unchanged files are not read.
    """
    return _sync_and_show(options, update=False)


@command("update", IndexOptions)
def update(options: IndexOptions) -> int:
    """Run each collection's update command, such as `git pull`, then index it.

    A collection without an update command is only indexed.
    """
    return _sync_and_show(options, update=True)


def _sync_and_show(options: IndexOptions, *, update: bool) -> int:
    with options.connect() as daemon:
        result = sync(daemon, options, options.collections, update=update)
    options.show(result, describe_sync(result, options))
    return 0 if options.json else sync_status(result)


def sync(daemon: Connection, options: Options, collections: list[str], *, update: bool = False) -> wire.IndexSyncResult:
    """Index `collections` (all if empty) with a progress bar."""
    params = wire.IndexSyncParams(collections=collections, update=update)
    with options.progress() as progress:
        return daemon.call("index.sync", params, wire.IndexSyncResult, on_progress=progress)


def sync_status(result: wire.IndexSyncResult) -> int:
    """Return the exit status: not 0 if a folder was unavailable."""
    return 0 if all(collection.available for collection in result.collections) else EXIT_RUNTIME


def describe_sync(result: wire.IndexSyncResult, options: Options) -> Iterator[str]:
    if not result.collections:
        note(NOTHING_INDEXED)
    for each in result.collections:
        if each.available:
            yield text.line(f"{each.name}: {_changes(each)} · {each.took_ms / 1000:.1f} s")
        else:
            reason = each.reason or "its folder does not exist"
            note(f"{each.name}: not indexed: {reason}; its documents stay in the index")
    if failed := sum(collection.failed for collection in result.collections):
        options.note(f"{unreadable(failed)} (`gnoctl status --errors` lists them)")


def _changes(each: wire.CollectionSync) -> str:
    names = ("added", "updated", "removed", "unchanged", "skipped", "failed")
    changes = [f"{number:,} {name}" for name in names if (number := getattr(each, name))]
    return ", ".join(changes) or "no files"


@command("embed", JsonOptions)
def embed(options: JsonOptions) -> int:
    """Wait until all chunks have vectors.

    The daemon embeds new and changed chunks automatically; this command shows the progress. Ctrl-C stops the command,
    not the work. To stop the work, use `gnoctl pause`.
    """
    try:
        result = options.call("index.embed", wire.IndexEmbedParams(), wire.IndexEmbedResult, shows_progress=True)
    except KeyboardInterrupt:
        note("the daemon continues embedding: `gnoctl status` shows the progress, and `gnoctl pause` stops it")
        raise
    options.show(result, _embedded(result))
    return EXIT_RUNTIME if result.reason else 0


def _embedded(result: wire.IndexEmbedResult) -> Iterator[str]:
    if result.reason:
        note(text.line(f"{result.state}: {result.reason}"))
        if result.pending:
            note(f"{count(result.pending, 'chunk')} left to embed")
    elif result.done:
        yield f"embedded {count(result.done, 'chunk')} in {duration(result.took_ms / 1000)}"
    else:
        yield "all chunks have vectors"
    if result.failed:
        note(f"{count(result.failed, 'chunk')} could not be embedded: see `gnoctl daemon logs`")


@command("pause", JsonOptions)
def pause(options: JsonOptions) -> None:
    """Pause embedding until `gnoctl resume`.

    Files are still indexed and found by keyword; vector search uses the vectors that exist. The pause survives a
    restart of the daemon.
    """
    result = options.call("index.pause", NoParams(), wire.EmbeddingStatus)
    options.show(result, f"paused, {count(result.pending, 'chunk')} left to embed")


@command("resume", JsonOptions)
def resume(options: JsonOptions) -> None:
    """Resume embedding after `gnoctl pause`."""
    result = options.call("index.resume", NoParams(), wire.EmbeddingStatus)
    options.show(result, "resumed; `gnoctl embed` shows the progress")


@command("cleanup", JsonOptions)
def cleanup(options: JsonOptions) -> None:
    """Delete unused data and compact the database.

    Also deletes what is left of a damaged index, and with it the message in `gnoctl status`.
    """
    result = options.call("index.cleanup", NoParams(), wire.IndexCleanupResult)
    removed = f"{count(result.removed_documents, 'document')} and {count(result.removed_contents, 'text')}"
    freed = f"freed {size(result.freed_bytes)}; the database has {size(result.database_bytes)}"
    options.show(result, f"removed {removed}, {freed}")


class TuneOptions(IndexOptions, frozen=True, kw_only=True):
    only_show: Annotated[bool, option("--show", "Show what was learned; learn nothing")] = False
    reset: Annotated[bool, option("--reset", "Delete what was learned")] = False


@command("tune", TuneOptions)
def tune(options: TuneOptions) -> None:
    """Learn how much vectors should count in a collection.

    Makes questions from its titles, headings, first sentences, docstrings and links, removes each from its document,
    and measures which mix of keyword and vector search finds the document again. The mix changes only if a statistical
    test says that this helps. The daemon does it once by itself, after a collection is embedded and the machine has
    been idle. Nothing leaves this machine, unless a model server embeds the collection. Only the figures are kept.

    Examples:
      gnoctl tune
      gnoctl tune notes --show
      gnoctl tune notes --reset
    """
    if options.only_show and options.reset:
        raise UsageError("--show and --reset cannot be used together: choose one")
    action: Literal["tune", "show", "reset"] = "show" if options.only_show else "reset" if options.reset else "tune"
    params = wire.IndexTuneParams(collections=options.collections, action=action)
    result = options.call("index.tune", params, wire.IndexTuneResult, shows_progress=action == "tune")
    options.show(result, _table(result, options))
    if options.json:
        return
    if not result.collections:
        note(NOTHING_INDEXED)
    for collection in result.collections:
        if action == "tune" and not collection.questions:
            options.note(f"{collection.name}: its documents yield too few questions, so nothing changes")


def _table(result: wire.IndexTuneResult, options: TuneOptions) -> Iterator[str]:
    rows = [
        [
            collection.name,
            "as usual" if collection.vector_odds == 1 else f"{collection.vector_odds:g} times",
            f"{collection.questions:,}",
            *map(_figure, (collection.keyword, collection.vector, collection.before, collection.after)),
            collection.measured_at or "never",
        ]
        for collection in result.collections
    ]
    if rows:
        headers = ["collection", "vectors count", "questions", "keyword", "vector", "hybrid", "now", "measured"]
        yield from columns(headers, rows, options.terminal)
    if any(collection.questions for collection in result.collections):
        yield ""
        yield text.line("keyword, vector, hybrid (before) and now: nDCG@10 over the questions")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
