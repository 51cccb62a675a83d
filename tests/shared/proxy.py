"""TCP proxies between clients and a server on this machine. One cuts connections, the other drops all answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Self
from urllib.parse import urlsplit


class Proxy:
    """Forwards all bytes. Listens on a free port of `host` until it is closed."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self._target = port
        self._sockets: set[socket.socket] = set()
        self._listener = socket.create_server((host, 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        _end(self._listener)
        self.cut()
        for thread in self._threads:
            thread.join()

    def cut(self) -> None:
        """End all connections."""
        while self._sockets:
            _end(self._sockets.pop())

    def admits(self) -> bool:
        """Tell whether a new connection is accepted."""
        return True

    def request(self, data: bytes, server: socket.socket) -> None:
        server.sendall(data)

    def answer(self, data: bytes, client: socket.socket) -> None:
        client.sendall(data)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if not self.admits():
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets |= {client, server}
                for way in ((client, server, self.request), (server, client, self.answer)):
                    self._threads.append(threading.Thread(target=self._pump, args=way, daemon=True))
                    self._threads[-1].start()

    def _pump(self, source: socket.socket, target: socket.socket, send: Callable[[bytes, socket.socket], None]) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                send(data, target)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class CuttingProxy(Proxy):
    """After `allow(n)`, the next `n` bytes of clients pass (None: any number). Then all connections end, and new ones
    are refused until the next call."""

    def __init__(self, port: int) -> None:
        self._left: int | None = None
        self._lock = threading.Lock()
        super().__init__(port)

    def allow(self, count: int | None) -> None:
        with self._lock:
            self._left = count

    def admits(self) -> bool:
        return self._left != 0

    def request(self, data: bytes, server: socket.socket) -> None:
        is_last = self._takes(len(data))
        server.sendall(data[: len(data) // 2] if is_last else data)
        if is_last:
            self.cut()

    def _takes(self, count: int) -> bool:
        """Count bytes, and tell whether they exceed the limit."""
        with self._lock:
            if self._left is None:
                return False
            self._left = max(self._left - count, 0)
            return self._left == 0


class SwallowingProxy(Proxy):
    """A proxy for the server at an address. After `swallow`, it accepts packets but returns nothing."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        assert parts.port
        self._passes = True
        super().__init__(parts.port)
        self.address = f"{parts.scheme}://127.0.0.1:{self.port}{parts.path}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def swallow(self) -> None:
        self._passes = False

    def answer(self, data: bytes, client: socket.socket) -> None:
        if self._passes:
            client.sendall(data)


def _end(each: socket.socket) -> None:
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
