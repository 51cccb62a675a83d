"""Report events on Linux. Each root has its own inotify instance, so a limit or an overflow affects one root only.

A watch has the path under which the folder was last entered. The walk after a move enters the folder again under its
new path. Until then, events of the folder name the old path, which only causes an unnecessary check.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import os
import threading
from collections.abc import Set

from inotify_simple import INotify, flags, parse_events

from gnod.freshness.events.source import FileEvents, NotWatchable, OnEvents

_MASK = (
    flags.CREATE
    | flags.MODIFY
    | flags.CLOSE_WRITE
    | flags.ATTRIB
    | flags.MOVED_FROM
    | flags.MOVED_TO
    | flags.DELETE
    | flags.DELETE_SELF
    | flags.MOVE_SELF
    | flags.EXCL_UNLINK
)
_READ_BYTES = 64 * 1024  # a few thousand events, read in a few milliseconds
_LIMITS = {
    errno.ENOSPC: "the system's limit of watched folders is reached: `sysctl fs.inotify.max_user_watches` shows it,"
    " `sudo sysctl -w fs.inotify.max_user_watches=1048576` raises it",
    errno.EMFILE: "the system's limit of watchers is reached: `sysctl fs.inotify.max_user_instances` shows it,"
    " `sudo sysctl -w fs.inotify.max_user_instances=1024` raises it",
    errno.ENOMEM: "the system has no memory left for watching folders",
}
# Errors for a folder that cannot be opened. The walk gets the same error and reports it.
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ENAMETOOLONG, errno.ELOOP, errno.ESTALE})


class InotifySource:
    complete_for_s = math.inf  # an overflow is reported

    def __init__(self, root: str, on_events: OnEvents) -> None:
        """Raises NotWatchable."""
        self.fault: str | None = None
        self._root = root.rstrip("/") or "/"
        self._on_events = on_events
        # `enter` runs in the walk's thread, `_read` in the event loop's.
        self._lock = threading.Lock()
        self._by_watch: dict[int, str] = {}
        self._by_path: dict[str, int] = {}
        try:
            self._inotify = INotify(nonblocking=True)
        except OSError as error:
            raise NotWatchable(_words(error)) from None
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._inotify.fileno(), self._read)

    def enter(self, path: str, *, is_file: bool = False) -> None:
        mask = _MASK
        if not is_file:
            mask |= flags.ONLYDIR | flags.DONT_FOLLOW if path else flags.ONLYDIR
        with self._lock:
            if self._inotify.closed or self.fault:
                return
            try:
                watch = self._inotify.add_watch(f"{self._root}/{path}" if path else self._root, mask)
            except OSError as error:
                if error.errno not in _NOT_THERE:
                    self.fault = _words(error)
                return
            former = self._by_watch.get(watch, path)
            if former != path and self._by_path.get(former) == watch:
                del self._by_path[former]  # the folder was moved
            if self._by_path.get(path, watch) != watch:
                self._forget(self._by_path[path])  # another folder had this path
            self._by_watch[watch] = path
            self._by_path[path] = watch

    def keep_only(self, paths: Set[str]) -> None:
        with self._lock:
            for watch, path in list(self._by_watch.items()):
                if path not in paths or self._by_path.get(path) != watch:
                    self._forget(watch)

    def close(self) -> None:
        with self._lock:
            if not self._inotify.closed:
                self._loop.remove_reader(self._inotify.fileno())
                self._inotify.close()

    def _forget(self, watch: int) -> None:
        self._gone(watch)
        with contextlib.suppress(OSError):  # the watch may have ended with its folder
            self._inotify.rm_watch(watch)

    def _gone(self, watch: int) -> None:
        path = self._by_watch.pop(watch, None)
        if path is not None and self._by_path.get(path) == watch:
            del self._by_path[path]

    def _read(self) -> None:
        paths: set[str] = set()
        written: set[str] = set()
        lost: str | None = None
        with self._lock:
            if self._inotify.closed:
                return
            try:
                data = os.read(self._inotify.fileno(), _READ_BYTES)
            except BlockingIOError:
                return
            for watch, mask, _, name in parse_events(data):
                if mask & flags.Q_OVERFLOW:
                    lost = "the event queue overflowed"
                elif mask & flags.IGNORED:
                    self._gone(watch)
                elif watch in self._by_watch:
                    entered = self._by_watch[watch]
                    if not entered and mask & (flags.DELETE_SELF | flags.MOVE_SELF | flags.UNMOUNT):
                        lost = "the folder itself was removed or moved"
                    path = f"{entered}/{name}" if entered and name else entered or name
                    paths.add(path)
                    if mask & flags.CLOSE_WRITE:
                        written.add(path)
        if paths or lost:
            self._on_events(FileEvents(frozenset(paths), lost, frozenset(written)))


def _words(error: OSError) -> str:
    code = error.errno or 0
    return _LIMITS.get(code, f"the system refuses to watch ({error.strerror})")
