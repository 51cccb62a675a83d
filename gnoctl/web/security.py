"""Decide who may request what, in one layer in front of all addresses. The browser is treated as a hostile client.

`refusal` decides from the head of a request alone; `Guard` applies it, limits bodies and the number of requests, and
adds the headers that prevent a page, and whatever a document smuggles into it, from reaching anything else. Must not
depend on addresses other than `/` (where the token becomes a cookie) and DESCRIPTION, or on methods of the daemon.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gnoctl.web.errors import failure
from gnoctl.web.session import WebSession

MAX_BODY_BYTES = 1 << 20
BODY_TIMEOUT_S = 10.0
MAX_REQUESTS = 64

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_API = "/api/"
# The address from which a browser adds the page to its search engines. It requests it without a cookie, and the answer
# contains only the origin.
DESCRIPTION = "/opensearch.xml"
_SIGN_IN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>gnod</title>
<h1>This browser is not signed in</h1>
<p>Run <code>gnoctl web --print</code> in a terminal and open the address that it prints.</p></html>
"""
# Do not redirect: a browser would send a strict cookie only if the first page also had this origin.
_SIGNED_IN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>gnod</title>
<link rel="icon" href="/static/icon.svg">
<meta http-equiv="refresh" content="0; url=/"><p><a href="/">Continue</a></p></html>
"""


Refusal = tuple[HTTPStatus, str]
"""The status and the message of a refusal."""


_TOO_LARGE = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {MAX_BODY_BYTES:,} bytes")
_TOO_SLOW = (HTTPStatus.REQUEST_TIMEOUT, "the body took too long")


def refusal(method: str, path: str, headers: Headers, session: WebSession) -> Refusal | None:
    """Return why a request is refused; None if it is allowed."""
    host = session.origin.removeprefix("http://")
    if headers.getlist("host") != [host]:
        # Another name may resolve to this machine, such as the name of an attacker's page (DNS rebinding).
        return (HTTPStatus.MISDIRECTED_REQUEST, f"this server is {session.origin} and has no other name")
    if method not in ("GET", "POST"):
        return (HTTPStatus.METHOD_NOT_ALLOWED, "only GET and POST are answered")
    origins = headers.getlist("origin")
    if origins != [session.origin] and (origins or method == "POST"):
        return (HTTPStatus.FORBIDDEN, "the request comes from another page")
    if path.startswith(_API) and headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return (HTTPStatus.FORBIDDEN, "the request comes from another page")
    if not is_signed_in(headers, session) and (method, path) != ("GET", DESCRIPTION):
        return (HTTPStatus.FORBIDDEN, "not signed in: `gnoctl web --print` prints the address that signs in")
    if method == "POST" and _media_type(headers) != "application/json":
        return (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must be application/json")
    if int(_length(headers)) > MAX_BODY_BYTES:
        return _TOO_LARGE
    return None


def is_signed_in(headers: Headers, session: WebSession) -> bool:
    for header in headers.getlist("cookie"):
        try:
            cookie = SimpleCookie(header).get(session.cookie_name)
        except CookieError:
            continue
        if cookie is not None and session.knows(cookie.value):
            return True
    return False


class Guard:
    def __init__(
        self,
        app: ASGIApp,
        session: WebSession,
        *,
        max_requests: int = MAX_REQUESTS,
        body_timeout_s: float = BODY_TIMEOUT_S,
    ) -> None:
        self._app = app
        self._session = session
        self._max_requests = max_requests
        self._body_timeout_s = body_timeout_s
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":  # a web socket is dropped without an answer
            return None
        reply = _with_headers(send)
        answer = self._answer(scope)
        if answer is not None:
            return await answer(scope, receive, reply)
        self._running += 1
        try:
            await self._app(scope, _limited(receive, self._body_timeout_s), reply)
        finally:
            self._running -= 1

    def _answer(self, scope: Scope) -> Response | None:
        """Return the answer to a request that does not reach the application."""
        headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
        refused = refusal(method, path, headers, self._session)
        if refused is not None and refused[0] is HTTPStatus.FORBIDDEN and not path.startswith(_API):
            if method == "GET" and path == "/" and self._is_invited(scope):
                return self._signed_in()
            return HTMLResponse(_SIGN_IN, HTTPStatus.FORBIDDEN)
        if refused is not None:
            return failure(*refused)
        if method == "GET" and path == "/" and b"token=" in scope["query_string"]:
            return self._signed_in()
        if self._running >= self._max_requests:
            return failure(HTTPStatus.SERVICE_UNAVAILABLE, "too many requests at once: close other pages of gnod")
        return None

    def _is_invited(self, scope: Scope) -> bool:
        if Headers(scope=scope).getlist("origin"):
            return False
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        return len(tokens) == 1 and self._session.opens(tokens[0])

    def _signed_in(self) -> Response:
        response = HTMLResponse(_SIGNED_IN)
        session = self._session
        response.set_cookie(session.cookie_name, session.cookie, path="/", httponly=True, samesite="strict")
        return response


def _limited(receive: Receive, timeout_s: float) -> Receive:
    """Return a `receive` that limits the size and the duration of a body. It raises HTTPException."""
    until = asyncio.get_running_loop().time() + timeout_s
    size, is_complete = 0, False

    async def receiving() -> Message:
        nonlocal size, is_complete
        if is_complete:  # from now on, wait only for the end of the connection
            return await receive()
        try:
            async with asyncio.timeout_at(until):
                message = await receive()
        except TimeoutError:
            raise HTTPException(*_TOO_SLOW) from None
        size += len(message.get("body", b""))
        is_complete = not message.get("more_body", False)
        if size > MAX_BODY_BYTES:
            raise HTTPException(*_TOO_LARGE)
        return message

    return receiving


def _with_headers(send: Send) -> Send:
    """Return a `send` that adds the headers to an answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)  # pictures have their own policy
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _length(headers: Headers) -> str:
    """Return the announced length; "0" if there is none. The server refuses a length that is not a number."""
    given = headers.get("content-length", "0")
    return given if given.isascii() and given.isdigit() and len(given) < 20 else str(MAX_BODY_BYTES + 1)
