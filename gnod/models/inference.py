"""The daemon's side of the inference worker: starts it when it is needed, asks it, ends it when it is idle.

The worker holds nothing that matters, so it may be killed at any moment: what it had begun fails (somebody's query is
tried once more), what waited goes to the next worker. After a crash the next start waits, longer each time.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.errors import InferenceFailed, ModelCorrupt, ModelRejected, ShuttingDown
from gnod.models.messages import Begun, Cancel, Embed, Embedded, Failed, Loaded, ModelSpec, Ready, Reply, Unloaded

_START_LIMIT_S = 60.0
# A worker that says nothing for so long, while it has work, hangs.
_STALL_LIMIT_S = 300.0
_MAX_ATTEMPTS = 5
_MAX_BACK_OFF_S = 60.0
# Somebody who waits is told at once when the next start is further away than this.
_PATIENCE_S = 2.0
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


class RequestFailed(InferenceFailed):
    """It is this request that fails, or kills the worker: another one may do better."""


class Embeddings(NamedTuple):
    """`vectors`: float32, one row of length 1 a text. `tokens`: of all texts together."""

    vectors: NDArray[np.float32]
    tokens: int


class InferenceStatus(NamedTuple):
    """`state` is off, starting, idle, busy or restarting. `models`: the files in memory. `crashes`: since the start of
    the daemon; `last_crash` says how the last one came."""

    state: str
    pid: int | None
    resident_bytes: int
    models: list[str]
    waiting: int
    crashes: int
    last_crash: str | None


class Inference:
    """One worker at most. `idle_unload_s`: how long it is kept when it has nothing to do."""

    def __init__(self, *, idle_unload_s: float) -> None:
        self.idle_unload_s = idle_unload_s
        self._ids = itertools.count(1)
        self._worker: _Worker | None = None
        self._starting: asyncio.Task[_Worker] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._leases = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._crashes_in_a_row = 0
        self._crashes = 0
        self._last_crash: str | None = None
        self._not_before = 0.0
        self._closed = False

    async def embed(self, model: ModelSpec, texts: Sequence[str], *, interactive: bool) -> Embeddings:
        """Return the texts' vectors. `interactive` goes ahead of what is not.

        Raises ModelCorrupt, ModelRejected, RequestFailed (the worker died of this request), InferenceFailed (it does
        not start) and ShuttingDown.
        """
        request = Embed(id=next(self._ids), model=model, texts=list(texts), interactive=interactive)
        with self.lease():
            answer = await self._ask(request)
        self._crashes_in_a_row = 0
        if isinstance(answer, Failed):
            raise _ERRORS[answer.kind](answer.message)
        vectors = np.frombuffer(answer.vectors, "<f4").reshape(len(texts), answer.dimensions)
        return Embeddings(vectors, answer.tokens)

    @contextlib.contextmanager
    def lease(self) -> Iterator[None]:
        """Keep the worker as long as the block lasts."""
        self._leases += 1
        self._stop_idle_timer()
        try:
            yield
        finally:
            self._leases -= 1
            self._start_idle_timer()

    def status(self) -> InferenceStatus:
        worker = self._worker
        if worker is None:
            state = "starting" if self._starting else "restarting" if self._not_before > time.monotonic() else "off"
        else:
            state = "busy" if worker.waiting else "idle"
        return InferenceStatus(
            state=state,
            pid=worker.process.pid if worker else None,
            resident_bytes=worker.process.resident_bytes() if worker else 0,
            models=sorted(worker.models) if worker else [],
            waiting=len(worker.waiting) if worker else 0,
            crashes=self._crashes,
            last_crash=self._last_crash,
        )

    def unload(self) -> None:
        """End the worker; the next request starts another."""
        self._stop_idle_timer()
        if self._worker is not None:
            self._worker.stop()

    async def close(self) -> None:
        """End the worker; requests under way raise ShuttingDown."""
        self._closed = True
        if self._starting:
            await asyncio.wait([self._starting])
        self.unload()
        while self._ending:
            await asyncio.wait(self._ending)

    async def _ask(self, request: Embed) -> Embedded | Failed:
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            worker = await self._running(patient=not request.interactive)
            try:
                return await worker.ask(request)
            except _Lost as lost:
                self._require_open()
                may_try_again = not lost.had_begun or (request.interactive and attempt == 1)
                if not may_try_again:
                    raise RequestFailed(f"the inference worker died of it ({lost.how}); it is restarted") from lost
        raise InferenceFailed("the inference worker died again and again; `gnoctl daemon logs` says more")

    async def _running(self, *, patient: bool) -> _Worker:
        """Return the worker, starting one if there is none."""
        while self._worker is None:
            self._require_open()
            if self._starting is None:
                await self._wait_for_restart(patient=patient)
            if self._starting is None and self._worker is None:
                self._starting = asyncio.create_task(self._start(), name="inference worker starts")
            if self._starting is not None:
                # Shielded: whoever began it may go away, others wait for it too.
                await asyncio.shield(self._starting)
        return self._worker

    async def _wait_for_restart(self, *, patient: bool) -> None:
        left = self._not_before - time.monotonic()
        if left > _PATIENCE_S and not patient:
            raise InferenceFailed(
                f"the inference worker crashed {self._crashes_in_a_row} times in a row ({self._last_crash});"
                f" it is started again in {left:.0f} s"
            )
        if left > 0:
            await asyncio.sleep(left)

    async def _start(self) -> _Worker:
        try:
            try:
                process = await launch("gnod.models.worker", [str(self.idle_unload_s)], environment=_ENVIRONMENT)
            except OSError as error:
                raise InferenceFailed(f"the inference worker cannot be started: {error.strerror}") from error
            worker = _Worker(process)
            ending = asyncio.create_task(self._watch(worker), name="inference worker")
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await worker.ready()
            self._require_open()
        finally:
            self._starting = None
        self._worker = worker
        return worker

    async def _watch(self, worker: _Worker) -> None:
        """Listen to a worker until it ends, and settle what it leaves."""
        how = await worker.listen()
        if self._worker is worker:
            self._worker = None
        if not worker.was_stopped:
            self._crashes += 1
            self._crashes_in_a_row += 1
            self._last_crash = how
            wait_s = min(0.5 * 2 ** (self._crashes_in_a_row - 2), _MAX_BACK_OFF_S) if self._crashes_in_a_row > 1 else 0
            self._not_before = time.monotonic() + wait_s
            _log.warning("inference.crashed", extra={"fields": {"how": how, "restart_in_s": wait_s}})
        worker.fail_all(how)

    def _start_idle_timer(self) -> None:
        if not self._leases and self._worker is not None and not self._closed:
            self._idle_timer = asyncio.get_running_loop().call_later(self.idle_unload_s, self._idle_over)

    def _stop_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _idle_over(self) -> None:
        _log.info("inference.unloaded", extra={"fields": {"idle_s": self.idle_unload_s}})
        self.unload()

    def _require_open(self) -> None:
        if self._closed:
            raise ShuttingDown("The daemon is shutting down.")


_ERRORS = {"corrupt": ModelCorrupt, "rejected": ModelRejected, "failed": RequestFailed}


class _Lost(Exception):
    """The worker is gone. `had_begun`: it was working on this request."""

    def __init__(self, how: str, *, had_begun: bool) -> None:
        super().__init__(how)
        self.how = how
        self.had_begun = had_begun


class _Worker:
    """One process, and who waits for it."""

    def __init__(self, process: ChildProcess) -> None:
        self.process = process
        self.models: set[str] = set()
        self.waiting: dict[int, asyncio.Future[Embedded | Failed]] = {}
        self.was_stopped = False
        self._at_work: set[int] = set()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ready.add_done_callback(_retrieve)

    async def ready(self) -> None:
        """Wait until the process has started. Raises InferenceFailed."""
        try:
            async with asyncio.timeout(_START_LIMIT_S):
                await asyncio.shield(self._ready)
        except TimeoutError:
            self.process.kill()
            raise InferenceFailed("the inference worker did not start in time") from None

    async def ask(self, request: Embed) -> Embedded | Failed:
        """Send a request and wait for the answer. Raises _Lost."""
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
                future.set_exception(_Lost(how, had_begun=request_id in self._at_work))

    def stop(self) -> None:
        self.was_stopped = True
        self.process.kill()


def _retrieve(future: asyncio.Future[None]) -> None:
    """Look at the exception, so that asyncio does not complain when nobody waits any more."""
    if not future.cancelled():
        future.exception()
