"""Storing the key: in a keyring, which is a file in these tests, encrypted by a passphrase, or in a key file."""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path

import keyring
import msgspec
import pytest

from gnod.errors import KeyFileFailed, KeyringFailed, MemoryDamaged, WrongPassphrase
from gnod.memory.key import keys
from gnod.memory.key.keys import KeyRecord
from tests.systems import needs_root

PASSPHRASE = "correct horse, bätteries"


def make_in_keyring() -> tuple[KeyRecord, bytes]:
    return keys.put_into_keyring(key := keys.new_key()), key


@pytest.mark.usefixtures("keyring_file")
class TestKeyring:
    def test_each_key_can_be_read_back(self, keyring_file: Path) -> None:
        assert keys.keyring_problem() is None
        (one, one_key), (other, other_key) = make_in_keyring(), make_in_keyring()
        assert (len(one_key), one_key != other_key) == (32, True)
        assert keys.read_keyring(keys.read_record(keys.write_record(one))) == one_key
        assert keys.read_keyring(other) == other_key
        assert keyring_file.exists()

    def test_one_that_is_gone(self, keyring_file: Path) -> None:
        record, _ = make_in_keyring()
        keyring_file.unlink()
        with pytest.raises(KeyringFailed, match="was removed, or this is another machine"):
            keys.read_keyring(record)

    @pytest.mark.parametrize("stored", ["", "no base64!", base64.b64encode(bytes(32)).decode(), "AAAA"])
    def test_one_that_is_another(self, stored: str) -> None:
        record, _ = make_in_keyring()
        keyring.set_password("gnod memory", record.id, stored)
        with pytest.raises(KeyringFailed, match="is not the key"):
            keys.read_keyring(record)

    def test_one_that_cannot_be_written(self, keyring_file: Path) -> None:
        keyring_file.parent.mkdir()
        keyring_file.mkdir()
        with pytest.raises(KeyringFailed, match="Check that it is unlocked"):
            make_in_keyring()

    @pytest.mark.usefixtures("no_keyring")
    def test_none(self) -> None:
        assert keys.keyring_problem() == "no keyring is running on this machine"
        with pytest.raises(KeyringFailed):
            make_in_keyring()

    def test_one_that_protects_nothing_is_not_taken_unasked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("PYTHON_KEYRING_BACKEND")
        assert "does not encrypt" in (keys.keyring_problem() or "")


@pytest.fixture(scope="module")
def made() -> tuple[KeyRecord, bytes]:
    """Each derivation takes a quarter of a second and 64 MiB, which is its purpose."""
    return keys.wrap(key := keys.new_key(), PASSPHRASE), key


class TestPassphrase:
    @pytest.mark.slow
    @pytest.mark.parametrize("typed", [PASSPHRASE, PASSPHRASE.replace("ä", "a\u0308")])
    def test_the_passphrase_is_normalised(self, made: tuple[KeyRecord, bytes], typed: str) -> None:
        record, key = made
        assert keys.read_passphrase(keys.read_record(keys.write_record(record)), typed) == key

    @pytest.mark.slow
    @pytest.mark.parametrize("other", [PASSPHRASE + " ", PASSPHRASE.upper(), "\ud800"])
    def test_another_does_not(self, made: tuple[KeyRecord, bytes], other: str) -> None:
        record, _ = made
        with pytest.raises(WrongPassphrase, match="not the passphrase") as raised:
            keys.read_passphrase(record, other)
        assert PASSPHRASE not in str(raised.value)

    def test_a_short_one(self) -> None:
        with pytest.raises(WrongPassphrase, match="8 characters"):
            keys.wrap(keys.new_key(), "1234567")

    def test_argon2_uses_the_parameters_of_the_rfc(self, made: tuple[KeyRecord, bytes]) -> None:
        argon2 = made[0].argon2
        assert argon2 is not None
        assert (argon2.iterations, argon2.lanes, argon2.memory_kib, len(argon2.salt)) == (3, 4, 65_536, 16)


