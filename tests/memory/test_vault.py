"""The key in RAM: unlocking, locking, moving it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from gnod.errors import KeyringFailed, MemoryLocked, WrongPassphrase
from gnod.memory.key.vault import Vault

PASSPHRASE = "correct horse"


def unlock(vault: Vault, passphrase: str | None = None) -> None:
    vault.open(*vault.fetch(passphrase))


def test_locked_there_is_nothing(keyring_file: Path) -> None:
    vault = Vault(None)
    assert not vault.is_unlocked
    with pytest.raises(MemoryLocked, match="gnoctl memory unlock"):
        _ = vault.sealer


def test_the_keyring_opens_it_until_it_is_locked_by_hand(keyring_file: Path) -> None:
    vault = Vault(None)
    unlock(vault)
    sealed = vault.sealer.seal(b"x", b"")
    vault.lock()
    assert (vault.is_unlocked, vault.is_locked_by_hand) == (False, True)
    unlock(vault)
    assert (vault.is_unlocked, vault.is_locked_by_hand) == (True, False)
    assert vault.sealer.open(sealed, b"") == b"x"
    again = Vault(vault.record)
    unlock(again)
    assert again.sealer.open(sealed, b"") == b"x"


def test_to_fetch_a_key_changes_nothing(keyring_file: Path) -> None:
    vault = Vault(None)
    vault.fetch(None)
    assert vault.record is None
    assert not vault.is_unlocked


@pytest.mark.slow
def test_a_passphrase(keyring_file: Path) -> None:
    vault = Vault(None)
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
    vault = Vault(None)
    unlock(vault)
    with pytest.raises(WrongPassphrase, match="they have no passphrase"):
        vault.fetch(PASSPHRASE)


@pytest.mark.slow
def test_without_a_keyring_a_passphrase_is_needed(no_keyring: None) -> None:
    vault = Vault(None)
    with pytest.raises(MemoryLocked, match="asks for a passphrase instead"):
        vault.fetch(None)
    unlock(vault, PASSPHRASE)
    assert vault.is_unlocked


@pytest.mark.slow
def test_the_key_moves_and_stays_the_same(keyring_file: Path) -> None:
    vault = Vault(None)
    unlock(vault)
    sealed = vault.sealer.seal(b"x", b"")
    older = vault.record
    for present, new in itertools.pairwise([None, PASSPHRASE, "another horse", None, PASSPHRASE]):
        vault.record = vault.moved(present, new)
        again = Vault(vault.record)
        unlock(again, new)
        assert again.sealer.open(sealed, b"") == b"x"
    backup = Vault(older)
    unlock(backup)
    assert backup.sealer.open(sealed, b"") == b"x"


@pytest.mark.slow
def test_moving_the_key_needs_the_passphrase(keyring_file: Path) -> None:
    vault = Vault(None)
    unlock(vault, PASSPHRASE)
    with pytest.raises(WrongPassphrase):
        vault.moved("wrong horse", "another horse")
    with pytest.raises(MemoryLocked):
        vault.moved(None, "another horse")
    with pytest.raises(WrongPassphrase, match="8 characters"):
        vault.moved(PASSPHRASE, "short")


@pytest.mark.slow
def test_moving_a_key_needs_a_key(no_keyring: None) -> None:
    vault = Vault(None)
    with pytest.raises(MemoryLocked, match="no key yet"):
        vault.moved(None, PASSPHRASE)
    unlock(vault, PASSPHRASE)
    with pytest.raises(KeyringFailed, match="stays where it is: no keyring"):
        vault.moved(PASSPHRASE, None)
