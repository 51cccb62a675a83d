"""The key in RAM: from unlocking to `lock`, or to the end of the process.

The key is in no file, no log and no core dump. `gnod.memory.key.scrubbing` overwrites what is freed, as far as it
can; see docs/SECURITY.md.
"""

from __future__ import annotations

import contextlib
import resource

from gnod.errors import KeyringFailed, MemoryLocked, WrongPassphrase
from gnod.memory.key import keys
from gnod.memory.key.keys import KeyRecord
from gnod.memory.key.sealing import Sealer


class Vault:
    """Holds the key while the memories are unlocked.

    `record`: describes the key, from the database; None if there is no key yet.
    """

    def __init__(self, record: KeyRecord | None) -> None:
        self.record = record
        # The user locked it, so the keyring does not unlock it automatically.
        self.is_locked_by_hand = False
        self._sealer: Sealer | None = None

    @property
    def is_unlocked(self) -> bool:
        return self._sealer is not None

    @property
    def sealer(self) -> Sealer:
        """Return the sealer. Raises MemoryLocked."""
        if self._sealer is None:
            raise MemoryLocked("the memories are locked: run `gnoctl memory unlock`")
        return self._sealer

    def lock(self) -> None:
        """Forget the key."""
        self.is_locked_by_hand = True
        self._sealer = None

    def fetch(self, passphrase: str | None) -> tuple[KeyRecord, bytes]:
        """Return the stored key, or a new one: put into the keyring, or wrapped by the passphrase. Does not open the
        vault, because the caller may time out. Call it in a thread.

        Raises MemoryLocked when a passphrase is needed, WrongPassphrase, KeyringFailed.
        """
        if self.record is not None:
            return self.record, self._read(passphrase)
        key = keys.new_key()
        return _protected(key, passphrase), key

    def moved(self, passphrase: str | None, new_passphrase: str | None) -> KeyRecord:
        """Return the record for the same key, protected by the new passphrase or else kept in the keyring. Changes
        nothing here. Call it in a thread.

        Raises MemoryLocked without a key, or without its passphrase; WrongPassphrase; KeyringFailed.
        """
        if self.record is None:
            raise MemoryLocked("the memories have no key yet: run `gnoctl memory unlock` to create one")
        if new_passphrase is None and (problem := keys.keyring_problem()):
            raise KeyringFailed(f"the key stays where it is: {problem}")
        return _protected(self._read(passphrase), new_passphrase)

    def open(self, record: KeyRecord, key: bytes) -> None:
        """Open the vault with a key whose record is in the database."""
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._sealer = Sealer(key)
        self.record = record
        self.is_locked_by_hand = False

    def _read(self, passphrase: str | None) -> bytes:
        assert self.record is not None
        if self.record.source == "keyring":
            if passphrase is not None:
                raise WrongPassphrase("the key of these memories is in the system's keyring; they have no passphrase")
            return keys.read_keyring(self.record)
        if passphrase is None:
            raise MemoryLocked("the memories are locked: run `gnoctl memory unlock`, which asks for their passphrase")
        return keys.read_passphrase(self.record, passphrase)


def _protected(key: bytes, passphrase: str | None) -> KeyRecord:
    if passphrase is not None:
        return keys.wrap(key, passphrase)
    if problem := keys.keyring_problem():
        raise MemoryLocked(
            f"the key of the memories cannot be stored: {problem}. Run `gnoctl memory unlock`, which asks for a "
            "passphrase instead"
        )
    return keys.put_into_keyring(key)
