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

_IN_A_FILE = "in a file that only you can read, beside the memories"


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


class UnlockOptions(JsonOptions, frozen=True, kw_only=True):
    key_file: Annotated[bool, option("--key-file", f"Store a new key {_IN_A_FILE}")] = False


@command("memory unlock", UnlockOptions)
def unlock(options: UnlockOptions) -> None:
    """Unlock the memories.

    Takes the key from the system keyring or the key file, or asks for the passphrase (or reads it from standard input).
    If no memory was stored yet, you choose a new passphrase. Nobody can read the memories without it: keep it safe.
    `gnoctl memory passphrase` changes it.

    With --key-file, a new key is stored in a file, for a machine without a keyring where nobody can type a passphrase.
    Whoever can read your files can then read the memories.

    Examples:
      gnoctl memory unlock
      pass show gnod | gnoctl memory unlock
      gnoctl memory unlock --key-file
    """
    with options.connect() as daemon:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if options.key_file and status.key not in (None, "file"):
            raise UsageError("the memories have a key: run `gnoctl memory passphrase --key-file` to move it to a file")
        if not status.unlocked:
            given = None if options.key_file else _passphrase(status)
            params = MemoryUnlockParams(passphrase=given, key_file=options.key_file)
            status = daemon.call("memory.unlock", params, MemoryStatusResult)
    options.show(status, render_status(status))


def _passphrase(status: MemoryStatusResult) -> str | None:
    """Return the passphrase; None if the keyring or a file has the key, or if the keyring will store it. Raises
    UsageError."""
    if status.key in ("keyring", "file"):
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
    key_file: Annotated[bool, option("--key-file", f"Store the key {_IN_A_FILE} instead")] = False


@command("memory passphrase", PassphraseOptions)
def change_passphrase(options: PassphraseOptions) -> None:
    """Change the passphrase of the memories, or move their key to another place.

    Asks for the present passphrase, if there is one, then twice for the new one; standard input has one per line, in
    this order. With --keyring, the system keyring stores the key, and with --key-file a file; then no passphrase is
    needed. Any other place deletes the file.

    The key itself does not change: an older backup opens with the passphrase that was set then, or with the key that
    the keyring or the file had then. A passphrase works on any machine, a keyring only on this one. Whoever can read
    your files can read the key file, and with it the memories.

    Examples:
      gnoctl memory passphrase
      gnoctl memory passphrase --keyring
      gnoctl memory passphrase --key-file
    """
    if options.keyring and options.key_file:
        raise UsageError("--keyring and --key-file cannot be used together: choose one")
    with options.connect() as daemon:
        status = daemon.call("memory.status", NoParams(), MemoryStatusResult)
        if status.key is None:
            raise UsageError("the memories have no key yet: run `gnoctl memory unlock`")
        params = MemoryMoveKeyParams(
            passphrase=passphrase("Present passphrase of the memories") if status.key == "passphrase" else None,
            new_passphrase=None if options.keyring or options.key_file else _new_passphrase(),
            key_file=options.key_file,
        )
        status = daemon.call("memory.move_key", params, MemoryStatusResult)
    options.show(status, render_status(status))


def _new_passphrase() -> str:
    given = passphrase("New passphrase for the memories", is_new=True)
    if not given:
        raise UsageError("no new passphrase was given; nothing was changed")
    return given
