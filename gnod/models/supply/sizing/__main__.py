"""The child that asks: one request, its start, a reply for each model as it comes, and the end."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import msgspec

from gnod.child import frames
from gnod.child.child_setup import set_up_child, silence
from gnod.errors import GnoError
from gnod.models import uris
from gnod.models.supply.sizing.messages import AllAsked, DownloadSize, SizesRequest, Started
from gnod.models.uris import Endpoint, LocalFile, WheelFile

_AT_ONCE = 8

Question = Callable[[], int | None]


def main() -> None:
    descriptor, parent = sys.argv[1:]
    set_up_child(int(parent))
    channel = socket.socket(fileno=int(descriptor))
    silence()
    request = frames.receive(channel, msgspec.msgpack.Decoder(SizesRequest))
    if request is None:
        return
    questions = [(uri, _question(uri)) for uri in request.uris]
    channel.sendall(frames.encode(Started()))
    sending = threading.Lock()

    def ask(uri: str, question: Question) -> None:
        size = _ask(uri, question)
        with sending:
            channel.sendall(frames.encode(size))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(ask, *zip(*questions, strict=True)))
    channel.sendall(frames.encode(AllAsked()))
    os._exit(0)  # a connection that hangs must not delay the end


def _question(uri: str) -> Question:
    """Load the code that asks for this model's size. Raises nothing: an invalid URI fails when its size is asked
    for."""
    try:
        parsed = uris.parse(uri)
    except GnoError as error:
        return partial(_fail, error)
    if isinstance(parsed, LocalFile | Endpoint):
        return lambda: None
    if isinstance(parsed, WheelFile):
        from gnod.models.supply.sizing import index

        return partial(index.size_of, parsed)
    from gnod.models.supply.sizing import hub  # the import takes 0.4 s and 40 MB

    return partial(hub.size_of, parsed)


def _fail(error: GnoError) -> None:
    raise error


def _ask(uri: str, question: Question) -> DownloadSize:
    try:
        return DownloadSize(uri=uri, bytes=question())
    except GnoError as error:
        return DownloadSize(uri=uri, problem=error.message)
    except Exception as error:
        return DownloadSize(uri=uri, problem=f"a bug in gnod ({type(error).__name__}: {error})")


if __name__ == "__main__":
    main()
