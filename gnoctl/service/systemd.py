"""The daemon as systemd user units: a socket, and the service that it activates."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

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
from gnod.folders import DEFAULT_INDEX
from gnod.paths import IndexPaths

# Seconds. The start may upgrade an index, and the unit has its own limits for a daemon that hangs.
_TIMEOUT_S = 1000.0


class Systemd(Service):
    """The units of one index: `gnod.socket` and `gnod.service`, or `gnod-work.socket` and `gnod-work.service`."""

    manager = "systemd"

    def __init__(self, places: IndexPaths) -> None:
        self._places = places
        name = "gnod" if places.index == DEFAULT_INDEX else f"gnod-{places.index}"
        self.socket_unit, self.service_unit = f"{name}.socket", f"{name}.service"
        folder = _units_folder()
        self.files: tuple[Path, ...] = (folder / self.socket_unit, folder / self.service_unit)

    def is_installed(self) -> bool:
        # A system package has its own units. `systemctl --user enable` creates this link to one.
        enabled = _units_folder() / "sockets.target.wants" / self.socket_unit
        return super().is_installed() or enabled.is_symlink()

    def write(self) -> None:
        for path, text in zip(self.files, (self.socket_text(), self.service_text()), strict=True):
            write_file(path, text)
        _systemctl("daemon-reload")

    def enable(self) -> None:
        _systemctl("enable", self.socket_unit, self.service_unit)

    def start(self) -> None:
        # Reset the unit, so that it starts again even after too many failures.
        _systemctl("reset-failed", self.socket_unit, self.service_unit, may_fail=True)
        try:
            _systemctl("start", self.socket_unit, self.service_unit)
        except Unavailable as error:
            # The status text of the unit contains the reason.
            why = _properties(self.service_unit).get("StatusText")
            if not why:
                raise
            raise Unavailable(f"gnod could not start: {why}") from error

    def end(self) -> None:
        """Stop the service, and undo `enable`. It is not an error if there is no service."""
        if self.missing():
            return
        # Stop them together: the socket alone would start the service again.
        _systemctl("stop", self.socket_unit, self.service_unit, may_fail=True)
        _systemctl("disable", self.socket_unit, self.service_unit, may_fail=True)

    def remove(self) -> None:
        for path in self.files:
            path.unlink(missing_ok=True)
        if not self.missing():
            _systemctl("daemon-reload")
            _systemctl("reset-failed", self.socket_unit, self.service_unit, may_fail=True)

    def seen(self) -> tuple[bool, int | None]:
        socket, service = _properties(self.socket_unit), _properties(self.service_unit)
        starts = socket.get("ActiveState") == "active" or service.get("UnitFileState") == "enabled"
        running = service.get("ActiveState") in ("active", "reloading")
        return starts, int(service.get("MainPID", "0")) if running else None

    def missing(self) -> str | None:
        if shutil.which("systemctl") is None:
            return f"systemd is not installed: {STARTED_BY_GNOCTL}"
        done = _run("show-environment")
        if done.returncode == 0:
            return None
        return f"systemd cannot run services of this user ({_complaint(done)}): {STARTED_BY_GNOCTL}"

    def socket_text(self) -> str:
        # %t is systemd's own runtime folder, which may differ from that of this shell.
        is_set = os.environ.get("GNO_SOCKET")
        address = _literal(str(self._places.socket)) if is_set else f"%t/gno/{self._places.index}.sock"
        return _filled("gnod.socket", {"ListenStream": address})

    def service_text(self) -> str:
        variables = {"PYTHONFAULTHANDLER": "1", **environment(self._places)}
        return _filled(
            "gnod.service",
            {
                "ExecStart": " ".join(_quoted(word).replace("$", "$$") for word in daemon_command(self._places)),
                "Environment": " ".join(_quoted(f"{name}={value}") for name, value in variables.items()),
            },
        )


def _units_folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    # Without a home folder (in a container), no unit exists, and Path.home() would raise.
    config = base if base and Path(base).is_absolute() else os.path.expanduser("~/.config")  # noqa: PTH111
    return Path(config) / "systemd/user"


def _filled(name: str, values: dict[str, str]) -> str:
    """Return a shipped unit with some values replaced, below gnoctl's mark."""
    lines = shipped(f"systemd/{name}").splitlines()
    first = lines.index("[Unit]")  # the comments above describe the template
    filled = [f"{key}={values[key]}" if (key := line.partition("=")[0]) in values else line for line in lines[first:]]
    return "\n".join([f"# {MARK}", "", *filled, ""])


def _literal(text: str) -> str:
    return text.replace("%", "%%")


def _quoted(word: str) -> str:
    """Return a word in quotation marks, as in systemd.syntax(7).

    >>> _quoted('/home/a b/100%/"x"')
    '"/home/a b/100%%/\\\\"x\\\\""'
    """
    escaped = _literal(word).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _properties(unit: str) -> dict[str, str]:
    shown = _systemctl("show", "--property=ActiveState,UnitFileState,MainPID,StatusText", unit)
    return dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)


def _systemctl(*words: str, may_fail: bool = False) -> str:
    done = _run(*words)
    if done.returncode and not may_fail:
        raise Unavailable(f"systemctl --user {' '.join(words)} failed: {_complaint(done)}")
    return done.stdout


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["systemctl", "--user", "--no-pager", *words]
    # Its messages are shown to the user, so they must be in English and without colours.
    plain = {**os.environ, "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"}
    return subprocess.run(
        command, env=plain, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False
    )


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    message = " ".join(done.stderr.split())
    return message.rstrip(".") or f"exit status {done.returncode}"
