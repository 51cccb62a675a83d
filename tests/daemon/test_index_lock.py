from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gnod import __version__
from gnod.daemon.lock import index_lock
from gnod.errors import ConfigInvalid, IndexLocked, StorageFailed
from gnod.lock_holder import Holder, holder_of, last_failure
from gnod.paths import IndexPaths
from tests.rpc.harness import places_in, short_folder


def is_locked(places: IndexPaths) -> bool:
    try:
        with index_lock(places):
            return False
    except IndexLocked:
        return True


def test_a_second_daemon_is_refused_and_learns_who_serves(short_tmp: Path) -> None:
    places = places_in(short_tmp, "work")
    with index_lock(places):
        with pytest.raises(IndexLocked) as caught, index_lock(places):
            pass
        assert str(caught.value) == f"another gnod (pid {os.getpid()}) already serves index 'work'"
        assert caught.value.details["pid"] == os.getpid()


def test_the_lock_ends_with_the_block_and_the_file_stays(short_tmp: Path) -> None:
    places = places_in(short_tmp)
    for _ in range(2):
        with index_lock(places):
            assert is_locked(places)
            holder = holder_of(places.lock_file)
            assert holder is not None
            assert (holder.pid, holder.socket) == (os.getpid(), None)
            assert stat.S_IMODE(places.lock_file.stat().st_mode) == 0o600
        assert places.lock_file.exists()
        assert not is_locked(places)


def test_clients_learn_where_the_holder_listens_and_nothing_of_the_last_one(short_tmp: Path) -> None:
    lock_file = places_in(short_tmp).lock_file
    assert holder_of(lock_file) is None
    with index_lock(places_in(short_tmp)) as lock:
        for socket in ("/a/long/path/default.sock", "/short"):
            lock.listens_at(socket)
            holder = holder_of(lock_file)
            assert holder is not None
            assert (holder.pid, holder.socket) == (os.getpid(), socket)
        assert last_failure(lock_file) is None
    assert holder_of(lock_file) is None
    assert str(os.getpid()).encode() not in lock_file.read_bytes()
    with index_lock(places_in(short_tmp)):
        assert holder_of(lock_file) == Holder(pid=os.getpid(), version=__version__, started_at=started_at(lock_file))


def started_at(lock_file: Path) -> str:
    return str(json.loads(lock_file.read_bytes())["started_at"])


def test_why_the_last_daemon_failed_is_kept_until_the_next(short_tmp: Path) -> None:
    places = places_in(short_tmp)
    assert last_failure(places.lock_file) is None
    with pytest.raises(ConfigInvalid), index_lock(places):
        raise ConfigInvalid("line 3: unknown key\n" + "x" * 5000)
    assert (last_failure(places.lock_file) or "").startswith("line 3: unknown key")
    with index_lock(places):
        assert last_failure(places.lock_file) is None
    assert last_failure(places.lock_file) is None


def test_what_a_killed_daemon_has_written_does_not_count(short_tmp: Path) -> None:
    places = places_in(short_tmp)
    places.lock_file.parent.mkdir(parents=True)
    places.lock_file.write_text(json.dumps({"pid": os.getpid(), "started_at": "", "socket": "/tmp/x"}))
    assert holder_of(places.lock_file) is None
    assert not is_locked(places)


def test_indexes_do_not_lock_each_other() -> None:
    with short_folder() as folder, index_lock(places_in(folder, "one")), index_lock(places_in(folder, "two")):
        pass


@pytest.mark.parametrize("content", [b"", b"nonsense", b'{"pid": "x"}', b"\xff"])
def test_a_lock_file_that_cannot_be_read_only_costs_the_pid(content: bytes, short_tmp: Path) -> None:
    places = places_in(short_tmp)
    with index_lock(places):
        places.lock_file.write_bytes(content)
        with pytest.raises(IndexLocked, match="another gnod already serves"), index_lock(places):
            pass


def test_a_child_does_not_inherit_the_lock(short_tmp: Path) -> None:
    places = places_in(short_tmp)
    with index_lock(places):
        child = subprocess.Popen(
            [sys.executable, "-c", "print(flush=True); input()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=False,
        )
        # Popen returns a moment before the kernel closes the descriptors that exec does not pass on.
        assert child.stdout is not None
        child.stdout.readline()
    try:
        assert not is_locked(places)
    finally:
        child.communicate(b"\n")


def test_a_folder_that_cannot_be_written_is_a_clear_error(short_tmp: Path) -> None:
    places = places_in(short_tmp)
    places.data_dir.write_text("a file where the short_tmp should be")
    with pytest.raises(StorageFailed, match="gnod cannot write to"), index_lock(places):
        pass
