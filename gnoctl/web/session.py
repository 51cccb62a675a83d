"""The secret that a browser must know to be served, in a file that only its owner can read."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import os
import secrets
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from gnoctl.loopback import peers
from gnod.atomic_file import replacing
from gnod.errors import Refused
from gnod.paths import IndexPaths
from gnod.private import own_file, private_file, private_folder

_LINK_LASTS_S = 60
_SECRET_BYTES = 32


class WebSession(msgspec.Struct, frozen=True, kw_only=True):
    """`pid`: the server's. `secret` stays the same while the file exists, so that open pages survive a restart of the
    server, but only if other users are refused: otherwise one of them could listen in between and receive a cookie."""

    port: int
    pid: int
    secret: str

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def cookie_name(self) -> str:
        """Return the name of the cookie. Browsers store cookies per host, not per port, so the name separates the
        cookies of two servers."""
        return f"gno-{self.port}"

    @property
    def cookie(self) -> str:
        """The value of the cookie. A browser sends it to every server on this host, so it is not the secret."""
        return _signed(self.secret, f"cookie {self.port}")

    @property
    def address(self) -> str:
        return f"{self.origin}/?token={self.secret}"

    def brief_address(self) -> str:
        """Return an address that works for a minute, for command lines, which every user of the machine can read."""
        until = str(int(time.time()) + _LINK_LASTS_S)
        return f"{self.origin}/?token={until}.{_signed(self.secret, until)}"

    def opens(self, token: str) -> bool:
        """Return whether the `token` of an address belongs to this session."""
        until, _, signature = token.rpartition(".")
        if not until:
            return _equal(token, self.secret)
        is_signed = _equal(signature, _signed(self.secret, until))
        return is_signed and until.isascii() and until.isdigit() and len(until) < 20 and time.time() <= int(until)

    def knows(self, cookie: str) -> bool:
        return _equal(cookie, self.cookie)


def file_of(places: IndexPaths) -> Path:
    """Return the file for the session of an index: beside the socket, in a folder that only its owner can enter."""
    return places.socket.with_name(f"web-{places.index}.json")


def running(places: IndexPaths) -> WebSession | None:
    """Return the session of the running server, which holds the lock; None while it starts."""
    session = read(places)
    try:
        with open(own_file(_lock_file(places), os.O_RDONLY), encoding="ascii") as file:  # noqa: PTH123
            holder = file.read(32)
    except (OSError, Refused, UnicodeDecodeError):
        return None
    return session if session is not None and holder == str(session.pid) else None


def read(places: IndexPaths) -> WebSession | None:
    """Return the last session of an index; None if there is none, or if another user could have read or written it."""
    try:
        with open(own_file(file_of(places), os.O_RDONLY), "rb") as file:  # noqa: PTH123
            found = os.fstat(file.fileno())
            if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
                return None
            return msgspec.json.decode(file.read(4096), type=WebSession)
    except (OSError, Refused, msgspec.DecodeError, UnicodeDecodeError):
        return None


@contextlib.contextmanager
def lock(places: IndexPaths) -> Iterator[bool]:
    """Hold the lock of the index's page during the block; yield False if another process has it.

    The port cannot serve as the lock: once the server has ended, any user of the machine may listen there, and would
    receive the secret.
    """
    path = _lock_file(places)
    private_folder(path.parent)
    descriptor = private_file(path, os.O_RDWR | os.O_CREAT)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield True
    finally:
        os.close(descriptor)


def write(places: IndexPaths, port: int) -> WebSession:
    """Write and return the session of this process."""
    last = read(places) if peers.can_be_told() else None
    secret = last.secret if last and len(last.secret) >= _SECRET_BYTES else secrets.token_urlsafe(_SECRET_BYTES)
    session = WebSession(port=port, pid=os.getpid(), secret=secret)
    path = file_of(places)
    private_folder(path.parent)
    with replacing(path) as file:
        file.write(msgspec.json.encode(session))
    return session


def _lock_file(places: IndexPaths) -> Path:
    return file_of(places).with_suffix(".lock")


def _signed(secret: str, text: str) -> str:
    return hmac.new(secret.encode(), text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def _equal(given: str, right: str) -> bool:
    """Compare in constant time, which reveals nothing about `right`."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode())
