"""A child process as the daemon sees it: its start, the stream to it, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

import psutil

_BUFFER_BYTES = 1 << 20


class ChildProcess:
    """One child process and the stream of frames to and from it."""

    def __init__(
        self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.pid = process.pid
        self.reader = reader
        self.writer = writer
        self._process = process

    async def send(self, frame: bytes) -> None:
        """Write a frame, waiting while the child is behind. Raises ConnectionError when it is gone."""
        try:
            self.writer.write(frame)
            await self.writer.drain()
        except RuntimeError as error:  # how some transports put it that they are closed
            raise ConnectionError("the stream is closed") from error

    def resident_bytes(self) -> int:
        """Return the memory that the process holds; 0 when it has ended."""
        try:
            return int(psutil.Process(self.pid).memory_info().rss)
        except psutil.Error:
            return 0

    def mapped_bytes(self) -> int:
        """Return the address space that the process has taken; 0 when it has ended."""
        try:
            return int(psutil.Process(self.pid).memory_info().vms)
        except psutil.Error:
            return 0

    def kill(self) -> None:
        """End the process and those it started, whatever they are doing; harmless when it has ended."""
        # Not Popen's kill: it polls first, and so takes the exit status away from asyncio's watcher.
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)  # it leads a session of its own

    async def ended(self) -> str:
        """Close the stream, wait for the end of the process and return how it came, in words.

        The words are like "exit status 1" or "signal SIGKILL".
        """
        self.writer.close()
        status = await self._process.wait()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()
        if status >= 0:
            return f"exit status {status}"
        try:
            return f"signal {signal.Signals(-status).name}"
        except ValueError:
            return f"signal {-status}"


async def launch(
    module: str,
    arguments: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    inherited: re.Pattern[str] | None = None,
) -> ChildProcess:
    """Start `python -m MODULE FD *ARGUMENTS PARENT`, where FD is its end of the stream and PARENT this process.

    `environment` is added to what it gets of the daemon's: all, or the variables whose whole name is like `inherited`.
    Standard error stays the daemon's until the child silences it. Raises OSError.
    Not to be cancelled: the child would be lost.
    """
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            process = await _spawn(module, theirs, arguments, {**_inherited(inherited), **(environment or {})})
        reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_BUFFER_BYTES)
    except OSError:
        ours.close()
        raise
    return ChildProcess(process, reader, writer)


async def _spawn(
    module: str, channel: socket.socket, arguments: Sequence[str], environment: Mapping[str, str]
) -> asyncio.subprocess.Process:
    """Start the process. From the loop's own thread: Linux tells a child of its parent's death by thread."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # a file called socket.py in the current folder is not to be imported
        "-m",
        module,
        str(channel.fileno()),
        *arguments,
        str(os.getpid()),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        pass_fds=(channel.fileno(),),
        start_new_session=True,
        cwd="/",
        env=environment,
    )


def _inherited(names: re.Pattern[str] | None) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if names is None or names.fullmatch(name)}
