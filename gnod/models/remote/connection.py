"""Sends HTTP requests to one endpoint: limits, retries with back-off, and readable errors.

The gate (gnod/egress.py) decides before a name is resolved, and again before each write to a socket, including kept
connections and repeated requests. Proxies of the environment and redirects are ignored, because both would take
the texts elsewhere. Only this module handles the exceptions of httpcore.

    EndpointFailed      the server, the network or the key
      Refused           the server refuses this request; others may succeed
      NotThere          the server does not know the path, or the model
"""

from __future__ import annotations

import asyncio
import random
import re
import ssl
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

import httpcore2 as httpcore
import msgspec

import gnod
from gnod.config.model_uris import Endpoint
from gnod.egress import EgressPass, Gate, Purpose, Scope
from gnod.errors import EndpointFailed
from gnod.models.remote import keys
from gnod.models.remote.addresses import Addresses, EndpointAddress, RequestLimits, forbidden
from gnod.models.remote.keys import ApiKey

_ATTEMPTS = 3
_LONGEST_WAIT_S = 5.0
_TEMPORARY = frozenset({408, 425, 429, 500, 502, 503, 504})
_KEPT_S = 60.0
# After this many abandoned requests in a row, the next requests fail at once for a while.
_GIVEN_UP = 2
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 5.0, 60.0
_MAX_ERROR_BYTES = 64 * 1024
_SHOWN = 200
# The request that this task is sending.
_passage: ContextVar[EgressPass] = ContextVar("passage")
_PRIVATE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


class RequestRefused(EndpointFailed):
    """The server refuses this request, or fails on it. `status` is the HTTP status."""

    status = 0


class NotThere(EndpointFailed):
    """The server does not know the path, or the model."""


class _Temporary(Exception):
    """A failure that may not recur. The next attempt comes after `wait_s`, if the server says so."""

    def __init__(self, error: EndpointFailed, wait_s: float | None = None) -> None:
        super().__init__()
        self.error = error
        self.wait_s = wait_s


