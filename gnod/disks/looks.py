"""Access folders whose server may not answer. A system call then never returns, and nothing can cancel it.

Therefore every look runs in a separate thread that holds no lock, and callers wait for it only for a limited time. A
folder has one look at a time. While a look hangs, further looks are refused, so a dead server blocks one thread only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from gnod.disks.mounts import holds, mounts, remote_mount
from gnod.errors import RootUnavailable

T = TypeVar("T")

# A disk that was switched off to save power needs ten seconds to start.
ANSWERS_WITHIN_S = 15.0
# A request that needs only the index waits this long for a folder.
_PATIENCE_S = 1.0
# Look at no more than this many folders at the same time, because threads that compute delay searches.
_AT_ONCE = 6


class Looks:
    """Manages all looks of a process. Use it in the event loop's thread. A folder may be silent for
    `answers_within_s`."""

    def __init__(self, answers_within_s: float = ANSWERS_WITHIN_S) -> None:
        self._answers_within_s = answers_within_s
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._places: WeakValueDictionary[str, LookedAt] = WeakValueDictionary()

    def at(self, path: str) -> LookedAt:
        """Return the place for looks at an absolute path. Folders of the same network drive share a place, so looks at
        them run in sequence."""
        mount = remote_mount(path, mounts())
        point = mount.point if mount else path
        place = self._places.get(point)
        if place is None:
            place = self._places[point] = LookedAt(point, self._turns, self._answers_within_s)
        return place

    def is_silent(self, path: str) -> bool:
        """Return whether a look at this path, or at a drive that holds it, has had no answer for too long."""
        return any(holds(place.point, path) and place.is_silent for place in self._places.values())

    async def probe(self, paths: Iterable[str]) -> None:
        """Look at the network folders among these paths, so that `is_silent` knows those that do not answer."""
        mounted = mounts()
        remote = (path for path in paths if remote_mount(path, mounted))
        await asyncio.gather(*(self.at(path).run(os.statvfs, path) for path in remote), return_exceptions=True)


class LookedAt:
    """A folder or network drive with the path `point`."""

    def __init__(self, point: str, turns: asyncio.Semaphore, answers_within_s: float) -> None:
        self.point = point
        self._turns = turns
        self._answers_within_s = answers_within_s
        self._current: asyncio.Future[Any] | None = None
        self._signed_at = 0.0  # a time of the monotonic clock

    @property
    def is_silent(self) -> bool:
        return self._current is not None and time.monotonic() > self._signed_at + self._answers_within_s

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """Call `work(*arguments)` in a thread. Raises RootUnavailable when the folder does not answer; the call then
        continues, but its result is lost."""
        while True:
            while self._current:
                await self._answered(self._current)
            await self._turns.acquire()
            if self._current is None:
                break
            self._turns.release()
        try:
            future = self._current = asyncio.get_running_loop().create_future()
            self.sign()
            threading.Thread(target=self._look, args=(future, work, arguments), name="gnod-look", daemon=True).start()
            await self._answered(future)
        finally:
            self._turns.release()
        result: T = future.result()
        return result

    def sign(self) -> None:
        """Note that the folder has answered. Any thread may call this."""
        self._signed_at = time.monotonic()

    async def _answered(self, future: asyncio.Future[Any]) -> None:
        """Wait for the end of a look. Raises RootUnavailable when it takes too long."""
        while not future.done():
            left_s = self._signed_at + self._answers_within_s - time.monotonic()
            if left_s <= 0:
                since = time.strftime("%H:%M", time.localtime(time.time() - time.monotonic() + self._signed_at))
                raise RootUnavailable(f"{self.point} has not answered since {since} (is its server reachable?)")
            await asyncio.wait([future], timeout=left_s)

    def _look(self, future: asyncio.Future[Any], work: Callable[..., object], arguments: tuple[object, ...]) -> None:
        result, error = None, None
        try:
            result = work(*arguments)
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed, so no caller waits
            future.get_loop().call_soon_threadsafe(self._ended, future, result, error)

    def _ended(self, future: asyncio.Future[Any], result: object, error: BaseException | None) -> None:
        self._current = None
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)
            future.exception()  # mark it as retrieved: the caller may have stopped waiting


_asked: dict[str, tuple[threading.Thread, float]] = {}  # by mount point: the thread that tests it, and its deadline


def answers(path: str) -> bool:
    """Return whether this thread may access a path: it is on this machine, or its server answers within a second. Do
    not call this in the event loop's thread."""
    mount = remote_mount(path, mounts())
    if mount is None:
        return True
    asking, until = _asked.get(mount.point, (None, 0.0))
    if asking is None or not asking.is_alive():
        asking, until = threading.Thread(target=_ask, args=(path,), daemon=True), time.monotonic() + _PATIENCE_S
        _asked[mount.point] = asking, until
        asking.start()
    asking.join(max(0.0, until - time.monotonic()))
    return not asking.is_alive()


def _ask(path: str) -> None:
    with contextlib.suppress(OSError):
        os.statvfs(path)  # the system answers most other calls from its caches
