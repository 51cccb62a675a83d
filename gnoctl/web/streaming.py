"""Answers that take long. If the browser disconnects, they end, and their work is cancelled.

`GET /api/events`: changes of the index and of the daemon, as server-sent events.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gnoctl import following
from gnod.client import AsyncClient
from gnod.errors import GnoError
from gnod.protocol.subscription import IndexChanged, SubscribedState

T = TypeVar("T")


class BrowserGone(Exception):
    """The browser has disconnected."""


async def unless_gone(request: Request, work: Coroutine[Any, Any, T], *ends: Coroutine[Any, Any, None]) -> T:
    """Return the result of `work`; cancel it when the browser disconnects, or when one of `ends` is done. Raises
    BrowserGone. Read the body first."""
    working = asyncio.ensure_future(work)
    leaving = [asyncio.ensure_future(each) for each in (_left(request), *ends)]
    try:
        await asyncio.wait((working, *leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise BrowserGone
        return working.result()
    finally:
        for task in (working, *leaving):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


class Stream(Response):
    """Sends the parts of `source` as they arrive, until one of `ends` is done."""

    def __init__(
        self, request: Request, source: AsyncGenerator[bytes], media_type: str, *ends: Coroutine[Any, Any, None]
    ) -> None:
        super().__init__(media_type=media_type)
        del self.headers["content-length"]
        self._request = request
        self._source = source
        self._ends = ends

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with contextlib.suppress(BrowserGone):
            await unless_gone(self._request, self._send_all(send), *self._ends)
        await send({"type": "http.response.body", "body": b""})

    async def _send_all(self, send: Send) -> None:
        async with contextlib.aclosing(self._source) as source:
            async for part in source:
                await send({"type": "http.response.body", "body": part, "more_body": True})


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


MAX_STREAMS = 24


class PageEvents:
    """The streams of all open pages. Each stream has its own subscription, so it begins with the current state."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._ending = asyncio.Event()
        self._streams = 0

    @property
    def is_full(self) -> bool:
        return self._streams >= MAX_STREAMS

    def end(self) -> None:
        """End all streams, because the server stops."""
        self._ending.set()

    async def ended(self) -> None:
        await self._ending.wait()

    async def stream(self) -> AsyncGenerator[bytes]:
        self._streams += 1
        try:
            async with contextlib.aclosing(following.changes(self._client)) as events:
                async for event in events:
                    for part in _parts(event):
                        yield part
        finally:
            self._streams -= 1


def _parts(event: SubscribedState | IndexChanged | GnoError | OSError) -> Iterator[bytes]:
    match event:
        case SubscribedState():
            yield _event("daemon", {"available": True, "message": ""})
            yield _event("state", event)
        case IndexChanged():
            yield _event("changed", event)
        case _:
            yield _event("daemon", {"available": False, "message": str(event)})


def _event(name: str, data: object) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), msgspec.json.encode(data))
