"""Fetches a model in a child process (`gnod.models.supply.fetch`), and reports its progress.

Cancelling kills the child. The fetched part stays, and the next child continues it. The values of environment variables
are never logged or shown: some are tokens and passwords.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import msgspec

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.config import model_uris
from gnod.config.model_uris import LocalFile
from gnod.errors import DownloadFailed, ModelCorrupt, Offline, from_code
from gnod.models.files import Installed, ModelFiles
from gnod.models.supply.fetch.messages import Fetched, FetchFailed, FetchProgress, FetchReply, FetchRequest, OnProgress

__all__ = ["FetchProgress", "OnProgress", "fetch"]

_OFF = frozenset({"", "0", "false", "no", "off"})

_replies = msgspec.msgpack.Decoder(FetchReply)


async def fetch(
    uri: str,
    files: ModelFiles,
    on_progress: OnProgress,
    variables: Mapping[str, str],
    *,
    force: bool = False,
    accept: str = "",
) -> Installed:
    """Fetch and check the model if it is not installed; with `force`, always. `accept`: a SHA-256 to accept instead of
    the known one.

    `variables` are added to the daemon's environment. Raises InvalidModelUri, ModelNotFound, ModelCorrupt,
    ModelRejected, DownloadFailed, Offline and StorageFailed.
    """
    parsed = model_uris.parse(uri)
    environment = for_child(variables)
    if not isinstance(parsed, LocalFile):
        if not force and (installed := await asyncio.to_thread(files.find, uri)):
            return installed
        _require_online(uri, {**os.environ, **environment})
    await _run(
        FetchRequest(uri=str(parsed), folder=str(files.folder), force=force, accept=accept), on_progress, environment
    )
    fetched = await asyncio.to_thread(files.find, uri)
    if fetched is None:
        raise ModelCorrupt(f"{uri} was fetched, but then removed or changed: try again", {"uri": uri})
    return fetched


def _require_online(uri: str, environment: Mapping[str, str]) -> None:
    """Raise Offline if a variable forbids the download."""
    for name in ("GNO_OFFLINE", "HF_HUB_OFFLINE"):
        if environment.get(name, "").strip().lower() not in _OFF:
            text = f"{uri} must be downloaded, and {name} forbids that: set {name}=0 and try again"
            raise Offline(text, {"uri": uri, "variable": name})


def for_child(network: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a client's download adds to the daemon's environment.

    Each proxy is set in both spellings: the lower-case one takes precedence, and the daemon's must not override the
    client's.

    >>> for_child({"HTTPS_PROXY": "http://a"})["https_proxy"]
    'http://a'
    """
    twins = {name.swapcase(): value for name, value in network.items() if name.lower().endswith("_proxy")}
    return {**twins, **network}


async def _run(request: FetchRequest, on_progress: OnProgress, environment: Mapping[str, str]) -> None:
    """Run a child. Raises the error that it reports, or DownloadFailed if it dies."""
    child = await _launch(environment)
    try:
        await child.send(frames.encode(request))
        while True:
            match await frames.read(child.reader, _replies):
                case FetchProgress() as progress:
                    on_progress(progress)
                case FetchFailed() as failed:
                    raise from_code(failed.code, failed.message, failed.details)
                case Fetched():
                    return
                case None:
                    break
    except (frames.FrameError, msgspec.DecodeError, ConnectionError):
        pass  # handle it like a child that died
    finally:
        child.kill()
        # Shield this wait: without it, the child would stay a zombie.
        how = await asyncio.shield(child.ended())
    raise DownloadFailed(
        f"the process that fetched {request.uri} crashed ({how}): try again, the part that was fetched is kept",
        {"uri": request.uri, "ended": how},
    )


async def _launch(environment: Mapping[str, str]) -> ChildProcess:
    """Start the child. If this call is cancelled meanwhile, end the child."""
    starting = asyncio.ensure_future(launch("gnod.models.supply.fetch", environment=environment))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        child = await starting
        child.kill()
        await child.ended()
        raise
    except OSError as error:
        raise DownloadFailed(f"the process that fetches models cannot be started: {error.strerror}") from error
