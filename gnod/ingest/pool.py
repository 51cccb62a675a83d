"""The daemon's side of the converter workers: starts them on demand, gives them jobs in order, ends them.

A worker holds no state that matters, so it is always ended by SIGKILL. Nothing here runs while there is
nothing to do: timers exist only for a busy worker (memory) and for an idle one that is to be ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys

import msgspec
import psutil

from gnod.errors import ShuttingDown, WorkerFailed
from gnod.ingest import frames
from gnod.ingest.jobs import Failure, FileJob, FileStat, Job, Outcome

JOBS_PER_WORKER = 500
HEAVY_BYTES = 200 << 20
_MEMORY_POLL_S = 0.25
_START_LIMIT_S = 30.0
_BUFFER_BYTES = 1 << 20
# One thread, few arenas: every other one would reserve address space, which is what is limited.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONWARNINGS": "ignore",
}


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`state` is starting, idle or busy."""

    pid: int
    state: str
    resident_bytes: int
    jobs: int


class _Ended(Exception):  # noqa: N818 - an event
    """The worker is gone. `taken`: it had the job by then."""

    def __init__(self, taken: bool) -> None:
        super().__init__()
        self.taken = taken


class _Worker:
    """One child process and the stream to it."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = process.pid
        self.state = "starting"
        self.jobs = 0
        self.heavy = False
        self.over_memory = False
        self.seen: FileStat | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._process = process
        self._reader = reader
        self._writer = writer

    async def ready(self) -> None:
        """Wait until the process has started. Raises WorkerFailed."""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                started = await self._reply(taken=False)
        except (_Ended, TimeoutError) as error:
            raise WorkerFailed("A converter worker did not start; the log says why.") from error
        if not isinstance(started, frames.Ready):
            raise WorkerFailed("A converter worker answered before it was asked.")
        self.state = "idle"

    async def perform(self, request: bytes) -> Outcome:
        """Send a job and wait for its outcome. Raises _Ended. If cut short, the worker is of no more use."""
        self.state = "busy"
        self.seen = None
        try:
            self._writer.write(request)
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:
            raise _Ended(taken=False) from error
        taken = await self._reply(taken=False)
        self.seen = taken.stat if isinstance(taken, frames.Taken) else None
        answer = await self._reply(taken=True)
        if not isinstance(answer, frames.Done):
            raise _Ended(taken=True)
        self.jobs += 1
        self.heavy = answer.heavy
        self.state = "idle"
        return answer.outcome

    async def _reply(self, *, taken: bool) -> frames.Reply:
        try:
            reply = await frames.read_reply(self._reader)
        except (frames.FrameError, ConnectionError, msgspec.DecodeError) as error:
            raise _Ended(taken) from error
        if reply is None:
            raise _Ended(taken)
        return reply

    def resident_bytes(self) -> int:
        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def kill(self) -> None:
        self.stop_timer()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> str:
        """Wait for the end of the process and return how it came, in words."""
        self._writer.close()
        status = await self._process.wait()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()
        if status >= 0:
            return f"exit status {status}"
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"


class WorkerPool:
    """Up to `size` workers. `timeout_s` and `memory_mb` limit a job; `idle_s` is how long a worker that has
    nothing to do is kept, but for one light one, which may stay."""

    def __init__(self, *, size: int, timeout_s: float, memory_mb: int, idle_s: float = 30.0) -> None:
        self.size = size
        self._timeout_s = timeout_s
        self._memory_mb = memory_mb
        self._idle_s = idle_s
        self._slots = asyncio.Semaphore(size)  # first come, first served
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._ending: set[asyncio.Task[str]] = set()
        self._closed = False

    async def run(self, job: Job) -> Outcome:
        """Do a job, waiting for a worker if all are busy. What is wrong with the file is in the outcome.

        Raises WorkerFailed when no worker can be started, ShuttingDown after `close`. When cancelled, the
        worker is ended with the job.
        """
        try:
            request = frames.encode(frames.request(job))
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
            WorkerInfo(
                pid=worker.pid, state=worker.state, resident_bytes=worker.resident_bytes(), jobs=worker.jobs
            )
            for worker in self._workers
        ]

    async def close(self) -> None:
        """End all workers; jobs under way raise ShuttingDown."""
        self._closed = True
        for worker in list(self._workers):
            self._discard(worker)
        while self._ending:
            await asyncio.wait(self._ending)

    async def _attempt(self, worker: _Worker, job: Job, request: bytes) -> Outcome | None:
        """Give a job to a worker; None if the worker was dead before it took it."""
        self._watch_memory(worker)
        try:
            async with asyncio.timeout(self._timeout_s):
                return await worker.perform(request)
        except TimeoutError:
            message = f"The file took longer than {self._timeout_s:g} s."
            return _failure(job, "timeout", message, worker.seen)
        except _Ended as end:
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

    async def _start(self) -> _Worker:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                process = await _spawn(theirs, self._memory_mb)
            reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_BUFFER_BYTES)
        except OSError as error:
            ours.close()
            raise WorkerFailed(f"A converter worker could not be started: {error.strerror}.") from error
        except BaseException:
            ours.close()
            raise
        worker = _Worker(process, reader, writer)
        self._workers.append(worker)
        try:
            await worker.ready()
        except BaseException:
            self._discard(worker)
            raise
        return worker

    def _take(self) -> _Worker:
        """The one used last, so that the others can be ended."""
        worker = self._idle.pop()
        worker.stop_timer()
        return worker

    def _give_back(self, worker: _Worker) -> None:
        worker.stop_timer()
        if worker.state != "idle" or worker.jobs >= JOBS_PER_WORKER or self._closed:
            self._discard(worker)
            return
        self._idle.append(worker)
        worker.timer = asyncio.get_running_loop().call_later(self._idle_s, self._idle_over, worker)

    def _idle_over(self, worker: _Worker) -> None:
        """End an idle worker; one that is light may stay."""
        worker.timer = None
        others = [other for other in self._idle if other is not worker and not other.heavy]
        if worker.heavy or others or worker.resident_bytes() > HEAVY_BYTES:
            self._discard(worker)

    def _watch_memory(self, worker: _Worker) -> None:
        """macOS does not keep RLIMIT_AS, so the resident size is looked at while a job lasts."""
        worker.timer = asyncio.get_running_loop().call_later(_MEMORY_POLL_S, self._check_memory, worker)

    def _check_memory(self, worker: _Worker) -> None:
        if worker.resident_bytes() > self._memory_mb << 20:
            worker.over_memory = True
            worker.kill()
        else:
            self._watch_memory(worker)

    def _discard(self, worker: _Worker) -> None:
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


async def _spawn(channel: socket.socket, memory_mb: int) -> asyncio.subprocess.Process:
    """Start the process. From the loop's own thread: Linux tells a child of its parent's death by thread."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # a file called socket.py in the current folder is not to be imported
        "-m",
        "gnod.ingest.worker",
        str(channel.fileno()),
        str(memory_mb),
        str(os.getpid()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        pass_fds=(channel.fileno(),),
        start_new_session=True,
        cwd="/",
        env=os.environ | _ENVIRONMENT,
    )


def _failure(job: Job, kind: str, message: str, seen: FileStat | None = None) -> Failure:
    stage = "convert" if isinstance(job, FileJob) else "prepare"
    return Failure(stage=stage, kind=kind, message=message, stat=seen)
