"""The blocking client of `gnod.client`: short forms, errors, a daemon that disconnects and comes back."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gnod.client import Client
from gnod.client.shortcuts import Shortcut, Shortcuts
from gnod.errors import CollectionNotFound, DaemonNotRunning, InvalidName, TimedOut, Unavailable, UsageError
from gnod.paths import IndexPaths
from gnod.protocol.base import Params, ProgressValue
from gnod.protocol.index import IndexSyncParams, IndexSyncResult
from gnod.protocol.methods import METHODS
from gnod.protocol.search import AskParams, SearchLexicalParams
from gnod.protocol.subscription import IndexSubscribeParams
from tests.client.fake_daemon import FakeDaemon
from tests.client.samples import BEGUN, changes, found, hit, told

SYNCED = IndexSyncResult(collections=[], took_ms=1.0)

SHORT_FORMS = {name: each for name, each in vars(Shortcuts).items() if isinstance(each, Shortcut)}


@pytest.fixture
def daemon(daemon: FakeDaemon) -> FakeDaemon:
    daemon.answers |= {"index.sync": SYNCED, "search.lexical": found(hit()), "index.subscribe": BEGUN}
    return daemon


def test_a_short_form_asks_with_its_parameters(daemon: FakeDaemon) -> None:
    with Client.connect() as client:
        assert client.search("deploy", limit=3, collections=["notes"]).hits == [hit()]
        assert client.search(query="deploy").total == 1
    assert [params for _, params in daemon.calls] == [
        SearchLexicalParams(query="deploy", limit=3, collections=["notes"]),
        SearchLexicalParams(query="deploy"),
    ]


@pytest.mark.parametrize("name", SHORT_FORMS)
def test_a_short_form_is_a_method_of_the_wire(name: str) -> None:
    short = SHORT_FORMS[name]
    method = METHODS[short.method]
    assert (short.params, short.result) == (method.params, method.result)


def test_what_a_method_does_not_take_is_refused_before_it_is_sent(daemon: FakeDaemon) -> None:
    with Client.connect() as client:
        with pytest.raises(TypeError, match="lmit"):
            client.search("deploy", lmit=3)  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            client.ask("where?", 3)  # type: ignore[call-arg]
    assert not daemon.calls
    assert AskParams("where?", limit=3) == AskParams(question="where?", limit=3)


def test_an_error_is_raised_and_the_next_call_works(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = CollectionNotFound("there is no collection 'x'", {"name": "x"})
    with Client.connect() as client:
        with pytest.raises(CollectionNotFound) as caught:
            client.search("deploy", collections=["x"])
        assert caught.value.details == {"name": "x"}
        assert client.sync().took_ms == 1.0


def test_what_progress_raises_ends_the_request(daemon: FakeDaemon) -> None:
    daemon.progress["index.sync"] = [ProgressValue(stage="convert", done=1)]
    daemon.answers["index.sync"] = None

    def stop(_: ProgressValue) -> None:
        raise ValueError("enough")

    with Client.connect() as client:
        with pytest.raises(ValueError, match="enough"):
            client.call("index.sync", IndexSyncParams(), IndexSyncResult, on_progress=stop)
        assert daemon.cancelled.wait(timeout=60)
        daemon.answers["index.sync"] = SYNCED
        assert client.sync().took_ms == 1.0


@pytest.mark.slow
def test_after_the_daemon_went_away_the_next_call_connects_anew(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = b""
    with Client.connect() as client:
        for _ in range(2):
            with pytest.raises(Unavailable, match="connection to the daemon was lost"):
                client.search("deploy")
            assert client.sync().took_ms == 1.0


def test_a_call_that_only_reads_is_repeated_and_no_other(daemon: FakeDaemon) -> None:
    """A repeated sync might run an update command twice."""
    with Client.connect() as client:
        daemon.hang_up_once("search.lexical")
        assert client.search("deploy").total == 1
        daemon.hang_up_once("index.sync")
        with pytest.raises(Unavailable, match="connection to the daemon was lost"):
            client.sync()
    assert [name for name, _ in daemon.calls] == ["search.lexical", "search.lexical", "index.sync"]


def test_a_second_thread_gets_an_error_at_once(daemon: FakeDaemon) -> None:
    """Both threads would read from one connection, and each could take the answer to the other."""
    asked, go_on = threading.Event(), threading.Event()

    def wait(_: Params) -> IndexSyncResult:
        asked.set()
        assert go_on.wait(60)
        return SYNCED

    daemon.answers["index.sync"] = wait
    with Client.connect() as client, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.sync)
        assert asked.wait(60)
        with pytest.raises(UsageError, match="one for each thread"):
            client.search("deploy")
        go_on.set()
        assert waiting.result(60).took_ms == 1.0
        assert client.search("deploy").total == 1, "one after the other"


def test_closing_ends_a_thread_that_waits_for_changes(daemon: FakeDaemon) -> None:
    with Client.connect() as client, ThreadPoolExecutor(1) as pool:
        subscription = client.subscribe()
        waiting = pool.submit(next, subscription)
        with contextlib.suppress(TimeoutError):
            waiting.result(0.05)
        subscription.close()
        with pytest.raises(Unavailable):
            waiting.result(60)


def test_a_forked_process_has_a_connection_of_its_own(daemon: FakeDaemon) -> None:
    with Client.connect() as client:
        client._process -= 1  # as in a fork
        ours = client._connection
        assert client.search("deploy").total == 1
        assert client._connection is not ours


def test_a_daemon_that_is_silent_is_named(daemon: FakeDaemon) -> None:
    daemon.answers["search.lexical"] = None
    with Client.connect(timeout_s=1.0) as client:
        with pytest.raises(TimedOut, match=rf"gnod \(pid {os.getpid()}\) did not answer search.lexical within 1 s"):
            client.search("deploy")
        daemon.answers["search.lexical"] = found(hit())
        assert client.search("deploy").total == 1


def test_progress_makes_the_client_wait_longer(daemon: FakeDaemon) -> None:
    """The limit is between two messages; a long call sends progress even if nobody uses it."""
    daemon.progress["index.sync"] = [ProgressValue(stage="index", done=number) for number in range(8)]
    daemon.progress_pause_s = 0.3
    with Client.connect(timeout_s=2.0) as client:
        assert client.sync().took_ms == 1.0


def test_every_method_that_changes_something_is_asked_once() -> None:
    """Except `memory.store`, which finds what it stored before."""
    changing = re.compile(
        r"\.(add|remove|rename|attach|detach|publish|unpublish|save|use|pull|clear|update|forget|import)$"
    )
    assert not [name for name, method in METHODS.items() if method.is_repeatable and changing.search(name)]
    for name in ("index.sync", "index.cleanup", "index.restore", "daemon.shutdown", "memory.lock", "memory.unlock"):
        assert not METHODS[name].is_repeatable
    assert METHODS["search.lexical"].limit_s < METHODS["ask.answer"].limit_s


def test_one_connection_is_enough_for_many_calls(daemon: FakeDaemon) -> None:
    with Client.connect() as client:
        client.sync()
        daemon.places.socket.unlink()  # nobody else can connect
        assert client.sync().took_ms == 1.0


def test_a_daemon_that_is_gone_for_good(places: IndexPaths) -> None:
    with contextlib.ExitStack() as running:
        daemon = running.enter_context(FakeDaemon(places).serving())
        daemon.answers["search.lexical"] = b""
        client = Client.connect()
        with pytest.raises(Unavailable, match="connection to the daemon was lost"):
            client.search("deploy")
    with client, pytest.raises(DaemonNotRunning, match="gnoctl daemon start"):
        client.search("deploy")


def test_which_daemon(places: IndexPaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeDaemon(places).serving() as daemon:
        daemon.answers["index.sync"] = IndexSyncResult(collections=[], took_ms=2.0)
        monkeypatch.setenv("GNO_SOCKET", str(tmp_path / "other"))
        with pytest.raises(DaemonNotRunning):
            Client.connect(start=False)
        with Client.connect(socket=places.socket) as client:
            assert client.sync().took_ms == 2.0
    with pytest.raises(InvalidName):
        Client.connect("no/name")


def test_a_closed_client_says_so(daemon: FakeDaemon) -> None:
    client = Client.connect()
    subscription = client.subscribe()
    client.close()
    client.close()
    for attempt in (client.sync, client.subscribe, lambda: next(subscription)):
        with pytest.raises(Unavailable):
            attempt()


def test_changes_come_in_order_and_say_where_to_go_on(daemon: FakeDaemon) -> None:
    daemon.answers["index.subscribe"] = told(*changes(2), *changes(1, subscription=4), *changes(3)[2:])
    with Client.connect() as client, client.subscribe(since=90, collections=["notes"]) as subscription:
        assert subscription.begun == BEGUN
        for clock in (101, 102, 103):
            assert next(subscription).clock == clock
            assert subscription.clock == clock - 1, "what is being handled is not told yet"
        with pytest.raises(Unavailable) as caught:
            next(subscription)
    assert caught.value.details["clock"] == subscription.clock == 103
    assert daemon.asked(IndexSubscribeParams) == IndexSubscribeParams(since=90, collections=["notes"])


def test_a_client_can_be_called_while_it_is_subscribed(daemon: FakeDaemon) -> None:
    with Client.connect() as client, client.subscribe():
        assert client.search("deploy").total == 1


def test_a_refused_subscription_is_raised_at_once(daemon: FakeDaemon) -> None:
    daemon.answers["index.subscribe"] = CollectionNotFound("there is no collection 'x'")
    with Client.connect() as client, pytest.raises(CollectionNotFound):
        client.subscribe(collections=["x"])
