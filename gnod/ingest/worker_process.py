"""One converter worker as the daemon sees it: its job, its state, and whether it still can be used."""

from __future__ import annotations

import asyncio

import msgspec

from gnod.child import frames, process
from gnod.errors import WorkerFailed
from gnod.ingest import messages
from gnod.ingest.jobs import FileStat, Outcome

_START_LIMIT_S = 30.0
# One thread, few arenas: every other one would reserve address space, which is what is limited.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONWARNINGS": "ignore",
}


class Ended(Exception):
    """The worker is gone. `taken`: it had the job by then."""

    def __init__(self, taken: bool) -> None:
        super().__init__()
        self.taken = taken


class WorkerProcess:
    """One child process and what the pool has to know of it."""

    def __init__(self, child: process.ChildProcess) -> None:
        self.pid = child.pid
        self.state = "starting"
        self.jobs = 0
        self.heavy = False
        self.over_memory = False
        self.seen: FileStat | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._child = child

    async def ready(self) -> None:
        """Wait until the process has started. Raises WorkerFailed."""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                started = await self._reply(taken=False)
        except (Ended, TimeoutError) as error:
            raise WorkerFailed("A converter worker did not start; the log says why.") from error
        if not isinstance(started, messages.Ready):
            raise WorkerFailed("A converter worker answered before it was asked.")
        self.state = "idle"

    async def perform(self, request: bytes) -> Outcome:
        """Send a job and wait for its outcome. Raises Ended. If cut short, the worker is of no more use."""
        self.state = "busy"
        self.seen = None
        try:
            await self._child.send(request)
        except ConnectionError as error:
            raise Ended(taken=False) from error
        taken = await self._reply(taken=False)
        self.seen = taken.stat if isinstance(taken, messages.Taken) else None
        answer = await self._reply(taken=True)
        if not isinstance(answer, messages.Done):
            raise Ended(taken=True)
        self.jobs += 1
        self.heavy = answer.heavy
        self.state = "idle"
        return answer.outcome

    async def _reply(self, *, taken: bool) -> messages.Reply:
        try:
            reply = await frames.read(self._child.reader, messages.REPLIES)
        except (frames.FrameError, ConnectionError, msgspec.DecodeError) as error:
            raise Ended(taken) from error
        if reply is None:
            raise Ended(taken)
        return reply

    def resident_bytes(self) -> int:
        return self._child.resident_bytes()

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def kill(self) -> None:
        """End the process, whatever it is doing; harmless when it has ended."""
        self.stop_timer()
        self._child.kill()

    async def ended(self) -> str:
        """Wait for the end of the process and return how it came, in words."""
        return await self._child.ended()


async def launch(memory_mb: int) -> WorkerProcess:
    """Start a process; it is not ready yet. Raises WorkerFailed. Not to be cancelled: the child would be lost."""
    try:
        child = await process.launch("gnod.ingest.worker", [str(memory_mb)], environment=_ENVIRONMENT)
    except OSError as error:
        raise WorkerFailed(f"A converter worker could not be started: {error.strerror}.") from error
    return WorkerProcess(child)
