"""The addresses of the page, and the life of its server: from the socket to Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from http import HTTPStatus
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from gnoctl.web import asking, images, opening, rpc, static_files
from gnoctl.web.connections import PageConnection
from gnoctl.web.documents import LongDocuments
from gnoctl.web.errors import failure, refused
from gnoctl.web.events import PageEvents
from gnoctl.web.security import Guard, Unreceived
from gnoctl.web.session import WebSession
from gnoctl.web.streaming import BrowserGone, Stream
from gnod.client import AsyncClient
from gnod.errors import GnoError
from gnod.paths import IndexPaths

HOST = "127.0.0.1"
_VIEWS = ("/", "/search", "/doc/{path:path}", "/ask", "/collections", "/memories")
_GRACE_S = 2
_MAX_CONNECTIONS = 256

Handler = Callable[[Request], Awaitable[Response]]


def listen(port: int) -> socket.socket:
    """Return a socket on loopback; `port` 0: any that is free. Raises OSError."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HOST, port))
    except BaseException:
        sock.close()
        raise
    return sock


def serve(places: IndexPaths, session: WebSession, sock: socket.socket, *, start: bool) -> None:
    """Serve the page until SIGINT or SIGTERM. `start`: the daemon may be started."""
    gc.enable()  # __main__ disables it for short commands
    asyncio.run(_serve(AsyncClient(places, start=start), session, sock))


async def _serve(client: AsyncClient, session: WebSession, sock: socket.socket) -> None:
    events = PageEvents(client)
    config = uvicorn.Config(
        application(client, events, session),
        access_log=False,
        log_level="warning",
        lifespan="on",
        server_header=False,
        date_header=False,  # it would be that of the start: see `main_loop`
        proxy_headers=False,
        ws="none",
        http=PageConnection,
        loop="asyncio",
        backlog=64,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=16 * 1024,
    )
    await _Server(config, events).serve(sockets=[sock])


class _Server(uvicorn.Server):
    """Ends the streams first: it waits for its connections, and they would last as long as their pages. Sleeps until
    then: the original looks ten times a second whether it should end."""

    def __init__(self, config: uvicorn.Config, events: PageEvents) -> None:
        super().__init__(config)
        self._events = events
        self._loop = asyncio.get_running_loop()

    async def main_loop(self) -> None:
        await self._events.ended()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._loop.call_soon_threadsafe(self._events.end)
        super().handle_exit(sig, frame)


def application(client: AsyncClient, events: PageEvents, session: WebSession) -> ASGIApp:

    documents = LongDocuments(client)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await client.close()

    async def shell(request: Request) -> Response:
        return static_files.serve(static_files.SHELL, request) or _not_found()

    async def static(request: Request) -> Response:
        return static_files.serve(request.path_params["name"], request) or _not_found()

    async def forward(request: Request) -> Response:
        return await rpc.call(request, client)

    async def image(request: Request) -> Response:
        return await images.image(request, client)

    async def ask(request: Request) -> Response:
        return await asking.ask(request, client)

    async def open_document(request: Request) -> Response:
        return await opening.open_document(request, client)

    async def follow(request: Request) -> Response:
        if events.is_full:
            return failure(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages of gnod are open: close some")
        return Stream(request, events.stream(), "text/event-stream", events.ended())

    routes = [
        *(Route(path, shell, methods=["GET"]) for path in _VIEWS),
        Route("/static/{name:path}", static, methods=["GET"]),
        Route("/api/rpc/{method}", forward, methods=["POST"]),
        Route("/api/document", documents.answer, methods=["GET"]),
        Route("/api/image", image, methods=["GET"]),
        Route("/api/ask", ask, methods=["POST"]),
        Route("/api/open", open_document, methods=["POST"]),
        Route("/api/events", follow, methods=["GET"]),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={GnoError: _refused, HTTPException: _failed, BrowserGone: _gone, Unreceived: _unreceived},
    )
    return Guard(app, session)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, GnoError)
    return refused(error)


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return failure(HTTPStatus(error.status_code), error.detail)


async def _unreceived(_: Request, error: Exception) -> Response:
    assert isinstance(error, Unreceived)
    return failure(*error.refusal)


async def _gone(_: Request, _error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


def _not_found() -> Response:
    return failure(HTTPStatus.NOT_FOUND, "there is nothing at this address")
