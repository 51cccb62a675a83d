"""The inference worker as the daemon sees it: one process, and who waits for its answers."""

from __future__ import annotations

import asyncio
import contextlib
import logging

import msgspec

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.errors import InferenceFailed
from gnod.models.messages import Begun, Cancel, Embed, Embedded, Failed, Loaded, Ready, Reply, Unloaded

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

_log = logging.getLogger(__name__)


class Lost(Exception):
    """The worker is gone. `had_begun`: it was working on this request."""

    def __init__(self, how: str, *, had_begun: bool) -> None:
        super().__init__(how)
        self.how = how
        self.had_begun = had_begun


class WorkerProcess:
    """One process, and who waits for it."""

    def __init__(self, process: ChildProcess) -> None:
        self.process = process
        self.models: set[str] = set()
        self.waiting: dict[int, asyncio.Future[Embedded | Failed]] = {}
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

    async def ask(self, request: Embed) -> Embedded | Failed:
        """Send a request and wait for the answer. Raises Lost."""
        future: asyncio.Future[Embedded | Failed] = asyncio.get_running_loop().create_future()
        self.waiting[request.id] = future
        try:
            try:
                await self.process.send(frames.encode(request))
            except ConnectionError:
                self.process.kill()  # `listen` sees the end, and settles what is waiting
            return await future
        except asyncio.CancelledError:
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
                self._ready.set_result(None)
            case Begun():
                self._at_work.add(reply.id)
            case Loaded():
                self.models.add(reply.path)
                fields = {"model": reply.path, "took_s": round(reply.took_s, 3)}
                _log.info("inference.loaded", extra={"fields": fields})
            case Unloaded():
                self.models.discard(reply.path)
            case Embedded() | Failed():
                self._at_work.discard(reply.id)
                future = self.waiting.get(reply.id)
                if future is not None and not future.done():
                    future.set_result(reply)

    def fail_all(self, how: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(InferenceFailed(f"the inference worker ended while it started ({how})"))
        for request_id, future in self.waiting.items():
            if not future.done():
                future.set_exception(Lost(how, had_begun=request_id in self._at_work))

    def stop(self) -> None:
        self.was_stopped = True
        self.process.kill()


def _retrieve(future: asyncio.Future[None]) -> None:
    """Look at the exception, so that asyncio does not complain when nobody waits any more."""
    if not future.cancelled():
        future.exception()
