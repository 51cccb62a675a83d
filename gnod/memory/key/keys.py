"""Store and read the key of the memories: in the system's keyring, encrypted by a passphrase, or in a file.

The database holds only a `KeyRecord`, which is useless alone. A keyring may prompt its owner and take long, so call
these functions in a thread (`in_thread`).
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import os
import secrets
import shlex
import stat
import threading
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from msgspec import Meta

from gnod.atomic_file import replacing
from gnod.errors import GnoError, KeyFileFailed, KeyringFailed, MemoryDamaged, Refused, WrongPassphrase
from gnod.memory.key.sealing import KEY_BYTES
from gnod.private import own_file

T = TypeVar("T")

MIN_PASSPHRASE_CHARACTERS = 8
# The keyring may prompt the user, who may be away.
_KEYRING_LIMIT_S = 60.0

_MAX_FILE_BYTES = 4096
_SERVICE = "gnod memory"
_CHECK_NONCE = bytes(12)
_CHECK = b"gnod memory key"
_NO_RECORD = "the key record of the memories is damaged: run `gnoctl restore --memories` to restore a backup"


class Argon2(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters of Argon2. The defaults are the second recommendation of RFC 9106, section 4: 64 MiB, three
    passes, four lanes. They take a quarter of a second. The limits protect against a record in a foreign backup."""

    salt: Annotated[bytes, Meta(min_length=8, max_length=64)]
    iterations: Annotated[int, Meta(ge=1, le=16)] = 3
    lanes: Annotated[int, Meta(ge=1, le=16)] = 4
    memory_kib: Annotated[int, Meta(ge=1024, le=1024 * 1024)] = 64 * 1024


class KeyRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The stored data of the key. `source`: where the key is. `id`: its name in the keyring. `check`: only the right
    key decrypts it. `wrapped`: the key, encrypted with the passphrase through `argon2`."""

    source: Literal["keyring", "passphrase", "file"]
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
    """Return why no keyring can be used; None if one can."""
    import keyring.backends.fail

    backend = keyring.get_keyring()
    if isinstance(backend, keyring.backends.fail.Keyring):
        return "no keyring is running on this machine"
    # A priority below 1 means a keyring without encryption. It is used only if the user names it.
    if backend.priority < 1 and "PYTHON_KEYRING_BACKEND" not in os.environ:
        return f"the only keyring on this machine is {backend.name}, which does not encrypt"
    return None


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def put_into_keyring(key: bytes) -> KeyRecord:
    """Raises KeyringFailed."""
    import keyring

    name = secrets.token_hex(8)
    try:
        keyring.set_password(_SERVICE, name, base64.b64encode(key).decode())
    except Exception as error:  # backends raise any error of the system behind them
        raise _failed(error) from error
    record = KeyRecord(source="keyring", id=name, check=_check(key))
    read_keyring(record)  # some keyrings accept a key but do not return it
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
            "machine or user. The memories cannot be read without it"
        )
    key = _decoded(stored)
    if not _is_right(record, key):
        raise KeyringFailed(f"the entry {record.id!r} in the system's keyring is not the key of these memories")
    return key


def put_into_file(key: bytes, path: Path) -> KeyRecord:
    """Write a file that only its owner can read. Raises KeyFileFailed, also for a file with another key."""
    if os.path.lexists(path):
        if key_in_file(path) != key:
            raise KeyFileFailed(f"{path} has another key, perhaps that of older memories: move it away")
    else:
        with _file_errors(path), replacing(path) as file:
            file.write(base64.b64encode(key) + b"\n")
    return KeyRecord(source="file", id=secrets.token_hex(8), check=_check(key))


def read_file(record: KeyRecord, path: Path) -> bytes:
    """Return the key. Raises KeyFileFailed."""
    key = key_in_file(path)
    if not _is_right(record, key):
        raise KeyFileFailed(f"{path} does not have the key of these memories: restore the right file from a backup")
    return key


def key_in_file(path: Path) -> bytes:
    """Return the key in the file. Raises KeyFileFailed, even if the only problem is that other users may read the
    file."""
    with _file_errors(path), os.fdopen(own_file(path, os.O_RDONLY), "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        stored = file.read(_MAX_FILE_BYTES)
    if mode & 0o077:
        close = f"chmod 600 {shlex.quote(str(path))}"
        raise KeyFileFailed(f"other users can read the key of the memories in {path} (mode {mode:04o}): run `{close}`")
    return _decoded(stored.strip())


def remove_file(path: Path) -> None:
    """Delete a key file, if there is one. Raises KeyFileFailed."""
    with _file_errors(path):
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise KeyFileFailed(f"the key of the memories is missing: restore {path} from a backup") from None
    except Refused:
        raise KeyFileFailed(
            f"{path} does not belong to you, or it is a link: the key must be in a file that you own"
        ) from None
    except OSError as error:
        raise KeyFileFailed(f"the key of the memories in {path} cannot be used: {error.strerror}") from error


def wrap(key: bytes, passphrase: str) -> KeyRecord:
    """Encrypt the key with a passphrase. Raises WrongPassphrase if the passphrase is too short."""
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
        raise WrongPassphrase("this is not the passphrase of these memories") from error
    return key


def _derive(argon2: Argon2, passphrase: str) -> bytes:
    derivation = Argon2id(
        salt=argon2.salt,
        length=KEY_BYTES,
        iterations=argon2.iterations,
        lanes=argon2.lanes,
        memory_cost=argon2.memory_kib,
    )
    # Keyboards may produce ü as one character or as two.
    return derivation.derive(unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogatepass"))


def _decoded(stored: str | bytes) -> bytes:
    """Return the key; b"" if it is damaged."""
    try:
        return base64.b64decode(stored, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _check(key: bytes) -> bytes:
    """Return a fixed text encrypted with the key, to recognise the key later."""
    return AESGCM(key).encrypt(_CHECK_NONCE, _CHECK, None)


def _is_right(record: KeyRecord, key: bytes) -> bool:
    try:
        return AESGCM(key).decrypt(_CHECK_NONCE, record.check, None) == _CHECK
    except (InvalidTag, ValueError):
        return False


async def in_thread(work: Callable[[], T]) -> T:
    """Run `work`, which may wait for the owner of the keyring, in a thread that does not block the exit of the daemon.
    Raises what `work` raises, and KeyringFailed when the keyring does not reply in time."""
    result: Future[T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name="gnod-keyring", daemon=True).start()
    try:
        async with asyncio.timeout(_KEYRING_LIMIT_S):
            return await asyncio.shield(asyncio.wrap_future(result))
    except TimeoutError:
        raise KeyringFailed(
            f"the system's keyring did not answer for {_KEYRING_LIMIT_S:.0f} s: check whether it waits for a password"
        ) from None


def _failed(error: Exception) -> GnoError:
    reason = str(error) or type(error).__name__
    return KeyringFailed(f"the system's keyring failed: {reason}. Check that it is unlocked")
