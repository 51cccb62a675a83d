"""The errors of the hub's client, translated. Only this module handles the exceptions of huggingface_hub and httpx.

Their texts contain addresses with signatures and tokens, so they are never passed on.
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx
from huggingface_hub import constants
from huggingface_hub import errors as hub

from gnod.errors import DownloadFailed, GnoError, InvalidModelUri, ModelNotFound
from gnod.models.supply import network
from gnod.models.supply.fetch.staging import storage_error

_RETRIED_STATUS = {408, 429, 500, 502, 503, 504}


def host() -> str:
    """Return the hub's host, which HF_ENDPOINT may change."""
    try:
        return urlsplit(constants.ENDPOINT).netloc.rpartition("@")[2] or constants.ENDPOINT
    except ValueError:
        return constants.ENDPOINT


def is_transient(error: Exception) -> bool:
    """Tell whether another attempt may help."""
    if isinstance(error, hub.HfHubHTTPError):
        return error.response.status_code in _RETRIED_STATUS
    return isinstance(error, httpx.TransportError) and not isinstance(
        error, httpx.ProxyError | httpx.UnsupportedProtocol | httpx.LocalProtocolError
    )


def translate(error: Exception, uri: str, repository: str, folder: Path) -> GnoError:
    """Return the error to report: DownloadFailed, ModelNotFound, Offline, InvalidModelUri or StorageFailed."""
    details: dict[str, object] = {"uri": uri, "host": host()}
    match error:
        case GnoError():
            return error
        case hub.OfflineModeIsEnabled():
            return network.offline(uri, os.environ)
        case hub.HfHubHTTPError():
            return _http_error(error, uri, repository, {**details, "status": error.response.status_code})
        case hub.EntryNotFoundError():
            return ModelNotFound(f"{repository} has no such file: {uri}", details)
        case hub.HFValidationError():
            return InvalidModelUri(f"{repository!r} is not a name of a repository on the hub", details)
        case httpx.HTTPError() | httpx.InvalidURL():
            return DownloadFailed(_connection_error(error), details)
        case OSError(errno=int()):
            return storage_error(error, folder)
    return DownloadFailed(f"the client of {host()} failed ({type(error).__name__}); try again", details)


def _http_error(error: hub.HfHubHTTPError, uri: str, repository: str, details: dict[str, object]) -> GnoError:
    status = error.response.status_code
    match error:
        case hub.GatedRepoError():
            return DownloadFailed(
                f"{repository} is gated: accept its terms on https://{host()}/{repository}, then set HF_TOKEN to a "
                "token of that account (https://huggingface.co/settings/tokens) and try again",
                details,
            )
        case hub.RepositoryNotFoundError():
            text = f"{host()} has no repository {repository}, or it is private: then set HF_TOKEN"
            return ModelNotFound(text, details)
        case hub.RemoteEntryNotFoundError():
            return ModelNotFound(f"{repository} has no such file: {uri}", details)
        case hub.RevisionNotFoundError():
            return ModelNotFound(f"{repository} has no branch 'main'", details)
        case hub.DisabledRepoError():
            return DownloadFailed(f"{repository} was disabled by the hub; choose another model", details)
    if status == 404:
        return ModelNotFound(f"{host()} has no {uri}", details)
    if status in (401, 403):
        text = f"{host()} denies access to {uri} ({status}): set HF_TOKEN to a token that may read it"
    elif status == 407:
        text = "the proxy needs a name and a password: add them to HTTPS_PROXY"
    elif status == 429:
        text = f"{host()} limits the rate of requests; try again later, or with HF_TOKEN set"
    elif status >= 500:
        text = f"{host()} has an internal error ({status}); try again later"
    else:
        text = f"{host()} refused with status {status}"
    return DownloadFailed(text, details)


def _connection_error(error: httpx.HTTPError | httpx.InvalidURL) -> str:
    match error:
        case httpx.ProxyError():
            return f"the proxy does not connect to {host()}; check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return f"{host()!r} is not an address of a hub; check HF_ENDPOINT and the proxy variables"
        case httpx.ConnectError() if "certificate" in str(error).lower():
            return f"the certificate of {host()} is not trusted: set SSL_CERT_FILE to the authorities to trust"
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return f"no connection to {host()}: check the network, the name server and the proxy"
        case httpx.TimeoutException():
            return f"{host()} stopped answering: try again, the part that was fetched is kept"
        case httpx.TransportError():
            return f"the connection to {host()} broke off: try again, the part that was fetched is kept"
        case httpx.TooManyRedirects():
            return f"{host()} redirects in a loop"
    return f"{host()} sent an invalid reply"
