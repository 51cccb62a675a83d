"""When an agent cancels a request, the daemon cancels it too, and the bridge keeps working."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from gnod.protocol.base import ProgressValue
from tests.client.fake_daemon import FakeDaemon

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_cancelling_reaches_the_daemon(daemon: FakeDaemon, tmp_path: Path, mode: str) -> None:
    daemon.answers["ask.answer"] = None  # the daemon never answers
    daemon.progress["ask.answer"] = [ProgressValue(stage="reading", done=1, total=6, label="cats")]
    environment = {name: value for name, value in os.environ.items() if name.startswith("GNO")}
    environment["GNO_SOCKET"] = str(daemon.places.socket)
    server = StdioServerParameters(command=sys.executable, args=["-m", "gnoctl", "mcp", "--all"], env=environment)
    reported = asyncio.Event()
    sentences = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        sentences.append(message)
        reported.set()

    with (tmp_path / "log").open("w") as log:
        async with Client(stdio_client(server, errlog=log), mode=mode) as client:
            asking = asyncio.create_task(client.call_tool("ask", {"question": "?"}, progress_callback=on_progress))
            await asyncio.wait_for(reported.wait(), 60)
            assert not daemon.cancelled.is_set()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert await asyncio.to_thread(daemon.cancelled.wait, 60)
            assert (await client.list_tools()).tools
    assert sentences == ["reading cats: 1 of 6"]
