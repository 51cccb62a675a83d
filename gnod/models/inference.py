"""The daemon's side of the inference worker: starts it when it is needed, asks it, ends it when it is idle.

The worker holds nothing that matters, so it may be killed at any moment: what it had begun fails (what somebody waits
for is tried once more, unless they have heard a part of it), what waited goes to the next worker. After a crash the
next start waits, longer each time.
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

from gnod.errors import InferenceFailed, ModelCorrupt, ModelRejected, ShuttingDown
from gnod.models.messages import Answer, Done, Embed, Embedded, Failed, ModelSpec, Piece, Work
from gnod.models.worker_process import Hear, Lost, WorkerProcess

_MAX_ATTEMPTS = 5
_MAX_BACK_OFF_S = 60.0
# Somebody who waits is told at once when the next start is further away than this.
_PATIENCE_S = 2.0
_log = logging.getLogger(__name__)


class RequestFailed(InferenceFailed):
    """It is this request that fails, or kills the worker: another one may do better."""


_ERRORS = {"corrupt": ModelCorrupt, "rejected": ModelRejected, "failed": RequestFailed}


def _ignore(_piece: Piece) -> None:
    """Wait for the answer only."""


class Embeddings(NamedTuple):
    """`vectors`: float32, one row of length 1 a text. `tokens`: of all texts together."""

    vectors: NDArray[np.float32]
    tokens: int


class InferenceStatus(NamedTuple):
    """`state` is off, starting, idle, busy or restarting. `models`: the files in memory. `crashes`: since the start of
    the daemon; `last_crash` says how the last one came. `protections`: what bars the worker from the machine."""

    state: str
    pid: int | None
    resident_bytes: int
    models: list[str]
    waiting: int
    crashes: int
    last_crash: str | None
    protections: list[str]


class Inference:
    """One worker at most. `idle_unload_s`: how long it is kept when it has nothing to do."""

    def __init__(self, *, idle_unload_s: float) -> None:
        self.idle_unload_s = idle_unload_s
        self._ids = itertools.count(1)
        self._worker: WorkerProcess | None = None
        self._starting: asyncio.Task[WorkerProcess] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self._leases = 0
        self._idle_timer: asyncio.TimerHandle | None = None
        self._crashes_in_a_row = 0
        self._crashes = 0
        self._last_crash: str | None = None
        self._not_before = 0.0
        self._closed = False

    async def embed(self, model: ModelSpec, texts: Sequence[str], *, interactive: bool) -> Embeddings:
        """Return the texts' vectors. `interactive` goes ahead of what is not. Raises what `ask` raises."""
        answer = await self.ask(Embed(model=model, texts=list(texts), interactive=interactive))
        assert isinstance(answer, Embedded)
        vectors = np.frombuffer(answer.vectors, "<f4").reshape(len(texts), answer.dimensions)
        return Embeddings(vectors, answer.tokens)

    async def ask(self, work: Work, hear: Hear = _ignore) -> Embedded | Done:
        """Have the worker do something; `hear` is called with each piece of the answer as it comes. To cancel the task
        ends the computation.

        Raises ModelCorrupt, ModelRejected, RequestFailed (it failed, or the worker died of it), InferenceFailed (the
        worker does not start), ShuttingDown, and what `hear` raises.
        """
        request = msgspec.structs.replace(work, id=next(self._ids))
        with self.lease():
            answer = await self._ask(request, hear)
        self._crashes_in_a_row = 0
        if isinstance(answer, Failed):
            raise _ERRORS[answer.kind](answer.message)
        return answer

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
            models=sorted(set(worker.models)) if worker else [],
            waiting=len(worker.waiting) if worker else 0,
            crashes=self._crashes,
            last_crash=self._last_crash,
            protections=worker.protections if worker else [],
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

    async def _ask(self, request: Work, hear: Hear) -> Answer:
        is_awaited = not isinstance(request, Embed) or request.interactive
        was_heard = False

        def note(piece: Piece) -> None:
            nonlocal was_heard
            was_heard = True
            hear(piece)

        for attempt in range(1, _MAX_ATTEMPTS + 1):
            worker = await self._running(patient=not is_awaited)
            try:
                return await worker.ask(request, note)
            except Lost as lost:
                self._require_open()
                may_try_again = not lost.had_begun or (is_awaited and attempt == 1 and not was_heard)
                if not may_try_again:
                    raise RequestFailed(f"the inference worker died of it ({lost.how}); it is restarted") from lost
        raise InferenceFailed("the inference worker died again and again; `gnoctl daemon logs` says more")

    async def _running(self, *, patient: bool) -> WorkerProcess:
        """Return the worker, starting one if there is none."""
        while self._worker is None:
            self._require_open()
            if self._starting is None:
                await self._wait_for_restart(patient=patient)
            if self._starting is None and self._worker is None:
                self._starting = asyncio.create_task(self._start(), name="inference worker starts")
                self._starting.add_done_callback(_look_at)
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

    async def _start(self) -> WorkerProcess:
        try:
            try:
                worker = await WorkerProcess.launch(self.idle_unload_s)
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
        self._start_idle_timer()  # whoever it was started for may be gone
        return worker

    async def _watch(self, worker: WorkerProcess) -> None:
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


def _look_at(starting: asyncio.Task[WorkerProcess]) -> None:
    """Whoever began it may be gone: then nobody else looks at why it failed, and asyncio complains."""
    if not starting.cancelled():
        starting.exception()
