"""`gnoctl memory unlock`."""

from __future__ import annotations

from gnoctl.json_output import print_json
from gnoctl.memories import render_status
from gnoctl.options import Command, JsonOptions
from gnoctl.standard_input import passphrase
from gnod.errors import UsageError
from gnod.protocol.memory import MemoryStatusResult, MemoryUnlockParams
from gnod.protocol.params import NoParams

HELP = """Unlock the memories.

Where their key is in the system's keyring, it is taken from there; else their passphrase is asked for, or read from
standard input. Where nothing was stored yet, a new passphrase protects what will be. Without it nobody
can read them: keep it well. `gnoctl memory passphrase` changes it.

Examples:

  gnoctl memory unlock

  pass show gnod | gnoctl memory unlock
"""


def unlock(options: JsonOptions) -> None:
    with options.connect() as daemon:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if not status.unlocked:
            params = MemoryUnlockParams(passphrase=_passphrase(status))
            status = daemon.call("memory.unlock", params, MemoryStatusResult)
    if options.json:
        print_json(status)
    else:
        for line in render_status(status):
            print(line)


def _passphrase(status: MemoryStatusResult) -> str | None:
    """Return the passphrase; None where the keyring has the key, or shall have it. Raises UsageError for none."""
    if status.key == "keyring":
        return None
    if status.key is not None:
        given = passphrase("Passphrase of the memories")
    elif status.keyring_problem:
        given = passphrase("New passphrase for the memories", is_new=True)
    else:
        given = passphrase("New passphrase for the memories (none: the keyring keeps their key)", is_new=True)
    if not given and (status.key is not None or status.keyring_problem):
        raise UsageError("no passphrase was given")
    return given or None


COMMAND = Command(JsonOptions, unlock, HELP)