class _Stream(httpcore.AsyncNetworkStream):
    """A connection to a server in `scope`. Every write passes the gate."""

    def __init__(self, stream: httpcore.AsyncNetworkStream, endpoint: Endpoint, scope: Scope) -> None:
        self._stream = stream
        self._endpoint = endpoint
        self._scope = scope

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        return await self._stream.read(max_bytes, timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self._check()
        _passage.get().note(len(buffer))
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore.AsyncNetworkStream:
        self._check()
        stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(stream, self._endpoint, self._scope)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _check(self) -> None:
        egress = _passage.get().within()
        if not egress.allows(self._scope):
            raise forbidden(self._endpoint, EndpointAddress([], self._scope), egress)


class _Network(httpcore.AsyncNetworkBackend):
    """Connects to the addresses of one endpoint that are within the scope of the request."""

    def __init__(self, endpoint: Endpoint, addresses: Addresses) -> None:
        self._endpoint = endpoint
        self._addresses = addresses
        self._backend = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  (httpcore's interface)
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        egress = _passage.get().within()
        if self._endpoint.socket:
            stream = await self._backend.connect_unix_socket(self._endpoint.socket, timeout)
            return _Stream(stream, self._endpoint, "local")
        assert (host, port) == (self._endpoint.host, self._endpoint.port)
        try:
            place = await self._addresses.find(self._endpoint)
        except TimeoutError:
            raise httpcore.ConnectError("the name was not resolved in time") from None
        except OSError as error:
            raise httpcore.ConnectError(error.strerror or str(error)) from error
        within = [
            (address, scope)
            for address, scope in place.addresses
            if egress.allows(scope) and (scope != "any" or self._endpoint.is_encrypted)
        ]
        if not within:
            raise forbidden(self._endpoint, place, egress)
        for number, (address, scope) in enumerate(within, 1):
            try:
                # Connect to the address that was checked: by now, the name could resolve to another one.
                stream = await self._backend.connect_tcp(address, port, timeout, None, socket_options)
                return _Stream(stream, self._endpoint, scope)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if number == len(within):
                    raise
        raise AssertionError

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class EndpointConnection:
    """Keeps connections to one endpoint for a minute."""

    def __init__(self, endpoint: Endpoint, gate: Gate, addresses: Addresses, limits: RequestLimits) -> None:
        self.endpoint = endpoint
        self.limits = limits
        self._gate = gate
        self._addresses = addresses
        # One pool for each scope, so that a request never waits for a connection whose scope is too wide for it.
        self._pools: dict[Scope, httpcore.AsyncConnectionPool] = {}
        self.key: ApiKey | None = keys.from_environment(endpoint)
        self._given_up = 0
        self._paused_until = 0.0

    async def post(self, path: str, body: object, purpose: Purpose, *, interactive: bool) -> bytes:
        """Return the answer if its status is 200. `path` starts at the root of the server. `interactive`: a user is
        waiting. Raises EgressForbidden and EndpointFailed."""
        left_s = self._paused_until - time.monotonic()
        if interactive and left_s > 0:
            raise self._failed(f"did not answer a moment ago: gnod tries it again in {left_s:.0f} s")
        started = time.monotonic()
        try:
            answer = await self._post(path, body, purpose, interactive=interactive)
        except asyncio.CancelledError:
            # A search while the user types is cancelled early. That says nothing about the server.
            if interactive and time.monotonic() - started >= self.limits.patience_s:
                self._give_up()
            raise
        self._given_up = 0
        return answer

    def _give_up(self) -> None:
        """Note that a user waited in vain. A server that hangs must not cost every query its whole time limit."""
        self._given_up += 1
        if self._given_up >= _GIVEN_UP:
            pause_s = min(_FIRST_PAUSE_S * 2 ** (self._given_up - _GIVEN_UP), _LONGEST_PAUSE_S)
            self._paused_until = time.monotonic() + pause_s

    async def _post(self, path: str, body: object, purpose: Purpose, *, interactive: bool) -> bytes:
        limit_s = self.limits.interactive_s if interactive else self.limits.background_s
        deadline = time.monotonic() + limit_s
        content = msgspec.json.encode(body)
        wait_s = self.limits.wait_s
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                async with (
                    asyncio.timeout(max(deadline - time.monotonic(), 0)),
                    self._open(path, content, purpose, limit_s) as response,
                ):
                    return await self._read(response)
            except TimeoutError:
                raise self._failed(f"did not answer within {limit_s:.0f} s: is it overloaded, or stuck?") from None
            except _Temporary as temporary:
                pause_s = min(temporary.wait_s or wait_s * random.uniform(1, 1.5), _LONGEST_WAIT_S)
                if attempt == _ATTEMPTS or time.monotonic() + pause_s >= deadline:
                    raise temporary.error from None
            await asyncio.sleep(pause_s)
            wait_s *= 4
        raise AssertionError

    async def lines(self, path: str, body: object, purpose: Purpose) -> AsyncIterator[bytes]:
        """Yield the lines of a streamed answer. Raises as `post` does, but does not retry."""
        size, kept = 0, b""
        try:
            async with self._open(path, msgspec.json.encode(body), purpose, self.limits.silent_s) as response:
                async for part in self._parts(response):
                    size += len(part)
                    if size > self.limits.answer_bytes:
                        raise self._too_long()
                    *whole, kept = (kept + part).split(b"\n")
                    for line in whole:
                        yield line.strip()
        except _Temporary as temporary:
            raise temporary.error from None
        if kept.strip():
            yield kept.strip()

    async def close(self) -> None:
        """Close all connections. A later request opens new ones if it is allowed to."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    def _pool(self, scope: Scope) -> httpcore.AsyncConnectionPool:
        if scope not in self._pools:
            self._pools[scope] = httpcore.AsyncConnectionPool(
                ssl_context=ssl.create_default_context() if self.endpoint.is_encrypted else None,
                keepalive_expiry=_KEPT_S,
                network_backend=_Network(self.endpoint, self._addresses),
            )
        return self._pools[scope]

    @asynccontextmanager
    async def _open(
        self, path: str, content: bytes, purpose: Purpose, limit_s: float
    ) -> AsyncIterator[httpcore.Response]:
        """Send the request; the response has status 200. If the server wants a key, send the one from the keyring. The
        keyring is never read for a server that wants none."""
        async with self._send(path, content, limit_s, purpose) as response:
            if response.status not in (401, 403) or self.key is not None:
                await self._check(response)
                yield response
                return
        self.key = await keys.from_keyring(self.endpoint)
        if self.key is None:
            raise self._failed(f"requires a key ({response.status}): {keys.remedy(self.endpoint)}")
        async with self._send(path, content, limit_s, purpose) as response:
            await self._check(response)
            yield response

    @asynccontextmanager
    async def _send(
        self, path: str, content: bytes, limit_s: float, purpose: Purpose
    ) -> AsyncIterator[httpcore.Response]:
        passage = EgressPass(self._gate, str(self.endpoint), purpose)
        pool = self._pool(passage.within().scope)
        _passage.set(passage)
        origin = "http://localhost" if self.endpoint.socket else self.endpoint.origin
        headers = {
            "Accept": "application/json, text/event-stream",
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            "User-Agent": f"gnod/{gnod.__version__}",
        }
        if self.key:
            headers["Authorization"] = f"Bearer {self.key.value}"
        limits = {"connect": self.limits.connect_s, "read": limit_s, "write": limit_s, "pool": limit_s}
        try:
            async with pool.stream(
                "POST",
                origin + path,
                headers=list(headers.items()),
                content=content,
                extensions={"timeout": limits},
            ) as response:
                yield response
        except httpcore.ConnectTimeout:
            raise _Temporary(self._failed("cannot be reached (no answer): is the server running?")) from None
        except httpcore.ConnectError as error:
            raise _Temporary(
                self._failed(f"cannot be reached ({_plain(str(error))}): is the server running?")
            ) from None
        except httpcore.TimeoutException:
            raise self._failed(f"did not answer within {limit_s:.0f} s: is it overloaded, or stuck?") from None
        except (httpcore.NetworkError, httpcore.RemoteProtocolError):
            text = "closed the connection halfway: its log may say why; gnod tries again"
            raise _Temporary(self._failed(text)) from None

    async def _check(self, response: httpcore.Response) -> None:
        """Raise the error for a status other than 200."""
        status = response.status
        if status == 200:
            return
        if 300 <= status < 400:
            raise self._failed(
                "redirects to another address, which gnod does not follow: enter that address in index.yml"
            )
        said = await self._said(response)
        if status in (401, 403):
            if self.key and self.key.source == "keyring":
                self.key = None  # the user may replace it there
            raise self._failed(f"refused the key ({status}{said}): {keys.remedy(self.endpoint)}")
        if status in (404, 405):
            text = (
                f"has no such path or model ({status}{said}): check both in index.yml, as in https://host:port/v1#model"
            )
            raise NotThere(self._sentence(text), self._details())
        error = RequestRefused(
            self._sentence(f"refused the request ({status}{said}): see the server's log"), self._details()
        )
        error.status = status
        if status in _TEMPORARY:
            raise _Temporary(error, _seconds(_header(response, b"retry-after")))
        raise error

    async def _read(self, response: httpcore.Response) -> bytes:
        content = bytearray()
        async for part in self._parts(response):
            content += part
            if len(content) > self.limits.answer_bytes:
                raise self._too_long()
        return bytes(content)

    async def _parts(self, response: httpcore.Response) -> AsyncIterator[bytes]:
        if int(_seconds(_header(response, b"content-length")) or 0) > self.limits.answer_bytes:
            raise self._too_long()
        async for part in response.aiter_stream():
            yield part

    async def _said(self, response: httpcore.Response) -> str:
        """Return the beginning of the server's own message, to quote it in the error."""
        content = bytearray()
        async for part in response.aiter_stream():
            content += part
            if len(content) > _MAX_ERROR_BYTES:
                break
        if content.lstrip().startswith(b"<"):
            return ", with a web page"
        try:
            decoded = msgspec.json.decode(bytes(content))
        except (msgspec.DecodeError, UnicodeDecodeError):
            decoded = bytes(content).decode("utf-8", "replace")
        while isinstance(decoded, dict):
            decoded = next((decoded[name] for name in ("error", "message", "detail") if decoded.get(name)), "")
        said = str(decoded)
        if self.key:
            said = said.replace(self.key.value, "…")  # some servers repeat the key
        return f": {_plain(said)}" if said else ""

    def unreadable(self, content: bytes, reason: str) -> EndpointFailed:
        """Return the error for an answer in the wrong format."""
        if content.lstrip().startswith(b"<"):
            return self._failed("sent a web page: does the address lead to the server itself, and end in /v1?")
        return self._failed(f"{reason}: does the address lead to a server for this task, with this model?")

    def _too_long(self) -> EndpointFailed:
        limit = f"{self.limits.answer_bytes / 1024 / 1024:.0f} MB"
        return self._failed(f"sent more than {limit} in one answer, which cannot be a valid result: check the address")

    def _failed(self, text: str) -> EndpointFailed:
        return EndpointFailed(self._sentence(text), self._details())

    def _sentence(self, text: str) -> str:
        return f"the model server {self.endpoint.base} {text}"

    def _details(self) -> dict[str, object]:
        return {"uri": str(self.endpoint)}


def _plain(text: str) -> str:
    text = _PRIVATE.sub(" ", text).strip()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _header(response: httpcore.Response, name: bytes) -> bytes:
    return next((value for key, value in response.headers if key.lower() == name), b"")


def _seconds(value: bytes) -> float | None:
    return float(value) if re.fullmatch(rb"[0-9]{1,15}", value) else None
