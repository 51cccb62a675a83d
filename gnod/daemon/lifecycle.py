"""The life of the process: start in order, serve until asked to stop, stop in reverse. Must not depend on the methods.

SIGTERM, SIGINT and `daemon.shutdown` let requests in flight end within the grace period; a second signal ends them
at once. SIGHUP reloads. A service manager is notified of each step.

To reopen the index (`Control.reopen`), all services are closed and started again, with the same lock and socket. To
replace this program by the installed one (`Control.replace`), they are closed in the same way, and that one starts
them. When the socket's file is lost, a new socket is bound.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Protocol, TypeVar

import gnod
from gnod.daemon.listening import Listening, listening_socket
from gnod.daemon.lock import IndexLock, index_lock
from gnod.daemon.notify import Notifier, feed_watchdog
from gnod.daemon.replacing import GRACE_S, HandedOver, execute, handed_over
from gnod.errors import GnoError, IndexReopening
from gnod.paths import IndexPaths
from gnod.periodic_checks import next_tick
from gnod.rpc.dispatcher import Dispatcher, Handler
from gnod.rpc.stats import Stats
from gnod.rpc.transport import Transport

CANCEL_TIMEOUT_S = 2.0
# Check for the socket's file this often. Clients wait a little longer for a daemon that has lost it.
SOCKET_CHECK_S = 2.0

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class Control:
    """Requests to stop the daemon, to reopen its index or to replace its program. For the event loop's thread.

    A caller is a part of what will be closed, so a request returns at once; `serve` carries it out. Each sets
    `requested`, the first `stop` sets `stopping`, the second signal `force`, even after `daemon.shutdown`, and SIGHUP
    `hangup`.
    """

    def __init__(self) -> None:
        self.stopping = asyncio.Event()
        self.force = asyncio.Event()
        self.hangup = asyncio.Event()
        self.is_replacing = False
        self._is_signalled = False
        self.requested = asyncio.Event()
        self._befores: list[Callable[[], None]] = []

    def take_signals(self) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop_by_signal)
        loop.add_signal_handler(signal.SIGINT, self._stop_by_signal)
        loop.add_signal_handler(signal.SIGHUP, self.hangup.set)

    def _stop_by_signal(self) -> None:
        if self._is_signalled:
            self.force.set()
        self._is_signalled = True
        self.stop()

    def stop(self) -> None:
        """End the daemon after the requests in flight."""
        self.stopping.set()
        self.requested.set()

    def reopen(self, before: Callable[[], None] | None = None) -> None:
        """Close everything that has the index open, run `before` in a thread, and start again.

        The lock and the listening socket stay: clients that connect meanwhile are served afterwards. Open connections
        are closed after their requests. An exception of `before` is logged, and the index is opened all the same. A
        `before` that was requested before a `stop` still runs.
        """
        if before is not None:
            self._befores.append(before)
        self.requested.set()

    def replace(self) -> None:
        """Close everything as `reopen` does, and execute the installed gnod in this process."""
        self.is_replacing = True
        self.requested.set()

    async def run_befores(self) -> None:
        """Run the functions requested so far, while the index is closed."""
        befores, self._befores = self._befores, []
        self.requested.clear()
        if self.stopping.is_set():
            self.requested.set()
        for before in befores:
            try:
                await asyncio.to_thread(before)
            except Exception:
                _log.exception("reopen.before_failed")


class Services(Protocol):
    """Everything behind the methods. Closed once, after the last answer."""

    @property
    def handlers(self) -> Mapping[str, Handler]: ...

    @property
    def shutdown_grace_s(self) -> float: ...

    async def reload(self) -> None: ...

    async def heartbeat(self) -> None:
        """Return when the writer thread has made progress; never while it hangs."""

    async def close(self) -> None: ...


# Starts the services. If it is cancelled because a signal comes first, it must leave nothing running.
StartServices = Callable[[IndexPaths, Stats, Control], Awaitable[Services]]


async def serve(
    places: IndexPaths,
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
    control.take_signals()
    async with AsyncExitStack() as stack:
        left = handed_over(os.environ)
        lock = stack.enter_context(index_lock(places, left.lock if left else None))
        stack.callback(_log.info, "daemon.stopped")
        listening = stack.enter_context(listening_socket(places, left))
        served = _Served(places, lock, listening, stats, notifier, control)

        # Feed it from now on: a program that replaces another one does so under a watchdog that is running already.
        feeding = asyncio.create_task(feed_watchdog(notifier, served.heartbeat))
        stack.callback(feeding.cancel)

        def started() -> None:
            _log_start(places, stats)
            if on_ready is not None:
                on_ready()

        ready = started
        while not control.stopping.is_set():
            services = await _unless(control.stopping, start(places, stats, control))
            if services is None:
                break
            await served.once(services, ready)
            if control.force.is_set():
                return False
            await _unless(control.force, control.run_befores())
            del services
            gc.collect()  # the services hold much memory in reference cycles
            if control.is_replacing and not control.stopping.is_set():
                served.hand_over()
                control.is_replacing = False
            ready = partial(_log.info, "index.reopened")
        notifier.stopping()  # notify it even while the index is being reopened
    return not control.force.is_set()


class _Served:
    """Serves the index until it is closed or reopened."""

    def __init__(
        self,
        places: IndexPaths,
        lock: IndexLock,
        listening: Listening,
        stats: Stats,
        notifier: Notifier,
        control: Control,
    ) -> None:
        self._status = f"serving index '{places.index}'"
        self._lock = lock
        self._listening = listening
        self._stats = stats
        self._notifier = notifier
        self._control = control
        self._services: Services | None = None

    async def once(self, services: Services, on_ready: Callable[[], None]) -> None:
        """Serve until a stop or reopening is requested, and close the services."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close, services)
            stack.callback(setattr, self, "_services", None)
            self._services = services
            reloading = asyncio.create_task(self._reload_on_hangup(services))
            stack.callback(reloading.cancel)
            transport = Transport(Dispatcher(services.handlers, self._stats), self._stats)
            stack.push_async_callback(self._drain, transport, services.shutdown_grace_s)
            await self._listen(transport)
            keeping = asyncio.create_task(self._keep_listening(transport))
            stack.callback(keeping.cancel)
            self._notifier.ready(self._status)
            on_ready()
            await self._control.requested.wait()
            if self._control.stopping.is_set():
                self._notifier.stopping()
            else:
                self._notifier.reloading("starting again")

    def hand_over(self) -> None:
        """Execute the installed gnod in this process. Returns only if that is impossible."""
        self._lock.listens_at(None)
        path, owns_file = str(self._listening.path), self._listening.owns_file
        descriptors = {"lock": self._lock.descriptor, "socket": self._listening.socket.fileno()}
        left = HandedOver(pid=os.getpid(), path=path, owns_file=owns_file, **descriptors)
        execute(left, self._notifier.variables)

    async def heartbeat(self) -> None:
        """The heartbeat of the services; without services, that of the event loop."""
        if self._services is not None:
            await self._services.heartbeat()

    async def _close(self, services: Services) -> None:
        await _unless(self._control.force, services.close())

    async def _listen(self, transport: Transport) -> None:
        if self._listening.is_lost():
            self._listening.renew()
        await transport.listen(self._listening.socket.dup())  # closing a copy keeps new connections in the queue
        self._stats.socket = str(self._listening.path)
        self._lock.listens_at(self._stats.socket)

    async def _keep_listening(self, transport: Transport) -> None:
        """Listen again when clients do not find the socket any more: its file or folder may be deleted at any time."""
        reported = ""
        while True:
            await next_tick(SOCKET_CHECK_S)
            if not self._listening.is_lost():
                continue
            try:
                await self._listen(transport)
                reported = ""
            except (GnoError, OSError) as error:
                if str(error) != reported:
                    _log.error("socket.lost", extra={"fields": {"message": str(error)}})
                reported = str(error)

    async def _drain(self, transport: Transport, grace_s: float) -> None:
        is_stopping = self._control.stopping.is_set()
        if self._control.is_replacing and not is_stopping:
            grace_s = GRACE_S
        _log.info("daemon.stopping" if is_stopping else "index.reopening", extra={"fields": {"grace_s": grace_s}})
        reopening = IndexReopening("the index is being reopened: try again in a moment")
        await transport.close(grace_s, self._control.force, None if is_stopping else reopening)

    async def _reload_on_hangup(self, services: Services) -> None:
        while True:
            await self._control.hangup.wait()
            self._control.hangup.clear()  # clear it first, so that a signal during the reload is not lost
            self._notifier.reloading("reading the config")
            try:
                await services.reload()
            except GnoError as error:
                fields = {"kind": error.kind, "message": error.message}
                _log.warning("reload.refused", extra={"fields": fields})
            except Exception:
                _log.exception("reload.failed")
            self._notifier.ready(self._status)  # the daemon continues after a reload that failed


async def _unless(event: asyncio.Event, work: Awaitable[_T]) -> _T | None:
    """Return what `work` returns, or None when `event` came first and `work` was cancelled."""
    task = asyncio.ensure_future(work)
    interruption = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, interruption}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
        # It may have completed meanwhile: then the caller must close the result.
        return None if not task.done() or task.cancelled() else task.result()
    finally:
        task.cancel()
        interruption.cancel()


def _log_start(places: IndexPaths, stats: Stats) -> None:
    fields = {"version": gnod.__version__, "pid": os.getpid(), "index": places.index, "socket": stats.socket}
    _log.info("daemon.started", extra={"fields": fields})
