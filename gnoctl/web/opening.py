"""`POST /api/open`: show a document in the user's own program. `POST /api/folder`: show its file in the file manager.
The daemon says where it is, so only files of collections can be opened, and the browser chooses no program."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from gnoctl.opening import starting as programs
from gnoctl.opening import viewers
from gnoctl.web.errors import failure, json
from gnoctl.web.rpc import read_params
from gnod.client import AsyncClient
from gnod.errors import GnoError, Unavailable
from gnod.protocol.documents import DocumentLocateParams, DocumentPlace


async def open_document(request: Request, client: AsyncClient, *, in_folder: bool = False) -> Response:
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
