"""One converter worker as the daemon sees it: a child process, the stream to it, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys

import msgspec
import psutil

from gnod.errors import WorkerFailed
from gnod.ingest import frames
from gnod.ingest.jobs import FileStat, Outcome

_START_LIMIT_S = 30.0
_BUFFER_BYTES = 1 << 20
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
        except (Ended, TimeoutError) as error:
            raise WorkerFailed("A converter worker did not start; the log says why.") from error
        if not isinstance(started, frames.Ready):
            raise WorkerFailed("A converter worker answered before it was asked.")
        self.state = "idle"

    async def perform(self, request: bytes) -> Outcome:
        """Send a job and wait for its outcome. Raises Ended. If cut short, the worker is of no more use."""
        self.state = "busy"
        self.seen = None
        try:
            self._writer.write(request)
            await self._writer.drain()
        except (ConnectionError, RuntimeError) as error:
            raise Ended(taken=False) from error
        taken = await self._reply(taken=False)
        self.seen = taken.stat if isinstance(taken, frames.Taken) else None
        answer = await self._reply(taken=True)
        if not isinstance(answer, frames.Done):
            raise Ended(taken=True)
        self.jobs += 1
        self.heavy = answer.heavy
        self.state = "idle"
        return answer.outcome

    async def _reply(self, *, taken: bool) -> frames.Reply:
        try:
            reply = await frames.read_reply(self._reader)
        except (frames.FrameError, ConnectionError, msgspec.DecodeError) as error:
            raise Ended(taken) from error
        if reply is None:
            raise Ended(taken)
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
        """End the process, whatever it is doing; harmless when it has ended."""
        self.stop_timer()
        # Not Popen's kill: it polls first, and so takes the exit status away from asyncio's watcher.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

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


async def launch(memory_mb: int) -> WorkerProcess:
    """Start a process; it is not ready yet. Raises WorkerFailed. Not to be cancelled: the child would be lost."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await _spawn(theirs, memory_mb)
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_BUFFER_BYTES)
    except OSError as error:
        ours.close()
        raise WorkerFailed(f"A converter worker could not be started: {error.strerror}.") from error
    return WorkerProcess(process, reader, writer)


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
