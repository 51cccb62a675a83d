"""One inference worker process, as the daemon sees it, with its pending requests."""

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
from gnod.models.run.messages import (
    Begun,
    Cancel,
    DocumentScored,
    FailedReply,
    Loaded,
    ModelsReady,
    Reply,
    RequestDone,
    ResultChunk,
    RoomMeasured,
    TextGenerated,
    TextsEmbedded,
    Unloaded,
    Work,
    WorkerMessage,
)

_START_LIMIT_S = 60.0
# A worker that has work but sends nothing for this time hangs.
_STALL_LIMIT_S = 300.0
# By default, llama.cpp's threads spin at their barriers, which is 40 times slower on a busy processor. Without
# spinning, a query takes 10 ms more, for system calls. Spinning for some microseconds avoids both (docs/adr/0012).
ENVIRONMENT = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "1000",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "16000000",
    "MALLOC_TRIM_THRESHOLD_": "32000000",
    "PYTHONWARNINGS": "ignore",
}
_MESSAGES: msgspec.msgpack.Decoder[WorkerMessage] = msgspec.msgpack.Decoder(WorkerMessage)

# How a worker ended that nobody here has killed.
KILLED = "signal SIGKILL, which the system sends when it runs out of memory"

OnChunk = Callable[[ResultChunk], None]

_log = logging.getLogger(__name__)


class Lost(Exception):
    """The worker has ended. `had_begun`: it was working on this request."""

    def __init__(self, how: str, *, had_begun: bool) -> None:
        super().__init__(how)
        self.how = how
        self.had_begun = had_begun


class _Pending(NamedTuple):
    reply: asyncio.Future[Reply]
    on_chunk: OnChunk


class InferenceProcess:
    """`models`: the files in memory. `waiting`: the pending requests by id. `was_stopped`: it did not crash."""

    def __init__(self, process: ChildProcess) -> None:
        self.process = process
        self.models: list[str] = []
        self.protections: list[str] = []
        self.waiting: dict[int, _Pending] = {}
        self.was_stopped = False
        self._has_stalled = False
        self._at_work: set[int] = set()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Retrieve the exception, because nobody may wait any more.
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())

    @classmethod
    async def launch(cls, idle_unload_s: float) -> InferenceProcess:
        """Start a process; it is not ready yet. Raises OSError. Must not be cancelled: the child would be lost."""
        return cls(await launch("gnod.models.run.worker", [str(idle_unload_s)], environment=ENVIRONMENT))

    async def ready(self) -> None:
        """Wait until the process has started. Raises InferenceFailed."""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await asyncio.shield(self._ready)
        except TimeoutError:
            self.process.kill()
            raise InferenceFailed("the inference worker did not start in time") from None

    async def run(self, request: Work, on_chunk: OnChunk) -> Reply:
        """Send a request and wait for the reply; `on_chunk` receives the chunks before it. Raises Lost, and what
        `on_chunk` raises."""
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.waiting[request.id] = _Pending(reply, on_chunk)
        try:
            try:
                await self.process.send(frames.encode(request))
            except ConnectionError:
                self.process.kill()  # `listen` sees the end, and fails the pending requests
            return await reply
        except Lost:
            raise
        except BaseException:  # the request was cancelled, or `on_chunk` failed
            with contextlib.suppress(ConnectionError):
                await self.process.send(frames.encode(Cancel(id=request.id)))
            raise
        finally:
            self.waiting.pop(request.id, None)

    async def listen(self) -> str:
        """Handle messages until the process ends; return how it ended."""
        with contextlib.suppress(frames.FrameError, ConnectionError, msgspec.DecodeError):
            while (message := await self._next()) is not None:
                self._handle(message)
        self.process.kill()
        how = await self.process.ended()
        if self._has_stalled:
            return f"it did nothing for {_STALL_LIMIT_S:.0f} s"
        return KILLED if how == "signal SIGKILL" and not self.was_stopped else how

    async def _next(self) -> WorkerMessage | None:
        while True:
            try:
                async with asyncio.timeout(_STALL_LIMIT_S):
                    return await frames.read(self.process.reader, _MESSAGES)
            except TimeoutError:
                if self._at_work:
                    self._has_stalled = True
                    _log.warning("inference.stalled", extra={"fields": {"limit_s": _STALL_LIMIT_S}})
                    return None

    def _handle(self, message: WorkerMessage) -> None:
        match message:
            case ModelsReady():
                self.protections = message.protections
                self._ready.set_result(None)
            case Begun():
                self._at_work.add(message.id)
            case Loaded():
                self.models.append(message.path)
                fields = {"model": message.path, "took_s": round(message.took_s, 3)}
                _log.info("inference.loaded", extra={"fields": fields})
            case Unloaded():
                self.models.remove(message.path)
            case DocumentScored() | RoomMeasured() | TextGenerated():
                if (pending := self._pending(message.id)) is not None:
                    try:
                        pending.on_chunk(message)
                    except Exception as error:  # only this request fails; the worker and the other requests continue
                        pending.reply.set_exception(error)
            case TextsEmbedded() | RequestDone() | FailedReply():
                self._at_work.discard(message.id)
                if (pending := self._pending(message.id)) is not None:
                    pending.reply.set_result(message)

    def _pending(self, request_id: int) -> _Pending | None:
        pending = self.waiting.get(request_id)
        return None if pending is None or pending.reply.done() else pending

    def fail_all(self, how: str) -> None:
        if not self._ready.done():
            self._ready.set_exception(InferenceFailed(f"the inference worker ended while it started ({how})"))
        for request_id, pending in self.waiting.items():
            if not pending.reply.done():
                pending.reply.set_exception(Lost(how, had_begun=request_id in self._at_work))

    def stop(self) -> None:
        self.was_stopped = True
        self.process.kill()
