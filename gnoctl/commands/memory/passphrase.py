"""`gnoctl memory passphrase`."""

from __future__ import annotations

from typing import Annotated

from gnoctl.json_output import print_json
from gnoctl.memories import render_status
from gnoctl.options import Command, JsonOptions, option
from gnoctl.standard_input import passphrase
from gnod.errors import UsageError
from gnod.protocol.memory import MemoryMoveKeyParams, MemoryStatusResult
from gnod.protocol.params import NoParams

HELP = """Protect the memories by another passphrase, or by one instead of the system's keyring.

The present passphrase is asked for, if they have one, then the new one, twice. From standard input they are read in
this order, a line each. With --keyring the system's keyring keeps the key from now on, and no passphrase is needed.

The key itself stays the same: older backups open with the passphrase of their day, or with what the keyring had then
and still has. A passphrase opens them on any machine, a keyring only on this one.

Examples:

  gnoctl memory passphrase

  gnoctl memory passphrase --keyring
"""


class PassphraseOptions(JsonOptions, frozen=True, kw_only=True):
    keyring: Annotated[bool, option("--keyring", help="Let the system's keyring keep the key.")] = False


def change(options: PassphraseOptions) -> None:
    with options.connect() as daemon:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if status.key is None:
            raise UsageError("the memories have no key yet: `gnoctl memory unlock` makes one")
        params = MemoryMoveKeyParams(
            passphrase=passphrase("Present passphrase of the memories") if status.key == "passphrase" else None,
            new_passphrase=None if options.keyring else _new(),
        )
        status = daemon.call("memory.move_key", params, MemoryStatusResult)
    if options.json:
        print_json(status)
    else:
        for line in render_status(status):
            print(line)


def _new() -> str:
    given = passphrase("New passphrase for the memories", is_new=True)
    if not given:
        raise UsageError("no new passphrase was given; nothing was changed")
    return given


COMMAND = Command(PassphraseOptions, change, HELP)
