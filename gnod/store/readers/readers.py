"""Run reader processes. They let many clients use more processors than Python's threads can (docs/adr/0054).

The daemon reads for a single client itself. Processes start while requests wait, and end after they have been idle.
While processes exist, they do all reads of many clients, because a read in the daemon would block its event loop, which
feeds them. The daemon does the reads that they cannot do, so a crash costs time but no answer.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections.abc import Callable
from typing import TypeVar

import msgspec

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.fair_turns import Turns
from gnod.store.connection import Connection
from gnod.store.database import Database
from gnod.store.readers import reader

# Start a process when this many requests are waiting. A start takes as long as 30 searches.
WORTH_A_START = 4
IDLE_S = 60.0
# After this time without a free process, the daemon does the read itself. Nearly all reads are faster.
_PATIENCE_S = 0.1
_START_LIMIT_S = 60.0
# Seconds to wait after a failed start.
_REST_S = 60.0
# A reader needs only one thread and few arenas.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
_REPLIES: msgspec.msgpack.Decoder[reader.Reply] = msgspec.msgpack.Decoder(reader.Reply)

T = TypeVar("T")
Attempt = tuple[Callable[..., object], tuple[object, ...]]
"""A function, and its arguments after the connection."""
_log = logging.getLogger(__name__)


class Readers:
    """Up to `most` processes that read `database`. If `most` is 0, threads do all reads. `module` has the functions
    that the processes run. A process ends after `idle_s` without work."""

    def __init__(self, database: Database, most: int, module: str, *, idle_s: float = IDLE_S) -> None:
        self._database = database
        self._most = most
        self._module = module
        self._idle_s = idle_s
        # One turn more than processes, so that the next read follows at once, and slow reads do not delay the others.
        self._turns = Turns(most + 1)
        self._here = 0
        self._processes: set[_ReaderProcess] = set()
        self._idle: asyncio.LifoQueue[_ReaderProcess] = asyncio.LifoQueue()
        self._starting: asyncio.Task[None] | None = None
        self._rests_until = 0.0
        self._freed_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(
        self, attempt: Attempt, prepare: Callable[[Connection], tuple[object, ...]], work: Callable[..., T]
    ) -> T | msgspec.Raw:
        """Return `work(connection, *prepare(connection))`, or this result as JSON. For many clients, a process first
        tries `attempt`, which returns the same result, or None if it needs the result of `prepare`. `prepare` runs in
        the daemon. `work` and the function of `attempt` must be module functions, and their arguments data."""
        if not self._most:
            return await self._database.read(lambda connection: work(connection, *prepare(connection)))
        async with self._turns:
            is_alone = not (self._here or self._turns.waiting)
            self._grow()
            if is_alone or not self._processes:
                return await self._read_here(lambda connection: work(connection, *prepare(connection)))
            found = await self._elsewhere(*attempt)
            if found is None:
                arguments = await self._database.read(prepare)
                found = await self._elsewhere(work, arguments)
            if found is None:
                return await self._read_here(lambda connection: work(connection, *arguments))
            return msgspec.Raw(found)

    async def close(self) -> None:
        self._most = 0
        if self._timer is not None:
            self._timer.cancel()
        if self._starting is not None:
            await self._starting
        await self._end_all()

    async def _read_here(self, work: Callable[[Connection], T]) -> T:
        self._here += 1
        try:
            return await self._database.read(work)
        finally:
            self._here -= 1

    async def _idle_process(self) -> _ReaderProcess | None:
        """Wait briefly for a process without work, and return it, or None."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                return await self._idle.get()
        except TimeoutError:
            return None

    async def _elsewhere(self, work: Callable[..., object], arguments: tuple[object, ...]) -> bytes | None:
        """Return the result as JSON, or None if the process has no result or no process is free in time."""
        if (chosen := await self._idle_process()) is None:
            return None
        task = asyncio.create_task(chosen.perform(pickle.dumps((work, arguments))))
        task.add_done_callback(lambda _: self._freed(chosen))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            chosen.interrupt()
            raise

    def _freed(self, process: _ReaderProcess) -> None:
        if process not in self._processes:
            return  # the process was ended on purpose
        if process.is_usable:
            self._idle.put_nowait(process)
            self._end_later()
            return
        _log.warning("reader.ended", extra={"fields": {"pid": process.pid}})
        self._processes.discard(process)
        self._tasks.add(task := asyncio.create_task(process.end()))
        task.add_done_callback(self._tasks.discard)

    def _grow(self) -> None:
        is_room = self._starting is None and len(self._processes) < self._most
        if is_room and self._turns.waiting >= WORTH_A_START and _now() > self._rests_until:
            self._starting = asyncio.create_task(self._start())

    async def _start(self) -> None:
        # Set this before the start, so that a failed start is not repeated at once.
        self._rests_until = _now() + _REST_S
        try:
            arguments = [str(self._database.path), self._module]
            process = _ReaderProcess(await launch(reader.__name__, arguments, environment=_ENVIRONMENT))
            await process.ready()
            self._processes.add(process)
            if process.is_usable:
                self._rests_until = 0.0
            self._freed(process)
        except OSError:
            _log.warning("reader.not_started", exc_info=True)
        finally:
            self._starting = None

    def _end_later(self) -> None:
        self._freed_at = _now()
        if self._timer is None:  # all searches share one timer
            self._timer = asyncio.get_running_loop().call_later(self._idle_s, self._end_idle)

    def _end_idle(self) -> None:
        self._timer = None
        if (left := self._freed_at + self._idle_s - _now()) > 0:
            self._timer = asyncio.get_running_loop().call_later(left, self._end_idle)
        elif self._processes and self._idle.qsize() == len(self._processes):
            self._tasks.add(task := asyncio.create_task(self._end_all()))
            task.add_done_callback(self._tasks.discard)

    async def _end_all(self) -> None:
        ending, self._processes, self._idle = self._processes, set(), asyncio.LifoQueue()
        for process in ending:
            await process.end()


class _ReaderProcess:
    """One reader process. `is_usable`: it has answered all requests so far."""

    def __init__(self, child: ChildProcess) -> None:
        self.pid = child.pid
        self.is_usable = True
        self._child = child
        self._number = reader.READY

    async def ready(self) -> None:
        """Wait until the process has started. Sets `is_usable`."""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await self._reply()
        except TimeoutError:
            self.is_usable = False

    async def perform(self, work: bytes) -> bytes | None:
        """Return the answer of the process, or None if it cannot do the work."""
        self._number += 1
        try:
            await self._child.send(frames.encode((self._number, work)))
        except ConnectionError:
            self.is_usable = False
            return None
        return await self._reply()

    def interrupt(self) -> None:
        """Cancel the current work. The process still answers."""
        if not self._child.writer.is_closing():
            self._child.writer.write(frames.encode((self._number, b"")))

    async def end(self) -> None:
        self._child.kill()
        await self._child.ended()

    async def _reply(self) -> bytes | None:
        try:
            reply = await frames.read(self._child.reader, _REPLIES)
        except (ConnectionError, frames.FrameError, msgspec.DecodeError):
            reply = None
        if reply is None or reply[0] != self._number:
            self.is_usable = False
            return None
        return reply[1]


def _now() -> float:
    return asyncio.get_running_loop().time()
