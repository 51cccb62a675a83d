"""The key in RAM: unlocking, locking, moving it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from gnod.errors import KeyringFailed, MemoryLocked, WrongPassphrase
from gnod.memory.key.vault import Vault

PASSPHRASE = "correct horse"
NO_FILE = Path("/nonexistent/memory.key")


def unlock(vault: Vault, passphrase: str | None = None) -> None:
    vault.open(*vault.fetch(passphrase))


def test_locked_there_is_nothing(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    assert not vault.is_unlocked
    with pytest.raises(MemoryLocked, match="gnoctl memory unlock"):
        _ = vault.sealer


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


def test_to_fetch_a_key_changes_nothing(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    vault.fetch(None)
    assert vault.record is None
    assert not vault.is_unlocked


@pytest.mark.slow
def test_a_passphrase(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    unlock(vault, PASSPHRASE)
    sealed = vault.sealer.seal(b"x", b"")
    vault.lock()
    with pytest.raises(MemoryLocked, match="asks for their passphrase"):
        vault.fetch(None)
    with pytest.raises(WrongPassphrase):
        vault.fetch("wrong horse")
    assert not vault.is_unlocked
    unlock(vault, PASSPHRASE)
    assert vault.sealer.open(sealed, b"") == b"x"


def test_a_passphrase_where_the_keyring_has_the_key(keyring_file: Path) -> None:
    vault = Vault(None, NO_FILE)
    unlock(vault)
    with pytest.raises(WrongPassphrase, match="they have no passphrase"):
        vault.fetch(PASSPHRASE)


@pytest.mark.slow
def test_without_a_keyring_a_passphrase_is_needed(no_keyring: None) -> None:
    vault = Vault(None, NO_FILE)
    with pytest.raises(MemoryLocked, match="asks for a passphrase instead"):
        vault.fetch(None)
    unlock(vault, PASSPHRASE)
    assert vault.is_unlocked


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
    assert path.exists(), "the service deletes it, when the database has the new record"


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
