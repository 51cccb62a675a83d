"""The daemon's side of the inference worker: starts it on demand, sends it work, ends it when it is idle.

The worker holds no state, so it may be killed at any moment. A request that had started then fails. It is retried once
if no chunk of the result has arrived, and either a user waits for it or the worker was killed. Requests that had not
started go to the next worker. After each crash, the delay before the next start is longer. If the system kills the
worker for lack of memory, the next worker uses half the threads, which need less.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from gnod.child import frames
from gnod.child.process import ChildProcess, launch
from gnod.errors import InferenceFailed, NotEnoughMemory, ShuttingDown, from_code
from gnod.models.run.messages import (
    Begun,
    Cancel,
    DocumentScored,
    EmbedRequest,
    FailedReply,
    Loaded,
    ModelSpec,
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

_MAX_ATTEMPTS = 5
_MAX_BACK_OFF_S = 60.0
# An interactive request fails at once if the next start is more than this far away.
_MAX_WAIT_S = 2.0
_START_LIMIT_S = 60.0
# A worker that has work but sends nothing for this time is stuck.
_STALL_LIMIT_S = 300.0
# By default, llama.cpp's threads spin at their barriers, which is 40 times slower on a busy processor. Without
# spinning, system calls add 10 ms to a query. Spinning for some microseconds avoids both costs (docs/adr/0012).
_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "1000",
    "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": "16000000",
    "MALLOC_TRIM_THRESHOLD_": "32000000",
    "PYTHONWARNINGS": "ignore",
}
_MESSAGES: msgspec.msgpack.Decoder[WorkerMessage] = msgspec.msgpack.Decoder(WorkerMessage)

# How a worker ended that this process did not kill.
_KILLED = "signal SIGKILL, which the system sends when it runs out of memory"

OnChunk = Callable[[ResultChunk], None]

_log = logging.getLogger(__name__)


class RequestFailed(InferenceFailed):
    """The request failed, or crashed the worker. Others may succeed."""


class ProcessStatus(NamedTuple):
    """`state` is off, starting, idle, busy or restarting. `models`: the files in memory. `crashes`: the number since
    the daemon started; `last_crash`: how the last one ended. `protections`: the worker's restrictions, in words."""

    state: str
    pid: int | None
    resident_bytes: int
    models: list[str]
    waiting: int
    crashes: int
    last_crash: str | None
    protections: list[str]


