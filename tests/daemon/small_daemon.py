"""A complete daemon process with a few small methods: `python -m tests.daemon.small_daemon FOLDER`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnod.daemon.lifecycle import Control, serve
from gnod.daemon.notify import from_environment
from gnod.errors import ConfigInvalid, GnoError
from gnod.paths import IndexPaths
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonShutdownResult, DaemonStatusResult
from gnod.rpc.dispatcher import Call
from gnod.rpc.stats import Stats
from tests.rpc.harness import places_in


class SmallServices:
    """Prints its events on stdout. `index.sync` takes a minute, `doctor.run` a tenth of a second.

    `index.cleanup` reopens the index, `index.pause` reopens it twice at once, `index.resume` reopens it after a step
    that raises. `index.retry` replaces the program; with `--no-program`, the new program is missing.
    """

    shutdown_grace_s = 0.3

    def __init__(self, places: IndexPaths, stats: Stats, control: Control) -> None:
        self._places = places
        self._stats = stats
        self._control = control
        self._hangups = 0

    @property
    def handlers(self) -> Mapping[str, Any]:
        return {
            "daemon.status": self.status,
            "daemon.shutdown": self.shutdown,
            "index.sync": self.sync,
            "doctor.run": self.nap,
            "index.cleanup": self.reopen,
            "index.pause": self.reopen_twice,
            "index.resume": self.reopen_badly,
            "index.retry": self.replace,
        }

    async def reload(self) -> None:
        self._hangups += 1
        say(f"reload {self._hangups}")
        if self._hangups == 1:
            raise ConfigInvalid("the config file is no YAML")
        if self._hangups == 2:
            raise RuntimeError("a mistake of ours")

    async def heartbeat(self) -> None:
        """Return at once, because nothing here can hang."""

    async def close(self) -> None:
        say(f"closing while the socket is {'there' if self._places.socket.exists() else 'gone'}")
        if "--stuck-close" in sys.argv:
            await asyncio.sleep(60)
        say("closed")

    async def status(self, _params: NoParams, _call: Call) -> DaemonStatusResult:
        return DaemonStatusResult(
            version="",
            pid=0,
            index=self._places.index,
            socket="",
            log_file="",
            uptime_s=self._stats.uptime_s,
            resident_bytes=0,
            connections=self._stats.connections,
            requests=self._stats.requests,
            workers=[],
            sqlite_version="",
        )

    async def shutdown(self, _params: NoParams, _call: Call) -> DaemonShutdownResult:
        self._control.stop()
        return DaemonShutdownResult(stopping=True)

    async def reopen(self, _params: object, _call: Call) -> DaemonShutdownResult:
        self._control.reopen(self._held)
        return DaemonShutdownResult(stopping=False)

    async def reopen_twice(self, _params: object, _call: Call) -> DaemonShutdownResult:
        self._control.reopen(lambda: say("the first"))
        self._control.reopen(lambda: say("the second"))
        self._control.reopen()
        return DaemonShutdownResult(stopping=False)

    async def reopen_badly(self, _params: object, _call: Call) -> DaemonShutdownResult:
        self._control.reopen(_raise)
        self._control.reopen(lambda: say("the second"))
        return DaemonShutdownResult(stopping=False)

    async def replace(self, _params: object, _call: Call) -> DaemonShutdownResult:
        self._control.replace()
        return DaemonShutdownResult(stopping=False)

    def _held(self) -> None:
        """Run before the reopening. With `--hold`, wait until a file exists."""
        say("before")
        go = self._places.data_dir / "go"
        deadline = time.monotonic() + 60
        while "--hold" in sys.argv and not go.exists() and time.monotonic() < deadline:
            time.sleep(0.01)

    async def sync(self, _params: object, _call: Call) -> DaemonShutdownResult:
        say("sync begun")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            say("sync cancelled")
            raise
        return DaemonShutdownResult(stopping=False)

    async def nap(self, _params: NoParams, _call: Call) -> DaemonShutdownResult:
        say("nap begun")
        await asyncio.sleep(0.1)
        return DaemonShutdownResult(stopping=False)


async def start(places: IndexPaths, stats: Stats, control: Control) -> SmallServices:
    if "--no-program" in sys.argv:
        sys.executable = str(places.data_dir / "none")
    if "--bad-config" in sys.argv:
        raise ConfigInvalid("the config file is no YAML")
    if "--slow-start" in sys.argv:
        say("starting")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            say("start cancelled")
            raise
    if "--reopen-in-start" in sys.argv:
        sys.argv.remove("--reopen-in-start")
        control.reopen(lambda: say("before"))
    if "--slow-second-start" in sys.argv:
        sys.argv[sys.argv.index("--slow-second-start")] = "--slow-start"
    return SmallServices(places, stats, control)


def _raise() -> None:
    raise OSError("there is no room")


def say(words: str) -> None:
    print(words, flush=True)  # noqa: T201


async def run() -> None:
    if not await serve(places_in(Path(sys.argv[1])), start, lambda: say("ready"), from_environment()):
        say("forced")
        os._exit(0)  # like gnod, which then waits for no thread


def main() -> int:
    try:
        asyncio.run(run())
    except GnoError as error:
        say(error.message)
        return error.exit_status
    say("clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
