"""The daemon's side of the converter workers: starts them on demand, gives them jobs in order, ends them.

A worker holds no state that matters, so it is always ended by SIGKILL. Nothing here runs while there is
nothing to do: timers exist only for a busy worker (memory) and for an idle one that is to be ended.
"""

from __future__ import annotations

import asyncio

import msgspec

from gnod.child import frames
from gnod.errors import ShuttingDown, WorkerFailed
from gnod.ingest import messages
from gnod.ingest.jobs import Failure, FileJob, FileStat, Job, Outcome
from gnod.ingest.worker_process import Ended, WorkerProcess, launch

JOBS_PER_WORKER = 2_000
HEAVY_BYTES = 200 << 20
_MEMORY_POLL_S = 0.25


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is starting, idle or busy."""

    pid: int
    state: str
    resident_bytes: int
    jobs: int


class WorkerPool:
    """Up to `size` workers. `timeout_s` and `memory_mb` limit a job; `idle_s` is how long a worker that has
    nothing to do is kept, but for one light one, which may stay."""

    def __init__(self, *, size: int, timeout_s: float, memory_mb: int, idle_s: float = 30.0) -> None:
        self.size = size
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._idle_s = idle_s
        self._size = size
        self._slots = asyncio.Semaphore(size)  # first come, first served
        self._workers: list[WorkerProcess] = []
        self._idle: list[WorkerProcess] = []
        self._starting: set[asyncio.Task[WorkerProcess]] = set()
        self._ending: set[asyncio.Task[str]] = set()
        self._closed = False

    async def run(self, job: Job) -> Outcome:
        """Do a job, waiting for a worker if all are busy. What is wrong with the file is in the outcome.

        Raises WorkerFailed when no worker can be started, ShuttingDown after `close`. When cancelled, the
        worker is ended with the job.
        """
        try:
            request = frames.encode(messages.request(job))
        except (UnicodeEncodeError, frames.FrameError):
            return _failure(job, "failed", "The text cannot be passed to a converter.")
        async with self._slots:
            while True:
                self._require_open()
                warm = bool(self._idle)
                worker = self._take() if warm else await self._start()
                outcome = await self._attempt(worker, job, request)
                if outcome is not None:
                    return outcome
                if not warm:
                    raise WorkerFailed("A converter worker died before it could be given a file.")
                # Somebody killed it while it was idle: that says nothing about this job.

    def statuses(self) -> list[WorkerInfo]:
        return [
            WorkerInfo(pid=worker.pid, state=worker.state, resident_bytes=worker.resident_bytes(), jobs=worker.jobs)
            for worker in self._workers
        ]

    async def close(self) -> None:
        """End all workers; jobs under way raise ShuttingDown."""
        self._closed = True
        for worker in list(self._workers):
            self._discard(worker)
        while under_way := self._starting | self._ending:
            await asyncio.wait(under_way)

    async def _attempt(self, worker: WorkerProcess, job: Job, request: bytes) -> Outcome | None:
        """Give a job to a worker; None if the worker was dead before it took it."""
        self._watch_memory(worker)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await worker.perform(request)
        except TimeoutError:
            message = f"The file took longer than {self._timeout_s:g} s."
            return _failure(job, "timeout", message, worker.seen)
        except Ended as end:
            self._require_open()
            if worker.over_memory:
                message = f"The file needs more than {self._memory_mb} MB of memory."
                return _failure(job, "memory", message, worker.seen)
            if not end.taken:
                return None
            message = f"The converter crashed ({await worker.ended()})."
            return _failure(job, "crashed", message, worker.seen)
        finally:
            self._give_back(worker)

    async def _start(self) -> WorkerProcess:
        """Start a worker. If the job is cancelled meanwhile, the worker is there for the next one."""
        starting = asyncio.get_running_loop().create_task(self._launch())
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(self._started_for_nobody)
            raise

    async def _launch(self) -> WorkerProcess:
        worker = await launch(self._memory_mb)
        self._workers.append(worker)
        try:
            self._require_open()
            await worker.ready()
        except BaseException:
            self._discard(worker)
            self._require_open()
            raise
        return worker

    def _started_for_nobody(self, starting: asyncio.Task[WorkerProcess]) -> None:
        if starting.cancelled() or starting.exception() is not None:
            return
        worker = starting.result()
        if len(self._workers) > self._size:
            self._discard(worker)
        else:
            self._give_back(worker)

    def _take(self) -> WorkerProcess:
        """The one used last, so that the others can be ended."""
        worker = self._idle.pop()
        worker.stop_timer()
        return worker

    def _give_back(self, worker: WorkerProcess) -> None:
        worker.stop_timer()
        if worker.state != "idle" or worker.jobs >= JOBS_PER_WORKER or self._closed:
            self._discard(worker)
            return
        self._idle.append(worker)
        worker.timer = asyncio.get_running_loop().call_later(self._idle_s, self._idle_over, worker)

    def _idle_over(self, worker: WorkerProcess) -> None:
        """End an idle worker; one that is light may stay."""
        worker.timer = None
        others = [other for other in self._idle if other is not worker and not other.heavy]
        if worker.heavy or others or worker.resident_bytes() > HEAVY_BYTES:
            self._discard(worker)

    def _watch_memory(self, worker: WorkerProcess) -> None:
        """macOS does not keep RLIMIT_AS, so the resident size is looked at while a job lasts."""
        worker.timer = asyncio.get_running_loop().call_later(_MEMORY_POLL_S, self._check_memory, worker)

    def _check_memory(self, worker: WorkerProcess) -> None:
        if worker.resident_bytes() > self._memory_mb << 20:
            worker.over_memory = True
            worker.kill()
        else:
            self._watch_memory(worker)

    def _discard(self, worker: WorkerProcess) -> None:
        worker.kill()
        if worker not in self._workers:
            return
        self._workers.remove(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        task = asyncio.get_running_loop().create_task(worker.ended())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _require_open(self) -> None:
        if self._closed:
            raise ShuttingDown("The daemon is shutting down.")


def _failure(job: Job, kind: str, message: str, seen: FileStat | None = None) -> Failure:
    stage = "convert" if isinstance(job, FileJob) else "prepare"
    return Failure(stage=stage, kind=kind, message=message, stat=seen)
