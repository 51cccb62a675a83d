"""`gnoctl mcp --http` as agents use it: the official client over HTTP, several at once, and refused requests."""

from __future__ import annotations

import asyncio
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import NamedTuple

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.end_to_end.test_mcp_server import said
from tests.machine import Machine
from tests.shared.milvus_server import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a test", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


class Bridge(NamedTuple):
    process: subprocess.Popen[str]
    url: str
    authorization: str


@pytest.fixture(scope="module")
def bridge(busy: Machine) -> Iterator[Bridge]:
    yield from started(busy)


def started(machine: Machine) -> Iterator[Bridge]:
    command = [sys.executable, "-m", "gnoctl", "mcp", "--http", "--port", str(free_port())]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, env=machine.environment, cwd=machine.folder, stdout=pipe, stderr=pipe, text=True
    )
    assert process.stdout
    try:
        url = process.stdout.readline().strip()
        yield Bridge(process, url, process.stdout.readline().strip().removeprefix("Authorization: "))
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


@asynccontextmanager
async def agent(bridge: Bridge, mode: str) -> AsyncIterator[Client]:
    async with (
        create_mcp_http_client(headers={"Authorization": bridge.authorization}) as http,
        Client(streamable_http_client(bridge.url, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.stress
async def test_several_agents_share_one_bridge(busy: Machine, bridge: Bridge) -> None:
    async def converse(mode: str) -> None:
        async with agent(bridge, mode) as client:
            assert "- notes: 3 documents" in (client.instructions or "")
            found = await client.call_tool("search", {"query": "deploy node.js", "mode": "keyword"})
            assert "gno://notes/" in said(found)
            assert len((await client.list_tools()).tools) == 6

    await asyncio.gather(*(converse(mode) for mode in ("auto", "legacy") for _ in range(5)))

    # A later session gets the instructions of that time.
    busy.write(later_md="# Later\n\nWritten after the first session.")
    busy.ok("index")
    await asyncio.sleep(2.1)  # instructions are kept for two seconds
    async with agent(bridge, "auto") as client:
        assert "- notes: 4 documents" in (client.instructions or "")


async def test_who_does_not_show_the_token_or_comes_from_a_page_is_refused(busy: Machine, bridge: Bridge) -> None:
    right = {**ACCEPT, "authorization": bridge.authorization}

    async def status(headers: dict[str, str]) -> int:
        async with httpx2.AsyncClient() as client:
            return (await client.post(bridge.url, json=INITIALIZE, headers=headers)).status_code

    assert await status(right) == 200
    assert await status(ACCEPT) == 401
    for wrong in ("", "Bearer", "Bearer x", bridge.authorization.lower(), bridge.authorization + "x"):
        assert await status({**ACCEPT, "authorization": wrong}) == 401
    assert await status({**right, "host": "attacker.example"}) == 421, "another name that resolves to this machine"
    assert await status({**right, "origin": "https://attacker.example"}) == 403
    assert await status({**right, "content-type": "text/plain"}) == 400
    token = busy.database.with_name("mcp-default.token")
    assert stat.S_IMODE(token.stat().st_mode) == 0o600
    assert token.read_text() == bridge.authorization.removeprefix("Bearer ")


async def test_bodies_that_are_not_messages(bridge: Bridge) -> None:
    headers = {**ACCEPT, "authorization": bridge.authorization, "content-type": "application/json"}
    async with httpx2.AsyncClient() as client:
        for body in (b"", b"{", b"[" * 5000, b"\xff", b"null", b'{"jsonrpc":"2.0"}'):
            assert (await client.post(bridge.url, content=body, headers=headers)).status_code == 400
        large = await client.post(bridge.url, content=b" " * (5 << 20), headers=headers)
        assert large.status_code == 413
    async with agent(bridge, "auto") as agent_:
        assert (await agent_.list_tools()).tools, "the bridge keeps serving"


@pytest.mark.stress
def test_a_port_that_is_taken(busy: Machine, bridge: Bridge) -> None:
    port = bridge.url.split(":")[2].split("/")[0]
    taken = busy.run("mcp", "--http", "--port", port)
    assert taken.returncode != 0
    assert f"port {port} cannot be used" in taken.stderr
    assert "--port needs --http" in busy.run("mcp", "--port", port).stderr


@pytest.mark.stress
def test_the_token_stays_and_ctrl_c_ends_it_with_agents_connected(busy: Machine, bridge: Bridge) -> None:
    """This test is the last, because it ends the bridge of the other tests."""
    with httpx2.Client() as client:
        headers = {**ACCEPT, "authorization": bridge.authorization}
        session = client.post(bridge.url, json=INITIALIZE, headers=headers).headers["mcp-session-id"]
        with client.stream("GET", bridge.url, headers=headers | {"mcp-session-id": session}) as stream:
            assert stream.status_code == 200
            bridge.process.send_signal(signal.SIGINT)
            assert bridge.process.wait(timeout=30) in (0, 130, -signal.SIGINT)
    for again in started(busy):
        assert again.authorization == bridge.authorization
