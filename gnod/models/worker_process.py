"""The inference worker as the daemon sees it: one process, and who waits for its answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.errors import InferenceFailed
from gnod.models.messages import (
    Answer,
    Begun,
    Cancel,
    Done,
    Embedded,
    Failed,
    Loaded,
    Piece,
    Ready,
    Reply,
    Said,
    Scored,
    Unloaded,
    Work,
)

_START_LIMIT_S = 60.0
# A worker that says nothing for so long, while it has work, hangs.
_STALL_LIMIT_S = 300.0
# llama.cpp's threads spin at their barriers by default: 40 times slower when other work needs the processor. Not to
# spin at all costs a query 10 ms in system calls; some microseconds of it are the best of both (docs/adr/0012).
_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "1000",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "PYTHONWARNINGS": "ignore",
}
_REPLIES: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)

Hear = Callable[[Piece], None]

_log = logging.getLogger(__name__)


class Lost(Exception):
    """The worker is gone. `had_begun`: it was working on this request."""

    def __init__(self, how: str, *, had_begun: bool) -> None:
        super().__init__(how)
        self.how = how
        self.had_begun = had_begun


class _Waiting(NamedTuple):
    """Who waits for an answer, and what is told of each piece of it that comes before."""

    answer: asyncio.Future[Answer]
    hear: Hear


class WorkerProcess:
    """One process, and who waits for it."""

    def __init__(self, process: ChildProcess) -> None:
        self.process = process
        self.models: list[str] = []
        self.protections: list[str] = []
        self.waiting: dict[int, _Waiting] = {}
        self.was_stopped = False
        self._at_work: set[int] = set()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(_retrieve)

    @classmethod
    async def launch(cls, idle_unload_s: float) -> WorkerProcess:
        """Start a process; it is not ready yet. Raises OSError. Not to be cancelled: the child would be lost."""
        return cls(await launch("gnod.models.worker", [str(idle_unload_s)], environment=_ENVIRONMENT))

    async def ready(self) -> None:
        """Wait until the process has started. Raises InferenceFailed."""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await asyncio.shield(self._ready)
        except TimeoutError:
            self.process.kill()
            raise InferenceFailed("the inference worker did not start in time") from None

    async def ask(self, request: Work, hear: Hear) -> Answer:
        """Send a request and wait for the answer; `hear` is called with its pieces before. Raises Lost, and what `hear`
        raises."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.waiting[request.id] = _Waiting(answer, hear)
        try:
            try:
                await self.process.send(frames.encode(request))
            except ConnectionError:
                self.process.kill()  # `listen` sees the end, and settles what is waiting
            return await answer
        except Lost:
            raise
        except BaseException:  # who asked is gone, or cannot hear it
            with contextlib.suppress(ConnectionError):
                await self.process.send(frames.encode(Cancel(id=request.id)))
            raise
        finally:
            self.waiting.pop(request.id, None)

    async def listen(self) -> str:
        """Take replies until the process ends. Returns how it ended."""
        with contextlib.suppress(frames.FrameError, ConnectionError, msgspec.DecodeError):
            while (reply := await self._next()) is not None:
                self._take(reply)
        self.process.kill()
        return await self.process.ended()

    async def _next(self) -> Reply | None:
        while True:
            try:
                async with asyncio.timeout(_STALL_LIMIT_S):
                    return await frames.read(self.process.reader, _REPLIES)
            except TimeoutError:
                if self._at_work:
                    _log.warning("inference.stalled", extra={"fields": {"limit_s": _STALL_LIMIT_S}})
                    return None

    def _take(self, reply: Reply) -> None:
        match reply:
            case Ready():
                self.protections = reply.protections
                self._ready.set_result(None)
            case Begun():
                self._at_work.add(reply.id)
            case Loaded():
                self.models.append(reply.path)
                fields = {"model": reply.path, "took_s": round(reply.took_s, 3)}
                _log.info("inference.loaded", extra={"fields": fields})
            case Unloaded():
                self.models.remove(reply.path)
            case Scored() | Said():
                self._hear(reply)
            case Embedded() | Done() | Failed():
                self._at_work.discard(reply.id)
                waiting = self.waiting.get(reply.id)
                if waiting is not None and not waiting.answer.done():
                    waiting.answer.set_result(reply)

    def _hear(self, piece: Piece) -> None:
        waiting = self.waiting.get(piece.id)
        if waiting is None or waiting.answer.done():
            return
        try:
            waiting.hear(piece)
        except Exception as error:  # theirs; the worker and the others have nothing to do with it
            waiting.answer.set_exception(error)

    def fail_all(self, how: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(InferenceFailed(f"the inference worker ended while it started ({how})"))
        for request_id, waiting in self.waiting.items():
            if not waiting.answer.done():
                waiting.answer.set_exception(Lost(how, had_begun=request_id in self._at_work))

    def stop(self) -> None:
        self.was_stopped = True
        self.process.kill()


def _retrieve(future: asyncio.Future[None]) -> None:
    """Look at the exception, so that asyncio does not complain when nobody waits any more."""
    if not future.cancelled():
        future.exception()
