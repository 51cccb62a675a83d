"""Decides when chunks are embedded: as soon as there are some, unless blocked.

One task works in rounds. A sync, a pull or a change of the config requests a round. Rounds also repeat while a reason
to wait may disappear by itself. The pending chunks are in the database, so a restart continues the work.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from gnod.background import throttling
from gnod.configured.configuration import Configuration
from gnod.configured.embedding_models import EmbeddingService
from gnod.errors import EndpointChanged, EndpointFailed, GnoError, ModelCorrupt, ModelNotPulled, ModelRejected
from gnod.ingest.embedding import EmbeddingRun, Step
from gnod.models.run.inference import Inference
from gnod.signals import Signal
from gnod.store.database import Database
from gnod.store.vectors import vectors

T = TypeVar("T")

_FIRST_RETRY_S = 2.0
_LAST_RETRY_S = 60.0
_PACE_OVER_S = 30.0
# Keep the counts of this many hours. Hours without embedded chunks do not count.
_HOURS = 48

_log = logging.getLogger(__name__)


class BacklogState(NamedTuple):
    """`state`: idle (nothing to do), embedding, paused (by hand), waiting or failing (`reason` says why).

    Numbers of chunks: `pending` are left, `done` were embedded since the backlog was last empty, `failed` cannot be
    embedded. `chunks_per_s` is None while unknown. `model`: the address of the current model, or the last one.
    """

    state: str
    reason: str | None
    model: str | None
    pending: int
    done: int
    failed: int
    chunks_per_s: float | None


class EmbeddedHour(NamedTuple):
    """The number of chunks that a model embedded in the hour from `start`, in seconds since the epoch."""

    start: float
    model: str | None
    chunks: int


Listener = Callable[[BacklogState], None]


class _Held(Exception):
    """Ends the round. `retry_s`: time until the next try; None: wait until another round is requested."""

    def __init__(self, state: str, reason: str, retry_s: float | None = None) -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason
        self.retry_s = retry_s


class _Superseded(Exception):
    """Ends the round, because the next one has other work."""


class Backlog:
    """Emits `changed` with the state whenever it changes, and `pause_changed` when the user pauses or resumes
    background work. `hours`: the chunks embedded in each hour since the daemon started."""

    def __init__(
        self,
        configuration: Configuration,
        embedding: EmbeddingService,
        database: Database,
        inference: Inference,
        model_installed: Signal[[str]],
    ) -> None:
        self._configuration = configuration
        self._embedding = embedding
        self._database = database
        self._inference = inference
        self.changed: Signal[[BacklogState]] = Signal()
        self.pause_changed: Signal[[]] = Signal()
        self.hours: deque[EmbeddedHour] = deque(maxlen=_HOURS)
        self._wanted = asyncio.Event()
        self._coming: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._retry_timer: asyncio.TimerHandle | None = None
        self._retries = 0
        self._is_paused = False
        self._is_at_work = False
        self._is_superseded = False
        self._is_recount_due = True
        self._is_missing_a_model = False
        self._held: _Held | None = None
        self._uri: str | None = None
        self._pending = self._done = self._failed = 0
        self._pace: deque[tuple[float, int]] = deque()
        # The newest chunk of each running `catch_up`. While there are any, the oldest chunks are embedded first.
        self._catching_up: list[tuple[int, asyncio.Future[None]]] = []
        self._reported = self.state()
        configuration.changed.connect(lambda _: self.config_changed())
        model_installed.connect(self.model_installed)
        self._task = asyncio.create_task(self._run(), name="embedding backlog")

    def request(self) -> asyncio.Future[None]:
        """Request a round that starts after now. The returned future completes when the round ends."""
        self._wanted.set()
        return self._coming

    def config_changed(self) -> None:
        """Start over, because other models may be configured now."""
        self._is_superseded = True
        self.request()

    def model_installed(self, uri: str) -> None:
        """Start over, and try failed chunks again with the new model."""
        self._database.submit_write(lambda connection: vectors.forget_failed(connection, uri))
        self.config_changed()

    def chunks_changed(self) -> None:
        """Request a round for new chunks."""
        self._is_recount_due = True
        self.request()

    async def follow(self, listener: Listener = lambda _: None) -> BacklogState:
        """Call the listener after each step until nothing is left to embed or the work is blocked."""
        self.changed.connect(listener)
        try:
            await asyncio.shield(self.request())
        finally:
            self.changed.disconnect(listener)
        return self.state()

    async def catch_up(self) -> None:
        """Return when the chunks pending now are embedded, or the work is blocked. New chunks may keep arriving, so the
        backlog may never be empty."""
        last = await self._database.read(vectors.last_arrival)
        ended = asyncio.shield(self.request())
        if last == 0:  # nothing is pending, or no model has embedded anything yet
            await ended
            return
        waiting = (last, asyncio.get_running_loop().create_future())
        self._catching_up.append(waiting)
        try:
            await asyncio.wait({waiting[1], ended}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended.cancel()
            self._catching_up.remove(waiting)

    async def pause(self) -> None:
        """Stop after the current step, until `resume`, even across restarts."""
        await self._database.write(vectors.pause_embedding)
        self._is_paused = True
        self.pause_changed.emit()
        await asyncio.shield(self.request())

    async def resume(self) -> None:
        await self._database.write(vectors.resume_embedding)
        self._is_paused = False
        self._held = None
        self.pause_changed.emit()
        self.request()

    def state(self) -> BacklogState:
        state = self._held.state if self._held else "embedding" if self._is_at_work else "idle"
        reason = self._held.reason if self._held else None
        return BacklogState(state, reason, self._uri, self._pending, self._done, self._failed, self._chunks_per_s())

    def known_pending(self) -> int | None:
        """Return the number of pending chunks; None if they must be counted first."""
        is_sure = not (self._is_recount_due or self._wanted.is_set() or self._is_missing_a_model)
        return self._pending if is_sure else None

    async def close(self) -> None:
        self._task.cancel()
        if self._retry_timer:
            self._retry_timer.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        self._is_paused = await self._database.read(vectors.is_embedding_paused)
        self._wanted.set()
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            ended, self._coming = self._coming, asyncio.get_running_loop().create_future()
            self._is_superseded = False
            await self._round()
            self._report()
            if self._is_superseded:
                self._coming.add_done_callback(partial(_complete, ended))
            else:
                _complete(ended, self._coming)

    async def _round(self) -> None:
        """Embed the pending chunks. Store a reason to wait, or an error, for `state`."""
        if self._retry_timer:
            self._retry_timer.cancel()
        try:
            await self._embed_all()
            self._held = None
            self._retries = 0
        except _Superseded:
            self._wanted.set()
        except _Held as held:
            self._held = held
        except (ModelCorrupt, ModelRejected, ModelNotPulled) as error:
            self._held = _Held("waiting" if isinstance(error, ModelNotPulled) else "failing", error.message)
        except GnoError as error:
            self._retries += 1
            retry_s = min(_FIRST_RETRY_S * 2 ** (self._retries - 1), _LAST_RETRY_S)
            self._held = _Held("failing", error.message, retry_s)
            _log.warning("embedding.failed", extra={"fields": {"kind": error.kind, "retry_s": retry_s}})
        except Exception:
            _log.exception("embedding.broken")
            self._held = _Held("failing", "internal error; see `gnoctl daemon logs`")
        if self._held and self._held.retry_s is not None:
            self._retry_timer = asyncio.get_running_loop().call_later(self._held.retry_s, self.request)

    async def _embed_all(self) -> None:
        runs, missing, left_out = await self._runs()
        self._is_missing_a_model = missing is not None or left_out is not None
        failed: GnoError | None = None
        self._done = 0
        await self._count(runs)
        self._pace.clear()
        started = time.monotonic()
        try:
            with contextlib.ExitStack() as held:
                if self._pending:
                    held.enter_context(self._inference.lease())
                    self._is_at_work = True
                for number, run in enumerate(runs):
                    try:
                        await self._embed(run, runs[number:])
                    except (EndpointFailed, EndpointChanged) as error:
                        failed = error  # an unreachable server must not stop the work of other models
        finally:
            self._is_at_work = False
            if self._done:
                fields = {"chunks": self._done, "left": self._pending, "took_s": round(time.monotonic() - started, 3)}
                _log.info("embedding.done", extra={"fields": fields})
        if failed:
            raise failed
        if left_out:
            raise _Held("waiting", left_out)
        if missing:
            raise _Held("waiting", f"the model {missing} is not on this machine: run `gnoctl models pull embed`")

    async def _runs(self) -> tuple[list[EmbeddingRun], str | None, str | None]:
        """Return the runs (serving models before wanted models), a missing model, and the reason why a collection is
        excluded because its texts may not reach its model's server."""
        installed = self._embedding.is_installed
        served = self._embedding.served()
        missing: str | None = None
        left_out: str | None = None
        now: dict[str, list[str]] = {}
        later: dict[str, list[str]] = {}
        for name, uri in self._embedding.wanted().items():
            if uri is None:
                continue
            answering = served.get(name)
            if answering and not (installed(answering) and await self._embedding.left_out(answering, name) is None):
                answering = None
            if reason := await self._embedding.left_out(uri, name):
                left_out = reason
            elif not installed(uri):
                missing = uri
            elif answering is None:
                # The serving model is unusable: use the new one, because an incomplete index is better than none.
                if served.get(name) != uri:
                    await self._embedding.serve([name], uri)
                answering = uri
            elif uri != answering:
                later.setdefault(uri, []).append(name)
            if answering is not None:
                now.setdefault(answering, []).append(name)
        runs = [
            EmbeddingRun(self._database, self._embedding.embedder(uri, names), names)
            for uri, names in [*now.items(), *later.items()]
        ]
        return runs, missing, left_out

    async def _count(self, runs: Sequence[EmbeddingRun]) -> None:
        self._is_recount_due = False
        self._pending = sum([await run.count() for run in runs])
        self._report()

    async def _embed(self, run: EmbeddingRun, left: Sequence[EmbeddingRun]) -> None:
        self._uri = run.uri
        while True:
            self._check_blocked()
            if self._is_recount_due:
                await self._count(left)
            step = await run.step(oldest_first=bool(self._catching_up))
            if step is None:
                break
            self._note(step)
            if self._catching_up:
                await self._release(run)
        self._failed = await self._database.read(lambda c: vectors.count_failed(c, run.uri))
        behind = [name for name in run.collections if self._embedding.served().get(name) != run.uri]
        wanted = self._embedding.wanted()
        if complete := [name for name in behind if wanted.get(name) == run.uri]:
            await self._embedding.serve(complete, run.uri)

    async def _release(self, run: EmbeddingRun) -> None:
        """Complete each `catch_up` whose chunks are now embedded by this run."""
        oldest = await self._database.read(lambda c: vectors.first_arrival(c, run.uri, run.collections))
        for last, done in self._catching_up:
            if (oldest is None or oldest > last) and not done.done():
                done.set_result(None)

    def _check_blocked(self) -> None:
        if self._is_superseded:
            raise _Superseded
        if self._is_paused:
            raise _Held("paused", "paused: run `gnoctl resume`")
        folder, models = self._database.path.parent, self._configuration.current.models
        reason = throttling.reason_to_wait(folder, may_use_battery=models.embed_on_battery)
        if self._pending and reason:
            raise _Held("waiting", reason, throttling.CHECK_AGAIN_S)
        if self._pending and self._held and self._held.state == "waiting":
            self._held = None  # the reason has gone, and the next report may come seconds later

    def _note(self, step: Step) -> None:
        self._held = None
        self._done += step.embedded
        self._pending = max(self._pending - step.embedded - step.failed, 0)
        self._pace.append((time.monotonic(), step.embedded))
        while self._pace and self._pace[0][0] < time.monotonic() - _PACE_OVER_S:
            self._pace.popleft()
        self._remember(step.embedded)
        self._report()

    def _remember(self, chunks: int) -> None:
        hour = EmbeddedHour(time.time() // 3600 * 3600, self._uri, 0)
        if self.hours and self.hours[-1][:2] == hour[:2]:
            hour = self.hours.pop()
        self.hours.append(hour._replace(chunks=hour.chunks + chunks))

    def _report(self) -> None:
        state = self.state()
        if state != self._reported:
            self._reported = state
            self.changed.emit(state)

    def _chunks_per_s(self) -> float | None:
        if len(self._pace) < 2:
            return None
        seconds = self._pace[-1][0] - self._pace[0][0]
        # The duration of the first step is unknown: its end starts the clock.
        return sum(n for _, n in list(self._pace)[1:]) / seconds if seconds > 0 else None


def _complete(future: asyncio.Future[None], _: object) -> None:
    if not future.done():
        future.set_result(None)
