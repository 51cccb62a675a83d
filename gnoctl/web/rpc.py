"""`POST /api/rpc/METHOD`: passes a call on to the daemon. Only the methods in `ALLOWED` are reachable.

If the browser disconnects, its call is cancelled. `POST /api/ask`: quotes first, then the answer while a model writes
it, as lines of JSON. `POST /api/pull`: the progress of a download of models, also as lines of JSON. `POST /api/open`:
shows a document in the user's own program; `POST /api/folder`: shows its file in the file manager.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from http import HTTPStatus
from typing import TypeVar, cast

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from gnoctl.opening import starting as programs
from gnoctl.opening import viewers
from gnoctl.web.errors import body_of, failure, json
from gnoctl.web.streaming import Stream, unless_gone
from gnod.client import AsyncClient
from gnod.errors import GnoError, InvalidParams, MethodNotFound, Unavailable
from gnod.presets import PRESETS
from gnod.protocol.base import Params, ProgressValue, Result
from gnod.protocol.documents import DocumentLocateParams, DocumentPlace
from gnod.protocol.methods import METHODS
from gnod.protocol.models import ModelsPullParams, ModelsPullResult
from gnod.protocol.search import AskParams, AskResult

P = TypeVar("P", bound=Params)

ALLOWED = frozenset(
    {
        *("search.lexical", "search.vector", "search.query", "search.similar"),
        *("search.save", "search.list", "search.remove", "evidence.gather"),
        *(
            "document.get",
            "document.list",
            "document.locate",
            "document.boxes",
            "document.layers",
            "document.links",
            "document.matches",
            "document.capture",
            "document.move",
            "document.unmove",
        ),
        *("links.graph", "links.mentions"),
        *("collection.add", "collection.folders", "collection.preview", "collection.remove", "collection.list"),
        *(
            "index.status",
            "index.skipped",
            "index.acknowledge",
            "index.retry",
            "index.activity",
            "index.why",
            "index.sync",
            "index.pause",
            "index.resume",
        ),
        *(
            "memory.store",
            "memory.search",
            "memory.list",
            "memory.retrieve",
            "memory.update",
            "memory.forget",
            "memory.history",
        ),
        *("memory.lock", "memory.unlock", "memory.status"),
        *("models.list", "models.recommend", "models.use", "doctor.run"),
    }
)

# Fields that run shell commands, or let texts leave this machine, with the only value that a page may use, because an
# attacker could control the page.
_FIXED: dict[str, dict[str, object]] = {
    "collection.add": {"update_command": None, "egress": "local"},
    "index.sync": {"update": False},
    "models.pull": {"force": False, "accept": "", "network": {}},
}
# The only models that a page may download.
_OF_PRESETS = frozenset(uri for preset in PRESETS.values() for uri in preset.values() if uri)


async def call(request: Request, client: AsyncClient) -> Response:
    name = request.path_params["method"]
    if name not in ALLOWED:
        raise MethodNotFound(f"the page must not call {name!r}")
    method = METHODS[name]
    params = await _allowed_params(request, name, method.params)
    result = await unless_gone(request, client.call(name, params, cast(type[Result], method.result)))
    return json(result)


async def read_params(request: Request, kind: type[P]) -> P:
    """Return the body as parameters of a method; an empty body means no parameters. Raises InvalidParams."""
    try:
        params = msgspec.json.decode(await request.body() or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidParams(f"the body is not valid: {error}") from None
    return structs.replace(params, progress_token=None)


async def _allowed_params(request: Request, name: str, kind: type[P]) -> P:
    params = await read_params(request, kind)
    for field, value in _FIXED.get(name, {}).items():
        if getattr(params, field) != value:
            raise InvalidParams(f"the page must not use {field!r}: use `gnoctl` instead")
    return params


async def ask(request: Request, client: AsyncClient) -> Stream:
    params = await read_params(request, AskParams)
    return Stream(request, _lines(client, "ask.answer", params, AskResult), "application/x-ndjson")


async def pull(request: Request, client: AsyncClient, network: dict[str, str]) -> Stream:
    """Download models of presets. `network`: the proxies and mirrors in the environment of `gnoctl web`."""
    params = await _allowed_params(request, "models.pull", ModelsPullParams)
    if not params.models or not _OF_PRESETS.issuperset(params.models):
        raise InvalidParams("the page can download models of presets only: use `gnoctl models pull` for others")
    params = structs.replace(params, network=network)
    return Stream(request, _lines(client, "models.pull", params, ModelsPullResult), "application/x-ndjson")


async def _lines(client: AsyncClient, method: str, params: Params, result: type[Result]) -> AsyncGenerator[bytes]:
    progress: asyncio.Queue[ProgressValue | None] = asyncio.Queue()
    asking = asyncio.ensure_future(client.call(method, params, result, on_progress=progress.put_nowait))
    asking.add_done_callback(lambda _: progress.put_nowait(None))
    try:
        while (value := await progress.get()) is not None:
            yield _json_line({"progress": value})
        yield _json_line({"result": await asking})
    except GnoError as error:
        yield _json_line(body_of(error))
    finally:
        asking.cancel()


def _json_line(value: object) -> bytes:
    return msgspec.json.encode(value) + b"\n"


async def open_document(request: Request, client: AsyncClient, *, in_folder: bool = False) -> Response:
    """Open a file of a collection: the daemon says where it is, and the browser chooses no program."""
    params = await read_params(request, DocumentLocateParams)
    place = await client.call("document.locate", params, DocumentPlace)
    try:
        await asyncio.to_thread(_show, place, in_folder=in_folder)
    except GnoError as error:
        return failure(HTTPStatus.CONFLICT, error.message)
    return json({"uri": place.uri})


def _show(place: DocumentPlace, *, in_folder: bool) -> None:
    system = programs.this_system()
    if not system.has_display:
        raise Unavailable(f"the server has no display to show {place.source} on: open it with `gnoctl open`")
    target = programs.target_of(place)
    if in_folder:
        programs.show(viewers.choose_file_manager(target, system), place)
    else:
        programs.show(viewers.choose_window(target, system, configured=place.viewer), place)
