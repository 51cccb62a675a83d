"""Measure how long agents wait for `gnoctl mcp --http`: for the first answer, and for searches of many agents at once.

.venv/bin/python -m benchmarks.agents_over_http FOLDER [AGENTS]

Each agent is the official client with its own session, and sends five keyword searches. In the first run, the agents
search without a pause, which measures the capacity of the bridge. In the second run, each waits about a second between
searches, which is still faster than an agent reads. All clients share one process, whose work is part of the figures.
The processor times of the first answer do not depend on other load of the machine.
"""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from benchmarks.throwaway import Throwaway, percentile, throwaway

QUERIES = ("how to embed files", "sync settings", "canvas", "publish a site", "keyboard shortcuts")
PORT = 4699


@asynccontextmanager
async def agent(url: str, authorization: str) -> AsyncIterator[Client]:
    async with (
        create_mcp_http_client(headers={"Authorization": authorization}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


async def first_answer(url: str, authorization: str) -> float:
    """Return the seconds from the connection to the first result."""
    started = time.perf_counter()
    async with agent(url, authorization) as client:
        await client.call_tool("search", {"query": QUERIES[0], "mode": "keyword"})
        return time.perf_counter() - started


async def searches(url: str, authorization: str, pause_s: float) -> list[float]:
    taken = []
    async with agent(url, authorization) as client:
        for query in QUERIES:
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.5))
            started = time.perf_counter()
            result = await client.call_tool("search", {"query": query, "mode": "keyword"})
            taken.append(time.perf_counter() - started)
            assert not result.is_error
    return taken


async def measure(url: str, authorization: str, agents: int, bridge: psutil.Process) -> None:
    def spent_ms() -> float:
        return sum(bridge.cpu_times()[:2]) * 1e3

    await first_answer(url, authorization)
    bridge_ms, client_ms = spent_ms(), time.process_time() * 1e3
    alone = [await first_answer(url, authorization) for _ in range(20)]
    bridge_ms, client_ms = spent_ms() - bridge_ms, time.process_time() * 1e3 - client_ms
    print(f"first answer of one agent: p50 {percentile(alone, 0.5) * 1e3:.0f} ms", end="; ")
    print(f"processor time: client {client_ms / len(alone):.0f}, bridge {bridge_ms / len(alone):.0f} ms")
    for pause_s in (0.0, 1.0):
        each = await asyncio.gather(*(searches(url, authorization, pause_s) for _ in range(agents)))
        taken = [seconds for some in each for seconds in some]
        figures = f"p50 {percentile(taken, 0.5) * 1e3:.0f}, p95 {percentile(taken, 0.95) * 1e3:.0f} ms"
        print(f"{agents} agents at once, {pause_s:.0f} s between searches: {figures}")


def bridge(daemon: Throwaway) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gnoctl", "mcp", "--http", "--port", str(PORT)]
    return subprocess.Popen(command, env=daemon.environment, stdout=subprocess.PIPE, text=True)


def main() -> None:
    folder, agents = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with throwaway("models: {preset: none}\n") as daemon:
        daemon.add(folder, "docs")
        daemon.wait_for_postings()
        process = bridge(daemon)
        try:
            assert process.stdout
            url, authorization = (process.stdout.readline().strip() for _ in range(2))
            own = psutil.Process(process.pid)
            asyncio.run(measure(url, authorization.removeprefix("Authorization: "), agents, own))
            print(f"memory of the bridge: {own.memory_info().rss / 1e6:.0f} MB")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


if __name__ == "__main__":
    main()
