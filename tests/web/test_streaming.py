"""Work for a browser ends when the browser disconnects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from starlette.requests import Request
from starlette.types import Message

from gnoctl.web.streaming import BrowserGone, Stream, unless_gone

SCOPE = {"type": "http", "method": "POST", "path": "/", "headers": []}


class Browser:
    """A browser that disconnects on request."""

    def __init__(self) -> None:
        self.leaves = asyncio.Event()
        self.request = Request(SCOPE, self._receive)
        self._sent = False

    async def _receive(self) -> Message:
        if not self._sent:
            self._sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.leaves.wait()
        return {"type": "http.disconnect"}


async def test_a_call_is_cancelled_when_its_browser_hangs_up() -> None:
    browser = Browser()
    ended = asyncio.Event()

    async def call() -> None:
        try:
            browser.leaves.set()
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(BrowserGone):
        await unless_gone(browser.request, call())
    assert ended.is_set()


async def test_a_result_and_an_error_are_passed_on() -> None:
    async def call(value: int) -> int:
        return 12 // value

    assert await unless_gone(Browser().request, call(4)) == 3
    with pytest.raises(ZeroDivisionError):
        await unless_gone(Browser().request, call(0))


async def test_a_stream_ends_with_its_browser() -> None:
    browser = Browser()
    ended = asyncio.Event()
    sent: list[bytes] = []

    async def parts() -> AsyncGenerator[bytes]:
        try:
            yield b"one"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def send(message: Message) -> None:
        if message.get("body"):
            sent.append(message["body"])
            browser.leaves.set()

    response = Stream(browser.request, parts(), "text/event-stream")
    await response(SCOPE, browser.request.receive, send)
    assert sent == [b"one"]
    assert ended.is_set()
    assert "content-length" not in response.headers
