"""Who holds the key while the daemon runs, and for how long: from the unlocking to `lock`, or the end of the process.

Memory of this process only: the key is in no file, no log and no core dump. What Python has freed it does not erase;
docs/SECURITY.md says what that means.
"""

from __future__ import annotations

import contextlib
import resource

from gnod.errors import KeyringFailed, MemoryLocked, WrongPassphrase
from gnod.memory import keys
from gnod.memory.keys import KeyRecord
from gnod.memory.sealing import Sealer


class Vault:
    """`record`: of the key, from the database; None: there is none yet."""

    def __init__(self, record: KeyRecord | None) -> None:
        self.record = record
        # Set by hand: what the keyring opens by itself stays closed then.
        self.is_locked_by_hand = False
        self._sealer: Sealer | None = None

    @property
    def is_unlocked(self) -> bool:
        return self._sealer is not None

    @property
    def sealer(self) -> Sealer:
        """Return what seals and opens. Raises MemoryLocked."""
        if self._sealer is None:
            raise MemoryLocked("the memories are locked: `gnoctl memory unlock`")
        return self._sealer

    def lock(self) -> None:
        """Forget the key."""
        self.is_locked_by_hand = True
        self._sealer = None

    def fetch(self, passphrase: str | None) -> tuple[KeyRecord, bytes]:
        """Return the key from where it is kept, or a new one where there is none: put into the keyring, or wrapped by
        the passphrase. Changes nothing here: whoever waits for a keyring may give up. To be called in a thread.

        Raises MemoryLocked when a passphrase is needed, WrongPassphrase, KeyringFailed.
        """
        if self.record is not None:
            return self.record, self._read(passphrase)
        key = keys.new_key()
        return _kept(key, passphrase), key

    def moved(self, passphrase: str | None, new_passphrase: str | None) -> KeyRecord:
        """Return what is to be stored when the key, which stays the same, is to be kept elsewhere: under the new
        passphrase; without one, in the keyring. Changes nothing here. To be called in a thread.

        Raises MemoryLocked when there is no key yet, or its passphrase is needed; WrongPassphrase; KeyringFailed.
        """
        if self.record is None:
            raise MemoryLocked("the memories have no key yet: `gnoctl memory unlock` makes one")
        if new_passphrase is None and (problem := keys.keyring_problem()):
            raise KeyringFailed(f"the key stays where it is: {problem}")
        return _kept(self._read(passphrase), new_passphrase)

    def open(self, record: KeyRecord, key: bytes) -> None:
        """Hold the key, whose record is in the database."""
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
            raise MemoryLocked("the memories are locked: `gnoctl memory unlock` asks for their passphrase")
        return keys.read_passphrase(self.record, passphrase)


def _kept(key: bytes, passphrase: str | None) -> KeyRecord:
    if passphrase is not None:
        return keys.wrap(key, passphrase)
    if problem := keys.keyring_problem():
        raise MemoryLocked(
            f"there is no place for the key of the memories: {problem}. `gnoctl memory unlock` asks for a passphrase "
            "instead"
        )
    return keys.put_into_keyring(key)
