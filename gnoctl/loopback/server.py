"""A socket on loopback, and uvicorn on it: without a log, without headers that identify it, and quiet when idle."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gnoctl.loopback import HOST, peers

if TYPE_CHECKING:
    from uvicorn.config import Config

FIRST_REQUEST_TIMEOUT_S = 15.0
_GRACE_S = 2
_MAX_CONNECTIONS = 256


def listen(port: int) -> socket.socket:
    """Return a socket on loopback; `port` 0: any free port. Raises OSError."""
    # asyncio sets TCP_NODELAY only if the protocol is given. Otherwise each body waits about 40 ms behind its header.
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HOST, port))
    except BaseException:
        sock.close()
        raise
    return sock


class LocalConnection(H11Protocol):
    """Closes connections of other users, and connections that send no request."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        client, server = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        if client is None or peers.is_foreign(client[:2], server[:2]):
            transport.abort()
        super().connection_made(transport)
        self._timer = self.loop.call_later(FIRST_REQUEST_TIMEOUT_S, self._close_silent)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _close_silent(self) -> None:
        if getattr(self, "cycle", None) is None:
            self.transport.abort()


class LocalServer(uvicorn.Server):
    """Serves `app` until SIGINT or SIGTERM, which call `end`. Then `ended` must return, and streams should end, because
    uvicorn waits for its connections. The server sleeps until then; uvicorn's own loop checks ten times a second
    whether to end."""

    def __init__(self, app: ASGIApp, ended: Callable[[], Awaitable[object]], end: Callable[[], None]) -> None:
        super().__init__(_config(app))
        self._ended = ended
        self._end = end
        self._loop = asyncio.get_running_loop()

    async def main_loop(self) -> None:
        await self._ended()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._end)
        super().handle_exit(sig, frame)


def _config(app: ASGIApp) -> Config:
    return uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        lifespan="on",
        server_header=False,
        date_header=False,  # it would be the time of the start: see `main_loop`
        proxy_headers=False,
        ws="none",
        http=LocalConnection,
        loop="asyncio",
        backlog=64,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=16 * 1024,
    )
