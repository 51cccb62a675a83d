"""Memory is checked before a model is loaded. A model that does not fit is reported, and makes room or waits."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from gnod.errors import NotEnoughMemory
from gnod.handlers.checks.doctor import graphics_card
from gnod.models.run.inference import Inference
from gnod.models.run.llama import library
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.loaded_models import load_embedding
from gnod.models.run.memory import free_memory
from gnod.models.run.messages import EmbedRequest, Generate, ModelSpec
from tests.models import gguf_replicas
from tests.models.replicas import EMBEDDERS
from tests.systems import needs_linux
from tests.waiting import until

LONG = ["The harbour master closed the east gate before the storm. " * 100 for _ in range(40)]
_MB = 1_000_000


@pytest.mark.parametrize("own", ["0::/a/b\n", "9:cpu:/\n4:memory:/a/b\n0::/\n", "4:cpuset,memory:/docker/x\n"])
def test_the_limits_of_all_groups_count(own: str, tmp_path: Path) -> None:
    total = psutil.virtual_memory().total
    groups = tmp_path / "own"
    assert 0 < free_memory(tmp_path, groups) <= total, "another system"
    groups.write_text(own)
    is_old = "memory" in own
    inner = tmp_path / "memory" / ("" if "docker" in own else "a") if is_old else tmp_path / "a"
    inner.mkdir(parents=True)
    limit, used = ("limit_in_bytes", "usage_in_bytes") if is_old else ("max", "current")
    prefix = "total_" if is_old else ""
    (inner / f"memory.{used}").write_text("900000\n")
    (inner / "memory.stat").write_text(f"anon 5\n{prefix}active_file 100000\n{prefix}inactive_file 200000\n")
    (inner / f"memory.{limit}").write_text("9223372036854771712\n" if is_old else "max\n")
    assert free_memory(tmp_path, groups) > 1_000_000
    (inner / f"memory.{limit}").write_text("1000000\n")
    assert free_memory(tmp_path, groups) == 400_000


def test_a_full_graphics_card_takes_half_of_a_model_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine has no card: llama.cpp's functions are replaced to report one, and how much fits."""
    model = ModelSpec(path=str(gguf_replicas.write(tmp_path, EMBEDDERS["qwen3"])), gpu=True)
    load, asked, room = llama_cpp.llama_model_load_from_file, list[int](), 20

    def loads(path: bytes, settings: llama_cpp.llama_model_params) -> object:
        asked.append(settings.n_gpu_layers)
        if asked[-1] > room:
            library._said.append(b"cudaMalloc failed: out of memory")
            return None
        settings.n_gpu_layers = 0
        return load(path, settings)

    monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: True)
    monkeypatch.setattr(llama_cpp, "llama_model_load_from_file", loads)
    load_embedding(model).close()
    assert asked == [999, 16]
    asked, room = [], 10
    load_embedding(model).close()
    assert asked == [999, 16, 0], "the processor computes"


async def test_an_unused_card_of_nvidia_is_a_warning(tmp_path: Path) -> None:
    assert await graphics_card(tmp_path / "no driver") == []
    (tmp_path / "version").touch()
    (check,) = await graphics_card(tmp_path / "version")
    assert check.status == "warning"
    assert "docs/install.md" in str(check.remedy)


@asynccontextmanager
async def worker(model: ModelSpec) -> AsyncIterator[tuple[Inference, psutil.Process]]:
    served = Inference(idle_unload_s=60)
    try:
        await served.embed(model, ["warm"], interactive=True)
        yield served, psutil.Process(served.status().pid)
    finally:
        await served.close()


@pytest.fixture
def group(tmp_path: Path) -> Iterator[Path]:
    """A control group for this test, which limits memory."""
    base = Path("/sys/fs/cgroup")
    group = (base / "memory" if (base / "memory").is_dir() else base) / f"gnod-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("control groups cannot be made here")
    if not any((group / name).exists() for name in ("memory.max", "memory.limit_in_bytes")):
        group.rmdir()
        pytest.skip("control groups do not limit memory here")
    yield group
    group.rmdir()


def limit(group: Path, process: psutil.Process, size: int) -> None:
    """Limit the memory that the process can take from now on."""
    names = ("memory.max", "memory.limit_in_bytes")
    next(group / name for name in names if (group / name).exists()).write_text(str(size))
    (group / "cgroup.procs").write_text(str(process.pid))


@pytest.mark.stress
async def test_a_model_makes_room_for_another(minilm_onnx: Path, e5_onnx: Path, group: Path, tmp_path: Path) -> None:
    small, large = (ModelSpec(path=str(path), window=256, threads=2) for path in (minilm_onnx, e5_onnx))
    async with worker(small) as (served, process):
        limit(group, process, 700 * _MB)
        await served.embed(large, ["one"], interactive=True)
        (tmp_path / "copy").symlink_to(e5_onnx.parent)
        other = ModelSpec(path=str(tmp_path / "copy" / "model.onnx"), window=256, threads=2)
        assert (await served.embed(other, ["one"], interactive=True)).shape == (1, 384)
        await until(lambda: served.status().models == [other.path])
        assert served.status().crashes == 0


@pytest.mark.slow
@pytest.mark.stress
async def test_a_worker_that_the_system_kills_is_retried_smaller(minilm_onnx: Path, group: Path) -> None:
    spec = ModelSpec(path=str(minilm_onnx), window=512, threads=8)
    async with worker(spec) as (served, process):
        limit(group, process, 10 * _MB)
        assert (await served.embed(spec, LONG, interactive=False)).shape == (len(LONG), 384)
        assert served.status().crashes == 1
        assert "the system sends when it runs out of memory" in str(served.status().last_crash)
        assert served._smaller(EmbedRequest(model=spec, texts=[], interactive=True)).model.threads == 4
        task = asyncio.create_task(served.embed(spec, LONG, interactive=False))
        killed: set[int | None] = {None}
        for _ in range(2):
            await until(lambda: served.status().pid not in killed and bool(served._worker and served._worker._at_work))
            pid = served.status().pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            killed.add(pid)
        with pytest.raises(NotEnoughMemory, match=r"was killed .* gnod tries again by itself, with fewer threads"):
            await task


@pytest.mark.slow
@needs_linux("limits the address space of another process")
async def test_a_model_is_loaded_once_memory_returns(tmp_path: Path, smollm_gguf: Path) -> None:
    """Under a limit on the address space, llama.cpp gets no memory for a file that fits into the machine's memory."""
    small = ModelSpec(path=str(gguf_replicas.write(tmp_path, EMBEDDERS["qwen3"])), gpu=False, threads=1)
    large = Generate(
        model=ModelSpec(path=str(smollm_gguf), window=256, gpu=False, threads=1),
        messages=[("user", "Hi")],
        max_tokens=1,
    )
    async with worker(small) as (served, process):
        size = process.memory_info().vms + 30 * _MB
        resource.prlimit(process.pid, resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))
        with pytest.raises(NotEnoughMemory, match="not enough memory for the model"):
            await served.run(large)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        await served.run(large)
        assert served.status().pid == process.pid
