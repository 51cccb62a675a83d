"""Another user of the same machine, for tests that run as root: a forked process without any privileges."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import socket
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar

from tests.machine import wait_until

UID = 61_234
OTHER_UID = 61_235

T = TypeVar("T")


def as_stranger(work: Callable[[], T], uid: int = UID) -> T:
    """Run `work` in a process of another user. Return its result or raise its error."""
    reading, writing = os.pipe()
    pid = _fork()
    if pid == 0:
        _become(uid)
        try:
            outcome: object = work()
        except BaseException as error:
            outcome = error
        os.write(writing, pickle.dumps(outcome))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        outcome = pickle.load(pipe)
    os.waitpid(pid, 0)
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome  # type: ignore[return-value]


@contextlib.contextmanager
def strange_daemon(path: Path, received: Path) -> Iterator[None]:
    """Let another user listen at `path` and write all data from clients to `received`, which that user owns."""
    received.touch()
    os.chown(received, UID, UID)
    pid = _fork()
    if pid == 0:
        _become(UID)
        _listen(path, received)
    try:
        wait_until(lambda: _accepts(path))
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: a fork has no other threads
        return os.fork()


def _become(uid: int) -> None:
    os.setgroups([])
    os.setgid(uid)
    os.setuid(uid)


def _listen(path: Path, received: Path) -> NoReturn:
    with socket.socket(socket.AF_UNIX) as listener, received.open("ab", buffering=0) as file:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(100)
        while True:
            client, _ = listener.accept()
            client.settimeout(1)
            with client, contextlib.suppress(OSError):
                while data := client.recv(65536):
                    file.write(data)


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0
