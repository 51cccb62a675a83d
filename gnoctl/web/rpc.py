"""`POST /api/rpc/METHOD`: passes a call on to the daemon. Nothing of it but the methods in `ALLOWED` is reachable.

A browser that goes away cancels its call.
"""

from __future__ import annotations

from typing import TypeVar, cast

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from gnoctl.web.errors import json
from gnoctl.web.streaming import unless_gone
from gnod.client import AsyncClient
from gnod.errors import InvalidParams, MethodNotFound
from gnod.protocol.base import Params, Result
from gnod.protocol.methods import METHODS

P = TypeVar("P", bound=Params)

ALLOWED = frozenset(
    {
        "search.lexical",
        "search.vector",
        "search.query",
        "search.similar",
        "search.save",
        "search.list",
        "search.remove",
        "evidence.gather",
        "document.get",
        "document.links",
        "links.graph",
        "links.mentions",
        "document.list",
        "document.locate",
        "document.boxes",
        "collection.add",
        "collection.remove",
        "collection.list",
        "index.status",
        "index.skipped",
        "index.acknowledge",
        "index.activity",
        "index.why",
        "index.sync",
        "index.pause",
        "index.resume",
        "memory.search",
        "memory.list",
        "memory.retrieve",
        "memory.update",
        "memory.forget",
        "memory.history",
        "memory.lock",
        "memory.unlock",
        "memory.status",
        "models.list",
        "doctor.run",
    }
)


# Fields that run commands of the shell, or let texts leave this machine, with the only value that a page may use: the
# page could be under another's control.
_FIXED: dict[str, dict[str, object]] = {
    "collection.add": {"update_command": None, "egress": "local"},
    "index.sync": {"update": False},
}


async def call(request: Request, client: AsyncClient) -> Response:
    name = request.path_params["method"]
    if name not in ALLOWED:
        raise MethodNotFound(f"the page must not call {name!r}")
    method = METHODS[name]
    params = await read_params(request, method.params)
    for field, value in _FIXED.get(name, {}).items():
        if getattr(params, field) != value:
            raise InvalidParams(f"the page must not use {field!r}: use `gnoctl` instead")
    result = await unless_gone(request, client.call(name, params, cast(type[Result], method.result)))
    return json(result)


async def read_params(request: Request, kind: type[P]) -> P:
    """Return the body as parameters of a method, an empty one as none. Raises InvalidParams."""
    try:
        params = msgspec.json.decode(await request.body() or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidParams(f"the body is not valid: {error}") from None
    return structs.replace(params, progress_token=None)
