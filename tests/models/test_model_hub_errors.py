"""Every exception of the hub's client is translated."""

from __future__ import annotations

import errno
import inspect
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest
from huggingface_hub import errors as hub

from gnod.errors import DownloadFailed, GnoError, InvalidModelUri, ModelNotFound, Offline, StorageFailed
from gnod.models.supply.fetch.hub_errors import is_transient, translate

URI = "hf:org/repo/a.gguf"
SECRET = "https://user:secret@host/x?sig=secret"


def translated(error: Exception) -> GnoError:
    return translate(error, URI, "org/repo", Path("/tmp"))


def _made(kind: type[Exception], status: int = 418) -> Exception:
    """Return an exception of that class, whatever its constructor asks for."""
    error = kind.__new__(kind, SECRET)
    if isinstance(error, hub.HfHubHTTPError):
        error.response = httpx.Response(status, request=httpx.Request("GET", SECRET))
    error.args = (SECRET,)
    return error


def _classes() -> Iterator[type[Exception]]:
    for module in (hub, httpx):
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, Exception):
                yield kind


@pytest.mark.parametrize("kind", list(_classes()), ids=lambda kind: kind.__name__)
def test_every_exception_of_the_client_has_words_without_secrets(kind: type[Exception]) -> None:
    error = translated(_made(kind))
    assert isinstance(error, DownloadFailed | ModelNotFound | Offline | InvalidModelUri | StorageFailed)
    assert "secret" not in f"{error.message} {error.details}"


@pytest.mark.parametrize(
    "kind",
    [kind for kind in _classes() if issubclass(kind, httpx.HTTPError) and kind not in (httpx.HTTPError,)],
    ids=lambda kind: kind.__name__,
)
def test_network_errors_are_not_reported_as_client_errors(kind: type[Exception]) -> None:
    assert "failed (" not in translated(_made(kind)).message


@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (_made(hub.OfflineModeIsEnabled), Offline, "HF_HUB_OFFLINE"),
        (_made(hub.GatedRepoError, 403), DownloadFailed, "HF_TOKEN"),
        (_made(hub.RepositoryNotFoundError, 401), ModelNotFound, "or it is private"),
        (_made(hub.DisabledRepoError, 403), DownloadFailed, "disabled"),
        (_made(hub.RemoteEntryNotFoundError, 404), ModelNotFound, "org/repo has no such file"),
        (_made(hub.RevisionNotFoundError, 404), ModelNotFound, "no branch 'main'"),
        (_made(hub.HfHubHTTPError, 401), DownloadFailed, "set HF_TOKEN"),
        (_made(hub.HfHubHTTPError, 407), DownloadFailed, "proxy needs a name"),
        (_made(hub.HfHubHTTPError, 418), DownloadFailed, "refused with status 418"),
        (_made(hub.HfHubHTTPError, 500), DownloadFailed, "internal error"),
        (_made(hub.HFValidationError), InvalidModelUri, "not a name of a repository"),
        (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]"), DownloadFailed, "SSL_CERT_FILE"),
        (httpx.ConnectError("refused"), DownloadFailed, "no connection to huggingface.co"),
        (httpx.ReadTimeout("slow"), DownloadFailed, "stopped answering"),
        (httpx.ReadError("reset"), DownloadFailed, "broke off"),
        (httpx.ProxyError("502"), DownloadFailed, "proxy"),
        (OSError(errno.ENOSPC, "No space left"), StorageFailed, "disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), StorageFailed, "/x: Permission denied"),
        (RuntimeError("odd"), DownloadFailed, "RuntimeError"),
        (StorageFailed("ours"), StorageFailed, "ours"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_the_map(error: Exception, kind: type[GnoError], says: str) -> None:
    found = translated(error)
    assert type(found) is kind
    assert says in found.message


def test_what_is_worth_another_try() -> None:
    passing = [httpx.ConnectError("x"), httpx.ReadError("x"), httpx.ReadTimeout("x"), httpx.RemoteProtocolError("x")]
    lasting = [httpx.ProxyError("x"), httpx.UnsupportedProtocol("x"), OSError(errno.ENOSPC, "x"), ValueError("x")]
    assert all(is_transient(error) for error in passing)
    assert not any(is_transient(error) for error in lasting)
    assert is_transient(_made(hub.HfHubHTTPError, 503))
    assert not is_transient(_made(hub.HfHubHTTPError, 404))
