"""The MCP server at an address on loopback (streamable HTTP): one process for all agents of this user.

`mcp` checks the protocol and the host names; `_Guard` accepts only requests with the token.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import time
from collections.abc import AsyncIterator, Sequence
from http import HTTPStatus

from mcp.server.lowlevel import Server
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gnoctl.loopback import HOST
from gnoctl.loopback.server import LocalServer
from gnoctl.mcp.bridge import instructions, prepare, server_of
from gnoctl.mcp.token import PATH
from gnoctl.mcp.tools import Tool
from gnod.client import AsyncClient
from gnod.paths import IndexPaths

# An agent opens a session for each conversation, and `mcp` drops sessions that are idle for half an hour.
_MAX_SESSIONS = 256
# The list of collections that a new session gets is at most this old.
_INSTRUCTIONS_LAST_S = 2.0


def serve(places: IndexPaths, token: str, sock: socket.socket, *, start: bool, tools: Sequence[Tool]) -> None:
    """Serve agents until SIGINT or SIGTERM. `start`: the daemon may be started."""
    prepare()
    asyncio.run(_serve(AsyncClient(places, start=start), token, sock, tools))


async def _serve(daemon: AsyncClient, token: str, sock: socket.socket, tools: Sequence[Tool]) -> None:
    ending = asyncio.Event()
    app = application(daemon, token, sock.getsockname()[1], tools)
    await LocalServer(app, ending.wait, ending.set).serve(sockets=[sock])


def application(daemon: AsyncClient, token: str, port: int, tools: Sequence[Tool]) -> ASGIApp:
    server = server_of(daemon, tools)
    host = f"{HOST}:{port}"
    sessions = StreamableHTTPSessionManager(
        server,
        security_settings=TransportSecuritySettings(allowed_hosts=[host], allowed_origins=[f"http://{host}"]),
        max_sessions=_MAX_SESSIONS,
    )

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with sessions.run():
            yield
        await daemon.close()

    app = Starlette(routes=[Route(PATH, StreamableHTTPASGIApp(sessions))], lifespan=lifespan)
    return _Guard(app, token, server, daemon)


class _Guard:
    """Refuses requests without the token, which a page in a browser does not know. Gives new sessions the current list
    of collections."""

    def __init__(self, app: ASGIApp, token: str, server: Server, daemon: AsyncClient) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()
        self._server = server
        self._daemon = daemon
        self._lock = asyncio.Lock()
        self._until = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if not self._is_known(headers):
                said = "the token is missing or wrong: `gnoctl mcp install --http` writes it into agents' settings\n"
                answer = PlainTextResponse(said, HTTPStatus.UNAUTHORIZED, {"WWW-Authenticate": "Bearer"})
                return await answer(scope, receive, send)
            if scope["path"] == PATH and MCP_SESSION_ID_HEADER not in headers:
                await self._renew_instructions()
        if scope["type"] in ("http", "lifespan"):  # a web socket is dropped without an answer
            await self._app(scope, receive, send)
        return None

    def _is_known(self, headers: Headers) -> bool:
        given = headers.getlist("authorization")
        return len(given) == 1 and hmac.compare_digest(given[0].encode("utf-8", "replace"), self._expected)

    async def _renew_instructions(self) -> None:
        async with self._lock:
            if time.monotonic() >= self._until:
                self._server.instructions = await instructions(self._daemon)
                self._until = time.monotonic() + _INSTRUCTIONS_LAST_S
