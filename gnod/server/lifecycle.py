"""The life of the process: start in order, serve until asked to stop, stop in reverse. Knows no methods.

SIGTERM, SIGINT and `daemon.shutdown` let requests in flight end within the grace period; a second signal cuts
that short. SIGHUP reloads. A service manager is told of each step.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Protocol, TypeVar

import gnod
from gnod.errors import GnoError
from gnod.paths import Places
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


# Given the places, the counters for `daemon.status`, and what `daemon.shutdown` calls to stop the daemon.
# Cancelled when a signal comes before it is done; it must then leave nothing running.
StartServices = Callable[[Places, Stats, Callable[[], None]], Awaitable[Services]]


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
    signals = _Signals()
    async with AsyncExitStack() as stack:
        stack.enter_context(index_lock(places))
        stack.callback(_log.info, "daemon.stopped")
        listener = stack.enter_context(listening_socket(places))
        services = await _unless(signals.stop, start(places, stats, signals.stop.set))
        if services is None:
            return True
        stack.push_async_callback(_close, services, signals)
        reloading = asyncio.create_task(_reload_on_hangup(services, signals.hangup, notifier, _status(places)))
        stack.callback(reloading.cancel)
        feeding = asyncio.create_task(feed_watchdog(notifier, services.pulse))
        stack.callback(feeding.cancel)
        transport = Transport(Dispatcher(services.handlers), stats)
        stack.push_async_callback(_drain, transport, services, signals)
        await transport.listen(listener)
        _log_start(places)
        notifier.ready(_status(places))
        if on_ready is not None:
            on_ready()
        await signals.stop.wait()
        notifier.stopping()
    return not signals.force.is_set()


class _Signals:
    """What was asked of the process. `stop` is also set by `daemon.shutdown`, after which the first signal is
    still the polite one."""

    def __init__(self) -> None:
        self.stop = asyncio.Event()
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
        self.stop.set()


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


async def _drain(transport: Transport, services: Services, signals: _Signals) -> None:
    _log.info("daemon.stopping", extra={"fields": {"grace_s": services.shutdown_grace_s}})
    await transport.close(services.shutdown_grace_s, signals.force)


async def _close(services: Services, signals: _Signals) -> None:
    await _unless(signals.force, services.close())


async def _reload_on_hangup(services: Services, hangup: asyncio.Event, notifier: Notifier, status: str) -> None:
    while True:
        await hangup.wait()
        hangup.clear()  # before the work, so that a signal during it is not lost
        notifier.reloading()
        try:
            await services.reload()
        except GnoError as error:
            fields = {"kind": error.kind, "message": error.message}
            _log.warning("reload.refused", extra={"fields": fields})
        except Exception:
            _log.exception("reload.failed")
        notifier.ready(status)  # a reload that failed stops nothing


def _status(places: Places) -> str:
    return f"serving index '{places.index}'"


def _log_start(places: Places) -> None:
    fields = {
        "version": gnod.__version__,
        "pid": os.getpid(),
        "index": places.index,
        "socket": str(places.socket),
    }
    _log.info("daemon.started", extra={"fields": fields})
