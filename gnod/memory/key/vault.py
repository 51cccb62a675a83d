"""Hold the key in RAM, from unlocking to `lock` or to the end of the process.

The key is never in a log or a core dump, and in a file only if the user requests it. `process_memory` overwrites freed
memory as far as it can; see docs/SECURITY.md.
"""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path

from gnod.errors import KeyringFailed, MemoryLocked, WrongPassphrase
from gnod.memory.key import keys
from gnod.memory.key.keys import KeyRecord
from gnod.memory.key.sealing import Sealer


class Vault:
    """Holds the key while the memories are unlocked.

    `record`: the key's record in the database; None if there is no key yet. `key_file`: where the key is for users who
    want it in a file.
    """

    def __init__(self, record: KeyRecord | None, key_file: Path) -> None:
        self.record = record
        self._key_file = key_file
        # True after the user locked it: neither the keyring nor the file unlocks it automatically.
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

    def fetch(self, passphrase: str | None, *, in_file: bool = False) -> tuple[KeyRecord, bytes]:
        """Return the stored key. If there is none, make one and put it into the keyring or the file, or encrypt it with
        the passphrase. Does not open the vault, because the caller may time out. Call it in a thread.

        Raises MemoryLocked when a passphrase is needed, WrongPassphrase, KeyringFailed, KeyFileFailed.
        """
        if self.record is not None:
            return self.record, self._read(passphrase)
        key = keys.new_key()
        return self._protected(key, passphrase, in_file=in_file), key

    def moved(self, passphrase: str | None, new_passphrase: str | None, *, in_file: bool = False) -> KeyRecord:
        """Store the same key in the file, protect it with the new passphrase, or put it into the keyring, and return
        its record. Changes nothing else. Call it in a thread.

        Raises MemoryLocked without a key, or without its passphrase; WrongPassphrase; KeyringFailed; KeyFileFailed.
        """
        if self.record is None:
            raise MemoryLocked("the memories have no key yet: run `gnoctl memory unlock` to create one")
        if new_passphrase is None and not in_file and (problem := keys.keyring_problem()):
            raise KeyringFailed(f"the key stays where it is: {problem}")
        return self._protected(self._read(passphrase), new_passphrase, in_file=in_file)

    def open(self, record: KeyRecord, key: bytes) -> None:
        """Open the vault with a key whose record is in the database."""
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self._sealer = Sealer(key)
        self.record = record
        self.is_locked_by_hand = False

    def _read(self, passphrase: str | None) -> bytes:
        assert self.record is not None
        if self.record.source != "passphrase" and passphrase is not None:
            place = "in a file" if self.record.source == "file" else "in the system's keyring"
            raise WrongPassphrase(f"the key of these memories is {place}; they have no passphrase")
        if self.record.source == "file":
            return keys.read_file(self.record, self._key_file)
        if self.record.source == "keyring":
            return keys.read_keyring(self.record)
        if passphrase is None:
            raise MemoryLocked("the memories are locked: run `gnoctl memory unlock`, which asks for their passphrase")
        return keys.read_passphrase(self.record, passphrase)

    def _protected(self, key: bytes, passphrase: str | None, *, in_file: bool) -> KeyRecord:
        if in_file and passphrase is not None:
            raise WrongPassphrase("a key in a file has no passphrase: give a passphrase, or ask for the file")
        if in_file:
            return keys.put_into_file(key, self._key_file)
        if passphrase is not None:
            return keys.wrap(key, passphrase)
        if problem := keys.keyring_problem():
            raise MemoryLocked(
                f"the key of the memories cannot be stored: {problem}. Run `gnoctl memory unlock`, which asks for a "
                "passphrase instead"
            )
        return keys.put_into_keyring(key)
