from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import msgspec
import pytest

from gnod.daemon.listening import listening_socket
from gnod.errors import IndexLocked, SocketPathTooLong, StorageFailed, UsageError
from gnod.paths import Places
from tests.rpc.harness import places_in, short_folder


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def live_socket(path: Path) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    return listener


def refused(places: Places, error: type[Exception]) -> str:
    with pytest.raises(error) as caught, listening_socket(places):
        pass
    return str(caught.value)


def test_only_the_user_may_open_the_socket_and_its_folder() -> None:
    with short_folder() as folder:
        places = places_in(folder)
        previous = os.umask(0)
        try:
            with listening_socket(places):
                assert mode(places.socket) == 0o600
                assert mode(places.socket.parent) == 0o700
            assert os.umask(0) == 0, "the umask is as it was"
        finally:
            os.umask(previous)
        assert not places.socket.exists()


def test_permissions_are_set_on_a_created_folder_and_kept_on_an_existing_one() -> None:
    with short_folder() as folder:
        ours = msgspec.structs.replace(places_in(folder), socket=folder / "cache" / "x.sock")
        theirs = msgspec.structs.replace(places_in(folder), socket=folder / "shared" / "x.sock")
        for places in (ours, theirs):
            places.socket.parent.mkdir()
            places.socket.parent.chmod(0o755)
            with listening_socket(places):
                assert mode(places.socket) == 0o600
        assert mode(ours.socket.parent) == 0o700
        assert mode(theirs.socket.parent) == 0o755


def test_connections_are_refused_until_the_daemon_is_ready() -> None:
    with short_folder() as folder, listening_socket(places_in(folder)):
        client = socket.socket(socket.AF_UNIX)
        with client, pytest.raises(ConnectionRefusedError):
            client.connect(str(places_in(folder).socket))


def test_what_a_killed_daemon_left_is_replaced() -> None:
    with short_folder() as folder:
        places = places_in(folder)
        live_socket(places.socket).close()
        assert places.socket.is_socket()
        with listening_socket(places) as listener:
            listener.listen()
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(places.socket))


def test_a_live_socket_stays() -> None:
    with short_folder() as folder:
        places = places_in(folder)
        with live_socket(places.socket):
            assert "already listens" in refused(places, IndexLocked)
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(places.socket))


def test_a_file_that_is_no_socket_stays() -> None:
    with short_folder() as folder:
        places = places_in(folder)
        places.socket.parent.mkdir()
        places.socket.write_text("precious")
        assert "is not a socket" in refused(places, UsageError)
        assert places.socket.read_text() == "precious"


def test_a_path_that_is_too_long_is_refused_before_anything_is_made() -> None:
    with short_folder() as folder:
        places = msgspec.structs.replace(places_in(folder), socket=folder / ("x" * 100) / "default.sock")
        refused(places, SocketPathTooLong)
        assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_clear_error() -> None:
    with short_folder() as folder:
        (folder / "run").write_text("a file where the folder should be")
        assert str(places_in(folder).socket) in refused(places_in(folder), StorageFailed)


def test_the_socket_of_a_later_daemon_is_kept() -> None:
    with short_folder() as folder:
        places = places_in(folder)
        with listening_socket(places):
            places.socket.unlink()
            other = live_socket(places.socket)
        with other:
            assert places.socket.is_socket()
