"""`gnoctl memory status`, `lock`, `unlock`, `passphrase`: the key of the memories."""

from __future__ import annotations

from typing import Annotated

from gnoctl.arguments.options import option
from gnoctl.arguments.standard_input import passphrase
from gnoctl.command import JsonOptions, command
from gnoctl.printing.memories import render_status
from gnod.errors import UsageError
from gnod.protocol.base import NoParams
from gnod.protocol.memory import MemoryMoveKeyParams, MemoryStatusResult, MemoryUnlockParams


@command("memory status", JsonOptions)
def status(options: JsonOptions) -> None:
    """Show whether the memories are locked, where their key is, and how many there are."""
    result = options.call("memory.status", NoParams(), MemoryStatusResult)
    options.show(result, render_status(result))


@command("memory lock", JsonOptions)
def lock(options: JsonOptions) -> None:
    """Lock the memories: the daemon deletes their key and all decrypted text from its memory.

    No memory can be stored or found until `gnoctl memory unlock`. If the key is in the system keyring, a restart of the
    daemon also unlocks them.
    """
    result = options.call("memory.lock", NoParams(), MemoryStatusResult)
    options.show(result, "locked; `gnoctl memory unlock` unlocks them")


@command("memory unlock", JsonOptions)
def unlock(options: JsonOptions) -> None:
    """Unlock the memories.

    Takes the key from the system keyring, or asks for the passphrase (or reads it from standard input). If no memory
    was stored yet, you choose a new passphrase. Nobody can read the memories without it: keep it safe. `gnoctl memory
    passphrase` changes it.

    Examples:
      gnoctl memory unlock
      pass show gnod | gnoctl memory unlock
    """
    with options.connect() as daemon:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if not status.unlocked:
            params = MemoryUnlockParams(passphrase=_passphrase(status))
            status = daemon.call("memory.unlock", params, MemoryStatusResult)
    options.show(status, render_status(status))


def _passphrase(status: MemoryStatusResult) -> str | None:
    """Return the passphrase; None: the keyring has the key, or is to store it. Raises UsageError."""
    if status.key == "keyring":
        return None
    if status.key is not None:
        given = passphrase("Passphrase of the memories")
    elif status.keyring_problem:
        given = passphrase("New passphrase for the memories", is_new=True)
    else:
        given = passphrase("New passphrase for the memories (empty: store the key in the keyring)", is_new=True)
    if not given and (status.key is not None or status.keyring_problem):
        raise UsageError("no passphrase was given")
    return given or None


class PassphraseOptions(JsonOptions, frozen=True, kw_only=True):
    keyring: Annotated[bool, option("--keyring", "Store the key in the system keyring instead")] = False


@command("memory passphrase", PassphraseOptions)
def change_passphrase(options: PassphraseOptions) -> None:
    """Change the passphrase of the memories, or move their key to or from the system keyring.

    Asks for the present passphrase, if there is one, then twice for the new one; standard input has one per line, in
    this order. With --keyring, the system keyring stores the key and no passphrase is needed.

    The key itself does not change: an older backup opens with the passphrase of its time, or with the key that the
    keyring had then. A passphrase works on any machine, a keyring only on this one.

    Examples:
      gnoctl memory passphrase
      gnoctl memory passphrase --keyring
    """
    with options.connect() as daemon:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if status.key is None:
            raise UsageError("the memories have no key yet: run `gnoctl memory unlock`")
        params = MemoryMoveKeyParams(
            passphrase=passphrase("Present passphrase of the memories") if status.key == "passphrase" else None,
            new_passphrase=None if options.keyring else _new_passphrase(),
        )
        status = daemon.call("memory.move_key", params, MemoryStatusResult)
    options.show(status, render_status(status))


def _new_passphrase() -> str:
    given = passphrase("New passphrase for the memories", is_new=True)
    if not given:
        raise UsageError("no new passphrase was given; nothing was changed")
    return given
