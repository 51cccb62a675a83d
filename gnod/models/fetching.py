"""Fetching a model, as the daemon sees it: a child process, its reports, and its end.

Cancelling kills the child; what it has fetched stays, and the next one goes on from there.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping

import msgspec

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.errors import DownloadFailed, ModelCorrupt, from_code
from gnod.models import network as switches
from gnod.models import uris
from gnod.models.fetch.messages import Fetched, FetchFailed, FetchProgress, FetchReply, FetchRequest
from gnod.models.files import Installed, ModelFiles
from gnod.models.uris import LocalFile

__all__ = ["FetchProgress", "fetch"]

_replies = msgspec.msgpack.Decoder(FetchReply)


async def fetch(
    uri: str,
    files: ModelFiles,
    progress: Callable[[FetchProgress], None],
    network: Mapping[str, str],
    *,
    force: bool = False,
) -> Installed:
    """Fetch the model and check it, unless it is here; with `force`, also when it is.

    `network` is added to the daemon's environment. Raises InvalidModelUri, ModelNotFound, ModelCorrupt, ModelRejected,
    DownloadFailed, Offline and StorageFailed.
    """
    parsed = uris.parse(uri)
    environment = switches.for_child(network)
    if not isinstance(parsed, LocalFile):
        if not force and (found := await asyncio.to_thread(files.find, uri)):
            return found
        if switches.offline_variable({**os.environ, **environment}):
            raise switches.offline(uri, {**os.environ, **environment})
    await _run(FetchRequest(uri=str(parsed), folder=str(files.folder), force=force), progress, environment)
    installed = await asyncio.to_thread(files.find, uri)
    if installed is None:
        raise ModelCorrupt(f"{uri} was fetched, and is gone or changed already", {"uri": uri})
    return installed


async def _run(
    request: FetchRequest, progress: Callable[[FetchProgress], None], environment: Mapping[str, str]
) -> Fetched:
    """Let a child do it. Raises the error that the child reports, or DownloadFailed when it dies."""
    child = await _launch(environment)
    try:
        await child.send(frames.encode(request))
        while True:
            match await frames.read(child.reader, _replies):
                case FetchProgress() as step:
                    progress(step)
                case FetchFailed() as failed:
                    raise from_code(failed.code, failed.message, failed.details)
                case Fetched() as fetched:
                    return fetched
                case None:
                    break
    except (frames.FrameError, msgspec.DecodeError, ConnectionError):
        pass  # as good as a child that is gone
    finally:
        child.kill()
        # Shielded: a child that is not waited for would be a zombie.
        how = await asyncio.shield(child.ended())
    raise DownloadFailed(
        f"the process that fetched {request.uri} ended by itself ({how}); try again, what was fetched is kept",
        {"uri": request.uri, "ended": how},
    )


async def _launch(environment: Mapping[str, str]) -> ChildProcess:
    """Start the child; if this is cancelled meanwhile, end it."""
    starting = asyncio.ensure_future(launch("gnod.models.fetch", environment=environment))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_end_unwanted)
        raise
    except OSError as error:
        raise DownloadFailed(f"the process that fetches models could not be started: {error.strerror}") from error


_ending: set[asyncio.Future[str]] = set()


def _end_unwanted(starting: asyncio.Future[ChildProcess]) -> None:
    if starting.cancelled() or starting.exception() is not None:
        return
    child = starting.result()
    child.kill()
    ended = asyncio.ensure_future(child.ended())
    _ending.add(ended)
    ended.add_done_callback(_ending.discard)
