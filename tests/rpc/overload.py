"""A real daemon with a small index, which tests attack, and checks for resources that an attack leaves behind."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from gnod.protocol.framing import Framer
from tests.machine import Machine, wait_until

SECRET = "the secret outside of every collection"
LONG_TEXT_BYTES = 1_000_000
LIMIT_EXCEEDED, BUSY = 309, 417
# Memory that the allocator keeps after an attack, and that caches of the index have taken meanwhile.
SLACK_BYTES = 120 * 1024 * 1024


def line(method: str, request_id: object = None, **params: object) -> bytes:
    """Return a request as a line; without an id, a notification."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if request_id is None else {**message, "id": request_id}).encode() + b"\n"


PING = line("daemon.status", "ping")


class OverloadedMachine(Machine):
    def begin(self) -> None:
        """Start the daemon, and make it allocate everything that it keeps."""
        self.write(deploy_md="# Deployment\n\nTo deploy, run node.js v1.2.3.\n", other_md="# Other\n\nSnake_case.\n")
        (self.notes / "long.md").write_text("# Long\n\n" + ("many words of a long text\n" * (LONG_TEXT_BYTES // 26)))
        (self.folder / "secret.md").write_text(SECRET)
        self.ok("init", str(self.notes), "--name", "notes")
        self.process = psutil.Process(self.pid())
        # The first use makes the threads that read SQLite, and their connections, and they stay.
        # Use different queries, because equal ones would be answered once.
        searches = b"".join(line("search.lexical", number, query=f"deploy {number}") for number in range(32))
        reads = b"".join(line("document.get", number, ref="notes/long.md") for number in range(32))
        for requests in (searches, reads):
            self.answers(requests)

    def connect(self) -> socket.socket:
        """Connect, and keep trying while too many connections wait to be accepted."""
        deadline = time.monotonic() + 60
        while True:
            try:
                client = super().connect()
                client.settimeout(100)
                return client
            except BlockingIOError:
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def answers(self, data: bytes) -> list[Any]:
        """Send `data`, close the sending side, and return everything that arrives."""
        got = bytearray()
        with self.connect() as client, suppress(ConnectionResetError):
            send(client, data)
            client.shutdown(socket.SHUT_WR)
            while data := client.recv(1 << 20):
                got += data
        return [json.loads(payload) for payload in Framer(2**30).feed(bytes(got))]

    def check_serves(self) -> None:
        (answer,) = self.answers(line("search.lexical", 1, query="deploy"))
        assert answer["result"]["hits"][0]["path"] == "deploy.md"

    def connections(self) -> int:
        return sum(str(each.laddr) == str(self.socket) for each in self.process.net_connections("unix"))

    def vitals(self) -> tuple[int, int, int]:
        """Return the numbers of connections, files and threads. Pipes are left out: pipes to workers stay open until
        the workers have been idle for up to a minute."""
        return self.connections(), len(self.process.open_files()), self.process.num_threads()

    @contextmanager
    def outlives(self) -> Iterator[None]:
        """Check that the same process serves after the block, with no more connections, files, threads and memory."""
        self.hang_up()
        self.check_serves()
        before = self.vitals()
        resident = self.process.memory_info().rss
        yield
        self.hang_up()
        self.check_serves()
        # The time is generous, because abandoned work may still be ending.
        wait_until(lambda: all(now <= then + 1 for now, then in zip(self.vitals(), before, strict=True)))
        wait_until(lambda: self.process.memory_info().rss < resident + SLACK_BYTES, 60)


@contextmanager
def overloaded_machine() -> Iterator[OverloadedMachine]:
    with OverloadedMachine.in_temporary_folder() as machine:
        machine.begin()
        yield machine


def send(client: socket.socket, data: bytes) -> None:
    """Send all of `data`, unless the daemon closes the connection."""
    with suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(data)


def read_messages(client: socket.socket, count: int) -> list[Any]:
    """Return the next `count` messages."""
    framer = Framer(2**30)
    got: list[Any] = []
    deadline = time.monotonic() + 100
    while len(got) < count:
        data = client.recv(1 << 20)
        assert data, f"closed after {len(got)} of {count} answers"
        assert time.monotonic() < deadline
        got += [json.loads(payload) for payload in framer.feed(data)]
    return got
