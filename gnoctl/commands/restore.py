"""`gnoctl restore`: a backup in the place of the index, and of the memories where that is wanted."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from gnoctl import text
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, argument, option
from gnoctl.progress import Progress
from gnoctl.wording import ago, count
from gnod.client.connection import Connection
from gnod.errors import GnoError, StorageFailed, TimedOut, UsageError
from gnod.protocol.memory import MemoryStatusResult, MemoryUnlockParams
from gnod.protocol.params import IndexRestoreParams, IndexStatusParams, NoParams
from gnod.protocol.results import IndexRestoreResult, IndexStatusResult

CLOSE_TIMEOUT_S = 60.0
POLL_S = 0.03

HELP = """Put a backup in the place of the index.

The file is checked whole before anything is touched; Ctrl-C leaves the index as it was. The index that was there is
kept beside the new one, with the date in its name: delete it when you do not need it. The config file comes from the
backup where there is none, or with --config; memories where there are none, or with --memories, and what was there is
kept as well. Then the index is brought up to what is on the disk now; folders that the config does not name leave it.

Examples:

  gnoctl restore ~/backups/notes.tar

  gnoctl restore --config --yes /media/stick/gnod.tar
"""


class RestoreOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str, argument("FILE", help="What `gnoctl backup` wrote.")]
    config: Annotated[bool, option("--config", help="Replace index.yml, too; the old one is kept beside it.")] = False
    memories: Annotated[
        bool, option("--memories", help="Replace the memories, too; the old ones are kept beside them.")
    ] = False
    yes: Annotated[bool, option("-y", "--yes", help="Do not ask.")] = False


def restore(options: RestoreOptions) -> int:
    if not options.yes and not _confirmed(options):
        note("Nothing was changed")
        return 1
    file = str(Path(options.file).expanduser().absolute())
    params = IndexRestoreParams(path=file, config=options.config, memories=options.memories)
    with options.connect() as daemon, Progress(quiet=options.quiet, no_color=options.no_color) as progress:
        result = daemon.call("index.restore", params, IndexRestoreResult, on_progress=progress)
        _wait_until_closed(daemon)
    with options.connect() as daemon:
        status = daemon.call("index.status", IndexStatusParams(), IndexStatusResult)
        if status.restored_at != result.restored_at:
            raise StorageFailed("the backup could not be put in place, and all is as it was: `gnoctl daemon logs`")
        locked = None if result.memories == "none" or options.json else _why_locked(daemon)
    if options.json:
        print_json(result)
        return 0
    memories = " and the memories" if result.memories == "restored" else ""
    print(f"restored {count(result.documents, 'document')}{memories} from a backup made {ago(result.made)}")
    for path in result.kept:
        note(text.line(f"kept what was there as {path}"), quiet=options.quiet)
    if result.config == "kept":
        note(text.line(f"kept {status.config_file}; the backup's comes with --config"), quiet=options.quiet)
    if result.memories == "kept":
        note("your memories stay as they are; --memories brings those of the backup", quiet=options.quiet)
    if locked:
        note(text.line(locked), quiet=options.quiet)
    if status.freshness.pending:
        note(f"now what changed since is read: {count(status.freshness.pending, 'file')}", quiet=options.quiet)
    return 0


def _confirmed(options: RestoreOptions) -> bool:
    """Ask on a terminal. Raises UsageError where nobody could answer."""
    if not sys.stdin.isatty():
        raise UsageError("add --yes to replace the index without being asked")
    question = f"Replace the index '{options.places.index}' by {options.file}? [y/N] "
    print(text.line(question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _why_locked(daemon: Connection) -> str | None:
    """Return why the memories are not open: better known now than when they are needed. The daemon has forgotten a
    passphrase, and the keyring of another machine may not have their key."""
    try:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if status.key == "passphrase" and not status.unlocked:
            return "the memories are locked: `gnoctl memory unlock` asks for their passphrase"
        if status.key == "keyring":
            daemon.call("memory.unlock", MemoryUnlockParams(), MemoryStatusResult)
    except GnoError as error:
        return error.message
    return None


def _wait_until_closed(daemon: Connection) -> None:
    """The daemon answers, closes every connection and opens the index anew: whoever connects then waits for that."""
    deadline = time.monotonic() + CLOSE_TIMEOUT_S
    while not daemon.is_lost:
        if time.monotonic() > deadline:
            raise TimedOut("gnod has not opened the restored index yet; `gnoctl daemon logs` says more")
        time.sleep(POLL_S)


COMMAND = Command(RestoreOptions, restore, HELP)
