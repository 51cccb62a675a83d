"""`gnoctl` and the daemon as separate processes, forked from processes that already have their imports. Starting Python
takes nine tenths of the time of a daemon's start, and a fork avoids it.

A fork gets arguments, environment, folder and outputs like a new process, and runs the same entry point. Variables that
Python reads only at its start have no effect on a fork: see `is_possible`. `ps` and `/proc` show a forked daemon with
the command and the environment of its parent, so it gets a name: see `name`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NoReturn

from tests import leftovers

_READ_AT_START = ("PYTHON", "LC_", "LANG")
_READ_LATER = "PYTHON_KEYRING_BACKEND"
_lock = threading.Lock()
# The connection to the forking process, once it exists. That process ends with this one.
_connections: list[socket.socket] = []


def is_possible(environment: Mapping[str, str]) -> bool:
    """Return whether a fork would behave like a new process with this environment."""
    return sys.platform == "linux" and _at_start(environment) == _at_start(os.environ)


def run(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """Run gnoctl like `subprocess.run`, with captured text and without input. Raises TimeoutExpired."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with _lock:
            process = _Forked(_connection(), arguments, environment, str(folder), out, err)
        try:
            status = process.wait(timeout_s)
        except TimeoutError:
            os.kill(process.pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), timeout_s) from None
        finally:
            process.close()
        return subprocess.CompletedProcess(list(arguments), status, _text(out), _text(err))


def name(path: str) -> str:
    """Return the name in `/proc/PID/comm` of a forked daemon with this socket."""
    return f"gnod-{hashlib.sha256(path.encode()).hexdigest()[:10]}"


class _Forked:
    """A process that another process forks on request. The parent waits for it, and reports its status."""

    def __init__(
        self,
        forking: socket.socket,
        arguments: Sequence[str],
        environment: Mapping[str, str],
        folder: str,
        out: IO[bytes],
        err: IO[bytes],
    ) -> None:
        self._connection, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(forking, [b"+"], [theirs.fileno(), out.fileno(), err.fileno()])
        self._lines = self._connection.makefile("rb", buffering=0)
        self._connection.sendall(json.dumps([list(arguments), dict(environment), folder]).encode() + b"\n")
        self.pid = int(self._lines.readline())

    def wait(self, timeout_s: float) -> int:
        """Return the status. Raises TimeoutError."""
        self._connection.settimeout(timeout_s)
        return int(self._lines.readline())

    def is_running(self) -> bool:
        return not select.select([self._connection], [], [], 0)[0]

    def close(self) -> None:
        self._lines.close()
        self._connection.close()


class _Daemon:
    """The part of `subprocess.Popen` that `gnod.client.starting` uses."""

    def __init__(
        self, forking: socket.socket, command: Sequence[str], *, stdout: IO[bytes], env: Mapping[str, str], **_: object
    ) -> None:
        assert list(command[:4]) == [sys.executable, "-P", "-m", "gnod"], command
        self._process = _Forked(forking, command[4:], env, "/", stdout, stdout)
        self.pid = self._process.pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None and not self._process.is_running():
            self.returncode = self._process.wait(1)
        return self.returncode


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value for name, value in environment.items() if name.startswith(_READ_AT_START) and name != _READ_LATER
    }


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _connection() -> socket.socket:
    if not _connections:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.forked"]
        # Machines find their processes by these variables, which a test may also have set for its own process.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GNO")}
        with theirs:
            process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, env=environment)
        process.returncode = 0  # no code waits for it, because it ends with this process
        leftovers.share(ours)
        leftovers.share_process(process.pid)
        atexit.register(ours.close)
        _connections.append(ours)
    return _connections[0]


def _main() -> None:
    """Fork gnoctl on request, and from another process the daemons that gnoctl starts."""
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no code waits for `_report`
    daemons, theirs = socket.socketpair()
    if os.fork() == 0:
        requests.close()
        daemons.close()
        _serve(theirs, _import_gnod, _run_gnod)
    theirs.close()
    _serve(requests, _import_gnoctl, functools.partial(_run_gnoctl, daemons))


def _serve(requests: socket.socket, prepare: Callable[[], None], entry: Callable[[], None]) -> NoReturn:
    """Fork for each request, until the last sender has closed its connection."""
    is_prepared = False
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, 1, 3)
        if not request:
            os._exit(0)
        if not is_prepared:
            prepare()
            gc.freeze()
            is_prepared = True
        if os.fork() == 0:
            requests.close()
            _report(entry, *descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _report(entry: Callable[[], None], connection: int, out: int, err: int) -> NoReturn:
    """Run the entry point in a fork, and report its process id and its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = socket.socket(fileno=connection)
    arguments, environment, folder = json.loads(request.makefile("rb").readline())
    if (pid := os.fork()) == 0:
        request.close()
        _run(entry, arguments, environment, folder, out, err)
    os.close(out)
    os.close(err)
    request.sendall(b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):  # the command that started the daemon has already ended
        request.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _run(
    entry: Callable[[], None], arguments: list[str], environment: dict[str, str], folder: str, out: int, err: int
) -> NoReturn:
    for stream, descriptor in enumerate((out, err), 1):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv[1:] = arguments
    try:
        entry()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    os._exit(1)


def _import_gnoctl() -> None:
    import gnod.client.starting  # noqa: F401


def _run_gnoctl(daemons: socket.socket) -> None:
    from gnoctl.__main__ import main
    from gnod.client import starting

    class Subprocess:
        """Replaces the module `subprocess`."""

        DEVNULL = subprocess.DEVNULL
        Popen = functools.partial(_Daemon, daemons)

    replaced: Any = starting
    replaced.subprocess = Subprocess
    sys.argv[0] = "gnoctl"
    main()


def _import_gnod() -> None:
    import gnod.daemon.composition
    import gnod.daemon.lifecycle
    import gnod.daemon.notify
    import gnod.daemon.process_settings  # noqa: F401


def _run_gnod() -> None:
    from gnod.__main__ import main

    os.setsid()
    os.closerange(3, 256)
    Path("/proc/self/comm").write_text(name(os.environ["GNO_SOCKET"]))
    sys.argv[0] = "gnod"
    status = main()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    _main()
