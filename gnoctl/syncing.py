"""Make the index equal the disk, and say what came of it. Shared by everything that indexes."""

from __future__ import annotations

from gnoctl import text
from gnoctl.failures import note
from gnoctl.options import Options
from gnoctl.progress import Progress
from gnoctl.wording import count
from gnod.client.connection import Connection
from gnod.errors import EXIT_RUNTIME
from gnod.protocol.params import IndexSyncParams
from gnod.protocol.results import CollectionSync, IndexSyncResult


def sync(daemon: Connection, options: Options, collections: list[str], *, update: bool = False) -> IndexSyncResult:
    """Index `collections` (all when empty) and draw the progress."""
    params = IndexSyncParams(collections=collections, update=update)
    with Progress(quiet=options.quiet, no_color=options.no_color) as progress:
        return daemon.call("index.sync", params, IndexSyncResult, on_progress=progress)


def report(result: IndexSyncResult, options: Options) -> int:
    """Print what was done and return the exit status: one that is not 0 when a folder was not there."""
    if not result.collections:
        note("There is nothing to index: add a folder with `gnoctl init FOLDER`")
    for each in result.collections:
        if each.available:
            print(text.line(f"{each.name}: {_changes(each)} · {each.took_ms / 1000:.1f} s"))
        else:
            reason = each.reason or "its folder is not there"
            note(f"{each.name}: not indexed, {reason}; its documents are kept as they were")
    failed = sum(each.failed for each in result.collections)
    if failed:
        note(f"{count(failed, 'file')} could not be read: `gnoctl status --errors`", quiet=options.quiet)
    return 0 if all(each.available for each in result.collections) else EXIT_RUNTIME


def _changes(each: CollectionSync) -> str:
    named = {
        "added": each.added,
        "updated": each.updated,
        "removed": each.removed,
        "unchanged": each.unchanged,
        "skipped": each.skipped,
        "failed": each.failed,
    }
    return ", ".join(f"{number:,} {name}" for name, number in named.items() if number) or "no files"
