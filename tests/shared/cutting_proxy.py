"""A TCP proxy on loopback that cuts connections in the middle of what clients send."""

from __future__ import annotations

import contextlib
import socket
import threading


class CuttingProxy:
    """`allow(n)`: the next `n` bytes of clients pass; then all connections end, and new ones are refused until the next
    call. None: any number."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._left: int | None = None
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def allow(self, count: int | None) -> None:
        with self._lock:
            self._left = count

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._cut()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._left == 0:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            self._sockets |= {client, server}
            for source, target, counts in ((client, server, True), (server, client, False)):
                thread = threading.Thread(target=self._pump, args=(source, target, counts), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pump(self, source: socket.socket, target: socket.socket, counts: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if counts and self._takes(len(data)):
                    target.sendall(data[: len(data) // 2])
                    self._cut()
                    return
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _takes(self, count: int) -> bool:
        """Count bytes; tell whether they are too many."""
        with self._lock:
            if self._left is None:
                return False
            self._left = max(self._left - count, 0)
            return self._left == 0

    def _cut(self) -> None:
        for each in list(self._sockets):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._sockets.clear()
