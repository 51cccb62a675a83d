"""Accepts connections and ends them in order. Must not depend on the framing or the methods."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import sys
from typing import Any

from gnod.errors import GnoError, IndexReopening, Refused, ShuttingDown
from gnod.peer import peer_uid
from gnod.protocol.framing import Framing, encode
from gnod.protocol.jsonrpc import encode_error
from gnod.rpc.connection import CLOSE_TIMEOUT_S, READ_BYTES, ConnectionLimits, RpcConnection, too_many_connections
from gnod.rpc.dispatcher import Dispatcher
from gnod.rpc.stats import Stats

# From Python 3.13 on, asyncio would remove the file when it stops listening, before the services are closed.
_KEEP_SOCKET_FILE: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}

# At most this many connections may wait to be accepted. The system refuses further clients.
BACKLOG = 1024

_log = logging.getLogger(__name__)


class Transport:
    """All connections of the daemon. It serves only processes of the user `allowed_uid`, by default its own user."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        stats: Stats,
        limits: ConnectionLimits | None = None,
        allowed_uid: int | None = None,
    ) -> None:
        self._dispatcher = dispatcher
        self._stats = stats
        self._limits = limits or ConnectionLimits()
        self._allowed_uid = os.getuid() if allowed_uid is None else allowed_uid
        self._connections: dict[RpcConnection, asyncio.Task[None]] = {}
        self._server: asyncio.Server | None = None
        self._stopping: GnoError | None = None

    async def listen(self, listener: socket.socket) -> None:
        """Accept connections from the bound `listener` and no longer from an earlier one. Open connections stay open.
        `close` closes the listener."""
        earlier = self._server
        self._server = await asyncio.start_unix_server(
            self._connected, sock=listener, limit=READ_BYTES, backlog=BACKLOG, **_KEEP_SOCKET_FILE
        )
        if earlier is not None:
            earlier.close()

    async def close(self, grace_s: float, forced: asyncio.Event, refusal: GnoError | None = None) -> None:
        """Stop accepting, wait at most `grace_s` or until `forced` for the requests in flight, and cancel the others.

        `refusal` answers new requests and connections. The default is ShuttingDown.
        """
        refusal = refusal or ShuttingDown("the daemon is shutting down")
        await self._stop_accepting(refusal)
        if not await self._answered(grace_s, forced):
            # Do not send `refusal` here: it may promise that nothing was done.
            cancelled = ShuttingDown(refusal.message)
            for connection in self._connections:
                connection.cancel_requests(cancelled)
            await self._answered(CLOSE_TIMEOUT_S, forced=asyncio.Event())
        if isinstance(refusal, IndexReopening):
            for connection in self._connections:
                connection.refuse_unread(refusal)
        tasks = list(self._connections.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2 * CLOSE_TIMEOUT_S)

    async def _stop_accepting(self, refusal: GnoError) -> None:
        self._stopping = refusal
        for connection in self._connections:
            connection.stopping = refusal
        if self._server is not None:
            for listener in self._server.sockets:
                asyncio.get_running_loop().remove_reader(listener)
            await asyncio.sleep(0)  # otherwise `close` drops a connection that asyncio has just accepted
            self._server.close()

    async def _answered(self, timeout_s: float, forced: asyncio.Event) -> bool:
        """Wait until nothing is in flight; return False if the time limit or `forced` ended the wait."""
        interruption = asyncio.create_task(forced.wait())
        try:
            async with asyncio.timeout(timeout_s):
                while (deliveries := self._deliveries()) and not forced.is_set():
                    await asyncio.wait({*deliveries, interruption}, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            pass
        finally:
            interruption.cancel()
        return not self._deliveries()

    def _deliveries(self) -> set[asyncio.Task[object]]:
        return {task for connection in self._connections for task in connection.deliveries}

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        refusal = self._refusal(writer)
        is_reserved = refusal is None and self._is_full() and not self._make_room()
        if is_reserved and self._reserved() >= self._limits.reserved:
            refusal = too_many_connections(self._limits)
        if refusal is not None:
            _log.warning("connection.refused", extra={"fields": {"reason": refusal.message}})
            writer.write(encode(encode_error(None, refusal), Framing.LINES))
            writer.close()
            return
        connection = RpcConnection(
            *(reader, writer, self._dispatcher, self._stats, self._limits, self._held_bytes), is_reserved=is_reserved
        )
        self._stats.connections += 1
        task = asyncio.create_task(connection.run())
        if is_reserved:
            asyncio.get_running_loop().call_later(self._limits.reserved_s, task.cancel)
        self._connections[connection] = task
        task.add_done_callback(lambda _: self._forget(connection))

    def _held_bytes(self) -> int:
        return sum(connection.held_bytes() for connection in self._connections)

    def _forget(self, connection: RpcConnection) -> None:
        del self._connections[connection]
        self._stats.connections -= 1

    def _refusal(self, writer: asyncio.StreamWriter) -> GnoError | None:
        if self._stopping:
            return self._stopping
        try:
            uid = peer_uid(writer.get_extra_info("socket"))
        except OSError:
            return Refused("cannot determine which user is connecting")
        if uid != self._allowed_uid:
            return Refused("this socket serves another user", {"uid": uid})
        return None

    def _is_full(self) -> bool:
        return len(self._connections) - self._reserved() >= self._limits.connections

    def _reserved(self) -> int:
        return sum(connection.is_reserved for connection in self._connections)

    def _make_room(self) -> bool:
        """Close the connection that has been idle longest, if it was idle for at least `idle_s`. Return whether one was
        closed."""
        since = {connection: connection.idle_since() or math.inf for connection in self._connections}
        longest = min(since, key=since.__getitem__)
        if asyncio.get_running_loop().time() - since[longest] < self._limits.idle_s:
            return False
        longest.give_way()
        return True
