"""`gnoctl backup` and `restore`: index, config and memories as one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import JsonOptions, command, wait_until
from gnoctl.printing import text
from gnoctl.printing.output import note
from gnoctl.printing.wording import ago, count, duration, size
from gnod.client.connection import Connection
from gnod.errors import GnoError, StorageFailed, TimedOut
from gnod.protocol import index as wire
from gnod.protocol.base import NoParams
from gnod.protocol.memory import MemoryStatusResult, MemoryUnlockParams

CLOSE_TIMEOUT_S = 60.0


class BackupOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str, argument("FILE", "The file to write")]
    force: Annotated[bool, option("--force", "Replace an existing backup")] = False


@command("backup", BackupOptions)
def backup(options: BackupOptions) -> None:
    """Write index, memories and config to one file.

    Meanwhile, the daemon continues to index and search; the file is a snapshot of one moment, with texts, vectors and
    failures. Memories are included in encrypted form, without their key. Models and your own files are not included.
    Only you can read the file. `gnoctl restore FILE` restores it, on this machine or on another.

    Examples:
      gnoctl backup ~/backups/notes.tar
      gnoctl backup --force /media/stick/gnod.tar
    """
    params = wire.IndexBackupParams(path=_absolute(options.file), force=options.force)
    result = options.call("index.backup", params, wire.IndexBackupResult, shows_progress=True)
    memories = f", memories ({size(result.memory_bytes)}, encrypted)" if result.memory_bytes else ""
    contents = f"{count(result.documents, 'document')}{memories}, {size(result.bytes)}"
    options.show(result, f"wrote {text.line(result.path)}: {contents}, in {duration(result.took_ms / 1000)}")


class RestoreOptions(JsonOptions, frozen=True, kw_only=True):
    file: Annotated[str, argument("FILE", "A backup by `gnoctl backup`")]
    config: Annotated[bool, option("--config", "Replace index.yml; the old file is kept")] = False
    memories: Annotated[bool, option("--memories", "Replace the memories; the old ones are kept")] = False
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False


@command("restore", RestoreOptions)
def restore(options: RestoreOptions) -> int:
    """Replace the index by a backup.

    The file is checked completely before anything is changed; Ctrl-C leaves the index as it was. The old index is kept
    beside the new one, with the date in its name: delete it when you no longer need it. Config file and memories are
    restored if there are none, otherwise only with --config and --memories. Then the index is brought up to date with
    the disk; folders that the config does not name leave the index.

    Examples:
      gnoctl restore ~/backups/notes.tar
      gnoctl restore --config --yes /media/stick/gnod.tar
    """
    if not options.yes and not confirmed(f"Replace the index '{options.places.index}' by {options.file}?"):
        note("Nothing was changed")
        return 1
    params = wire.IndexRestoreParams(path=_absolute(options.file), config=options.config, memories=options.memories)
    with options.connect() as daemon, options.progress() as progress:
        result = daemon.call("index.restore", params, wire.IndexRestoreResult, on_progress=progress)
        # Wait until the daemon closes this connection. A new one gets answers from the restored index.
        if not wait_until(lambda: daemon.is_lost, CLOSE_TIMEOUT_S):
            raise TimedOut("gnod has not opened the restored index yet: see `gnoctl daemon logs`")
    with options.connect() as daemon:
        status = daemon.call("index.status", wire.IndexStatusParams(), wire.IndexStatusResult)
        if status.restored_at != result.restored_at:
            raise StorageFailed("the backup was not restored, and nothing was changed: see `gnoctl daemon logs`")
        locked = None if result.memories == "none" or options.json else _why_locked(daemon)
    options.show(result, _restored(result, status, locked, options))
    return 0


def _restored(
    result: wire.IndexRestoreResult, status: wire.IndexStatusResult, locked: str | None, options: RestoreOptions
) -> Iterator[str]:
    memories = " and the memories" if result.memories == "restored" else ""
    yield f"restored {count(result.documents, 'document')}{memories} from a backup made {ago(result.made)}"
    for path in result.kept:
        options.note(text.line(f"the old file is kept as {path}"))
    if result.config == "kept":
        options.note(text.line(f"{status.config_file} was not replaced; --config replaces it"))
    if result.memories == "kept":
        options.note("the memories were not replaced; --memories replaces them")
    if locked:
        options.note(text.line(locked))
    if status.freshness.pending:
        options.note(f"indexing what changed since then: {count(status.freshness.pending, 'file')}")


def _absolute(file: str) -> str:
    return str(Path(file).expanduser().absolute())


def _why_locked(daemon: Connection) -> str | None:
    """Return why the memories are locked, to notify the user now. After a restore the daemon has no passphrase, and
    another machine may have neither the keyring nor the file with the key."""
    try:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if status.key == "passphrase" and not status.unlocked:
            return "the memories are locked: run `gnoctl memory unlock`"
        if status.key in ("keyring", "file"):
            daemon.call("memory.unlock", MemoryUnlockParams(), MemoryStatusResult)
    except GnoError as error:
        return error.message
    return None
