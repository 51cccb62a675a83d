"""The life of the process: start in order, serve until a stop is requested, stop in reverse. Must not depend on the
methods.

After SIGTERM, SIGINT or `daemon.shutdown`, requests in flight may end within the grace period; a second signal ends
them at once. SIGHUP reloads. A service manager is notified of each step.

To reopen the index (`Control.reopen`), the daemon closes all services and starts them again, with the same lock and
socket. To replace this program with the installed one (`Control.replace`), it closes them in the same way, and the
installed program starts them. If the socket file is lost, the daemon binds a new socket.
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
# Check the socket file this often. Clients wait a little longer for a daemon that has lost its file.
SOCKET_CHECK_S = 2.0

_T = TypeVar("_T")

_log = logging.getLogger(__name__)


class Control:
    """Takes requests to stop the daemon, to reopen its index or to replace its program. For the event loop's thread.

    The caller will itself be closed, so a request returns at once; `serve` carries it out. Every request sets
    `requested`. The first `stop` sets `stopping`. A second signal sets `force`, even after `daemon.shutdown`. SIGHUP
    sets `hangup`.
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
        """Stop the daemon after the requests in flight."""
        self.stopping.set()
        self.requested.set()

    def reopen(self, before: Callable[[], None] | None = None) -> None:
        """Close everything that has the index open, run `before` in a thread, and start again.

        The lock and the listening socket stay, so clients that connect meanwhile are served afterwards. Open
        connections are closed after their requests. If `before` raises, the exception is logged, and the index is
        opened anyway. If a `stop` follows, `before` still runs.
        """
        if before is not None:
            self._befores.append(before)
        self.requested.set()

    def replace(self) -> None:
        """Close everything as `reopen` does, and execute the installed gnod in this process."""
        self.is_replacing = True
        self.requested.set()

    async def run_befores(self) -> None:
        """Run the requested functions. Call it while the index is closed."""
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
    """The services behind the methods. They are closed once, after the last answer."""

    @property
    def handlers(self) -> Mapping[str, Handler]: ...

    @property
    def shutdown_grace_s(self) -> float: ...

    async def reload(self) -> None: ...

    async def heartbeat(self) -> None:
        """Return after the writer thread has made progress. Never returns while the thread hangs."""

    async def close(self) -> None: ...


# Starts the services. If a signal cancels the start, it must leave nothing running.
StartServices = Callable[[IndexPaths, Stats, Control], Awaitable[Services]]


async def serve(
    places: IndexPaths,
    start: StartServices,
    on_ready: Callable[[], None] | None = None,
    notifier: Notifier | None = None,
) -> bool:
    """Serve the index until a stop is requested; return False if a second signal forced the end.

    `on_ready` is called when clients can connect; `notifier` notifies a service manager. Raises IndexLocked,
    StorageFailed, SocketPathTooLong, and the errors of `start`, after stopping everything that has been started.
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

        # Feed the watchdog from now on: it is already running if this program replaces another one.
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
            gc.collect()  # reference cycles of the services hold much memory
            if control.is_replacing and not control.stopping.is_set():
                served.hand_over()
                control.is_replacing = False
            ready = partial(_log.info, "index.reopened")
        notifier.stopping()  # also needed if the stop came during a reopening
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
        """Execute the installed gnod in this process. Returns only if this is impossible."""
        self._lock.listens_at(None)
        path, owns_file = str(self._listening.path), self._listening.owns_file
        descriptors = {"lock": self._lock.descriptor, "socket": self._listening.socket.fileno()}
        left = HandedOver(pid=os.getpid(), path=path, owns_file=owns_file, **descriptors)
        execute(left, self._notifier.variables)

    async def heartbeat(self) -> None:
        """Wait for the heartbeat of the services. Without services, the event loop is the heartbeat."""
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
        """Listen again when clients no longer find the socket: its file or folder may be deleted at any time."""
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
            self._notifier.ready(self._status)  # the daemon also continues after a failed reload


async def _unless(event: asyncio.Event, work: Awaitable[_T]) -> _T | None:
    """Return the result of `work`; None if `event` came first and `work` was cancelled."""
    task = asyncio.ensure_future(work)
    interruption = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, interruption}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=CANCEL_TIMEOUT_S)
        # The task may have completed meanwhile. Then the caller must close the result.
        return None if not task.done() or task.cancelled() else task.result()
    finally:
        task.cancel()
        interruption.cancel()


def _log_start(places: IndexPaths, stats: Stats) -> None:
    fields = {"version": gnod.__version__, "pid": os.getpid(), "index": places.index, "socket": stats.socket}
    _log.info("daemon.started", extra={"fields": fields})
