"""What the hub's client raises, in our words. The one place that knows the exceptions of huggingface_hub and httpx.

The texts of those exceptions hold addresses with signatures and tokens: none of them is passed on.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx
from huggingface_hub import constants
from huggingface_hub import errors as hub

from gnod.errors import DownloadFailed, GnoError, InvalidModelUri, ModelNotFound
from gnod.models import network
from gnod.models.fetch.staging import storage_error

_RETRIED_STATUS = {408, 429, 500, 502, 503, 504}


def host() -> str:
    """Return the host of the hub that is asked, which HF_ENDPOINT may change."""
    endpoint = constants.ENDPOINT
    try:
        return urlsplit(endpoint).netloc.rpartition("@")[2] or endpoint
    except ValueError:
        return endpoint


def is_transient(error: Exception) -> bool:
    """Say whether trying again in a moment may help."""
    if isinstance(error, hub.HfHubHTTPError):
        return error.response.status_code in _RETRIED_STATUS
    return isinstance(error, httpx.TransportError) and not isinstance(
        error, httpx.ProxyError | httpx.UnsupportedProtocol | httpx.LocalProtocolError
    )


def translate(error: Exception, uri: str, repository: str, folder: Path) -> GnoError:
    """Return the error to tell: DownloadFailed, ModelNotFound, Offline, InvalidModelUri or StorageFailed."""
    details: dict[str, object] = {"uri": uri, "host": host()}
    if isinstance(error, GnoError):
        return error
    if isinstance(error, hub.OfflineModeIsEnabled):
        return network.offline(uri, os.environ)
    if isinstance(error, hub.HfHubHTTPError):
        return _answered(error, uri, repository, details)
    if isinstance(error, hub.EntryNotFoundError):
        return ModelNotFound(f"{repository} has no such file: {uri}", details)
    if isinstance(error, hub.HFValidationError):
        return InvalidModelUri(f"{repository!r} is no name of a repository on the hub", details)
    if isinstance(error, httpx.HTTPError | httpx.InvalidURL):
        return DownloadFailed(_not_answered(error), details)
    if isinstance(error, OSError) and error.errno is not None:
        return storage_error(error, folder)
    return DownloadFailed(f"the client of {host()} failed ({type(error).__name__}); try again", details)


def _answered(error: hub.HfHubHTTPError, uri: str, repository: str, details: dict[str, object]) -> GnoError:
    """Return what an answer of the hub means that is no success."""
    status = error.response.status_code
    details["status"] = status
    match error:
        case hub.GatedRepoError():
            return DownloadFailed(
                f"{repository} is gated: accept its terms on https://{host()}/{repository}, then set HF_TOKEN to a "
                "token of that account (https://huggingface.co/settings/tokens) and try again",
                details,
            )
        case hub.RepositoryNotFoundError():
            return ModelNotFound(
                f"{host()} has no repository {repository}; or it is private, and then HF_TOKEN must be set", details
            )
        case hub.RemoteEntryNotFoundError():
            return ModelNotFound(f"{repository} has no such file: {uri}", details)
        case hub.RevisionNotFoundError():
            return ModelNotFound(f"{repository} has no branch 'main'", details)
        case hub.DisabledRepoError():
            return DownloadFailed(f"{repository} was disabled by the hub; choose another model", details)
    if status == 404:
        return ModelNotFound(f"{host()} has no {uri}", details)
    if status in (401, 403):
        return DownloadFailed(
            f"{host()} does not let us have {uri} ({status}): set HF_TOKEN to a token that may read it", details
        )
    if status == 407:
        return DownloadFailed("the proxy wants a name and a password: put them into HTTPS_PROXY", details)
    if status == 429:
        return DownloadFailed(f"{host()} asks to slow down; try again later, or with HF_TOKEN set", details)
    if status >= 500:
        return DownloadFailed(f"{host()} has a problem of its own ({status}); try again later", details)
    return DownloadFailed(f"{host()} refused with status {status}", details)


def _not_answered(error: httpx.HTTPError | httpx.InvalidURL) -> str:
    match error:
        case httpx.ProxyError():
            return f"the proxy does not let us through to {host()}; look at HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return f"{host()!r} is no address of a hub; look at HF_ENDPOINT and the proxy variables"
        case httpx.ConnectError() if "certificate" in str(error).lower():
            return f"the certificate of {host()} is not trusted; SSL_CERT_FILE may name the authorities to trust"
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return f"no connection to {host()}: is there a network, a name server, or a proxy to be set?"
        case httpx.TimeoutException():
            return f"{host()} stopped answering; try again, what was fetched is kept"
        case httpx.TransportError():
            return f"the connection to {host()} broke off; try again, what was fetched is kept"
        case httpx.TooManyRedirects():
            return f"{host()} leads in circles"
    return f"{host()} answered what is not understood"
