"""The addresses of the page, and the server that runs until Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
from collections.abc import AsyncIterator
from functools import partial
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from gnoctl.loopback.server import LocalServer
from gnoctl.web import rpc, static_files
from gnoctl.web.documents import LongDocuments, image, picture, raw
from gnoctl.web.errors import failure, refused
from gnoctl.web.security import DESCRIPTION, Guard
from gnoctl.web.session import WebSession
from gnoctl.web.streaming import BrowserGone, PageEvents, Stream
from gnod.client import AsyncClient
from gnod.errors import GnoError
from gnod.paths import IndexPaths

_VIEWS = ("/", "/search", "/doc/{path:path}", "/ask", "/add", "/browse", "/collections", "/memories")
_SEARCH_ENGINE = """<?xml version="1.0" encoding="UTF-8"?>
<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">
<ShortName>gnod</ShortName>
<Description>Search your notes, documentation and papers</Description>
<Image width="16" height="16" type="image/svg+xml">{0}/static/icon.svg</Image>
<Url type="text/html" template="{0}/search?q={{searchTerms}}"/>
</OpenSearchDescription>
"""


def serve(
    places: IndexPaths, session: WebSession, sock: socket.socket, network: dict[str, str], *, start: bool
) -> None:
    """Serve the page until SIGINT or SIGTERM. `network`: the variables for downloads. `start`: the daemon may be
    started."""
    gc.enable()  # __main__ disables it for short commands
    asyncio.run(_serve(AsyncClient(places, start=start), session, sock, network))


async def _serve(client: AsyncClient, session: WebSession, sock: socket.socket, network: dict[str, str]) -> None:
    events = PageEvents(client)
    await LocalServer(_application(client, events, session, network), events.ended, events.end).serve(sockets=[sock])


def _application(client: AsyncClient, events: PageEvents, session: WebSession, network: dict[str, str]) -> ASGIApp:
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
        Route("/api/pull", partial(rpc.pull, client=client, network=network), methods=["POST"]),
        Route("/api/open", partial(rpc.open_document, client=client), methods=["POST"]),
        Route("/api/folder", partial(rpc.open_document, client=client, in_folder=True), methods=["POST"]),
        Route(DESCRIPTION, search_engine, methods=["GET"]),
        Route("/api/events", follow, methods=["GET"]),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers={GnoError: _refused, HTTPException: _failed, BrowserGone: _gone},
    )
    return Guard(app, session)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, GnoError)
    return refused(error)


async def _failed(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return failure(HTTPStatus(error.status_code), error.detail)


async def _gone(_: Request, _error: Exception) -> Response:
    return Response(status_code=499)  # nobody reads it


def _not_found() -> Response:
    return failure(HTTPStatus.NOT_FOUND, "there is nothing at this address")
