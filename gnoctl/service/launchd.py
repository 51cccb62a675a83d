"""The daemon as a launchd agent (macOS), started at login. launchd does not listen on its socket."""

from __future__ import annotations

import os
import plistlib
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from gnoctl.command import wait_until
from gnoctl.service import (
    MARK,
    STARTED_BY_GNOCTL,
    Service,
    daemon_command,
    environment,
    shipped,
    write_file,
)
from gnod.errors import Unavailable
from gnod.paths import IndexPaths
from gnod.private import private_folder

# gnod.daemon.notify recognises the service by this prefix.
LABEL = "local.gnod."

_TIMEOUT_S = 120.0
_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)


class Launchd(Service):
    manager = "launchd"

    def __init__(self, places: IndexPaths) -> None:
        self._places = places
        self.label = f"{LABEL}{places.index}"
        self._domain = f"gui/{os.getuid()}"
        self.files: tuple[Path, ...] = (Path.home() / "Library/LaunchAgents" / f"{self.label}.plist",)

    def write(self) -> None:
        private_folder(self._output().parent)  # launchd does not create it
        write_file(self.files[0], self.text())

    def enable(self) -> None:
        self._launchctl("enable", self._target)

    def start(self) -> None:
        if not self._is_loaded():
            self._launchctl("bootstrap", self._domain, str(self.files[0]))
        self._launchctl("kickstart", self._target)

    def end(self) -> None:
        """Stop the service, and undo `enable`. It is not an error if there is no service."""
        if self.missing() or not self._is_loaded():
            return
        self._launchctl("bootout", self._target)
        # launchctl returns before the daemon has ended, and the label can be loaded again only after that.
        wait_until(lambda: not self._is_loaded(), _TIMEOUT_S)

    def remove(self) -> None:
        self.files[0].unlink(missing_ok=True)

    def seen(self) -> tuple[bool, int | None]:
        shown = self._run("print", self._target)
        pid = _PID.search(shown.stdout)
        return shown.returncode == 0, int(pid[1]) if pid else None

    def text(self) -> str:
        agent: dict[str, Any] = plistlib.loads(shipped("launchd/gnod.plist").encode())
        agent["Label"] = self.label
        agent["ProgramArguments"] = daemon_command(self._places)
        agent["EnvironmentVariables"] |= environment(self._places)
        agent["StandardOutPath"] = agent["StandardErrorPath"] = str(self._output())
        head, kind, body = plistlib.dumps(agent, sort_keys=False).decode().partition("<plist")
        return f"{head}<!-- {MARK} -->\n{kind}{body}"

    @property
    def _target(self) -> str:
        return f"{self._domain}/{self.label}"

    def _output(self) -> Path:
        return self._places.log_file.with_name(f"gnod-{self._places.index}.start.log")

    def _is_loaded(self) -> bool:
        return self._run("print", self._target).returncode == 0

    def missing(self) -> str | None:
        if shutil.which("launchctl") is None:
            return f"launchd is not installed: {STARTED_BY_GNOCTL}"
        if self._run("print", self._domain).returncode:
            return f"launchd cannot run agents without a graphical session: {STARTED_BY_GNOCTL}"
        return None

    def _launchctl(self, *words: str) -> None:
        done = self._run(*words)
        if done.returncode:
            reason = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
            raise Unavailable(f"launchctl {' '.join(words)} failed: {reason}")

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["launchctl", *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