class Inference:
    """Runs at most one worker. `idle_unload_s`: how long an idle worker is kept."""

    def __init__(self, *, idle_unload_s: float) -> None:
        self._idle_unload_s = idle_unload_s
        self._ids = itertools.count(1)
        self._worker: InferenceProcess | None = None
        self._starting: asyncio.Task[InferenceProcess] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._leases = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._crashes_in_a_row = 0
        self._crashes = 0
        self._kills = 0  # the number since the last unloading
        self._last_crash: str | None = None
        self._not_before = 0.0
        self._closed = False

    def keep_idle_for(self, seconds: float) -> None:
        """Set how long an idle worker is kept. This applies from the next idle time on."""
        self._idle_unload_s = seconds

    async def embed(self, model: ModelSpec, texts: Sequence[str], *, interactive: bool) -> NDArray[np.float32]:
        """Return the vectors of the texts, as rows of length 1. `interactive` requests precede others. Raises what
        `run` raises."""
        work = EmbedRequest(model=model, texts=list(texts), interactive=interactive)
        reply = await self.run(work)
        assert isinstance(reply, TextsEmbedded)
        return np.frombuffer(reply.vectors, "<f4").reshape(len(texts), reply.dimensions)

    async def run(self, work: Work, on_chunk: OnChunk = lambda _: None) -> TextsEmbedded | RequestDone:
        """Let the worker do `work`; `on_chunk` receives each chunk of the result. Cancelling the task stops the work.

        Raises ModelCorrupt, ModelRejected, NotEnoughMemory, RequestFailed (the request failed or crashed the worker),
        InferenceFailed (the worker does not start), ShuttingDown, and what `on_chunk` raises.
        """
        request = msgspec.structs.replace(work, id=next(self._ids))
        with self.lease():
            reply = await self._run(request, on_chunk)
        self._crashes_in_a_row = 0
        if isinstance(reply, FailedReply):
            is_of_request = reply.code == InferenceFailed.code
            raise RequestFailed(reply.message) if is_of_request else from_code(reply.code, reply.message)
        return reply

    @contextlib.contextmanager
    def lease(self) -> Iterator[None]:
        """Keep the worker until the block ends."""
        self._leases += 1
        self._stop_idle_timer()
        try:
            yield
        finally:
            self._leases -= 1
            self._start_idle_timer()

    def status(self) -> ProcessStatus:
        worker = self._worker
        if worker is None:
            state = "starting" if self._starting else "restarting" if self._not_before > time.monotonic() else "off"
        else:
            state = "busy" if worker.waiting else "idle"
        return ProcessStatus(
            state=state,
            pid=worker.process.pid if worker else None,
            resident_bytes=worker.process.memory().resident_bytes if worker else 0,
            models=sorted(set(worker.models)) if worker else [],
            waiting=len(worker.waiting) if worker else 0,
            crashes=self._crashes,
            last_crash=self._last_crash,
            protections=worker.protections if worker else [],
        )

    def unload(self) -> None:
        """End the worker. The next request starts another one."""
        self._stop_idle_timer()
        self._kills = 0
        if self._worker is not None:
            self._worker.stop()

    async def close(self) -> None:
        """End the worker; pending requests raise ShuttingDown."""
        self._closed = True
        if self._starting:
            await asyncio.wait([self._starting])
        self.unload()
        while self._ending:
            await asyncio.wait(self._ending)

    async def _run(self, request: Work, on_chunk: OnChunk) -> Reply:
        is_interactive = not isinstance(request, EmbedRequest) or request.interactive
        has_chunks = False

        def note(chunk: ResultChunk) -> None:
            nonlocal has_chunks
            has_chunks = True
            on_chunk(chunk)

        for attempt in range(1, _MAX_ATTEMPTS + 1):
            worker = await self._started_worker(is_interactive)
            try:
                return await worker.run(self._smaller(request), note)
            except Lost as lost:
                self._require_open()
                is_kill = lost.how == _KILLED
                may_retry = not lost.had_begun or ((is_interactive or is_kill) and attempt == 1 and not has_chunks)
                if not may_retry and is_kill:
                    raise NotEnoughMemory(
                        f"the inference worker was killed ({_KILLED}). Close other programs, or choose a smaller "
                        "preset with `gnoctl models use`; gnod tries again by itself, with fewer threads"
                    ) from lost
                if not may_retry:
                    raise RequestFailed(f"the inference worker crashed ({lost.how}) and is restarted") from lost
        raise InferenceFailed("the inference worker keeps crashing: see `gnoctl daemon logs`")

    def _smaller(self, request: Work) -> Work:
        model = request.model
        threads = max(1, model.threads >> self._kills)
        return msgspec.structs.replace(request, model=msgspec.structs.replace(model, threads=threads))

    async def _started_worker(self, is_interactive: bool) -> InferenceProcess:
        while self._worker is None:
            self._require_open()
            if self._starting is None:
                await self._wait_for_restart(is_interactive)
            if self._starting is None and self._worker is None:
                self._starting = asyncio.create_task(self._start(), name="inference worker starts")
                # Retrieve the exception here, because every waiting request may be cancelled.
                self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
            if self._starting is not None:
                # Shield the start, because several requests may wait for it.
                await asyncio.shield(self._starting)
        return self._worker

    async def _wait_for_restart(self, is_interactive: bool) -> None:
        left = self._not_before - time.monotonic()
        if left > _MAX_WAIT_S and is_interactive:
            raise InferenceFailed(
                f"the inference worker crashed {self._crashes_in_a_row} times in a row ({self._last_crash}); "
                f"it is started again in {left:.0f} s"
            )
        if left > 0:
            await asyncio.sleep(left)

    async def _start(self) -> InferenceProcess:
        """Start a worker. Must not be cancelled: the child would be lost."""
        try:
            try:
                arguments = [str(self._idle_unload_s)]
                worker = InferenceProcess(await launch("gnod.models.run.worker", arguments, environment=_ENVIRONMENT))
            except OSError as error:
                raise InferenceFailed(f"the inference worker cannot be started: {error.strerror}") from error
            ending = asyncio.create_task(self._watch(worker), name="inference worker")
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)
            await worker.ready()
            if self._closed:
                worker.stop()
            self._require_open()
        finally:
            self._starting = None
        self._worker = worker
        self._start_idle_timer()  # the request that started it may have been cancelled
        return worker

    async def _watch(self, worker: InferenceProcess) -> None:
        """Read from a worker until it ends, then fail its requests."""
        how = await worker.listen()
        if self._worker is worker:
            self._worker = None
        if not worker.was_stopped:
            self._crashes += 1
            self._crashes_in_a_row += 1
            self._kills += how == _KILLED
            self._last_crash = how
            wait_s = min(0.5 * 2 ** (self._crashes_in_a_row - 2), _MAX_BACK_OFF_S) if self._crashes_in_a_row > 1 else 0
            self._not_before = time.monotonic() + wait_s
            _log.warning("inference.crashed", extra={"fields": {"how": how, "restart_in_s": wait_s}})
        worker.fail_all(how)

    def _start_idle_timer(self) -> None:
        if not self._leases and self._worker is not None and not self._closed:
            self._idle_timer = asyncio.get_running_loop().call_later(self._idle_unload_s, self._unload_idle)

    def _stop_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _unload_idle(self) -> None:
        _log.info("inference.unloaded", extra={"fields": {"idle_s": self._idle_unload_s}})
        self.unload()

    def _require_open(self) -> None:
        if self._closed:
            raise ShuttingDown("the daemon is shutting down")


class Lost(Exception):
    """The worker has ended. `had_begun`: it had started this request."""

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
        # Retrieve the exception here, because nothing may be waiting any more.
        self._ready.add_done_callback(lambda ready: ready.cancelled() or ready.exception())

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
        return _KILLED if how == "signal SIGKILL" and not self.was_stopped else how

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
