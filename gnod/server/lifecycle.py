"""The life of the process: start in order, serve until asked to stop, stop in reverse. Knows no methods.

SIGTERM, SIGINT and `daemon.shutdown` let requests in flight end within the grace period; a second signal cuts
that short. SIGHUP reloads. A service manager is told of each step.

When the index is to be opened anew (`Control.reopen`) all services are closed and started again, under the same lock
and behind the same socket.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Protocol, TypeVar

import gnod
from gnod.errors import GnoError
from gnod.paths import Places
from gnod.server.control import Control
from gnod.server.dispatcher import Dispatcher, Handler
from gnod.server.listening import listening_socket
from gnod.server.lock import index_lock
from gnod.server.notify import Notifier, feed_watchdog
from gnod.server.stats import Stats
from gnod.server.transport import Transport

CANCEL_TIMEOUT_S = 2.0

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class Services(Protocol):
    """What lies behind the methods: the store, the pool, the pipeline. Closed once, after the last answer."""

    @property
    def handlers(self) -> Mapping[str, Handler]: ...

    @property
    def shutdown_grace_s(self) -> float: ...

    async def reload(self) -> None: ...

    async def pulse(self) -> None:
        """Return when what must get on has done so; never while it hangs."""

    async def close(self) -> None: ...


# Given the places, the counters for `daemon.status`, and what stops the daemon or opens its index anew.
# Cancelled when a signal comes before it is done; it must then leave nothing running.
StartServices = Callable[[Places, Stats, Control], Awaitable[Services]]


async def serve(
    places: Places,
    start: StartServices,
    on_ready: Callable[[], None] | None = None,
    notifier: Notifier | None = None,
) -> bool:
    """Serve the index until asked to stop; return False when a second signal forced the end.

    `on_ready` is called when clients can connect; `notifier` tells a service manager. Raises IndexLocked,
    StorageFailed, SocketPathTooLong, and what `start` raises; whatever had been started by then has been stopped.
    Needs the main thread, for the signals.
    """
    notifier = notifier or Notifier()
    stats = Stats(manager=notifier.manager)
    control = Control()
    signals = _Signals(control)
    async with AsyncExitStack() as stack:
        stack.enter_context(index_lock(places))
        stack.callback(_log.info, "daemon.stopped")
        listener = stack.enter_context(listening_socket(places))
        served = _Served(places, listener, stats, notifier, signals)

        def started() -> None:
            feeding = asyncio.create_task(feed_watchdog(notifier, served.pulse))
            stack.callback(feeding.cancel)
            _log_start(places)
            if on_ready is not None:
                on_ready()

        ready = started
        while not control.stopping.is_set():
            services = await _unless(control.stopping, start(places, stats, control))
            if services is None:
                break
            await served.once(services, ready)
            if signals.force.is_set():
                return False
            await _unless(signals.force, control.run_befores())
            del services
            gc.collect()  # what it held of the index is much, and full of circles
            ready = _log_reopened
        notifier.stopping()  # not known yet when the index was being opened anew
    return not signals.force.is_set()


class _Served:
    """The index behind the socket, between two openings of it."""

    def __init__(
        self, places: Places, listener: socket.socket, stats: Stats, notifier: Notifier, signals: _Signals
    ) -> None:
        self._status = f"serving index '{places.index}'"
        self._listener = listener
        self._stats = stats
        self._notifier = notifier
        self._signals = signals
        self._services: Services | None = None

    async def once(self, services: Services, on_ready: Callable[[], None]) -> None:
        """Serve until something is asked for, and close the services."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(_close, services, self._signals)
            stack.callback(setattr, self, "_services", None)
            self._services = services
            reloading = asyncio.create_task(self._reload_on_hangup(services))
            stack.callback(reloading.cancel)
            transport = Transport(Dispatcher(services.handlers), self._stats)
            stack.push_async_callback(self._drain, transport, services.shutdown_grace_s)
            await transport.listen(self._listener.dup())  # closing a copy refuses nobody: they wait for the next
            self._notifier.ready(self._status)
            on_ready()
            await self._signals.control.asked()
            if self._signals.control.stopping.is_set():
                self._notifier.stopping()
            else:
                self._notifier.reloading("opening the index anew")

    async def pulse(self) -> None:
        """As that of the services; while there are none, the loop's own life is what counts."""
        if self._services is not None:
            await self._services.pulse()

    async def _drain(self, transport: Transport, grace_s: float) -> None:
        is_stopping = self._signals.control.stopping.is_set()
        _log.info("daemon.stopping" if is_stopping else "index.reopening", extra={"fields": {"grace_s": grace_s}})
        why = "the daemon is stopping" if is_stopping else "the index is being opened anew: try again in a moment"
        await transport.close(grace_s, self._signals.force, why)

    async def _reload_on_hangup(self, services: Services) -> None:
        while True:
            await self._signals.hangup.wait()
            self._signals.hangup.clear()  # before the work, so that a signal during it is not lost
            self._notifier.reloading("reading the config")
            try:
                await services.reload()
            except GnoError as error:
                fields = {"kind": error.kind, "message": error.message}
                _log.warning("reload.refused", extra={"fields": fields})
            except Exception:
                _log.exception("reload.failed")
            self._notifier.ready(self._status)  # a reload that failed stops nothing


class _Signals:
    """What was asked of the process from outside. After `daemon.shutdown` the first signal is still the polite one."""

    def __init__(self, control: Control) -> None:
        self.control = control
        self.force = asyncio.Event()
        self.hangup = asyncio.Event()
        self._has_been_told = False
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._tell)
        loop.add_signal_handler(signal.SIGINT, self._tell)
        loop.add_signal_handler(signal.SIGHUP, self.hangup.set)

    def _tell(self) -> None:
        if self._has_been_told:
            self.force.set()
        self._has_been_told = True
        self.control.stop()


async def _unless(event: asyncio.Event, work: Awaitable[_T]) -> _T | None:
    """Return what `work` returns, or None when `event` came first and `work` was cancelled."""
    task = asyncio.ensure_future(work)
    interruption = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, interruption}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
        # It may have been done in the very moment, and then somebody must close it.
        return None if not task.done() or task.cancelled() else task.result()
    finally:
        task.cancel()
        interruption.cancel()


async def _close(services: Services, signals: _Signals) -> None:
    await _unless(signals.force, services.close())


def _log_reopened() -> None:
    _log.info("index.reopened")


def _log_start(places: Places) -> None:
    fields = {
        "version": gnod.__version__,
        "pid": os.getpid(),
        "index": places.index,
        "socket": str(places.socket),
    }
    _log.info("daemon.started", extra={"fields": fields})
