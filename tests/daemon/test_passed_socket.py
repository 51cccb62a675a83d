"""Socket activation: a daemon gets its socket from the service manager, as sd_listen_fds(3) describes."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from gnod.errors import EXIT_VALIDATION
from gnod.protocol.jsonrpc import encode_call
from tests.machine import wait_until
from tests.rpc.harness import places_in

ROOT = Path(__file__).parents[2]

# The numbers of the descriptors and the pid must be right, and only the process itself can set both.
_PASS = """
import fcntl, os, sys
first, second = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(first, 3), os.dup2(second, 4)
os.environ.setdefault("LISTEN_PID", str(os.getpid()))
os.execv(sys.executable, [sys.executable, "-m", "tests.daemon.small_daemon", sys.argv[3]])
"""


def listener(path: Path, *, kind: int = socket.SOCK_STREAM, listens: bool = True) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    bound = socket.socket(socket.AF_UNIX, kind)
    try:
        bound.bind(str(path))
        if listens:
            bound.listen()
    except BaseException:
        bound.close()
        raise
    return bound


@contextmanager
def started(
    folder: Path, first: socket.socket, second: socket.socket | None = None, **variables: str
) -> Iterator[subprocess.Popen[str]]:
    """Start the small daemon with these sockets as its descriptors 3 and 4."""
    numbers = (first.fileno(), (second or first).fileno())
    process = subprocess.Popen(
        [sys.executable, "-c", _PASS, *map(str, numbers), str(folder)],
        cwd=ROOT,
        env={**os.environ, "LISTEN_FDS": "2" if second else "1", **variables},
        pass_fds=set(numbers),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def says(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == f"{line}\n"


def refused(folder: Path, *sockets: socket.socket) -> str:
    with ExitStack() as stack:
        for passed in sockets:
            stack.enter_context(passed)
        process = stack.enter_context(started(folder, *sockets))
        message, _ = process.communicate(timeout=60)
        assert process.returncode == EXIT_VALIDATION
        return message


def asks(path: Path, method: str = "daemon.shutdown") -> object:
    with socket.socket(socket.AF_UNIX) as client, client.makefile() as stream:
        client.settimeout(60)
        client.connect(str(path))
        client.sendall(encode_call(method, {}, 1) + b"\n")
        return json.loads(stream.readline())["result"]


@pytest.mark.slow
def test_earlier_connections_are_answered_and_the_socket_stays(short_tmp: Path) -> None:
    path = places_in(short_tmp).socket
    with listener(path) as passed, socket.socket(socket.AF_UNIX) as early:
        early.settimeout(60)
        early.connect(str(path))
        early.sendall(b'{"jsonrpc":"2.0","id":1,"method":"daemon.status"}\n')
        with started(short_tmp, passed) as process:
            says(process, "ready")
            assert "result" in json.loads(early.makefile().readline())
            assert asks(path) == {"stopping": True}
            process.communicate(timeout=60)
        assert path.is_socket()
        with started(short_tmp, passed) as process:  # the next daemon takes it too, as does its replacement
            says(process, "ready")
            assert asks(path, "index.retry") == {"stopping": False}
            for line in ("closing while the socket is there", "closed", "ready"):
                says(process, line)
            assert asks(path) == {"stopping": True}
            process.communicate(timeout=60)
        assert path.is_socket()


@pytest.mark.slow
@pytest.mark.parametrize("is_lost_before_the_start", [True, False])
def test_if_the_socket_file_is_deleted_the_daemon_binds_its_own(
    is_lost_before_the_start: bool, short_tmp: Path
) -> None:
    path = places_in(short_tmp).socket
    with listener(path) as passed:
        if is_lost_before_the_start:
            path.unlink()
        with started(short_tmp, passed) as process:
            says(process, "ready")
            if not is_lost_before_the_start:
                path.unlink()
            wait_until(path.exists)
            assert asks(path) == {"stopping": True}
            process.communicate(timeout=60)
        assert not path.exists(), "the daemon removed its own file"


def test_of_several_the_one_with_our_name_is_taken(short_tmp: Path) -> None:
    path = places_in(short_tmp).socket
    with (
        listener(short_tmp / "other") as other,
        listener(path) as ours,
        started(short_tmp, other, ours, LISTEN_FDNAMES="other:gnod") as process,
    ):
        says(process, "ready")
        assert asks(path) == {"stopping": True}


def test_a_socket_for_another_process_is_ignored(short_tmp: Path) -> None:
    path = places_in(short_tmp).socket
    with listener(short_tmp / "other") as other, started(short_tmp, other, LISTEN_PID="1") as process:
        says(process, "ready")
        assert asks(path) == {"stopping": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "listens"), [(socket.SOCK_STREAM, False), (socket.SOCK_DGRAM, False), (socket.SOCK_SEQPACKET, True)]
)
def test_a_socket_that_is_no_listening_stream_is_refused(kind: int, listens: bool, short_tmp: Path) -> None:
    said = refused(short_tmp, listener(places_in(short_tmp).socket, kind=kind, listens=listens))
    assert "not a listening Unix stream socket" in said


def test_a_socket_that_no_client_would_find_is_refused(short_tmp: Path) -> None:
    said = refused(short_tmp, listener(short_tmp / "other"))
    assert f"a socket at {short_tmp / 'other'}, but its clients use {places_in(short_tmp).socket}" in said


def test_two_without_a_name_are_refused(short_tmp: Path) -> None:
    said = refused(short_tmp, listener(places_in(short_tmp).socket), listener(short_tmp / "other"))
    assert "FileDescriptorName=gnod" in said
