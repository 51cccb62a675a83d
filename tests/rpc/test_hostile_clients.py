"""Hostile clients do not keep the daemon from serving others, and leave no resources behind."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.machine import wait_until
from tests.rpc.overload import (
    BUSY,
    LIMIT_EXCEEDED,
    PING,
    OverloadedMachine,
    line,
    overloaded_machine,
    read_messages,
    send,
)

pytestmark = pytest.mark.slow

MB = 1024 * 1024


@pytest.fixture(scope="module")
def daemon() -> Iterator[OverloadedMachine]:
    with overloaded_machine() as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def outlived(daemon: OverloadedMachine) -> Iterator[None]:
    with daemon.outlives():
        yield


@contextmanager
def served_meanwhile(daemon: OverloadedMachine) -> Iterator[None]:
    """Run another client, connected before, that sends requests all the time, and check that it gets every answer."""
    done = threading.Event()
    hits: list[int] = []
    failed: list[BaseException] = []

    with daemon.connect() as client, client.makefile("rb") as stream:

        def search() -> int:
            client.sendall(line("search.lexical", len(hits), query="deploy"))
            return len(json.loads(stream.readline())["result"]["hits"])

        def search_until_done() -> None:
            try:
                while not done.is_set() or len(hits) < 3:
                    hits.append(search())
            except BaseException as error:
                failed.append(error)

        # The daemon has accepted this client, so the attack may take all other connections.
        hits.append(search())
        other = threading.Thread(target=search_until_done)
        other.start()
        try:
            yield
        finally:
            done.set()
            other.join()
    assert not failed
    assert set(hits) == {1}


DEEP = 1_000_000
ARRAYS = b"[" * DEEP + b"]" * DEEP
STATUS = b'{"jsonrpc":"2.0","id":1,"method":"daemon.status",'
NESTED = {
    "arrays": b"[" * DEEP,
    "arrays that end": ARRAYS,
    "an id": b'{"jsonrpc":"2.0","method":"daemon.status","id":' + ARRAYS + b"}",
    "params": STATUS + b'"params":' + ARRAYS + b"}",
    "an unknown field": STATUS + b'"x":' + ARRAYS + b"}",
    "objects": STATUS + b'"params":' + b'{"a":' * (DEEP // 2) + b"1}",
    "a cancel": b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1,"x":' + ARRAYS + b"}}",
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.stress
def test_a_million_levels_of_nesting(daemon: OverloadedMachine, name: str) -> None:
    with served_meanwhile(daemon):
        answers = daemon.answers(NESTED[name] + b"\n" + PING)
        assert answers
        for answer in answers:
            assert answer.get("id") == "ping" or answer["error"]["code"] in (-32700, -32600, LIMIT_EXCEEDED)


def test_ten_thousand_requests_in_one_write(daemon: OverloadedMachine) -> None:
    requests = b"".join(line("search.lexical", number, query="deploy") for number in range(10_000))
    with served_meanwhile(daemon), daemon.connect() as client:
        writing = threading.Thread(target=send, args=(client, requests))
        writing.start()
        answers = read_messages(client, 10_000)
        writing.join()
    assert sorted(answer["id"] for answer in answers) == list(range(10_000))
    assert {answer["error"]["code"] for answer in answers if "error" in answer} <= {LIMIT_EXCEEDED}
    assert sum("result" in answer for answer in answers) >= 64


def test_twenty_thousand_notifications(daemon: OverloadedMachine) -> None:
    silent = line("search.lexical") * 20_000
    with served_meanwhile(daemon), daemon.connect() as client:
        send(client, silent)
        while True:  # at most as many requests precede it as may be in flight on a connection
            send(client, PING)
            (answer,) = read_messages(client, 1)
            if "result" in answer:
                break
            assert answer["error"]["code"] == LIMIT_EXCEEDED


@pytest.mark.stress
def test_a_hundred_thousand_cancels(daemon: OverloadedMachine) -> None:
    storm = b"".join(line("$/cancelRequest", id=number) for number in range(100_000))
    with served_meanwhile(daemon):
        (answer,) = daemon.answers(storm + PING)
    assert answer["result"]


def test_many_clients_that_do_not_read(daemon: OverloadedMachine) -> None:
    requests = b"".join(line("document.get", number, ref="notes/long.md") for number in range(15))
    before = daemon.process.memory_info().rss
    with ExitStack() as stack, served_meanwhile(daemon):
        for _ in range(6):
            client = stack.enter_context(daemon.connect())
            send(client, requests)
        time.sleep(1)
        assert daemon.process.memory_info().rss - before < 300 * MB


def test_a_subscriber_that_reads_nothing(daemon: OverloadedMachine) -> None:
    with ExitStack() as stack:
        for _ in range(20):
            client = stack.enter_context(daemon.connect())
            send(client, b"".join(line("index.subscribe", number, since=0) for number in range(20)))
        with served_meanwhile(daemon):
            for number in range(30):
                (daemon.notes / f"change-{number}.md").write_text(f"# Change {number}\n")
            daemon.call("index.sync")
        for number in range(30):
            (daemon.notes / f"change-{number}.md").unlink()
        daemon.call("index.sync")


@pytest.mark.stress
def test_a_search_does_not_wait_behind_hundreds_of_long_texts(daemon: OverloadedMachine) -> None:
    """There are more long texts than readers of the database, and they are requested first."""
    asked = b"".join(line("document.get", number, ref="notes/long.md") for number in range(64))
    arrived: list[float] = []

    def read(client: socket.socket) -> None:
        while data := client.recv(1 << 20):
            arrived.extend([time.monotonic()] * data.count(b"\n"))

    with ExitStack() as stack:
        other = stack.enter_context(daemon.connect())
        clients = [stack.enter_context(daemon.connect()) for _ in range(4)]
        readers = [threading.Thread(target=read, args=(client,)) for client in clients]
        for client, reader in zip(clients, readers, strict=True):
            client.sendall(asked)
            client.shutdown(socket.SHUT_WR)
            reader.start()
        wait_until(lambda: arrived, 60)
        time.sleep(0.1)  # until all of them have started
        asked_at = time.monotonic()
        send(other, line("search.lexical", 1, query="deploy"))
        assert read_messages(other, 1)[0]["result"]["hits"]
        found_at = time.monotonic()
        for reader in readers:
            reader.join(100)
    assert len(arrived) == 256
    assert found_at - asked_at < (max(arrived) - asked_at) / 3


@pytest.mark.stress
def test_two_thousand_connections(daemon: OverloadedMachine) -> None:
    listed = line("collection.list", "ping")  # not served beyond the limit, unlike `daemon.status`
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2500:
        pytest.skip(f"this machine allows only {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2500), hard))
    try:
        with ExitStack() as stack:
            with served_meanwhile(daemon):
                clients = [stack.enter_context(daemon.connect()) for _ in range(2000)]
                for client in clients:
                    send(client, listed)
                held = [client for client in clients if _is_served(client)]
            assert 200 <= len(held) <= 256

            def is_refused() -> bool:
                """Take the free connections. The daemon may notice a moment later that other clients have left."""
                for client in held:  # so that none of them is idle
                    send(client, listed)
                    assert _is_served(client)
                for _ in range(256):
                    client = stack.enter_context(daemon.connect())
                    send(client, listed)
                    if not _is_served(client):
                        break
                    held.append(client)
                result = daemon.run("search", "deploy")
                return (result.returncode, "256 connections are open" in result.stderr) == (2, True)

            wait_until(is_refused)
            wait_until(lambda: daemon.run("daemon", "status").returncode == 0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _is_served(client: socket.socket) -> bool:
    """Read the answer to a ping. Return False if the daemon refuses because too many connections are open."""
    (answer,) = read_messages(client, 1)
    assert "result" in answer or answer["error"]["code"] == BUSY
    return "result" in answer


def test_another_users_connection_is_refused(daemon: OverloadedMachine) -> None:
    if os.getuid() != 0 or not shutil.which("nc"):
        pytest.skip("needs root, to become another user, and nc")
    daemon.folder.chmod(0o755)
    daemon.socket.chmod(0o666)  # otherwise the modes would already keep other users out
    command = ["nc", "-U", str(daemon.socket)]
    try:
        with served_meanwhile(daemon):
            result = subprocess.run(
                command, user=65534, group=65534, cwd="/", input=b"", capture_output=True, timeout=30, check=False
            )
    finally:
        daemon.socket.chmod(0o600)
        daemon.folder.chmod(0o700)
    assert json.loads(result.stdout)["error"]["message"] == "this socket serves another user"


STATES = {
    "nothing sent": b"",
    "half a line": b'{"jsonrpc"',
    "half a header": b"Content-Le",
    "half a body": b"Content-Length: 100\r\n\r\n{",
    "a request": line("search.lexical", 1, query="deploy"),
    "a long answer": line("document.get", 1, ref="notes/long.md") * 3,
    "work": line("index.sync", 1, progress_token=1),
    "a subscription": line("index.subscribe", 1, since=0),
    "a fault": b"nonsense\n",
    "a batch": b"[" + PING.strip() + b"," + PING.strip() + b"]\n",
    "cancelled": line("index.sync", 1) + line("$/cancelRequest", id=1),
}


@pytest.mark.parametrize("state", STATES)
def test_a_connection_may_end_in_any_state(daemon: OverloadedMachine, state: str) -> None:
    for number in range(30):
        with daemon.connect() as client:
            send(client, STATES[state])
            if number % 3 == 1:
                time.sleep(0.01)
            if number % 3 == 2:
                client.shutdown(socket.SHUT_WR)
                client.recv(1 + number)
