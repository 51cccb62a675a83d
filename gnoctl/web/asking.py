"""`POST /api/ask`: quotes first, then the answer while a model writes it, as lines of JSON."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import msgspec
from starlette.requests import Request

from gnoctl.web.errors import body_of
from gnoctl.web.rpc import read_params
from gnoctl.web.streaming import Stream
from gnod.client import AsyncClient
from gnod.errors import GnoError
from gnod.protocol.base import ProgressValue
from gnod.protocol.search import AskParams, AskResult


async def ask(request: Request, client: AsyncClient) -> Stream:
    params = await read_params(request, AskParams)
    return Stream(request, _lines(client, params), "application/x-ndjson")


async def _lines(client: AsyncClient, params: AskParams) -> AsyncGenerator[bytes]:
    """Yield the progress, then the result or the error."""
    progress: asyncio.Queue[ProgressValue | None] = asyncio.Queue()
    asking = asyncio.ensure_future(client.call("ask.answer", params, AskResult, on_progress=progress.put_nowait))
    asking.add_done_callback(lambda _: progress.put_nowait(None))
    try:
        while (value := await progress.get()) is not None:
            yield _line({"progress": value})
        yield _line({"result": await asking})
    except GnoError as error:
        yield _line(body_of(error))
    finally:
        asking.cancel()


def _line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"
