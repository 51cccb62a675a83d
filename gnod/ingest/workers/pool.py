"""Manage the pool of converter workers: start them on demand, give them jobs in order, and end them.

A worker has no state to save, so the pool always ends it with SIGKILL. Only busy workers (for memory) and idle workers
that will be ended have timers.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gnod.child import frames
from gnod.errors import ShuttingDown, WorkerFailed
from gnod.ingest.workers import scratch
from gnod.ingest.workers.jobs import Failure, Job, Outcome, SourceJob, WorkerLimits
from gnod.ingest.workers.worker_process import MODULE, Ended, IngestProcess, launch
from gnod.store.tables.records import FileStat

JOBS_PER_WORKER = 2_000
HEAVY_BYTES = 200 << 20
_MEMORY_POLL_S = 0.25
_ROOTS_POLL_S = 1.0
# A page may still be read for this long after the user has opened another document, in seconds.
_ENDS_SOON_S = 0.5


class _Killed(Exception):
    """The worker was killed from outside, for example by the OOM killer. The first time, the file does not count as the
    cause."""

    def __init__(self, failure: Failure) -> None:
        super().__init__()
        self.failure = failure


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`state`: starting, idle or busy."""

    pid: int
    state: str
    resident_bytes: int
    jobs: int


class WorkerPool:
    """Up to `size` workers. Another worker starts when the total waiting time of jobs reaches `starts_waited` times the
    time of a start; a few small files are done before that. `timeout_s` and `memory_mb` limit a job. Idle workers end
    after `idle_s`, except for one without large libraries. `nice` lowers their priority. `roots` returns the folders
    below which workers may read files; without it, they may read all files. The pool awaits `before_start` before it
    starts a worker. For `scratch_folder` see `Scratch`; a worker runs `module`."""

    def __init__(
        self,
        *,
        size: int,
        timeout_s: float,
        memory_mb: int,
        idle_s: float = 30.0,
        starts_waited: float = 2.0,  # the first job of a worker also loads libraries
        nice: int = 10,
        roots: Callable[[], Sequence[str]] | None = None,
        before_start: Callable[[], Awaitable[None]] | None = None,
        scratch_folder: Path | None = None,
        module: str = MODULE,
    ) -> None:
        self.size = size
        self.protections: list[str] = []
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._idle_s = idle_s
        self._starts_waited = starts_waited
        self._nice = nice
        self._roots = roots
        self._before_start = before_start
        self._scratch = scratch.Scratch(scratch_folder)
        self._module = module
        self._slots = asyncio.Semaphore(size)  # first come, first served
        self._urgent_slot = asyncio.Semaphore(1)
        self._workers: list[IngestProcess] = []
        self._idle: list[IngestProcess] = []
        self._freed = asyncio.Event()  # a new event replaces it each time
        self._wait_s = self._left_s = 0.0
        self._starting: set[asyncio.Task[IngestProcess]] = set()
        self._ending: set[asyncio.Task[str]] = set()
        self._closed = False

    async def run(self, job: Job, *, urgent: bool = False) -> Outcome:
        """Do a job, and wait for a worker if all are busy. If a worker ends for a reason other than the file, it is
        replaced once. `urgent`: a user waits, so the job has a separate slot.

        Raises WorkerFailed when no worker can be started, ShuttingDown after `close`. Cancelling ends the worker, but
        the worker of an urgent job only if the job does not end soon.
        """
        try:
            request = frames.encode(job)
        except (UnicodeEncodeError, frames.FrameError):
            return _failure(job, "failed", "The text cannot be passed to a converter.")
        async with self._urgent_slot if urgent else self._slots:
            has_failed = False
            while True:
                self._require_open()
                if not urgent:
                    await self._wait_for_others()
                self._discard_outdated()
                warm = bool(self._idle)
                try:
                    worker = self._take() if warm else await self._start()
                    attempt = self._attempt(worker, job, request)
                    outcome = await (_ended_soon(attempt) if urgent else attempt)
                    if outcome is not None:
                        return outcome
                    if not warm:
                        raise WorkerFailed("A converter worker ended before it received a file.")
                    # The worker was killed while it was idle: try the next one.
                except _Killed as killed:
                    if has_failed:
                        return killed.failure
                    has_failed = True
                except WorkerFailed:
                    if has_failed:
                        raise
                    has_failed = True

    def statuses(self) -> list[WorkerInfo]:
        return [
            WorkerInfo(pid=worker.pid, state=worker.state, resident_bytes=worker.resident_bytes(), jobs=worker.jobs)
            for worker in self._workers
        ]

    async def close(self) -> None:
        """End all workers; running jobs raise ShuttingDown."""
        self._closed = True
        for worker in list(self._workers):
            self._discard(worker)
        while under_way := self._starting | self._ending:
            await asyncio.wait(under_way)
        await asyncio.to_thread(self._scratch.close)

    async def _attempt(self, worker: IngestProcess, job: Job, request: bytes) -> Outcome | None:
        """Give a job to a worker; None if the worker ended before it took the job. Raises _Killed."""
        self._watch_memory(worker)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await worker.perform(request)
        except TimeoutError:
            message = f"The file took longer than {self._timeout_s:g} s."
            return _failure(job, "timeout", message, worker.seen)
        except Ended as end:
            self._require_open()
            if not end.taken and not worker.over_memory:
                return None
            kind, message = await self._cause(worker, end)
            failure = _failure(job, kind, message, worker.seen)
            if kind == "crashed" and not end.is_invalid and await worker.ended() == "signal SIGKILL":
                raise _Killed(failure) from None
            return failure
        finally:
            self._give_back(worker)

    async def _cause(self, worker: IngestProcess, end: Ended) -> tuple[str, str]:
        """Return the kind of failure and the message for the user."""
        too_much = f"The file needs more than {self._memory_mb} MB of memory."
        if worker.over_memory:
            return "memory", too_much
        if worker.over_scratch:
            return "failed", "The converter exceeded its limit of temporary files."
        if end.is_invalid:
            return "crashed", "The converter crashed (invalid reply)."
        how = await worker.ended()
        if how == "signal SIGXCPU":
            return "timeout", f"The file took more than {self._timeout_s:g} s of CPU time."
        if await asyncio.to_thread(worker.ran_out_of_memory):
            return "memory", too_much
        return "crashed", f"The converter crashed ({how})."

    async def _wait_for_others(self) -> None:
        """Wait until a worker is idle, or until it is worth starting another one."""
        while self._starting:
            await asyncio.wait(self._starting)
        clock = asyncio.get_running_loop().time
        while self._workers and not self._idle and self._left_s > 0:
            began = clock()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._left_s):
                    await self._freed.wait()
            self._left_s -= clock() - began

    async def _start(self) -> IngestProcess:
        """Start a worker. If the job is cancelled in the meantime, the next job gets the worker."""
        starting = asyncio.get_running_loop().create_task(self._launch())
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._started_without_job)
            raise

    async def _launch(self) -> IngestProcess:
        if self._before_start:
            await self._before_start()
        folder = await asyncio.to_thread(self._scratch.make)
        limits = WorkerLimits(
            nice=self._nice,
            memory_mb=self._memory_mb,
            time_limit_s=self._timeout_s,
            scratch=None if folder is None else os.fsencode(folder),
            roots=self._current_roots(),
        )
        clock = asyncio.get_running_loop().time
        began = clock()
        worker = await launch(limits, self._module)
        self._workers.append(worker)
        try:
            self._require_open()
            await self._ready(worker)
            self.protections = worker.protections
            self._wait_s = self._left_s = self._starts_waited * (clock() - began)
        except BaseException:
            self._discard(worker)
            self._require_open()
            raise
        return worker

    async def _ready(self, worker: IngestProcess) -> None:
        """Wait until a worker has started. End it if it waits for an unavailable folder: it would block the others."""
        ready = asyncio.ensure_future(worker.ready())
        while not (await asyncio.wait([ready], timeout=_ROOTS_POLL_S))[0]:
            if worker.limits.roots != self._current_roots():
                worker.kill()
        await ready

    def _started_without_job(self, starting: asyncio.Task[IngestProcess]) -> None:
        if starting.cancelled() or starting.exception() is not None:
            return
        worker = starting.result()
        if len(self._workers) > self.size:
            self._discard(worker)
        else:
            self._give_back(worker)

    def _current_roots(self) -> list[bytes] | None:
        return None if self._roots is None else sorted({os.fsencode(root) for root in self._roots()})

    def _discard_outdated(self) -> None:
        """End idle workers that were started for other collections."""
        roots = self._current_roots()
        for worker in [worker for worker in self._idle if worker.limits.roots != roots]:
            self._discard(worker)

    def _take(self) -> IngestProcess:
        """Return the most recently used worker, so that the others can end."""
        worker = self._idle.pop()
        worker.stop_timer()
        return worker

    def _give_back(self, worker: IngestProcess) -> None:
        worker.stop_timer()
        self._freed.set()
        self._freed = asyncio.Event()
        if worker.state != "idle" or worker.jobs >= JOBS_PER_WORKER or self._closed:
            self._discard(worker)
            return
        self._idle.append(worker)
        if len(self._idle) == len(self._workers):
            self._left_s = self._wait_s
        worker.timer = asyncio.get_running_loop().call_later(self._idle_s, self._end_idle, worker)

    def _end_idle(self, worker: IngestProcess) -> None:
        """End an idle worker, unless it is the only one without large libraries."""
        worker.timer = None
        others = [other for other in self._idle if other is not worker and not other.heavy]
        if worker.heavy or others or worker.resident_bytes() > HEAVY_BYTES:
            self._discard(worker)

    def _watch_memory(self, worker: IngestProcess) -> None:
        """Check a worker regularly: only Linux can limit memory, and no system limits the sum of temporary files."""
        worker.timer = asyncio.get_running_loop().call_later(_MEMORY_POLL_S, self._check_memory, worker)

    def _check_memory(self, worker: IngestProcess) -> None:
        worker.over_memory = worker.check_usage() > self._memory_mb << 20
        if worker.over_memory or worker.over_scratch:
            worker.kill()
        else:
            self._watch_memory(worker)

    def _discard(self, worker: IngestProcess) -> None:
        worker.kill()
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        task = asyncio.get_running_loop().create_task(_cleared(worker))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _require_open(self) -> None:
        if self._closed:
            raise ShuttingDown("the daemon is shutting down")


async def _ended_soon(attempt: Coroutine[Any, Any, Outcome | None]) -> Outcome | None:
    """Await an attempt. If it is cancelled, wait a moment for its end: a page is cancelled whenever a user opens the
    next document, and starting a worker takes longer than reading a page."""
    attempting = asyncio.ensure_future(attempt)
    try:
        return await asyncio.shield(attempting)
    except asyncio.CancelledError:
        await asyncio.wait([attempting], timeout=_ENDS_SOON_S)
        raise
    finally:
        attempting.cancel()


async def _cleared(worker: IngestProcess) -> str:
    """Wait until a worker has ended, and remove its files."""
    how = await worker.ended()
    if worker.scratch is not None:
        await asyncio.to_thread(scratch.remove, worker.scratch)
    return how


def _failure(job: Job, kind: str, message: str, seen: FileStat | None = None) -> Failure:
    stage = "convert" if isinstance(job, SourceJob) else "prepare"
    return Failure(stage=stage, kind=kind, message=message, stat=seen)
