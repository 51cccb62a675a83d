"""The daemon's side of the inference worker: starts it on demand, sends it work, ends it when it is idle.

The worker holds no state, so it may be killed at any moment. A request that had begun fails; if somebody waits for it,
or the worker was killed, and no chunk of the result has come, it is tried once more. Requests that had not begun go to
the next worker. After a crash the next start waits, longer each time. After a kill, as by a system without memory, the
next worker computes with half the threads, which need less.
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

from gnod.errors import InferenceFailed, NotEnoughMemory, ShuttingDown, from_code
from gnod.models.run.messages import (
    EmbedRequest,
    FailedReply,
    ModelSpec,
    Reply,
    RequestDone,
    ResultChunk,
    TextsEmbedded,
    Work,
)
from gnod.models.run.worker_process import KILLED, InferenceProcess, Lost, OnChunk

_MAX_ATTEMPTS = 5
_MAX_BACK_OFF_S = 60.0
# An interactive request fails at once if the next start is further away than this.
_MAX_WAIT_S = 2.0
_log = logging.getLogger(__name__)


class RequestFailed(InferenceFailed):
    """This request fails, or crashes the worker; others may succeed."""


class ProcessStatus(NamedTuple):
    """`state` is off, starting, idle, busy or restarting. `models`: the files in memory. `crashes`: since the start of
    the daemon; `last_crash`: how the last one ended. `protections`: the worker's restrictions, in words."""

    state: str
    pid: int | None
    resident_bytes: int
    models: list[str]
    waiting: int
    crashes: int
    last_crash: str | None
    protections: list[str]


class Inference:
    """Runs at most one worker. `idle_unload_s`: how long the worker is kept without work."""

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
        self._kills = 0  # since it was last unloaded
        self._last_crash: str | None = None
        self._not_before = 0.0
        self._closed = False

    def keep_idle_for(self, seconds: float) -> None:
        """Set how long the worker is kept idle, from the next time on."""
        self._idle_unload_s = seconds

    async def embed(self, model: ModelSpec, texts: Sequence[str], *, interactive: bool) -> NDArray[np.float32]:
        """Return the texts' vectors, rows of length 1. `interactive` goes ahead of others. Raises what `run` raises."""
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
        """Keep the worker as long as the block lasts."""
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
        """End the worker; the next request starts another."""
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
                is_kill = lost.how == KILLED
                may_retry = not lost.had_begun or ((is_interactive or is_kill) and attempt == 1 and not has_chunks)
                if not may_retry and is_kill:
                    raise NotEnoughMemory(
                        f"the inference worker was killed ({KILLED}). Close other programs, or choose a smaller preset "
                        "with `gnoctl models use`; it is tried again by itself, with fewer threads"
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
                # Retrieve the exception, because every waiting request may be cancelled.
                self._starting.add_done_callback(lambda task: task.cancelled() or task.exception())
            if self._starting is not None:
                # Shield it: several requests may wait for it.
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
        try:
            try:
                worker = await InferenceProcess.launch(self._idle_unload_s)
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
            self._kills += how == KILLED
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
