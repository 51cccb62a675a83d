"""The relay to a server. Whatever the client does, only the bytes that the gate lets through arrive."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from gnod.config.shared_addresses import parse
from gnod.egress import Purpose
from gnod.errors import EgressForbidden
from gnod.models.remote.addresses import EndpointAddress
from gnod.shared.opening import relay_to
from gnod.shared.relay import Relay
from tests.gates import OpenGate
from tests.machine import wait_until

PURPOSE = Purpose("search", collections=("handbook",), users=("handbook",))


class Sink:
    """A server that returns each byte, and counts the bytes."""

    def __init__(self) -> None:
        self.received = 0
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._echo, args=(client,), daemon=True).start()

    def _echo(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            while data := client.recv(65536):
                self.received += len(data)
                client.sendall(data)


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    yield made
    made.close()


def relay(sink: Sink, gate: OpenGate) -> Relay:
    address = parse(f"milvus://127.0.0.1:{sink.port}/team/handbook")
    return relay_to(address, EndpointAddress([("127.0.0.1", "lan")], "lan"), gate, PURPOSE)


def connected(to: Relay) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    try:
        client.connect(to.target.removeprefix("unix:"))
    except OSError:
        client.close()
        raise
    return client


def is_ended(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except OSError:
        return True


def test_bytes_arrive_and_are_counted(sink: Sink) -> None:
    gate = OpenGate("lan")
    way = relay(sink, gate)
    way.begin()
    with connected(way) as client:
        client.sendall(b"x" * 100_000)
        # With a timeout, a socket does not wait for all bytes.
        with client.makefile("rb") as answered:
            assert len(answered.read(100_000)) == 100_000
    assert sum(each.size for each in gate.noted) == sink.received == 100_000
    assert sum(each.requests for each in gate.noted) == 1
    way.close()


def test_a_gate_that_closes_ends_open_connections_and_refuses_others(sink: Sink) -> None:
    gate = OpenGate("lan")
    way = relay(sink, gate)
    with connected(way) as client:
        client.sendall(b"before")
        assert client.recv(6) == b"before"
        gate.scope = "local"
        client.sendall(b"after")
        assert is_ended(client)
    with connected(way) as client:
        assert is_ended(client), "a client that connects again"
    with pytest.raises(EgressForbidden, match="nothing was sent"):
        way.begin()
    assert (sink.received, sink.connections) == (6, 1)
    way.close()


def test_closing_ends_all_connections(sink: Sink) -> None:
    before = set(threading.enumerate())
    way = relay(sink, OpenGate("lan"))
    client = connected(way)
    client.sendall(b"x")
    assert client.recv(1) == b"x"
    way.close()
    assert is_ended(client)
    with pytest.raises(OSError, match=r"."):
        connected(way)
    client.close()
    wait_until(lambda: not [each for each in {*threading.enumerate()} - before if each.name == "gnod-relay"])
