"""Where the key of the memories is kept: in the system's keyring, or wrapped by a key that a passphrase gives.

What the database holds of it (`KeyRecord`) is worth nothing alone. A keyring may ask its owner and take its time:
everything here is to be called in a thread.
"""

from __future__ import annotations

import base64
import binascii
import os
import secrets
import unicodedata
from typing import Annotated, Literal

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from msgspec import Meta

from gnod.errors import GnoError, KeyringFailed, MemoryDamaged, WrongPassphrase
from gnod.memory.sealing import KEY_BYTES

MIN_PASSPHRASE_CHARACTERS = 8

_SERVICE = "gnod memory"
_CHECK_NONCE = bytes(12)
_CHECK = b"gnod memory key"
_NO_RECORD = (
    "what the database of memories says of their key is damaged; `gnoctl restore --memories` brings back a backup"
)


class Argon2(msgspec.Struct, frozen=True, kw_only=True):
    """The second recommendation of RFC 9106, section 4: 64 MiB, three passes, four lanes; a quarter of a second. The
    limits are for a record that came with a stranger's backup."""

    salt: Annotated[bytes, Meta(min_length=8, max_length=64)]
    iterations: Annotated[int, Meta(ge=1, le=16)] = 3
    lanes: Annotated[int, Meta(ge=1, le=16)] = 4
    memory_kib: Annotated[int, Meta(ge=1024, le=1024 * 1024)] = 64 * 1024


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What is stored of the key. `id` names it in the keyring. `check` opens with the right key only; `wrapped` is the
    key itself, encrypted with what `argon2` makes of the passphrase."""

    source: Literal["keyring", "passphrase"]
    id: str
    check: bytes
    argon2: Argon2 | None = None
    wrapped: bytes | None = None


def read_record(stored: bytes) -> KeyRecord:
    """Raises MemoryDamaged."""
    try:
        record = msgspec.msgpack.decode(stored, type=KeyRecord)
    except msgspec.MsgspecError as error:
        raise MemoryDamaged(_NO_RECORD) from error
    if record.source == "passphrase" and (record.argon2 is None or record.wrapped is None):
        raise MemoryDamaged(_NO_RECORD)
    return record


def write_record(record: KeyRecord) -> bytes:
    return msgspec.msgpack.encode(record)


def keyring_problem() -> str | None:
    """Return why there is no keyring to be used, in words; None: there is one."""
    import keyring.backends.fail

    backend = keyring.get_keyring()
    if isinstance(backend, keyring.backends.fail.Keyring):
        return "no keyring is running here"
    # Below 1 are those that keep what they are given in clear. Whoever names one wants it.
    if backend.priority < 1 and "PYTHON_KEYRING_BACKEND" not in os.environ:
        return f"the only keyring here is {backend.name}, which protects nothing"
    return None


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def put_into_keyring(key: bytes) -> KeyRecord:
    """Raises KeyringFailed."""
    import keyring

    name = secrets.token_hex(8)
    try:
        keyring.set_password(_SERVICE, name, base64.b64encode(key).decode())
    except Exception as error:  # backends raise what the systems behind them raise
        raise _failed(error) from error
    record = KeyRecord(source="keyring", id=name, check=_check(key))
    read_keyring(record)  # what cannot be had back is no place for a key
    return record


def read_keyring(record: KeyRecord) -> bytes:
    """Return the key. Raises KeyringFailed."""
    import keyring

    try:
        stored = keyring.get_password(_SERVICE, record.id)
    except Exception as error:
        raise _failed(error) from error
    if stored is None:
        raise KeyringFailed(
            f"the system's keyring has no key {record.id!r} for the memories: it was removed, or this is another "
            "machine or user. Without it nobody can read them"
        )
    try:
        key = base64.b64decode(stored, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not _is_right(record, key):
        raise KeyringFailed(f"what the system's keyring has as {record.id!r} is not the key of these memories")
    return key


def wrap(key: bytes, passphrase: str) -> KeyRecord:
    """Raises WrongPassphrase when it is too short."""
    if len(passphrase) < MIN_PASSPHRASE_CHARACTERS:
        raise WrongPassphrase(f"a passphrase needs {MIN_PASSPHRASE_CHARACTERS} characters or more")
    argon2 = Argon2(salt=secrets.token_bytes(16))
    nonce = secrets.token_bytes(12)
    wrapped = nonce + AESGCM(_derive(argon2, passphrase)).encrypt(nonce, key, _CHECK)
    name = secrets.token_hex(8)
    return KeyRecord(source="passphrase", id=name, check=_check(key), argon2=argon2, wrapped=wrapped)


def read_passphrase(record: KeyRecord, passphrase: str) -> bytes:
    """Return the key. Raises WrongPassphrase."""
    assert record.argon2 is not None
    assert record.wrapped is not None
    try:
        key = AESGCM(_derive(record.argon2, passphrase)).decrypt(record.wrapped[:12], record.wrapped[12:], _CHECK)
    except (InvalidTag, ValueError) as error:
        raise WrongPassphrase("that is not the passphrase of these memories") from error
    return key


def _derive(argon2: Argon2, passphrase: str) -> bytes:
    derivation = Argon2id(
        salt=argon2.salt,
        length=KEY_BYTES,
        iterations=argon2.iterations,
        lanes=argon2.lanes,
        memory_cost=argon2.memory_kib,
    )
    # An ü is one character on one keyboard and two on another.
    return derivation.derive(unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass"))


def _check(key: bytes) -> bytes:
    """Return what tells the right key from others: a fixed text under it, which is under no other."""
    return AESGCM(key).encrypt(_CHECK_NONCE, _CHECK, None)


def _is_right(record: KeyRecord, key: bytes) -> bool:
    try:
        return AESGCM(key).decrypt(_CHECK_NONCE, record.check, None) == _CHECK
    except (InvalidTag, ValueError):
        return False


def _failed(error: Exception) -> GnoError:
    said = str(error) or type(error).__name__
    return KeyringFailed(f"the system's keyring did not do it: {said}. Is it unlocked?")
