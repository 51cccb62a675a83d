from __future__ import annotations

import os
import pwd
import shutil
import socket
import stat
from pathlib import Path

import msgspec
import pytest

from gnod import peer
from gnod.daemon.listening import listening_socket
from gnod.errors import IndexLocked, Refused, SocketPathTooLong, StorageFailed, UsageError
from gnod.paths import IndexPaths
from tests.rpc.harness import places_in, short_folder
from tests.systems import needs_root


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def live_socket(path: Path) -> socket.socket:
    path.parent.mkdir(parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    return listener


def refused(places: IndexPaths, error: type[Exception]) -> str:
    with pytest.raises(error) as caught, listening_socket(places):
        pass
    return str(caught.value)


@pytest.fixture
def places(short_tmp: Path) -> IndexPaths:
    return places_in(short_tmp)


def test_only_the_user_may_open_the_socket_and_its_folder(places: IndexPaths) -> None:
    previous = os.umask(0)
    try:
        with listening_socket(places):
            assert mode(places.socket) == 0o600
            assert mode(places.socket.parent) == 0o700
    finally:
        os.umask(previous)
    assert not places.socket.exists()


def test_permissions_are_set_on_a_created_folder_and_kept_on_an_existing_one(short_tmp: Path) -> None:
    ours = msgspec.structs.replace(places_in(short_tmp), socket=short_tmp / "cache" / "x.sock")
    theirs = msgspec.structs.replace(places_in(short_tmp), socket=short_tmp / "shared" / "x.sock")
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


def test_what_a_killed_daemon_left_is_replaced(places: IndexPaths) -> None:
    live_socket(places.socket).close()
    assert places.socket.is_socket()
    with listening_socket(places) as listening:
        listening.socket.listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(places.socket))


def test_a_live_socket_stays(places: IndexPaths) -> None:
    with live_socket(places.socket):
        assert "already listens" in refused(places, IndexLocked)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(places.socket))


def test_a_file_that_is_no_socket_stays(places: IndexPaths) -> None:
    places.socket.parent.mkdir()
    places.socket.write_text("precious")
    assert "is not a socket" in refused(places, UsageError)
    assert places.socket.read_text() == "precious"


def test_a_path_that_is_too_long_is_refused_before_anything_is_made(short_tmp: Path) -> None:
    places = msgspec.structs.replace(places_in(short_tmp), socket=short_tmp / ("x" * 100) / "default.sock")
    refused(places, SocketPathTooLong)
    assert list(short_tmp.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_a_clear_error(short_tmp: Path) -> None:
    (short_tmp / "run").write_text("a file where the short_tmp should be")
    assert str(places_in(short_tmp).socket) in refused(places_in(short_tmp), StorageFailed)


def test_the_socket_of_a_later_daemon_is_kept(places: IndexPaths) -> None:
    with listening_socket(places):
        places.socket.unlink()
        other = live_socket(places.socket)
    with other:
        assert places.socket.is_socket()


@pytest.mark.parametrize("access", [0o1777, 0o777, 0o757])
def test_a_folder_that_other_users_can_write_is_refused(access: int, places: IndexPaths) -> None:
    places.socket.parent.mkdir()
    places.socket.parent.chmod(access)
    assert f"other users could replace the socket in {places.socket.parent}" in refused(places, Refused)
    assert not places.socket.exists()


@needs_root
def test_a_group_of_others_is_refused_and_the_users_own_group_is_not(places: IndexPaths) -> None:
    places.socket.parent.mkdir()
    places.socket.parent.chmod(0o775)  # the mode under umask 002, the default of Ubuntu and Fedora
    os.chown(places.socket.parent, -1, pwd.getpwnam("daemon").pw_gid)
    assert "other users could replace the socket" in refused(places, Refused)
    assert peer.folder_problem(str(places.socket.parent))
    os.chown(places.socket.parent, -1, os.getgid())
    with listening_socket(places):
        assert peer.place_problem(str(places.socket)) is None


def test_a_private_folder_inside_a_shared_one_is_used(short_tmp: Path) -> None:
    (short_tmp / "run").mkdir()
    (short_tmp / "run").chmod(0o1777)
    places = msgspec.structs.replace(places_in(short_tmp), socket=short_tmp / "run" / "gno" / "x.sock")
    with listening_socket(places):
        assert mode(places.socket.parent) == 0o700


@needs_root
def test_a_folder_that_another_user_has_made_first_is_refused(short_tmp: Path) -> None:
    places = msgspec.structs.replace(places_in(short_tmp), socket=short_tmp / "gno" / "x.sock")
    places.socket.parent.mkdir(mode=0o700)
    os.chown(places.socket.parent, 1234, 1234)
    refused(places, Refused)
    places.socket.parent.rmdir()
    (short_tmp / "ours").mkdir(mode=0o700)
    places.socket.parent.symlink_to(short_tmp / "ours")
    os.chown(places.socket.parent, 1234, 1234, follow_symlinks=False)
    refused(places, Refused)


def answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


@pytest.mark.parametrize("loss", ["deleted", "moved", "folder", "replaced", "another listens", "a file"])
def test_a_lost_socket_is_bound_again(
    loss: str, monkeypatch: pytest.MonkeyPatch, places: IndexPaths, short_tmp: Path
) -> None:
    monkeypatch.setenv("GNO_CACHE_DIR", str(short_tmp / "cache"))
    monkeypatch.setattr("gnod.folders._USER_RUNTIME_FOLDERS", str(short_tmp / "none"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with listening_socket(places) as listening:
        assert not listening.is_lost()
        places.socket.chmod(0o640)
        assert not listening.is_lost(), "only the mode differs"
        if loss == "moved":
            places.socket.rename(short_tmp / "elsewhere")
        elif loss == "folder":
            shutil.rmtree(places.socket.parent)
        else:
            places.socket.unlink()
        other = live_socket(places.socket) if loss in ("replaced", "another listens") else None
        if loss == "replaced" and other:
            other.close()
        if loss == "a file":
            places.socket.write_text("precious")
        assert listening.is_lost()
        listening.renew()
        listening.socket.listen()
        assert not listening.is_lost()
        assert answers(listening.path)
        assert listening.path == (short_tmp / "cache" / "default.sock" if loss == "a file" else places.socket)
        assert mode(listening.path) == 0o600
        if other:
            other.close()
    assert not listening.path.exists(), "the file is removed at the end"


def test_two_daemons_do_not_take_one_path_from_each_other_for_ever(
    monkeypatch: pytest.MonkeyPatch, places: IndexPaths, short_tmp: Path
) -> None:
    monkeypatch.setenv("GNO_CACHE_DIR", str(short_tmp / "cache"))
    monkeypatch.setattr("gnod.folders._USER_RUNTIME_FOLDERS", str(short_tmp / "none"))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    with listening_socket(places) as listening:
        for _ in range(10):
            places.socket.unlink()
            with live_socket(places.socket):
                if listening.is_lost():
                    listening.renew()
        assert listening.path == short_tmp / "cache" / "default.sock"
        assert not listening.is_lost()
