"""Represent a converter worker in the daemon: its job, its state, and whether it is still usable."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import msgspec

from gnod.child import frames, process
from gnod.errors import WorkerFailed
from gnod.ingest.workers import jobs, scratch
from gnod.ingest.workers.jobs import Outcome, WorkerLimits
from gnod.store.tables.records import FileStat

MODULE = "gnod.ingest.workers.worker"
_START_LIMIT_S = 120.0  # the first worker may compile its imports
# Releasing 2 GB takes a moment.
_END_LIMIT_S = 2.0
_NEARLY_ALL = 0.9
# Python needs these to find its libraries. Other variables may contain tokens and passwords.
_INHERITED = re.compile(r"PATH|HOME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|VIRTUAL_ENV|(PYTHON|PYENV|LD_|DYLD_)\w+")
# One thread and few arenas are enough. Every thread and arena reserves address space, which is limited.
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONWARNINGS": "ignore",
}


class Ended(Exception):
    """The worker has ended or is unusable. `taken`: it had the job. `is_invalid`: it sent an invalid reply."""

    def __init__(self, taken: bool, *, is_invalid: bool = False) -> None:
        super().__init__()
        self.taken = taken
        self.is_invalid = is_invalid


class IngestProcess:
    def __init__(self, child: process.ChildProcess, limits: WorkerLimits) -> None:
        self.pid = child.pid
        self.limits = limits
        self.scratch = None if limits.scratch is None else Path(os.fsdecode(limits.scratch))
        self.protections: list[str] = []
        self.state = "starting"
        self.jobs = 0
        self.heavy = False
        self.over_memory = False
        self.over_scratch = False
        self.limited_bytes = 0
        self.seen: FileStat | None = None
        self.timer: asyncio.TimerHandle | None = None
        self._child = child

    async def ready(self) -> None:
        """Wait until the process has started. Raises WorkerFailed."""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await self._child.send(frames.encode(self.limits))
                started = await self._reply(taken=False)
        except (Ended, ConnectionError, TimeoutError) as error:
            raise WorkerFailed("A converter worker did not start: see `gnoctl daemon logs`.") from error
        if not isinstance(started, jobs.ReaderReady):
            raise WorkerFailed("A converter worker sent a reply before it received a job.")
        self.protections = started.protections
        self.state = "idle"

    async def perform(self, request: bytes) -> Outcome:
        """Send a job and wait for its outcome. Raises Ended. If this is cancelled, the worker becomes unusable."""
        self.state = "busy"
        self.seen = None
        self.limited_bytes = 0
        try:
            await self._child.send(request)
        except ConnectionError as error:
            raise Ended(taken=False) from error
        taken = await self._reply(taken=False)
        if not isinstance(taken, jobs.Taken):
            raise Ended(taken=True, is_invalid=True)
        self.seen = taken.stat
        answer = await self._reply(taken=True)
        if not isinstance(answer, jobs.ReadDone):
            raise Ended(taken=True, is_invalid=True)
        self.jobs += 1
        self.heavy = answer.heavy
        self.state = "idle"
        return answer.outcome

    async def _reply(self, *, taken: bool) -> jobs.Reply:
        try:
            reply = await frames.read(self._child.reader, jobs.REPLIES)
        except (frames.FrameError, msgspec.DecodeError) as error:
            raise Ended(taken, is_invalid=True) from error
        except ConnectionError as error:
            raise Ended(taken) from error
        if reply is None:
            raise Ended(taken)
        return reply

    def resident_bytes(self) -> int:
        return self._child.memory().resident_bytes

    def check_usage(self) -> int:
        """Measure the use of memory and temporary files. Returns the resident size in bytes."""
        used = self._child.memory()
        self.limited_bytes = max(self.limited_bytes, used.limited_bytes)
        self.over_scratch = self.scratch is not None and scratch.is_overfull(self.scratch)
        return used.resident_bytes

    def ran_out_of_memory(self) -> bool:
        """Return whether an ended process ran out of memory: a library reported it, or the last measurement was close
        to the limit."""
        if self.scratch is not None and scratch.ran_out_of_memory(self.scratch):
            return True
        return self.limited_bytes > _NEARLY_ALL * (self.limits.memory_mb << 20)

    def stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def kill(self) -> None:
        self.stop_timer()
        self._child.kill()

    async def ended(self) -> str:
        """Wait for the process, kill it if it does not end, and return how it ended."""
        try:
            async with asyncio.timeout(_END_LIMIT_S):
                return await self._child.ended()
        except TimeoutError:
            self.kill()
            return await self._child.ended()


async def launch(limits: WorkerLimits, module: str = MODULE) -> IngestProcess:
    """Start a process, which is not ready yet. Raises WorkerFailed. Do not cancel this: the child would leak."""
    environment = dict(_ENVIRONMENT)
    if limits.scratch is not None:
        environment["TMPDIR"] = os.fsdecode(limits.scratch)
    try:
        child = await process.launch(module, environment=environment, inherited=_INHERITED)
    except OSError as error:
        raise WorkerFailed(f"A converter worker could not be started: {error.strerror}.") from error
    return IngestProcess(child, limits)
