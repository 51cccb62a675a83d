"""The addresses of the page, and the life of its server: from the socket to Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator
from functools import partial
from http import HTTPStatus
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from gnoctl.web import opening, peers, rpc, static_files
from gnoctl.web.documents import LongDocuments, image, picture, raw
from gnoctl.web.errors import failure, refused
from gnoctl.web.security import DESCRIPTION, Guard, Unreceived
from gnoctl.web.session import WebSession
from gnoctl.web.streaming import BrowserGone, PageEvents, Stream
from gnod.client import AsyncClient
from gnod.errors import GnoError
from gnod.paths import IndexPaths

HOST = "127.0.0.1"
_VIEWS = ("/", "/search", "/doc/{path:path}", "/ask", "/add", "/collections", "/memories")
_SEARCH_ENGINE = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>gnod</ShortName>
<Description>Search your notes, documentation and papers</Description>
<Image width="16" height="16" type="image/svg+xml">{0}/static/icon.svg</Image>
<Url type="text/html" template="{0}/search?q={{searchTerms}}"/>
</OpenSearchDescription>
"""
_GRACE_S = 2
_MAX_CONNECTIONS = 256
FIRST_REQUEST_TIMEOUT_S = 15.0


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
        http=BrowserConnection,
        loop="asyncio",
        backlog=64,
        limit_concurrency=_MAX_CONNECTIONS,
        timeout_keep_alive=60,
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=16 * 1024,
    )
    await _Server(config, events).serve(sockets=[sock])


class BrowserConnection(H11Protocol):
    """Closes the connection of another user, and one that sends no request."""

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

    async def search_engine(_: Request) -> Response:
        return Response(_SEARCH_ENGINE.format(session.origin), media_type="application/opensearchdescription+xml")

    async def follow(request: Request) -> Response:
        if events.is_full:
            return failure(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages of gnod are open: close some")
        return Stream(request, events.stream(), "text/event-stream", events.ended())

    routes = [
        *(Route(path, shell, methods=["GET"]) for path in _VIEWS),
        Route("/static/{name:path}", static, methods=["GET"]),
        Route("/api/rpc/{method}", partial(rpc.call, client=client), methods=["POST"]),
        Route("/api/document", documents.answer, methods=["GET"]),
        Route("/api/raw", partial(raw, client=client), methods=["GET"]),
        Route("/api/image", partial(image, client=client), methods=["GET"]),
        Route("/api/picture", partial(picture, client=client), methods=["GET"]),
        Route("/api/ask", partial(rpc.ask, client=client), methods=["POST"]),
        Route("/api/pull", partial(rpc.pull, client=client), methods=["POST"]),
        Route("/api/open", partial(opening.open_document, client=client), methods=["POST"]),
        Route("/api/folder", partial(opening.open_document, client=client, in_folder=True), methods=["POST"]),
        Route(DESCRIPTION, search_engine, methods=["GET"]),
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
