"""A real inference worker: priorities, crashes and restarts, idle unloading, generation."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest

from gnod.errors import InferenceFailed, ModelCorrupt, ModelNotPulled, ModelRejected, NotEnoughMemory, ShuttingDown
from gnod.models.files import ModelFiles
from gnod.models.run.inference import Inference, RequestFailed
from gnod.models.run.messages import ModelSpec
from gnod.models.run.roles import GeneratedText, Generator, Message
from tests.child.sandboxed import has_landlock
from tests.models import gguf_models, gguf_replicas
from tests.models.replicas import EMBEDDERS, WORDS
from tests.waiting import until

pytestmark = pytest.mark.slow

LONG = [f"Note {n}. " + "The harbour master closed the east gate before the storm. " * 25 for n in range(24)]


@pytest.fixture
def spec(minilm_onnx: Path) -> ModelSpec:
    return ModelSpec(path=str(minilm_onnx), window=256, gpu=False, threads=2)


STORY = [Message("user", "Write a very long story about a lighthouse keeper, with many chapters.")]
HEAVY = [Message("user", "Read this, and write much about it. " + LONG[0] * 2)]
"""A prompt of 3,000 characters, which takes some seconds to read."""


@pytest.fixture
def writer(smollm_gguf: Path, tmp_path: Path) -> Callable[[Inference], Generator]:
    def make(served: Inference) -> Generator:
        return Generator(f"file:{smollm_gguf}", files=ModelFiles(tmp_path), inference=served, gpu=False, threads=2)

    return make


async def begins_to_speak(task: asyncio.Task[GeneratedText], heard: list[str]) -> None:
    await until(
        lambda: bool(heard) or task.done(),
    )
    assert not task.done()


@asynccontextmanager
async def inference(idle_unload_s: float = 60) -> AsyncIterator[Inference]:
    served = Inference(idle_unload_s=idle_unload_s)
    try:
        yield served
    finally:
        await served.close()


async def begun(served: Inference) -> int:
    """Wait until the worker computes; return its pid."""
    await until(lambda: served.status().state == "busy" and bool(served.status().models))
    # Use the worker's own report: on a busy machine, it may take any time to start.
    await until(lambda: bool(served._worker and served._worker._at_work))
    pid = served.status().pid
    assert pid is not None
    return pid


async def test_nothing_runs_until_it_is_needed(spec: ModelSpec) -> None:
    async with inference() as served:
        assert served.status().state == "off"
        assert served.status().resident_bytes == 0
        found = await served.embed(spec, ["one", "two"], interactive=True)
        held = " ".join(served.status().protections)
        assert ("Landlock (writing" in held and "seccomp (network, programs" in held) == has_landlock()
        assert found.shape == (2, 384)
        assert found.dtype == np.float32
        status = served.status()
        assert (status.state, status.models, status.crashes) == ("idle", [spec.path], 0)
        assert status.resident_bytes > 30 << 20
        assert status.pid != os.getpid()
        assert psutil.Process(status.pid).environ()["OMP_WAIT_POLICY"] == "passive", "threads do not spin"


async def test_an_idle_worker_ends(spec: ModelSpec) -> None:
    async with inference(idle_unload_s=0.2) as served:
        await served.embed(spec, ["one"], interactive=True)
        pid = served.status().pid
        assert pid is not None
        await until(lambda: served.status().state == "off")
        assert not psutil.pid_exists(pid)
        assert served.status().resident_bytes == 0
        assert served.status().crashes == 0, "that was no crash"
        assert (await served.embed(spec, ["again"], interactive=True)).shape == (1, 384)


@pytest.mark.stress
async def test_an_unused_model_is_unloaded(spec: ModelSpec, e5_onnx: Path) -> None:
    other = ModelSpec(path=str(e5_onnx), window=512, gpu=False, threads=2)
    async with inference(idle_unload_s=0.3) as served:
        with served.lease():
            await served.embed(other, ["one"], interactive=True)
            assert served.status().models == [other.path]
            await served.embed(spec, ["one"], interactive=True)
            await asyncio.sleep(0.5)
            await served.embed(spec, ["two"], interactive=True)
            await until(lambda: served.status().models == [spec.path])
            assert (await served.embed(other, ["again"], interactive=True)).shape == (1, 384)


async def test_a_lease_keeps_the_worker(spec: ModelSpec) -> None:
    async with inference(idle_unload_s=0.1) as served:
        with served.lease():
            await served.embed(spec, ["one"], interactive=True)
            pid = served.status().pid
            await asyncio.sleep(0.5)
            assert served.status().pid == pid
        await until(lambda: served.status().state == "off")


async def test_queries_go_ahead_of_documents(spec: ModelSpec) -> None:
    async with inference() as served:
        documents = [asyncio.create_task(served.embed(spec, LONG[:8], interactive=False)) for _ in range(2)]
        await begun(served)
        for _ in range(3):
            await served.embed(spec, ["a query"], interactive=True)
        assert not any(task.done() for task in documents), "the queries waited for the documents"
        first, second = await asyncio.gather(*documents)
        assert np.allclose(first, second, atol=1e-3)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
@pytest.mark.stress
async def test_a_crash_fails_only_the_request_that_had_begun(spec: ModelSpec, number: signal.Signals) -> None:
    async with inference() as served:
        await served.embed(spec, ["warm"], interactive=True)
        at_work = asyncio.create_task(served.embed(spec, LONG, interactive=False))
        waiting = asyncio.create_task(served.embed(spec, ["later"], interactive=False))
        pid = await begun(served)
        os.kill(pid, number)
        if number == signal.SIGKILL:
            assert (await at_work).shape == (len(LONG), 384), "a kill, as for lack of memory, is tried once more"
        else:
            with pytest.raises(RequestFailed, match=number.name):
                await at_work
        assert (await waiting).shape == (1, 384)
        assert served.status().crashes == 1
        assert number.name in str(served.status().last_crash)
        assert served.status().pid != pid


@pytest.mark.stress
async def test_a_query_is_retried_after_a_crash(spec: ModelSpec) -> None:
    async with inference() as served:
        await served.embed(spec, ["warm"], interactive=True)
        query = asyncio.create_task(served.embed(spec, LONG[:16], interactive=True))
        os.kill(await begun(served), signal.SIGKILL)
        assert (await query).shape == (16, 384)


@pytest.mark.stress
async def test_a_killed_idle_worker_is_replaced(spec: ModelSpec) -> None:
    async with inference() as served:
        for _ in range(3):
            await served.embed(spec, ["one"], interactive=True)
            pid = served.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=60)
        assert (await served.embed(spec, ["two"], interactive=True)).shape == (1, 384)


@pytest.mark.stress
async def test_repeated_crashes_delay_the_restart(spec: ModelSpec) -> None:
    async with inference() as served:
        for _ in range(5):
            task = asyncio.create_task(served.embed(spec, LONG, interactive=False))
            os.kill(await begun(served), signal.SIGSEGV)
            with pytest.raises(RequestFailed):
                await task
        assert served.status().state == "restarting"
        started = time.monotonic()
        with pytest.raises(InferenceFailed, match="started again in"):
            await served.embed(spec, ["a query"], interactive=True)
        assert time.monotonic() - started < 30


async def test_a_cancelled_request_does_not_affect_others(spec: ModelSpec) -> None:
    async with inference() as served:
        first = asyncio.create_task(served.embed(spec, LONG[:10], interactive=False))
        await begun(served)
        second = asyncio.create_task(served.embed(spec, LONG * 5, interactive=False))
        await asyncio.sleep(0.05)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        await first
        assert (await served.embed(spec, ["next"], interactive=False)).shape == (1, 384)
        assert served.status().waiting == 0


async def test_bad_models_are_errors_and_the_worker_continues(spec: ModelSpec, tmp_path: Path) -> None:
    qwen = EMBEDDERS["qwen3"]
    whole = gguf_replicas.write(tmp_path, qwen).read_bytes()
    cases = {"zeros": b"GGUF" + bytes(64), "page": b"<html>", "empty": b"", "cut": whole[:-1000]}
    for name, content in cases.items():
        (tmp_path / f"{name}.gguf").write_bytes(content)
    gguf_models.write(tmp_path / "newer.gguf", "nosuch", {}, {})
    fewer = {**qwen.config, "vocab_size": WORDS - 100}
    gguf_replicas.write(tmp_path, qwen._replace(config=fewer)).rename(tmp_path / "fewer.gguf")
    shutil.copytree(Path(spec.path).parent, tmp_path / "onnx")
    words = json.loads((tmp_path / "onnx" / "tokenizer.json").read_text())
    words["model"]["vocab"] |= {f"word{number}": 30_522 + number for number in range(10)}
    (tmp_path / "onnx" / "tokenizer.json").write_text(json.dumps(words))
    corrupt = [(f"{name}.gguf", ModelCorrupt, "damaged") for name in (*cases, "fewer")]
    newer = ("newer.gguf", ModelRejected, "the architecture nosuch, which llama.cpp does not know")
    foreign = ("onnx/model.onnx", ModelRejected, "belongs to another model")
    async with inference() as served:
        await served.embed(spec, ["one"], interactive=True)
        pid = served.status().pid
        for name, error, message in (*corrupt, newer, foreign):
            bad = ModelSpec(path=str(tmp_path / name), gpu=False)
            with pytest.raises(error, match=message):
                await served.embed(bad, ["one"], interactive=True)
        assert (await served.embed(spec, ["one"], interactive=True)).shape == (1, 384)
        assert served.status().pid == pid


async def test_a_model_that_does_not_fit_is_an_error_of_its_own(spec: ModelSpec, tmp_path: Path) -> None:
    huge = tmp_path / "huge.gguf"
    huge.write_bytes(b"GGUF")
    os.truncate(huge, 1 << 40)
    async with inference() as served:
        with pytest.raises(NotEnoughMemory, match=r"MB are free\. Close other programs"):
            await served.embed(ModelSpec(path=str(huge), gpu=False), ["one"], interactive=True)
        assert (await served.embed(spec, ["one"], interactive=True)).shape == (1, 384)
        assert served.status().crashes == 0


async def test_generated_text_arrives_in_parts(writer: Callable[[Inference], Generator]) -> None:
    heard: list[str] = []
    async with inference() as served:
        generator = writer(served)
        generated = await generator.generate(STORY, max_tokens=20, on_text=heard.append)
        assert "".join(heard) == generated.text
        assert len(heard) > 5
        assert (generated.finish, generated.tokens) == ("length", 20)
        assert 20 < generated.prompt_tokens < 80
        assert generated.took_s > 0
        assert generated.text == (await generator.generate(STORY, max_tokens=20)).text
        assert served.status().models == [generator.spec().path]


async def test_queries_are_embedded_during_generation(
    spec: ModelSpec, writer: Callable[[Inference], Generator]
) -> None:
    heard: list[str] = []
    async with inference() as served:
        await served.embed(spec, ["warm"], interactive=True)
        task = asyncio.create_task(writer(served).generate(STORY, max_tokens=2000, on_text=heard.append))
        await begins_to_speak(task, heard)
        for _ in range(3):
            await served.embed(spec, ["a query"], interactive=True)
        await served.embed(spec, ["a document"], interactive=False)
        assert not task.done(), "they waited for the story"
        task.cancel()


async def test_loading_a_model_delays_no_other_request(
    spec: ModelSpec, writer: Callable[[Inference], Generator]
) -> None:
    async with inference() as served:
        await served.embed(spec, ["warm"], interactive=True)
        task = asyncio.create_task(writer(served).generate(STORY, max_tokens=1))
        await until(lambda: served.status().waiting == 1)
        await served.embed(spec, ["a query"], interactive=True)
        assert len(served.status().models) == 1, "the model was not loaded when the query was answered"
        await task


@pytest.mark.parametrize(("messages", "speaks"), [(HEAVY, False), (STORY, True)])
@pytest.mark.stress
async def test_cancelling_stops_generation_at_once(
    messages: list[Message], speaks: bool, writer: Callable[[Inference], Generator]
) -> None:
    heard: list[str] = []
    async with inference() as served:
        generator = writer(served)
        await generator.generate([Message("user", "Hi")], max_tokens=1)
        task = asyncio.create_task(generator.generate(messages, max_tokens=3000, on_text=heard.append))
        await (begins_to_speak(task, heard) if speaks else asyncio.sleep(0.3))
        assert bool(heard) == speaks
        started = time.monotonic()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        worker = psutil.Process(served.status().pid)
        await idle(worker)
        assert time.monotonic() - started < 30, "the whole story would take minutes"
        assert served.status().waiting == 0
        assert (await generator.generate(STORY, max_tokens=1)).tokens == 1


async def idle(worker: psutil.Process) -> None:
    """Wait until the worker uses no processor for a fifth of a second."""
    async with asyncio.timeout(60):
        while True:
            before = worker.cpu_times()
            await asyncio.sleep(0.2)
            after = worker.cpu_times()
            if after.user + after.system - before.user - before.system < 0.03:
                return


@pytest.mark.parametrize("messages", [HEAVY, STORY])
@pytest.mark.stress
async def test_generation_stops_at_the_time_limit(
    messages: list[Message], writer: Callable[[Inference], Generator]
) -> None:
    async with inference() as served:
        generator = writer(served)
        await generator.generate([Message("user", "Hi")], max_tokens=1)
        heard: list[str] = []
        started = time.monotonic()
        generated = await generator.generate(messages, max_tokens=3000, limit_s=1.0, on_text=heard.append)
        assert 0.9 < time.monotonic() - started < 30
        assert generated.finish == "time"
        assert generated.text == "".join(heard)


@pytest.mark.stress
async def test_text_that_repeats_itself_is_stopped(writer: Callable[[Inference], Generator]) -> None:
    loop = 'root ::= "Set it: " ("sysctl net.core.rmem_max\\n")+'
    async with inference() as served:
        generator = writer(served)
        generated = await generator.generate(STORY, max_tokens=400, grammar=loop, may_repeat=False)
        assert (generated.text, generated.finish) == ("Set it: sysctl net.core.rmem_max", "repetition")
        assert 0 < generated.tokens < 100
        await until(lambda: served.status().state == "idle")  # the worker has stopped
        assert (await generator.generate(STORY, max_tokens=60, grammar=loop)).finish == "length"


async def test_loading_continues_after_the_time_limit(
    spec: ModelSpec, writer: Callable[[Inference], Generator]
) -> None:
    async with inference() as served:
        generator = writer(served)
        await served.embed(spec, ["the worker has started"], interactive=True)
        assert await generator.generate(STORY, max_tokens=5, limit_s=0.02) == GeneratedText("", "time", 0, 0, 0.0)
        assert served.status().models == [spec.path]
        await until(lambda: generator.spec().path in served.status().models)


@pytest.mark.stress
async def test_a_failing_listener_affects_only_its_request(
    spec: ModelSpec, writer: Callable[[Inference], Generator]
) -> None:
    def fail(_text: str) -> None:
        raise KeyError("deaf")

    async with inference() as served:
        with pytest.raises(KeyError):
            await writer(served).generate(STORY, max_tokens=3000, on_text=fail)
        assert (await writer(served).generate(STORY, max_tokens=1)).tokens == 1
        assert served.status().crashes == 0


@pytest.mark.stress
async def test_a_crash_during_generation_is_reported(writer: Callable[[Inference], Generator]) -> None:
    heard: list[str] = []
    async with inference() as served:
        generator = writer(served)
        task = asyncio.create_task(generator.generate(STORY, max_tokens=3000, on_text=heard.append))
        await begins_to_speak(task, heard)
        pid = served.status().pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(NotEnoughMemory, match="SIGKILL"):
            await task
        assert (await generator.generate(STORY, max_tokens=1)).tokens == 1
        assert served.status().crashes == 1


async def test_generation_errors_are_reported_and_the_worker_continues(
    writer: Callable[[Inference], Generator],
) -> None:
    async with inference() as served:
        generator = writer(served)
        with pytest.raises(RequestFailed, match="grammar"):
            await generator.generate(STORY, max_tokens=5, grammar="root ::= (")
        with pytest.raises(RequestFailed, match="the prompt has"):
            await generator.generate([Message("user", LONG[0] * 20)], max_tokens=5)
        assert (await generator.generate(STORY, max_tokens=1)).tokens == 1
        assert served.status().crashes == 0


async def test_a_missing_generator_is_reported(tmp_path: Path) -> None:
    async with inference() as served:
        missing = Generator(
            f"file:{tmp_path}/none.gguf", files=ModelFiles(tmp_path), inference=served, gpu=False, threads=1
        )
        with pytest.raises(ModelNotPulled, match="not on this machine yet"):
            await missing.generate(STORY, max_tokens=1)


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
