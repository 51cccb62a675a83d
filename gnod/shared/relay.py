"""Forward what the gate lets through to the server of a shared collection. This Unix socket is the only way to it.

A client library reconnects, retries and keeps connections alive on its own. It has only the socket, so no byte leaves
without the gate. The library encrypts its data for the server, so the relay sees what goes over the network.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from gnod.egress import EgressPass, Gate, Purpose
from gnod.errors import EgressForbidden

_CONNECT_S = 5.0
_CHUNK_BYTES = 256 * 1024
_NAME = "s"


class Relay:
    """Connects to one IP address. `check` raises EgressForbidden if nothing may be sent there now. The relay listens
    from the first use of `target` until it is closed."""

    def __init__(
        self, host: str, port: int, gate: Gate, address: str, purpose: Purpose, check: Callable[[], None]
    ) -> None:
        self.check = check
        self._server = (host, port)
        self._gate = gate
        self._address = address
        self._purpose = purpose
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._is_closed = False
        self._folder: Path | None = None

    @property
    def target(self) -> str:
        """Return the address for the client, in gRPC's form. Raises OSError after `close`."""
        with self._lock:
            if self._folder is None:
                self._folder = self._listen()
            return f"unix:{self._folder / _NAME}"

    def begin(self) -> None:
        """Record a request before it is made. Raises EgressForbidden."""
        self.check()
        self._gate.note(self._address, self._purpose, requests=1, size=0)

    def close(self) -> None:
        """End all connections at once. Data that are not sent yet are dropped."""
        with self._lock:
            self._is_closed = True
            ended, self._open = self._open, set()
        for each in ended:
            _end(each)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _listen(self) -> Path:
        """Listen, and return the folder of the socket, which has mode 0700."""
        if self._is_closed:
            raise OSError("the relay is closed")
        folder = Path(tempfile.mkdtemp(prefix="gnod-"))
        listener = socket.socket(socket.AF_UNIX)
        self._open.add(listener)
        listener.bind(str(folder / _NAME))
        listener.listen()
        threading.Thread(target=self._accept, args=(listener,), name="gnod-relay", daemon=True).start()
        return folder

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._serve, args=(client,), name="gnod-relay", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        server: socket.socket | None = None
        try:
            self._keep(client)
            self.check()
            server = socket.create_connection(self._server, _CONNECT_S)
            server.settimeout(None)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._keep(server)
            threading.Thread(target=self._receive, args=(server, client), name="gnod-relay", daemon=True).start()
            self._send(client, server)
        except (OSError, EgressForbidden):
            pass  # the client sees a closed connection; `begin` reports why
        finally:
            self._drop(client, server)

    def _send(self, client: socket.socket, server: socket.socket) -> None:
        passage = EgressPass(self._gate, self._address, self._purpose, requests=0)
        while chunk := client.recv(_CHUNK_BYTES):
            self.check()
            passage.note(len(chunk))
            server.sendall(chunk)

    def _receive(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while chunk := server.recv(_CHUNK_BYTES):
                client.sendall(chunk)
        self._drop(client, server)

    def _keep(self, each: socket.socket) -> None:
        with self._lock:
            if self._is_closed:
                raise OSError("the relay is closed")
            self._open.add(each)

    def _drop(self, *ended: socket.socket | None) -> None:
        for each in ended:
            if each is not None:
                with self._lock:
                    self._open.discard(each)
                _end(each)


def _end(each: socket.socket) -> None:
    """Wake the threads that wait for a socket, and close it."""
    with contextlib.suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
    each.close()
