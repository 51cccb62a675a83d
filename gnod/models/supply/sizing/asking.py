"""Ask for the sizes of models in a child process (`gnod.models.supply.sizing`), with the network of the client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

import msgspec

from gnod.child import frames
from gnod.child.process import launch
from gnod.models.supply import network
from gnod.models.supply.sizing.messages import AllAsked, DownloadSize, SizesReply, SizesRequest, Started

LIMIT_S = 2.5
# On a quiet machine, nobody waits for this. A busy one needs seconds for the imports, which are not the hub's fault.
_START_LIMIT_S = 30.0

OnProgress = Callable[[int, int], None]

_replies = msgspec.msgpack.Decoder(SizesReply)


async def ask_sizes(
    uris: Sequence[str],
    variables: Mapping[str, str],
    limit_s: float = LIMIT_S,
    on_progress: OnProgress = lambda *_: None,
) -> dict[str, DownloadSize]:
    """Return an answer for every model; `variables` are added to the daemon's environment. `limit_s`: from the first
    question. `on_progress` gets the answers so far, and all. Never raises for a model."""
    environment = network.for_child(variables)
    merged = {**os.environ, **environment}
    if network.offline_variable(merged):
        return {uri: DownloadSize(uri=uri, problem=network.offline(uri, merged).message) for uri in uris}
    found: dict[str, DownloadSize] = {}
    if uris:
        await _ask(list(uris), environment, limit_s, found, on_progress)
    silent = f"no answer within {limit_s:g} s"
    return {uri: found.get(uri) or DownloadSize(uri=uri, problem=silent) for uri in uris}


async def _ask(
    uris: list[str],
    environment: Mapping[str, str],
    limit_s: float,
    found: dict[str, DownloadSize],
    on_progress: OnProgress,
) -> None:
    on_progress(0, len(uris))
    try:
        child = await launch("gnod.models.supply.sizing", environment=environment)
    except OSError:
        return
    try:
        async with asyncio.timeout(_START_LIMIT_S) as limit:
            await child.send(frames.encode(SizesRequest(uris=uris)))
            while isinstance(reply := await frames.read(child.reader, _replies), Started | DownloadSize):
                if isinstance(reply, Started):
                    limit.reschedule(asyncio.get_running_loop().time() + limit_s)
                else:
                    found[reply.uri] = reply
                    on_progress(len(found), len(uris))
            assert reply is None or isinstance(reply, AllAsked)
    except (TimeoutError, frames.FrameError, msgspec.DecodeError, ConnectionError):
        pass  # models without an answer by now are missing
    finally:
        child.kill()
        await asyncio.shield(child.ended())
