"""The key in RAM: unlocking, locking, moving it; arrays that stay out of swap and core dumps."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from gnod.errors import KeyringFailed, MemoryLocked, WrongPassphrase
from gnod.memory.key.process_memory import LockedArray
from gnod.memory.key.vault import Vault
from tests.systems import needs_linux

PASSPHRASE = "correct horse"
NO_FILE = Path("/nonexistent/memory.key")


def unlock(vault: Vault, passphrase: str | None = None) -> None:
    vault.open(*vault.fetch(passphrase))


def test_the_keyring_opens_it_until_it_is_locked_by_hand(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    unlock(vault)
    sealed = vault.sealer.seal(b"x", b"")
    vault.lock()
    assert (vault.is_unlocked, vault.is_locked_by_hand) == (False, True)
    unlock(vault)
    assert (vault.is_unlocked, vault.is_locked_by_hand) == (True, False)
    assert vault.sealer.open(sealed, b"") == b"x"
    again = Vault(vault.record, NO_FILE)
    unlock(again)
    assert again.sealer.open(sealed, b"") == b"x"


def test_a_passphrase_where_the_keyring_has_the_key(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    unlock(vault)
    with pytest.raises(WrongPassphrase, match="they have no passphrase"):
        vault.fetch(PASSPHRASE)


@pytest.mark.stress
def test_the_key_moves_and_stays_the_same(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    unlock(vault)
    sealed = vault.sealer.seal(b"x", b"")
    older = vault.record
    for present, new in itertools.pairwise([None, PASSPHRASE, "another horse", None, PASSPHRASE]):
        vault.record = vault.moved(present, new)
        again = Vault(vault.record, NO_FILE)
        unlock(again, new)
        assert again.sealer.open(sealed, b"") == b"x"
    backup = Vault(older, NO_FILE)
    unlock(backup)
    assert backup.sealer.open(sealed, b"") == b"x"


@pytest.mark.slow
def test_moving_the_key_needs_the_passphrase(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    unlock(vault, PASSPHRASE)
    with pytest.raises(WrongPassphrase):
        vault.moved("wrong horse", "another horse")
    with pytest.raises(MemoryLocked):
        vault.moved(None, "another horse")
    with pytest.raises(WrongPassphrase, match="8 characters"):
        vault.moved(PASSPHRASE, "short")


@pytest.mark.slow
def test_moving_a_key_needs_a_key(no_keyring: None) -> None:
    vault = Vault(None, NO_FILE)
    with pytest.raises(MemoryLocked, match="no key yet"):
        vault.moved(None, PASSPHRASE)
    unlock(vault, PASSPHRASE)
    with pytest.raises(KeyringFailed, match="stays where it is: no keyring"):
        vault.moved(PASSPHRASE, None)


@pytest.mark.stress
def test_the_key_moves_to_a_file_and_back(keyring_file: Path, tmp_path: Path) -> None:
    vault = Vault(None, path := tmp_path / "memory.key")
    unlock(vault)
    sealed = vault.sealer.seal(b"x", b"")
    for present, new, in_file in [
        (None, None, True),
        (None, PASSPHRASE, False),
        (PASSPHRASE, None, True),
        (None, None, False),
    ]:
        vault.record = vault.moved(present, new, in_file=in_file)
        again = Vault(vault.record, path)
        unlock(again, new)
        assert again.sealer.open(sealed, b"") == b"x"
    assert path.exists(), "the service deletes it when the database has the new record"


def test_a_new_key_in_a_file_needs_no_keyring(no_keyring: None, tmp_path: Path) -> None:
    vault = Vault(None, tmp_path / "memory.key")
    vault.open(*vault.fetch(None, in_file=True))
    again = Vault(vault.record, tmp_path / "memory.key")
    unlock(again)
    assert again.sealer.open(vault.sealer.seal(b"x", b""), b"") == b"x"
    with pytest.raises(WrongPassphrase, match="a key in a file has no passphrase"):
        again.moved(None, PASSPHRASE, in_file=True)
    with pytest.raises(WrongPassphrase, match="is in a file; they have no passphrase"):
        again.fetch(PASSPHRASE)


def flags_of(array: LockedArray) -> set[str]:
    """Return the flags of the pages, as the kernel reports them: `lo` locked, `dd` not in core dumps."""
    address = array._bytes.ctypes.data
    inside = False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.split(" ", 1)[0]
        if "-" in head and ":" not in head:
            low, high = (int(part, 16) for part in head.split("-"))
            inside = low <= address < high
        elif inside and line.startswith("VmFlags:"):
            return set(line.split()[1:])
    raise AssertionError("the pages are not mapped")


@needs_linux("/proc is Linux")
def test_pages_are_locked_and_not_dumped() -> None:
    array = LockedArray(1000, np.int64)
    array.values[:] = 7
    flags = flags_of(array)
    assert "dd" in flags
    assert ("lo" in flags) == array.is_locked
    array.wipe()
    assert not array._bytes.any()
    assert "lo" not in flags_of(array)


def test_empty_and_of_any_type() -> None:
    assert len(LockedArray(0, np.uint16).values) == 0
    table = LockedArray(3, np.dtype([("id", np.int64), ("live", np.bool_)])).values
    assert table["id"].tolist() == [0, 0, 0]
