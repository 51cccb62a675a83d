"""`gnoctl` and the daemon as real processes in temporary folders."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from gnod.presets import MODEL_ROLES
from tests import forked, leftovers

_PROCESSES = Path("/proc")
_TIMEOUT_S = 150.0


def without_waiting(err: str) -> str:
    """Remove the note that gnoctl is waiting for the daemon: on a busy machine, any answer may take a second."""
    return re.sub(r"^waiting for gnod \(pid \d+\) …\n", "", err, flags=re.MULTILINE)


class Machine:
    """A user's machine without collections, configuration or daemon. A context manager that ends all its processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.socket = folder / "s.sock"
        self.config = folder / "config" / "index.yml"
        self.database = folder / "data" / "index-default.sqlite"
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("GNO", "XDG", "COVERAGE"))},
            "GNO_CONFIG_DIR": str(folder / "config"),
            "GNO_DATA_DIR": str(folder / "data"),
            "GNO_CACHE_DIR": str(folder / "cache"),
            "GNO_SOCKET": str(self.socket),
            "HOME": str(folder),
            "NO_COLOR": "1",
        }
        self.chooses_models = False
        """Whether `gnoctl init` does: it measures the processor and asks the hub, which takes seconds."""
        self.forks = True
        """Whether Python is started once instead of for each command and each daemon."""
        self._client: socket.socket | None = None
        self._foreground: list[subprocess.Popen[bytes]] = []

    @classmethod
    @contextlib.contextmanager
    def in_temporary_folder(cls) -> Iterator[Self]:
        """Make a machine in a folder with a path short enough for a socket. The paths of pytest are too long."""
        with tempfile.TemporaryDirectory(prefix="gnod-", dir="/tmp") as folder, cls(Path(folder)) as machine:
            yield machine

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            path = self.notes / name.replace("__", "/").replace("_md", ".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def configure(self, *others: Path, **models: Path | None) -> None:
        """Write a config with the folder `notes`, and others by name, as collections. Roles that are not given have no
        model."""
        found = {role: models.get(role) for role in MODEL_ROLES}
        roles = (f'{role}: "file:{model}"' if model else f"{role}: none" for role, model in found.items())
        folders = (f"  - {{name: {folder.name}, path: {folder}}}\n" for folder in (self.notes, *others))
        self.config.parent.mkdir(exist_ok=True)
        self.config.write_text(f"models: {{{', '.join(roles)}}}\ncollections:\n{''.join(folders)}")

    def empty(self) -> None:
        """Remove all collections and files. A daemon keeps running, because a start takes longer than many tests."""
        self.hang_up()
        if self.is_serving():
            for collection in self.call("collection.list")["collections"]:
                self.call("collection.remove", name=collection["name"])
        else:
            shutil.rmtree(self.folder / "data", ignore_errors=True)
            self.config.unlink(missing_ok=True)
        for each in self.folder.iterdir():
            if each not in (self.socket, self.config.parent, self.database.parent, self.folder / "cache"):
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        self.notes.mkdir()

    def place(self, models: Path) -> None:
        """Give the daemon earlier measurements of models (from the fixture `measured_models`)."""
        shutil.copytree(models, self.folder / "cache" / "models", dirs_exist_ok=True)

    def run(self, *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        if arguments[:1] == ("init",) and not (self.chooses_models or self._names_models()):
            arguments = ("init", "--preset", "none", *arguments[1:])
        variables, folder = self.environment | environment, cwd or self.folder
        if self.forks and forked.is_possible(variables):
            done = forked.run(arguments, variables, folder, _TIMEOUT_S)
        else:
            done = self._run(arguments, variables, folder)
        done.stderr = without_waiting(done.stderr)
        return done

    def _run(
        self, arguments: tuple[str, ...], variables: dict[str, str], folder: Path
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gnoctl", *arguments],
            env=variables,
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_S,
            stdin=subprocess.DEVNULL,
        )

    def _names_models(self) -> bool:
        return self.config.exists() and "models:" in self.config.read_text()

    def ok(self, *arguments: str) -> str:
        """Run gnoctl, expect success, return its standard output."""
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *arguments: str) -> Any:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        done = self.run(*arguments[:end], "--json", *arguments[end:])
        assert done.returncode in (0, 1), (arguments, done.returncode, done.stdout, done.stderr)  # 1: no hits
        return json.loads(done.stdout)

    def paths(self, *arguments: str) -> list[str]:
        """Search and return the paths of the hits."""
        return [hit["path"] for hit in self.json("search", *arguments)["hits"]]

    def pid(self) -> int:
        return int(self.answer("daemon.status")["result"]["pid"])

    def kill(self) -> None:
        """Kill the daemon and wait until its process has ended."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid))

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.settimeout(60)
            client.connect(str(self.socket))
        except BaseException:
            client.close()
            raise
        return client

    def answer(self, method: str, **params: object) -> Any:
        """Send one request over a new connection, and return the answer, which may be an error."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        with self.connect() as client, client.makefile("rb") as stream:
            client.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(stream.readline())

    def call(self, method: str, **params: object) -> Any:
        """Return the result of one request over a persistent connection."""
        if self._client is None:
            self._client = self.connect()
            self._client.settimeout(150)
            leftovers.share(self._client)
            self._stream = self._client.makefile("rb")
        try:
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            self._client.sendall(json.dumps(request).encode() + b"\n")
            line = self._stream.readline()
        except OSError:
            line = b""
        if not line:
            self.hang_up()
            raise ConnectionError(f"the daemon did not answer {method}")
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def hang_up(self) -> None:
        """Close the connection; the next call opens another."""
        if self._client is not None:
            self._stream.close()
            self._client.close()
            self._client = None

    def start(self, *below: str) -> None:
        """Start the daemon, under another program (`setpriv …`) if given, and wait until it serves."""
        if self.forks and not below:
            self.ok("daemon", "start")
            return
        self._foreground.append(
            subprocess.Popen(
                [*below, sys.executable, "-m", "gnod"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        wait_until(self.is_serving)

    def is_serving(self) -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(str(self.socket)) == 0

    def quiet(self, timeout_s: float = 90.0) -> Any:
        """Wait until the index equals the disk; return the status. Each status makes the daemon check the disk."""
        deadline = time.monotonic() + timeout_s
        while True:
            status = self.call("index.status", errors=True)
            if not (status["syncing"] or status["freshness"]["pending"]):
                return status
            assert time.monotonic() < deadline, status
            time.sleep(0.05)

    def end(self) -> None:
        """Stop the daemon. Fails if the daemon or another process of this machine does not end."""
        self.hang_up()
        if not _PROCESSES.is_dir():
            self.run("daemon", "stop")
        for pid in self.processes("gnod"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        for process in self._foreground:
            process.terminate()
        try:
            wait_until(lambda: not any(map(alive, self.processes())))
        except AssertionError:
            left = self.processes()
            commands = [(_PROCESSES / str(pid) / "cmdline").read_bytes() for pid in left]
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"processes did not end: {commands}") from None
        finally:
            for process in self._foreground:
                process.wait(60)

    def processes(self, module: str = "") -> list[int]:
        """Return the processes of this machine; if `module` is given, only those that run it."""
        mine, forked_name = f"GNO_SOCKET={self.socket}".encode(), forked.name(str(self.socket))
        found = []
        for process in _PROCESSES.glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mine in (process / "environ").read_bytes().split(b"\0"):
                    command = (process / "cmdline").read_bytes().split(b"\0")
                    if not module or module.encode() in command:
                        found.append(int(process.name))
                elif module in ("", "gnod") and (process / "comm").read_text().strip() == forked_name:
                    found.append(int(process.name))
        return found

    def log(self, lines: int) -> str:
        """Return the end of the daemon's log. The log may be on a file system that only the daemon has mounted."""
        path = str(self.folder / "data" / "logs" / "gnod-default.log")
        for pid in self.processes("gnod"):
            with contextlib.suppress(OSError):
                return "".join(Path(f"/proc/{pid}/root{path}").read_text().splitlines(keepends=True)[-lines:])
        return "".join(Path(path).read_text().splitlines(keepends=True)[-lines:])


@contextlib.contextmanager
def temporary_machine() -> Iterator[Machine]:
    with Machine.in_temporary_folder() as machine:
        yield machine


def connected(path: Path, timeout_s: float = 60.0) -> socket.socket:
    """Connect as soon as a process listens. The file exists a moment earlier, and stays if its owner is killed."""
    client = socket.socket(socket.AF_UNIX)
    try:
        client.settimeout(timeout_s)
        wait_until(lambda: client.connect_ex(str(path)) == 0, timeout_s)
    except BaseException:
        client.close()
        raise
    return client


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    process = Path(f"/proc/{pid}")
    try:
        state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        threads = len(list((process / "task").iterdir()))
    except OSError:
        return not Path("/proc/self").exists()  # the process has just ended, or this is not Linux
    # A zombie keeps its socket until its other threads have ended.
    return state != "Z" or threads > 1


def wait_until(condition: Any, timeout_s: float = 60.0) -> None:
    """Check the condition less and less often, down to ten times a second. If a check takes long (it may start a
    process), wait longer, to leave the processor to the daemon."""
    deadline = time.monotonic() + timeout_s
    pause_s = 0.02
    asked_at = time.monotonic()
    while not condition():
        assert time.monotonic() < deadline, f"not true within {timeout_s:g} s"
        time.sleep(max(pause_s, 2 * (time.monotonic() - asked_at)))
        pause_s = min(1.3 * pause_s, 0.1)
        asked_at = time.monotonic()
