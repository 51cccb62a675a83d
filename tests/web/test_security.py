"""Who may send which requests: the decisions of the page's server, without a server."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from gnoctl.loopback.peers import is_foreign
from gnoctl.loopback.server import listen
from gnoctl.web import session as sessions
from gnoctl.web.security import DESCRIPTION, HEADERS, MAX_BODY_BYTES, Guard, refusal
from gnoctl.web.session import WebSession
from tests.rpc.harness import places_in

SESSION = WebSession(port=4663, pid=1, secret="s" * 43)
GOOD = {
    "host": "127.0.0.1:4663",
    "origin": "http://127.0.0.1:4663",
    "cookie": f"gno-4663={SESSION.cookie}",
    "content-type": "application/json",
    "sec-fetch-site": "same-origin",
}


def status(method: str = "POST", path: str = "/api/rpc/search.query", **headers: str | None) -> int:
    given = {**GOOD, **{name.replace("_", "-"): value for name, value in headers.items()}}
    refused = refusal(method, path, Headers({k: v for k, v in given.items() if v is not None}), SESSION)
    return 200 if refused is None else int(refused[0])


def test_the_page_itself_may_ask() -> None:
    assert status() == 200
    assert status(content_type="application/json; charset=utf-8", sec_fetch_site=None) == 200
    assert status("GET", "/", origin=None, sec_fetch_site="none", content_type=None) == 200
    assert status(cookie=f"other=1; gno-4663={SESSION.cookie}; gno-4664=x") == 200


@pytest.mark.parametrize(
    "host",
    [
        *("localhost:4663", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4663.evil.example", "evil.example:4663"),
        *("evil.example", "[::1]:4663", "127.1:4663", "2130706433:4663", "127.0.0.1:4663 ", "", None),
    ],
)
def test_other_names_of_the_server_are_refused(host: str | None) -> None:
    assert status(host=host) == status("GET", "/static/main.js", host=host) == 421


@pytest.mark.parametrize(
    "origin",
    [
        *("http://localhost:4663", "https://127.0.0.1:4663", "http://127.0.0.1:4664", "http://127.0.0.1"),
        *("http://evil.example", "http://127.0.0.1:4663.evil.example", "file://", "null", ""),
    ],
)
def test_other_pages_are_refused(origin: str) -> None:
    assert status(origin=origin) == 403
    assert status("GET", origin=origin) == 403


def test_a_request_that_the_browser_calls_foreign_is_refused() -> None:
    assert status(origin=None) == 403
    for site in ("cross-site", "same-site", "none"):
        assert status("GET", "/api/events", origin=None, sec_fetch_site=site) == 403


@pytest.mark.parametrize(
    "cookie",
    [
        *(None, "", "gno-4663=", "gno-4663", "gno-4663=" + "0" * 64),
        f"gno-4663={SESSION.secret}",
        f"gno-4664={SESSION.cookie}",
        f"gno-4663={SESSION.cookie}0",
        f"gno-4663={SESSION.cookie[:-1]}",
        "gno-4663=\xff\xfe",
        f"gno-4664={WebSession(port=4664, pid=1, secret=SESSION.secret).cookie}",
    ],
)
def test_browsers_without_the_cookie_are_refused(cookie: str | None) -> None:
    assert status(cookie=cookie) == status("GET", "/static/main.js", cookie=cookie) == 403
    # A browser requests this address without cookies.
    assert status("GET", DESCRIPTION, cookie=cookie, origin=None) == 200
    assert status("POST", DESCRIPTION, cookie=cookie) == status("GET", f"{DESCRIPTION}/", cookie=cookie) == 403
    assert status("GET", DESCRIPTION, cookie=cookie, host="evil.example") == 421


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "post", "X"])
def test_other_methods_are_refused(method: str) -> None:
    assert status(method) == 405


@pytest.mark.parametrize("kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_forms_are_refused(kind: str | None) -> None:
    """A form on another page needs no permission to send these types."""
    assert status(content_type=kind) == 415


@pytest.mark.parametrize("length", [str(MAX_BODY_BYTES + 1), "9" * 400, "-1", "1e3", "x"])
def test_bodies_are_limited(length: str) -> None:
    assert status(content_length=str(MAX_BODY_BYTES)) == 200
    assert status(content_length=length) == 413


def test_nothing_may_be_loaded_from_elsewhere() -> None:
    policy = HEADERS["Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "data:" not in policy


def test_addresses_open_a_session() -> None:
    assert SESSION.opens(SESSION.address.partition("token=")[2])
    brief = SESSION.brief_address().partition("token=")[2]
    assert SESSION.opens(brief)
    assert SESSION.secret not in brief
    until, _, signature = brief.partition(".")
    later = str(int(until) + 3600)
    for token in ("", ".", "x", f"{later}.{signature}", f"{until}.{'0' * 64}", f".{signature}", f"\u0661.{signature}"):
        assert not SESSION.opens(token), token
    assert not SESSION.opens(SESSION.cookie)
    assert not SESSION.knows(SESSION.secret)


def test_an_address_on_a_command_line_lasts_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    token = SESSION.brief_address().partition("token=")[2]
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 61)
    assert not SESSION.opens(token)


def test_only_its_owner_can_read_the_secret(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    first = sessions.write(places, 4663)
    path = sessions.file_of(places)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert sessions.write(places, 5000).secret == first.secret == sessions.read(places).secret  # type: ignore[union-attr]
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    path.chmod(0o644)
    assert sessions.read(places) is None
    assert sessions.write(places, 4663).secret != first.secret
    for damaged in (b"", b"{", b'{"port": 1, "pid": 1, "secret": "short"}', b"\xff"):
        path.write_bytes(damaged)
        assert len(sessions.write(places, 4663).secret) >= 43


def test_one_server_per_index(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    assert sessions.running(places) is None
    with sessions.lock(places) as is_first, sessions.lock(places) as is_second:
        assert (is_first, is_second) == (True, False)
        session = sessions.write(places, 4663)
        assert sessions.running(places) == session
    sessions._lock_file(places).write_text("1")  # another server, which has not written its session yet
    assert sessions.running(places) is None
    with sessions.lock(places) as is_first:
        assert is_first


@pytest.mark.parametrize(
    ("table", "client"), [("tcp", "0100007F:9432"), ("tcp6", "0000000000000000FFFF00000100007F:9432")]
)
def test_other_users_are_refused(tmp_path: Path, table: str, client: str) -> None:
    server = client.replace("9432", "1237")

    def refused(uid: int, row: str = f"{client} {server}") -> bool:
        (tmp_path / table).write_text(f"  sl  local_address rem_address\n 0: {row} 01 00:0 00:0 0 {uid} 0 1\n")
        return is_foreign(("127.0.0.1", 0x9432), ("127.0.0.1", 0x1237), tmp_path)

    assert refused(os.getuid() + 1)
    assert not refused(os.getuid())
    assert not refused(0)
    assert not refused(os.getuid() + 1, f"{server} {client}")  # this end is the server itself
    assert not is_foreign(("127.0.0.1", 1), ("127.0.0.1", 2), tmp_path / "missing")


async def answered(guard: Guard, *messages: Message, **headers: str) -> int:
    """Return the status of the answer to a request of the page, which sends nothing after `messages`."""
    waiting = [*messages]

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    async def send(message: Message) -> None:
        sent.append(message.get("status", 0))

    sent: list[int] = []
    pairs = [(name.encode(), value.encode()) for name, value in (GOOD | headers).items()]
    scope = {"type": "http", "method": "POST", "path": "/api/ask", "query_string": b"", "headers": pairs}
    await guard(scope, receive, send)
    return sent[0]


async def _reads_its_body(request: Request) -> Response:
    return Response(await request.body())


def guard_of(endpoint: Callable[[Request], Awaitable[Response]], **limits: float) -> Guard:
    route = Route("/api/ask", endpoint, methods=["POST"])
    return Guard(Starlette(routes=[route]), SESSION, **limits)  # type: ignore[arg-type]


async def test_a_body_that_does_not_arrive_times_out() -> None:
    part = {"type": "http.request", "body": b"{", "more_body": True}
    assert await answered(guard_of(_reads_its_body, body_timeout_s=0.01), part) == 408
    whole = {"type": "http.request", "body": b"{}", "more_body": False}
    assert await answered(guard_of(_reads_its_body, body_timeout_s=60), whole) == 200


async def test_a_body_of_many_parts_is_limited() -> None:
    part = {"type": "http.request", "body": b" " * (MAX_BODY_BYTES // 4), "more_body": True}
    assert await answered(guard_of(_reads_its_body), *[part] * 5) == 413


async def test_requests_at_once_are_limited() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def waits(_: Request) -> Response:
        started.set()
        await ended.wait()
        return Response()

    guard = guard_of(waits, max_requests=1)
    first = asyncio.create_task(answered(guard))
    await started.wait()
    assert await answered(guard) == 503
    ended.set()
    assert await first == 200
    assert await answered(guard) == 200


async def test_a_body_does_not_wait_until_the_client_confirms_its_header() -> None:
    accepted: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        accepted.set_result(bool(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    sock = listen(0)
    async with await asyncio.start_server(connected, sock=sock):
        reader, writer = await asyncio.open_connection(*sock.getsockname())
        assert await accepted
        await reader.read()
        writer.close()
        await writer.wait_closed()
