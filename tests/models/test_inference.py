"""The inference worker, a real one: warm, ahead of the backlog, restarted, gone when idle."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from gnod.errors import InferenceFailed, ModelCorrupt, ModelRejected, ShuttingDown
from gnod.models.inference import Inference, RequestFailed
from gnod.models.messages import ModelSpec

pytestmark = pytest.mark.slow

LONG = [f"Note {n}. " + "The harbour master closed the east gate before the storm. " * 25 for n in range(40)]


@pytest.fixture
def spec(minilm_gguf: Path) -> ModelSpec:
    return ModelSpec(path=str(minilm_gguf), window=256, gpu=False, threads=2)


@asynccontextmanager
async def inference(idle_unload_s: float = 60) -> AsyncIterator[Inference]:
    served = Inference(idle_unload_s=idle_unload_s)
    try:
        yield served
    finally:
        await served.close()


async def until(condition: Callable[[], bool], limit_s: float = 20) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        await asyncio.sleep(0.01)


async def begun(served: Inference) -> int:
    """Wait until the worker computes; return its pid."""
    await until(lambda: served.status().state == "busy" and bool(served.status().models))
    await asyncio.sleep(0.1)
    pid = served.status().pid
    assert pid is not None
    return pid


async def test_nothing_runs_until_it_is_needed(spec: ModelSpec) -> None:
    async with inference() as served:
        assert served.status().state == "off"
        assert served.status().resident_bytes == 0
        found = await served.embed(spec, ["one", "two"], interactive=True)
        assert found.vectors.shape == (2, 384)
        assert found.vectors.dtype == np.float32
        status = served.status()
        assert (status.state, status.models, status.crashes) == ("idle", [spec.path], 0)
        assert status.resident_bytes > 30 << 20
        assert status.pid != os.getpid()


async def test_the_environment_keeps_threads_from_spinning(spec: ModelSpec) -> None:
    async with inference() as served:
        await served.embed(spec, ["one"], interactive=True)
        assert psutil.Process(served.status().pid).environ()["OMP_WAIT_POLICY"] == "passive"


async def test_an_idle_worker_goes_and_its_memory_with_it(spec: ModelSpec) -> None:
    async with inference(idle_unload_s=0.2) as served:
        await served.embed(spec, ["one"], interactive=True)
        pid = served.status().pid
        assert pid is not None
        await until(lambda: served.status().state == "off")
        assert not psutil.pid_exists(pid)
        assert served.status().resident_bytes == 0
        assert served.status().crashes == 0, "that was no crash"
        assert (await served.embed(spec, ["again"], interactive=True)).vectors.shape == (1, 384)


async def test_a_model_that_is_no_longer_asked_leaves_memory(spec: ModelSpec, e5_gguf: Path) -> None:
    other = ModelSpec(path=str(e5_gguf), window=512, gpu=False, threads=2)
    async with inference(idle_unload_s=0.3) as served:
        with served.lease():
            await served.embed(other, ["one"], interactive=True)
            await served.embed(spec, ["one"], interactive=True)
            assert served.status().models == sorted([spec.path, other.path])
            await asyncio.sleep(0.5)
            await served.embed(spec, ["two"], interactive=True)
            await until(lambda: served.status().models == [spec.path])
            assert (await served.embed(other, ["again"], interactive=True)).vectors.shape == (1, 384)


async def test_a_lease_keeps_it(spec: ModelSpec) -> None:
    async with inference(idle_unload_s=0.1) as served:
        with served.lease():
            await served.embed(spec, ["one"], interactive=True)
            pid = served.status().pid
            await asyncio.sleep(0.5)
            assert served.status().pid == pid
        await until(lambda: served.status().state == "off")


async def test_a_query_goes_ahead_of_documents(spec: ModelSpec) -> None:
    async with inference() as served:
        documents = [asyncio.create_task(served.embed(spec, LONG, interactive=False)) for _ in range(2)]
        await begun(served)
        for _ in range(3):
            await served.embed(spec, ["a query"], interactive=True)
        assert not any(task.done() for task in documents), "the queries waited for the documents"
        first, second = await asyncio.gather(*documents)
        assert np.allclose(first.vectors, second.vectors, atol=1e-3)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_death_fails_what_had_begun_and_nothing_else(spec: ModelSpec, number: signal.Signals) -> None:
    async with inference() as served:
        await served.embed(spec, ["warm"], interactive=True)
        at_work = asyncio.create_task(served.embed(spec, LONG, interactive=False))
        waiting = asyncio.create_task(served.embed(spec, ["later"], interactive=False))
        pid = await begun(served)
        os.kill(pid, number)
        with pytest.raises(RequestFailed, match=number.name):
            await at_work
        assert (await waiting).vectors.shape == (1, 384)
        assert served.status().crashes == 1
        assert number.name in str(served.status().last_crash)
        assert served.status().pid != pid


async def test_a_query_is_asked_again_after_a_death(spec: ModelSpec) -> None:
    async with inference() as served:
        await served.embed(spec, ["warm"], interactive=True)
        query = asyncio.create_task(served.embed(spec, LONG, interactive=True))
        os.kill(await begun(served), signal.SIGKILL)
        assert (await query).vectors.shape == (len(LONG), 384)


async def test_an_idle_worker_that_was_killed_is_not_noticed(spec: ModelSpec) -> None:
    async with inference() as served:
        for _ in range(3):
            await served.embed(spec, ["one"], interactive=True)
            pid = served.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=5)
        assert (await served.embed(spec, ["two"], interactive=True)).vectors.shape == (1, 384)


async def test_deaths_in_a_row_wait_longer_and_a_query_is_told(spec: ModelSpec) -> None:
    async with inference() as served:
        for _ in range(5):
            task = asyncio.create_task(served.embed(spec, LONG, interactive=False))
            os.kill(await begun(served), signal.SIGKILL)
            with pytest.raises(RequestFailed):
                await task
        assert served.status().state == "restarting"
        started = time.monotonic()
        with pytest.raises(InferenceFailed, match="started again in"):
            await served.embed(spec, ["a query"], interactive=True)
        assert time.monotonic() - started < 1


async def test_a_cancelled_request_costs_nobody_else(spec: ModelSpec) -> None:
    async with inference() as served:
        first = asyncio.create_task(served.embed(spec, LONG[:10], interactive=False))
        await begun(served)
        second = asyncio.create_task(served.embed(spec, LONG * 5, interactive=False))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        await first
        assert (await served.embed(spec, ["next"], interactive=False)).vectors.shape == (1, 384)
        assert served.status().waiting == 0


@pytest.mark.parametrize(
    ("content", "error"), [(b"GGUF" + bytes(64), ModelCorrupt), (b"<html>", ModelCorrupt), (b"", ModelCorrupt)]
)
async def test_a_bad_file_is_told_and_the_worker_lives(
    spec: ModelSpec, tmp_path: Path, content: bytes, error: type[Exception]
) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(content)
    async with inference() as served:
        with pytest.raises(error):
            await served.embed(ModelSpec(path=str(bad), gpu=False), ["one"], interactive=True)
        pid = served.status().pid
        assert (await served.embed(spec, ["one"], interactive=True)).vectors.shape == (1, 384)
        assert served.status().pid == pid


async def test_a_model_that_cannot_embed(smollm_gguf: Path) -> None:
    async with inference() as served:
        with pytest.raises(ModelRejected):
            await served.embed(ModelSpec(path=str(smollm_gguf), gpu=False), ["one"], interactive=True)


async def test_closing_ends_the_worker_and_fails_what_waits(spec: ModelSpec) -> None:
    served = Inference(idle_unload_s=60)
    task: Awaitable[object] = asyncio.create_task(served.embed(spec, LONG, interactive=False))
    pid = await begun(served)
    await served.close()
    with pytest.raises(ShuttingDown):
        await task
    assert not psutil.pid_exists(pid)
    with pytest.raises(ShuttingDown):
        await served.embed(spec, ["late"], interactive=True)
