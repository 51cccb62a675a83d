"""Real processes: `gnoctl` as a user runs it, and the daemon that it starts, in throw-away folders."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


class Machine:
    """A user's machine with nothing on it."""

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
        self._client: socket.socket | None = None
        self._foreground: list[subprocess.Popen[bytes]] = []

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            path = self.notes / name.replace("__", "/").replace("_md", ".md")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def run(self, *arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gnoctl", *arguments],
            env=self.environment | environment,
            cwd=cwd or self.folder,
            capture_output=True,
            text=True,
            timeout=150,
            stdin=subprocess.DEVNULL,
        )

    def ok(self, *arguments: str) -> str:
        """Run gnoctl, expect success, return what it printed."""
        done = self.run(*arguments)
        assert done.returncode == 0, (arguments, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def json(self, *arguments: str) -> Any:
        end = arguments.index("--") if "--" in arguments else len(arguments)
        return json.loads(self.ok(*arguments[:end], "--json", *arguments[end:]))

    def paths(self, *arguments: str) -> list[str]:
        """Run a search and return the paths found."""
        return [hit["path"] for hit in self.json("search", *arguments)["hits"]]

    def pid(self) -> int:
        return int(self.json("daemon", "status")["pid"])

    def kill(self) -> None:
        """End the daemon as a crash would, and wait until it is gone."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid))

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
        client.connect(str(self.socket))
        return client

    def call(self, method: str, **params: object) -> Any:
        """Return the result of one request, over a connection that stays open."""
        if self._client is None:
            self._client = self.connect()
            self._client.settimeout(150)
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
        """Close that connection; the next call opens another."""
        if self._client is not None:
            self._stream.close()
            self._client.close()
            self._client = None

    def start(self, *below: str) -> None:
        """Start the daemon below another program (`setpriv …`), and wait until it serves."""
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
        """Wait until status, which looks at the disk, finds the index equal to it; return the status."""
        deadline = time.monotonic() + timeout_s
        while True:
            status = self.call("index.status", errors=True)
            if not (status["syncing"] or status["freshness"]["pending"]):
                return status
            assert time.monotonic() < deadline, status
            time.sleep(0.05)

    def end(self) -> None:
        """Stop the daemon, however it was started."""
        self.hang_up()
        for process in self._foreground:
            process.terminate()
            process.wait(20)
        if not self._foreground:
            self.run("daemon", "stop")

    def log(self, lines: int) -> str:
        """Return the end of the daemon's log, as it sees it: its data may be on a file system of its own."""
        path = str(self.folder / "data" / "logs" / "gnod-default.log")
        mine = f"GNO_SOCKET={self.socket}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mine in (process / "environ").read_bytes() and b"gnod" in (process / "cmdline").read_bytes():
                    return "".join(Path(f"{process}/root{path}").read_text().splitlines(keepends=True)[-lines:])
        return "".join(Path(path).read_text().splitlines(keepends=True)[-lines:])


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
        return not Path("/proc/self").exists()  # gone in this moment, or no Linux
    # A zombie whose other threads still end keeps its socket until they have.
    return state != "Z" or threads > 1


def wait_until(condition: Any, timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show what the daemon has logged when a test fails that has one."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    machine = getattr(item, "funcargs", {}).get("machine")
    if report.failed and isinstance(machine, Machine):
        with contextlib.suppress(OSError):
            report.sections.append(("the daemon's log", machine.log(80)))


@pytest.fixture
def machine(short_tmp: Path) -> Iterator[Machine]:
    machine = Machine(short_tmp)
    yield machine
    machine.end()


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """One machine with a few notes and a running daemon, for tests that change nothing."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="gnod-", dir="/tmp") as folder:
        machine = Machine(Path(folder))
        machine.write(
            deploy_md="---\ntags: [ops]\n---\n# Deployment\n\nTo deploy to production, run node.js v1.2.3.\n",
            d__cpp_md="# Languages\n\nC++ and C# and snake_case.\n",
            umlaut_md="# Städte\n\nMünchen hat viele Häuser.\n",
        )
        (machine.notes / "empty.md").write_text("")
        (machine.notes / "broken.pdf").write_bytes(b"%PDF-1.4 and then nothing")
        machine.ok("init", str(machine.notes), "--name", "notes")
        yield machine
        machine.end()
