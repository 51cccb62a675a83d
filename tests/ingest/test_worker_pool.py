"""Test the pool with real child processes: order, limits, crashes, cancellation, and closing."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from msgspec.structs import replace

from gnod.errors import ShuttingDown, WorkerFailed
from gnod.ingest.workers import pool as pool_module
from gnod.ingest.workers.jobs import Failure, FileJob, PageJob, PageRead, TextJob
from gnod.ingest.workers.pool import WorkerPool
from gnod.store.tables.records import PreparedDocument
from tests.pdf_files import pdf
from tests.systems import needs_linux
from tests.waiting import until

pytestmark = pytest.mark.slow

NOTE = TextJob(text="# Note\n\nbody\n", relative_path="note.md")


@asynccontextmanager
async def pool_of(
    size: int, *, timeout_s: float = 30, memory_mb: int = 2048, idle_s: float = 30, starts_waited: float = 0
) -> AsyncIterator[WorkerPool]:
    pool = WorkerPool(size=size, timeout_s=timeout_s, memory_mb=memory_mb, idle_s=idle_s, starts_waited=starts_waited)
    try:
        async with asyncio.timeout(60):
            yield pool
    finally:
        await pool.close()
        assert pool.statuses() == []


def file_job(path: Path) -> FileJob:
    return FileJob(path=str(path), relative_path=path.name, max_bytes=1 << 30, max_characters=50_000_000)


def slow_file(folder: Path) -> Path:
    """Return a file that takes at least half a minute: the converter treats every table cell as a document."""
    path = folder / "slow.html"
    path.write_text("<table>" + "<tr><td>x</td></tr>" * 300_000 + "</table>")
    return path


def pids(pool: WorkerPool) -> list[int]:
    return [worker.pid for worker in pool.statuses()]


async def reading(pool: WorkerPool) -> None:
    """Wait until a worker has taken a file. It is busy shortly before; if it is killed then, the file is not blamed."""
    await until(lambda: [worker.state for worker in pool._workers if worker.seen] == ["busy"])


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_jobs_share_warm_workers() -> None:
    async with pool_of(2) as pool:
        outcomes = await asyncio.gather(*(pool.run(NOTE) for _ in range(20)))
        assert all(isinstance(outcome, PreparedDocument) for outcome in outcomes)
        workers = pool.statuses()
        assert len(workers) == 2
        assert sum(worker.jobs for worker in workers) == 20
        assert {worker.state for worker in workers} == {"idle"}
        assert all(worker.resident_bytes > 1_000_000 for worker in workers)
        lower = min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
        assert {os.getpriority(os.PRIO_PROCESS, worker.pid) for worker in workers} == {lower}


async def test_small_files_wait_for_the_first_worker() -> None:
    async with pool_of(2, starts_waited=1000) as pool:
        await asyncio.gather(*(pool.run(NOTE) for _ in range(5)))
        assert len(pool.statuses()) == 1


async def test_a_small_file_does_not_wait_long_for_a_slow_one(tmp_path: Path) -> None:
    async with pool_of(2, starts_waited=1) as pool:
        slow = asyncio.create_task(pool.run(file_job(slow_file(tmp_path))))
        await reading(pool)
        assert isinstance(await pool.run(NOTE), PreparedDocument)
        assert not slow.done()
        slow.cancel()
        await asyncio.wait([slow])


async def test_jobs_are_done_in_order() -> None:
    done: list[int] = []

    async def one(pool: WorkerPool, number: int) -> None:
        await pool.run(NOTE)
        done.append(number)

    async with pool_of(1) as pool:
        await asyncio.gather(*(one(pool, number) for number in range(10)))
    assert done == list(range(10))


async def test_an_urgent_page_does_not_wait_for_files(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(["one", "two"]))
    job = PageJob(path=str(path), relative_path="a.pdf", max_bytes=1 << 20, number=2)
    async with pool_of(1) as pool:
        slow = asyncio.create_task(pool.run(file_job(slow_file(tmp_path))))
        waiting = asyncio.create_task(pool.run(NOTE))
        await reading(pool)
        outcome = await pool.run(job, urgent=True)
        assert isinstance(outcome, PageRead)
        assert outcome.text == "two"
        assert not slow.done()
        assert not waiting.done()
        missing = await pool.run(replace(job, number=3), urgent=True)
        assert isinstance(missing, Failure)
        assert missing.message == "The PDF has 2 pages, so it has no page 3."
        for task in (slow, waiting):
            task.cancel()
        await asyncio.wait([slow, waiting])


async def test_a_worker_killed_while_idle_is_replaced() -> None:
    async with pool_of(1) as pool:
        await pool.run(NOTE)
        before = pids(pool)
        os.kill(before[0], signal.SIGKILL)
        assert isinstance(await pool.run(NOTE), PreparedDocument)
        assert pids(pool) != before


async def test_a_worker_killed_at_work_is_a_crash_of_that_file_only(tmp_path: Path) -> None:
    async with pool_of(1) as pool:
        path = slow_file(tmp_path)
        task = asyncio.create_task(pool.run(file_job(path)))
        await reading(pool)
        os.kill(pids(pool)[0], signal.SIGSEGV)
        outcome = await task
        assert isinstance(outcome, Failure)
        assert (outcome.stage, outcome.kind) == ("convert", "crashed")
        assert "SIGSEGV" in outcome.message
        assert outcome.stat is not None
        assert outcome.stat.inode == path.stat().st_ino
        assert isinstance(await pool.run(NOTE), PreparedDocument)


async def test_a_job_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    async with pool_of(1, timeout_s=3) as pool:
        task = asyncio.create_task(pool.run(file_job(slow_file(tmp_path))))
        await until(lambda: bool(pids(pool)))
        worker = pids(pool)[0]
        outcome = await task
        assert isinstance(outcome, Failure)
        assert outcome.kind == "timeout"
        assert outcome.message == "The file took longer than 3 s."
        await until(lambda: gone(worker))
        assert isinstance(await pool.run(NOTE), PreparedDocument)


async def test_even_a_stopped_worker_is_ended() -> None:
    async with pool_of(1, timeout_s=3) as pool:
        await pool.run(NOTE)
        worker = pids(pool)[0]
        os.kill(worker, signal.SIGSTOP)
        outcome = await pool.run(NOTE)
        assert isinstance(outcome, Failure)
        assert (outcome.stage, outcome.kind) == ("prepare", "timeout")
        await until(lambda: gone(worker))


@needs_linux("other systems do not enforce RLIMIT_AS")
async def test_memory_is_limited_and_the_worker_survives(tmp_path: Path) -> None:
    path = tmp_path / "big.txt"
    path.write_bytes(b"some words and more of them\n" * 4_000_000)
    async with pool_of(1, memory_mb=250) as pool:
        await pool.run(NOTE)
        before = pids(pool)
        outcome = await pool.run(file_job(path))
        assert isinstance(outcome, Failure)
        assert outcome.kind == "memory"
        assert outcome.stat is not None
        assert isinstance(await pool.run(NOTE), PreparedDocument)
        assert pids(pool) == before


async def test_a_worker_that_grows_too_large_is_ended(tmp_path: Path) -> None:
    """The pool also checks the resident size, for systems that do not enforce the limit. Here, any worker is too
    large."""
    async with pool_of(1) as pool:
        await pool.run(NOTE)
        pool._memory_mb = 1
        outcome = await pool.run(file_job(slow_file(tmp_path)))
        assert isinstance(outcome, Failure)
        assert outcome.kind == "memory"
        assert outcome.message == "The file needs more than 1 MB of memory."


async def test_cancelling_ends_the_worker_and_spares_the_others(tmp_path: Path) -> None:
    async with pool_of(1) as pool:
        first = asyncio.create_task(pool.run(file_job(slow_file(tmp_path))))
        await reading(pool)
        waiting = [asyncio.create_task(pool.run(NOTE)) for _ in range(3)]
        await asyncio.sleep(0.05)  # let them wait
        worker = pids(pool)[0]
        waiting[0].cancel()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        outcomes = await asyncio.gather(*waiting[1:])
        assert all(isinstance(outcome, PreparedDocument) and outcome.title == "Note" for outcome in outcomes)
        await until(lambda: gone(worker))


async def test_a_cancelled_page_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf(["one", "two"]))
    job = PageJob(path=str(path), relative_path="a.pdf", max_bytes=1 << 20, number=1)
    async with pool_of(1) as pool:
        await pool.run(job, urgent=True)
        worker = pids(pool)[0]
        monkeypatch.setattr(pool_module, "_ENDS_SOON_S", 30.0)  # a page may take long on a busy machine
        for step in range(5):
            task = asyncio.create_task(pool.run(job, urgent=True))
            await asyncio.sleep(step * 0.002)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            outcome = await pool.run(replace(job, number=2), urgent=True)
            assert isinstance(outcome, PageRead)
            assert outcome.text == "two"
        assert pids(pool) == [worker]
        monkeypatch.undo()
        slow = asyncio.create_task(pool.run(file_job(slow_file(tmp_path)), urgent=True))
        await reading(pool)
        slow.cancel()
        await asyncio.wait([slow])
        await until(lambda: gone(worker))


async def test_cancelling_at_any_moment_never_mixes_up_answers() -> None:
    async with pool_of(2) as pool:
        for step in range(8):
            task = asyncio.create_task(pool.run(TextJob(text=f"# Lost {step}", relative_path="x.md")))
            await asyncio.sleep(step * 0.012)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            outcome = await pool.run(TextJob(text=f"# Kept {step}", relative_path="x.md"))
            assert isinstance(outcome, PreparedDocument)
            assert outcome.title == f"Kept {step}"


async def test_idle_workers_are_ended_but_for_a_light_one() -> None:
    async with pool_of(3, idle_s=0.2) as pool:
        jobs = asyncio.gather(*(pool.run(NOTE) for _ in range(9)))
        # On a busy machine, the first worker may end as idle before the last one has started.
        seen: list[int] = []

        def have_three_begun() -> bool:
            seen.extend(pids(pool))
            return len(set(seen)) == 3

        await until(have_three_begun)
        await jobs
        await until(lambda: len(pids(pool)) == 1)
        await asyncio.sleep(0.3)
        assert len(pids(pool)) == 1


async def test_a_heavy_worker_is_ended_when_idle(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_text("<p>page</p>")
    async with pool_of(1, idle_s=0.3) as pool:
        assert isinstance(await pool.run(file_job(path)), PreparedDocument)
        await until(lambda: pids(pool) == [])
        assert isinstance(await pool.run(NOTE), PreparedDocument)


async def test_closing_ends_everything(tmp_path: Path) -> None:
    async with pool_of(2) as pool:
        await pool.run(NOTE)
        busy = asyncio.create_task(pool.run(file_job(slow_file(tmp_path))))
        await until(lambda: "busy" in [worker.state for worker in pool.statuses()])
        workers = pids(pool)
        await pool.close()
        with pytest.raises(ShuttingDown):
            await busy
        assert all(map(gone, workers))
        with pytest.raises(ShuttingDown):
            await pool.run(NOTE)


async def test_no_worker_can_be_started() -> None:
    async with pool_of(1, memory_mb=1) as pool:
        with pytest.raises(WorkerFailed):
            await pool.run(NOTE)


async def test_a_text_that_cannot_be_passed_on_is_a_failure() -> None:
    async with pool_of(1) as pool:
        outcome = await pool.run(TextJob(text="half \ud800", relative_path="x.md"))
        assert isinstance(outcome, Failure)
        assert outcome.kind == "failed"


@pytest.mark.stress
async def test_a_worker_that_is_killed_once_does_no_harm(tmp_path: Path) -> None:
    async with pool_of(1) as pool:
        path = tmp_path / "table.html"
        path.write_text("<table>" + "<tr><td>x</td></tr>" * 8_000 + "</table>")
        for kills, expected in ((1, PreparedDocument), (2, Failure)):
            task = asyncio.create_task(pool.run(file_job(path)))
            for _ in range(kills):
                await reading(pool)
                killed = pids(pool)
                os.kill(killed[0], signal.SIGKILL)
                await until(lambda killed=killed: pids(pool) != killed)  # type: ignore[misc]
            outcome = await task
            assert isinstance(outcome, expected)
            assert not isinstance(outcome, Failure) or outcome.kind == "crashed"


async def test_a_worker_killed_while_it_starts_is_replaced() -> None:
    async with pool_of(1) as pool:
        task = asyncio.create_task(pool.run(NOTE))
        # A check in every turn of the event loop cannot miss the state. A check every 10 ms can, on a busy machine.
        async with asyncio.timeout(60):
            while [worker.state for worker in pool.statuses()] != ["starting"]:  # noqa: ASYNC110
                await asyncio.sleep(0)
        os.kill(pids(pool)[0], signal.SIGKILL)
        assert isinstance(await task, PreparedDocument)


async def test_a_start_that_waits_for_a_silent_folder_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    roots = [str(tmp_path), str(tmp_path / "silent")]
    pool = WorkerPool(size=1, timeout_s=30, memory_mb=2048, roots=lambda: roots, module="stuck_worker")
    try:
        async with asyncio.timeout(60):
            job = asyncio.create_task(pool.run(NOTE))
            await until(lambda: pids(pool))
            roots.pop()  # the folder is now known to be silent
            assert isinstance(await job, PreparedDocument)
    finally:
        await pool.close()
