"""One connection: answers, errors, progress, and a daemon that misbehaves."""

from __future__ import annotations

import re
import socket

import pytest

from gnod import errors
from gnod.client.connection import connect
from gnod.client.opening import connect_running
from gnod.daemon.lock import index_lock
from gnod.paths import IndexPaths, resolve
from gnod.protocol.base import NoParams, ProgressValue
from gnod.protocol.daemon import DaemonStatusResult
from gnod.protocol.index import IndexSyncParams, IndexSyncResult
from gnod.protocol.search import SearchLexicalParams, SearchResult
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import NO_REPLIES, found, hit

SEARCH = SearchLexicalParams(query="x")


def test_an_error_comes_back_as_its_class(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gnod.client.connection.REOPEN_TIMEOUT_S", 0.0)
    for code, error in errors.CLASSES.items():
        daemon.answers["search.lexical"] = error("no", {"name": "x"})
        with connect(daemon.places) as connection, pytest.raises(error) as caught:
            connection.call("search.lexical", SEARCH, SearchResult)
        assert (type(caught.value), caught.value.details) == (error, {"name": "x"}), code


def test_an_unknown_error_becomes_its_family(daemon: FakeDaemon) -> None:
    class FromTheFuture(errors.CollectionNotFound, code=199): ...

    daemon.answers["search.lexical"] = FromTheFuture("no")
    with connect(daemon.places) as connection, pytest.raises(errors.GnoError) as caught:
        connection.call("search.lexical", SEARCH, SearchResult)
    assert caught.value.code == 100


def test_progress_is_handed_on_while_waiting(daemon: FakeDaemon) -> None:
    values = [ProgressValue(stage="convert", done=done, total=3) for done in range(4)]
    daemon.progress["index.sync"] = values
    daemon.answers["index.sync"] = IndexSyncResult(collections=[], took_ms=1.0)
    seen: list[ProgressValue] = []
    with connect(daemon.places) as connection:
        connection.call("index.sync", IndexSyncParams(), IndexSyncResult, on_progress=seen.append)
    assert seen == values


def test_a_large_answer_arrives_whole(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = found(hit(text="x" * 20_000_000))
    with connect(daemon.places) as connection:
        result = connection.call("search.lexical", SEARCH, SearchResult)
    assert len(result.hits[0].text or "") == 20_000_000


@pytest.mark.parametrize(("sent", "error"), [(b"", errors.Unavailable), *NO_REPLIES.items()])
def test_a_daemon_that_misbehaves_gives_a_clean_error(
    sent: bytes, error: type[errors.GnoError], daemon: FakeDaemon
) -> None:
    daemon.answers["search.lexical"] = sent
    with connect(daemon.places) as connection, pytest.raises(error) as caught:
        connection.call("search.lexical", SEARCH, SearchResult)
    assert caught.value.message


def test_a_silent_daemon_times_out_where_that_is_asked_for(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = None
    with connect(daemon.places) as connection, pytest.raises(errors.TimedOut):
        connection.call("search.lexical", SEARCH, SearchResult, timeout_s=0.05)
    assert daemon.cancelled.wait(timeout=60)


def test_nobody_listens(places: IndexPaths) -> None:
    with pytest.raises(errors.DaemonNotRunning, match="gnoctl daemon start"):
        connect(places)
    work = resolve("work")
    work.socket.parent.mkdir()
    work.socket.touch()  # a stale socket file: ECONNREFUSED
    with pytest.raises(errors.DaemonNotRunning, match=re.escape("`gnoctl --index work daemon start`")):
        connect(work)


def test_a_usual_path_that_cannot_be_used_is_no_obstacle(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    with index_lock(daemon.places) as lock:
        lock.listens_at(str(daemon.places.socket))
        for unusable in (f"/tmp/{'x' * 120}.sock", "/dev/null/x", str(daemon.places.data_dir / "no")):
            monkeypatch.setenv("GNO_SOCKET", unusable)
            with connect_running(resolve()) as connection:
                assert connection.call("daemon.status", NoParams(), DaemonStatusResult).requests == 42


def test_a_socket_path_that_is_too_long(places: IndexPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNO_SOCKET", f"/tmp/{'x' * 120}.sock")
    with pytest.raises(errors.SocketPathTooLong):
        connect(resolve())


def test_a_daemon_that_refuses_for_a_moment_is_running(places: IndexPaths) -> None:
    """On macOS, a busy daemon with a full queue refuses connections, like a socket where nobody listens."""
    with index_lock(places) as lock, socket.socket(socket.AF_UNIX) as busy:
        places.socket.parent.mkdir(parents=True, exist_ok=True)
        busy.bind(str(places.socket))
        lock.listens_at(str(places.socket))
        with pytest.raises(errors.DaemonNotRunning):
            connect(places)
        connect_running(places, on_wait=busy.listen).close()
