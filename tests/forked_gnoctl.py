"""`gnoctl` as a process of its own, forked from one that has its imports: Python is not started for each command.

A fork gets arguments, environment, folder and outputs as a new process does, and runs the same entry point. What Python
reads from the environment when it starts cannot be given to a fork: see `is_possible`.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NoReturn

from tests import leftovers

_READ_AT_START = ("PYTHON", "LC_", "LANG")
_lock = threading.Lock()
# The connection to the process that forks, as soon as there is one. It ends when this one does.
_connections: list[socket.socket] = []


def is_possible(environment: Mapping[str, str]) -> bool:
    """Tell whether a fork would be like a new process with this environment."""
    return sys.platform == "linux" and _at_start(environment) == _at_start(os.environ)


def run(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, timeout_s: float
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run`, with captured text and without input. Raises TimeoutExpired."""
    ours, theirs = socket.socketpair()
    with ours, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with theirs, _lock:
            socket.send_fds(_connection(), [b"+"], [theirs.fileno(), out.fileno(), err.fileno()])
        ours.settimeout(timeout_s)
        with ours.makefile("rwb") as stream:
            stream.write(json.dumps([list(arguments), dict(environment), str(folder)]).encode() + b"\n")
            stream.flush()
            pid = int(stream.readline())
            try:
                status = int(stream.readline())
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout_s) from None
        return subprocess.CompletedProcess(list(arguments), status, _text(out), _text(err))


def _at_start(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_START)}


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _connection() -> socket.socket:
    if not _connections:
        ours, theirs = socket.socketpair()
        command = [sys.executable, "-m", "tests.forked_gnoctl"]
        with theirs:
            process = subprocess.Popen(command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL)
        process.returncode = 0  # nobody waits for it: it ends with this process
        leftovers.share(ours)
        leftovers.share_process(process.pid)
        _connections.append(ours)
    return _connections[0]


def _serve() -> None:
    """Fork for each request, until the tests end."""
    import gnoctl.__main__
    import gnoctl.fastparse
    import gnoctl.output
    import gnoctl.quick  # noqa: F401

    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for `_report`
    gc.freeze()
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, 1, 3)
        if not request:
            os._exit(0)
        if os.fork() == 0:
            requests.close()
            _report(*descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _report(connection: int, out: int, err: int) -> NoReturn:
    """Run the command in a fork, and tell its process and its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    request = socket.socket(fileno=connection)
    arguments, environment, folder = json.loads(request.makefile("rb").readline())
    if (pid := os.fork()) == 0:
        request.close()
        _run(arguments, environment, folder, out, err)
    request.sendall(b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    request.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _run(arguments: list[str], environment: dict[str, str], folder: str, out: int, err: int) -> NoReturn:
    from gnoctl.__main__ import main

    for stream, descriptor in enumerate((out, err), 1):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["gnoctl", *arguments]
    try:
        main()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    _serve()