class TestFile:
    def test_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "memory.key"
        record = keys.put_into_file(key := keys.new_key(), path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert keys.read_file(keys.read_record(keys.write_record(record)), path) == key
        assert key not in keys.write_record(record)
        assert keys.read_file(keys.put_into_file(key, path), path) == key, "the same key again"

    @pytest.mark.parametrize("mode", [0o640, 0o604, 0o601, 0o666])
    def test_one_that_others_may_use(self, tmp_path: Path, mode: int) -> None:
        path = tmp_path / "memory.key"
        record = keys.put_into_file(keys.new_key(), path)
        path.chmod(mode)
        with pytest.raises(KeyFileFailed, match=rf"mode {mode:04o}.*chmod 600"):
            keys.read_file(record, path)

    @needs_root
    def test_one_of_another_user(self, tmp_path: Path) -> None:
        path = tmp_path / "memory.key"
        record = keys.put_into_file(keys.new_key(), path)
        os.chown(path, 12345, 12345)
        with pytest.raises(KeyFileFailed, match="does not belong to you"):
            keys.read_file(record, path)

    def test_what_is_not_a_file(self, tmp_path: Path) -> None:
        record = keys.put_into_file(keys.new_key(), tmp_path / "real.key")
        (tmp_path / "link.key").symlink_to("real.key")
        (tmp_path / "nowhere.key").symlink_to("nothing")
        (tmp_path / "folder.key").mkdir()
        os.mkfifo(tmp_path / "pipe.key")
        for name in ("link", "nowhere", "folder", "pipe"):
            path = tmp_path / f"{name}.key"
            with pytest.raises(KeyFileFailed, match="does not belong to you, or it is a link"):
                keys.read_file(record, path)
            with pytest.raises(KeyFileFailed):
                keys.put_into_file(keys.new_key(), path)

    @pytest.mark.parametrize("stored", [b"", b"no base64!", b"AAAA", base64.b64encode(bytes(32)), b"\xff" * 9000])
    def test_one_with_another_key(self, tmp_path: Path, stored: bytes) -> None:
        path = tmp_path / "memory.key"
        record = keys.put_into_file(keys.new_key(), path)
        path.write_bytes(stored)
        with pytest.raises(KeyFileFailed, match="not have the key of these memories"):
            keys.read_file(record, path)
        with pytest.raises(KeyFileFailed, match=r"has another key.*move it away"):
            keys.put_into_file(keys.new_key(), path)
        assert path.read_bytes() == stored

    def test_one_that_is_missing(self, tmp_path: Path) -> None:
        record = keys.put_into_file(keys.new_key(), path := tmp_path / "memory.key")
        keys.remove_file(path)
        keys.remove_file(path)
        with pytest.raises(KeyFileFailed, match="is missing: restore"):
            keys.read_file(record, path)


@pytest.mark.usefixtures("keyring_file")
class TestRecord:
    def test_the_record_alone_reveals_nothing(self, made: tuple[KeyRecord, bytes]) -> None:
        for record, key in (make_in_keyring(), made):
            stored = keys.write_record(record)
            assert key not in stored
            assert base64.b64encode(key) not in stored
            assert PASSPHRASE.encode() not in stored

    def test_a_damaged_memory_is_reported(self, made: tuple[KeyRecord, bytes]) -> None:
        stored = keys.write_record(made[0])
        for harmed in (b"", stored[:-9], b"\xc1" + stored, msgspec.msgpack.encode({"source": "passphrase"})):
            with pytest.raises(MemoryDamaged, match="gnoctl restore"):
                keys.read_record(harmed)
        fields = msgspec.msgpack.decode(stored) | {"wrapped": None}
        with pytest.raises(MemoryDamaged):
            keys.read_record(msgspec.msgpack.encode(fields))

    @pytest.mark.slow
    def test_one_whose_wrapped_key_was_changed_does_not_open(self, made: tuple[KeyRecord, bytes]) -> None:
        record, _ = made
        assert record.wrapped is not None
        harmed = msgspec.structs.replace(record, wrapped=record.wrapped[:-1] + bytes([record.wrapped[-1] ^ 1]))
        with pytest.raises(WrongPassphrase):
            keys.read_passphrase(harmed, PASSPHRASE)
