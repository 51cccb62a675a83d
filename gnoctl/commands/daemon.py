"""`gnoctl daemon …` and `gnoctl socket`: the process, its log and its socket."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import msgspec

from gnoctl.arguments.options import option
from gnoctl.command import JsonOptions, Options, command, wait_until
from gnoctl.other_version import difference
from gnoctl.printing import text
from gnoctl.printing.output import note
from gnoctl.printing.terminal import DIM, RED, YELLOW, Terminal, columns
from gnoctl.printing.wording import count, duration, size
from gnoctl.service import check_running, start_installed
from gnod import __version__
from gnod.client.connection import Connection, check_place
from gnod.client.opening import START_TIMEOUT_S, connect_now, connect_running, gnoctl, socket_in_use, still_starting
from gnod.client.starting import lock_is_held
from gnod.client.starting import start as start_daemon
from gnod.errors import Busy, DaemonNotRunning, TimedOut, Unavailable, UsageError
from gnod.lock_holder import Holder, holder_of
from gnod.paths import IndexPaths, check_socket_path
from gnod.private import own_file
from gnod.protocol.base import NoParams
from gnod.protocol.daemon import DaemonRestartResult, DaemonShutdownResult, DaemonStatusResult

if TYPE_CHECKING:
    import psutil

# The daemon must report its state within this time. It needs no thread and no disk for that.
ANSWER_TIMEOUT_S = 2.0
STOP_TIMEOUT_S = 15.0
EXIT_TIMEOUT_S = 2.0
# With `--force`, the daemon has this long to end by itself, and then this long to end after it was killed.
GRACE_S = 5.0


@command("daemon start", JsonOptions)
def start(options: JsonOptions) -> None:
    """Start the daemon and wait until it answers.

    All other commands start it automatically. To run it in the foreground, use `gnod`.
    """
    places = options.places
    # Check before connecting: systemd starts the daemon when a client connects.
    verb = "is already running" if lock_is_held(places) else "started"
    try:
        connection = connect_running(places)
    except DaemonNotRunning:
        connection = start_installed(places) or start_daemon(places)
    status = _status(places, connection)
    options.show(status, f"gnod {verb} (pid {status.pid}) for index '{status.index}'")


def _status(places: IndexPaths, connection: Connection) -> DaemonStatusResult:
    with connection as daemon:
        try:
            return _asked(places, daemon, start_timeout_s=START_TIMEOUT_S)
        except Unavailable:
            if not daemon.is_lost:
                raise
    # A daemon that finds a damaged index closes its connections, replaces the index and starts again.
    with start_daemon(places) as daemon:
        return daemon.call("daemon.status", NoParams(), DaemonStatusResult)


def _asked(places: IndexPaths, daemon: Connection, *, start_timeout_s: float = ANSWER_TIMEOUT_S) -> DaemonStatusResult:
    """`start_timeout_s`: for a daemon that starts. Its service manager accepts connections before it does."""
    holder = holder_of(places.lock_file)
    timeout_s = ANSWER_TIMEOUT_S if holder and holder.socket else start_timeout_s
    try:
        return daemon.call("daemon.status", NoParams(), DaemonStatusResult, timeout_s=timeout_s)
    except (TimedOut, Busy) as error:
        holder = holder_of(places.lock_file) or Holder()
        if holder.socket is None and isinstance(error, TimedOut):
            raise still_starting(places, holder) from None
        reason = "does not answer" if isinstance(error, TimedOut) else f"is busy ({error.message})"
        raise TimedOut(
            f"gnod (pid {holder.pid}) {reason}: wait, or end it with `{gnoctl(places)} daemon stop --force`",
            {"pid": holder.pid},
        ) from None


class StopOptions(JsonOptions, frozen=True, kw_only=True):
    force: Annotated[bool, option("--force", "End it even if it does not answer, after 5 s by killing it")] = False


@command("daemon stop", StopOptions)
def stop(options: StopOptions) -> None:
    """Stop the daemon and wait until it has ended.

    Nothing is lost: interrupted indexing continues at the next start.
    """
    pid, manager = _stopped(options)
    line = f"stopped gnod (pid {pid}) for index '{options.places.index}'"
    options.show({"stopped": True, "pid": pid}, line)
    if manager == "systemd":
        options.note("systemd starts it again when a client connects; `gnoctl service uninstall` ends that")


class RestartOptions(StopOptions, frozen=True, kw_only=True):
    when_idle: Annotated[
        bool, option("--when-idle", "After an upgrade: wait until no request would be lost, then replace it")
    ] = False


@command("daemon restart", RestartOptions)
def restart(options: RestartOptions) -> None:
    """Stop the daemon if it is running, and start it.

    With --when-idle, the installed gnod takes its place as soon as the requests in flight have been answered. Clients
    that connect meanwhile wait, and indexing continues afterwards. Ctrl-C cancels the restart.
    """
    if options.force and options.when_idle:
        raise UsageError("--force does not wait: use it without --when-idle")
    with suppress(DaemonNotRunning):
        if options.when_idle:
            _replace(options)
            return
        _stopped(options)
    start(options)


def _replace(options: RestartOptions) -> None:
    places = options.places
    check_running(places)
    with connect_running(places) as daemon, options.progress() as progress:
        before = holder_of(places.lock_file)
        daemon.call("daemon.restart", NoParams(), DaemonRestartResult, on_progress=progress)

    def serves() -> bool:
        """The daemon holds the lock all the time, and writes to its file when it starts and when it serves."""
        now = holder_of(places.lock_file)
        return now is None or (now.socket is not None and now != before)

    if not wait_until(serves, START_TIMEOUT_S):
        raise still_starting(places, holder_of(places.lock_file) or Holder())
    status = _status(places, connect_running(places))
    options.show(status, f"gnod {text.line(status.version)} runs (pid {status.pid}) for index '{status.index}'")
    if status.version != __version__:
        options.note(difference(status.version))


def _stopped(options: StopOptions) -> tuple[int, str | None]:
    """Stop the daemon. Return its process id, and its service manager if it reported one."""
    if not options.force:
        status = stop_daemon(options.places)
        return status.pid, status.manager
    return _end_daemon(options.places), None


def _end_daemon(places: IndexPaths) -> int:
    """End the process that holds the index's lock, without a request to it. Return its process id.

    Its workers end with it. Raises DaemonNotRunning, or Unavailable if the process cannot be ended from here.
    """
    import psutil  # takes 10 ms

    holder = holder_of(places.lock_file)
    if holder is None:
        raise DaemonNotRunning(f"gnod is not running for index '{places.index}', so there is nothing to end")
    process = _process_of(places, holder)
    with suppress(psutil.NoSuchProcess):
        process.terminate()
        process.send_signal(signal.SIGCONT)  # a process that was stopped (SIGSTOP) can then end in order
    if not _is_free(places, process.pid):
        with suppress(psutil.NoSuchProcess):
            process.kill()
        if not _is_free(places, process.pid):
            raise Unavailable(
                f"gnod (pid {process.pid}) was killed and has not ended: it waits for a disk that does not answer",
                {"pid": process.pid},
            )
    return process.pid


def _process_of(places: IndexPaths, holder: Holder) -> psutil.Process:
    """Return the process that has the lock file open; the pid in the file alone proves nothing. If another process gets
    the same pid later, psutil does not signal it."""
    import psutil

    with suppress(psutil.Error, OSError):
        process = psutil.Process(holder.pid)
        if any(Path(file.path).samefile(places.lock_file) for file in process.open_files()):
            return process
    raise Unavailable(
        f"gnod holds the index, but its process cannot be found from here (pid {holder.pid}): it may run in a container"
        " or as another user; end it there"
    )


def _is_free(places: IndexPaths, pid: int) -> bool:
    """Wait until the process does not hold the lock any more; a service manager may have started another one."""

    def is_let_go() -> bool:
        holder = holder_of(places.lock_file)
        return holder is None or holder.pid not in (0, pid)

    return wait_until(is_let_go, GRACE_S)


@command("daemon status", JsonOptions)
def status(options: JsonOptions) -> None:
    """Show whether the daemon is running, and its memory and workers.

    Never starts the daemon. The exit status is 3 if it is not running.
    """
    check_running(options.places)
    with connect_running(options.places, timeout_s=ANSWER_TIMEOUT_S) as daemon:
        result = _asked(options.places, daemon)
    options.show(result, _describe(result, options))


def _describe(result: DaemonStatusResult, options: JsonOptions) -> Iterator[str]:
    yield f"gnod {text.line(result.version)} is running for index '{text.line(result.index)}'"
    facts = {
        "pid": str(result.pid) + (f", a service of {result.manager}" if result.manager else ""),
        "up": duration(result.uptime_s),
        "memory": size(result.resident_bytes),
        "served": f"{count(result.requests, 'request')}, {count(result.connections, 'open connection')}",
        "socket": result.socket,
        "log": result.log_file,
        "SQLite": result.sqlite_version,
    }
    for name, value in facts.items():
        yield f"  {name:<7} {text.line(value)}"
    if result.workers:
        yield ""
        rows = [
            [str(worker.pid), worker.state, size(worker.resident_bytes), str(worker.jobs)] for worker in result.workers
        ]
        yield from columns(["worker", "state", "memory", "jobs"], rows, options.terminal)
    if result.version != __version__:
        options.note(difference(result.version))


def stop_daemon(places: IndexPaths) -> DaemonStatusResult:
    """Return the last status of the process that has ended. Raises DaemonNotRunning, or TimedOut if it stays."""
    check_running(places)
    with connect_running(places) as daemon:
        status = _asked(places, daemon, start_timeout_s=STOP_TIMEOUT_S)
        try:
            daemon.call("daemon.shutdown", NoParams(), DaemonShutdownResult, timeout_s=STOP_TIMEOUT_S)
        except TimedOut:
            raise
        except Unavailable:
            pass  # another client has stopped it
    # A service manager continues to listen, and a connection would start the daemon again.
    _wait_until_ended(places, status.pid, closes_socket=status.manager is None)
    return status


def _wait_until_ended(places: IndexPaths, pid: int, *, closes_socket: bool) -> None:
    if not wait_until(lambda: not (lock_is_held(places) or (closes_socket and _listens(places))), STOP_TIMEOUT_S):
        raise TimedOut(
            f"gnod (pid {pid}) has not ended within {STOP_TIMEOUT_S:g} s: end it with"
            f" `{gnoctl(places)} daemon stop --force`",
            {"pid": pid},
        )
    # Its log is still open, which keeps a drive from being unmounted. A dead process may keep its id for long.
    wait_until(lambda: not _exists(pid), EXIT_TIMEOUT_S)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _listens(places: IndexPaths) -> bool:
    try:
        connect_now(places).close()
    except DaemonNotRunning:
        return False
    return True


@command("socket", Options)
def socket(options: Options) -> None:
    """Print the path of the socket where the daemon listens, or will listen: for editors and agents.

    The daemon speaks JSON-RPC 2.0 there: one message per line, or messages with Content-Length headers.

    Example:
      echo '{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}' | nc -U "$(gnoctl socket)"
    """
    check_socket_path(options.places.socket)
    path = socket_in_use(options.places)
    check_place(str(path))  # editors connect without gnoctl
    print(path)


LOG_POLL_S = 0.25

_COLOURS = {"debug": DIM, "warning": YELLOW, "error": RED, "critical": RED}


class LogsOptions(JsonOptions, frozen=True, kw_only=True):
    lines: Annotated[int, option("-n, --lines", "Show this many lines", ge=0)] = 50
    follow: Annotated[bool, option("-f, --follow", "Show new lines as they are written")] = False


@command("daemon logs", LogsOptions)
def logs(options: LogsOptions) -> None:
    """Show the daemon's log.

    Examples:
      gnoctl daemon logs -n 200
      gnoctl daemon logs -f
    """
    log = options.places.log_file
    terminal = options.terminal
    if not log.exists() and not options.follow:
        note(f"gnod has not written a log for index '{options.places.index}' yet ({log})")
        return
    lines = _follow(log, options.lines) if options.follow else tail(log, options.lines)
    for line in lines:
        print(text.line(line) if options.json else pretty(line, terminal))
        if options.follow:
            sys.stdout.flush()


def pretty(line: str, terminal: Terminal) -> str:
    """Return a JSON line as `time level event key=value`, with a traceback below; any other line unchanged."""
    try:
        record = msgspec.json.decode(line, type=dict[str, object])
    except msgspec.DecodeError:
        return text.line(line)
    level = str(record.pop("level", ""))
    trace = record.pop("traceback", None)
    record.pop("logger", None)
    when, event = _local(str(record.pop("ts", ""))), str(record.pop("event", ""))
    fields = "".join(f" {name}={value}" for name, value in record.items())
    colour = _COLOURS.get(level)
    padded = f"{text.line(level):<7}"
    parts = [
        terminal.line(when, DIM),
        terminal.paint(padded, colour) if colour else padded,
        text.line(event) + terminal.line(fields, DIM),
    ]
    return " ".join(parts) + (f"\n{text.block(str(trace))}" if trace else "")


def _local(timestamp: str) -> str:
    try:
        return datetime.fromisoformat(timestamp).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except ValueError:
        return timestamp


def tail(log: Path, count: int) -> list[str]:
    with _opened(log) as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=count)]


def _opened(log: Path) -> TextIO:
    return open(own_file(log, os.O_RDONLY), encoding="utf-8", errors="replace")  # noqa: PTH123


def _follow(log: Path, count: int) -> Iterator[str]:
    """Yield the last lines and then each new one, across rotations, until Ctrl-C."""
    while not log.exists():
        time.sleep(LOG_POLL_S)
    file = _opened(log)
    yield from (line.rstrip("\n") for line in deque(file, maxlen=count))
    unfinished = ""
    while True:
        unfinished += file.readline()
        if unfinished.endswith("\n"):
            yield unfinished.rstrip("\n")
            unfinished = ""
        elif _was_rotated(log, file.fileno()):
            file.close()
            file = _opened(log)
        else:
            time.sleep(LOG_POLL_S)


def _was_rotated(log: Path, descriptor: int) -> bool:
    try:
        return log.stat().st_ino != os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False  # this may happen during a rotation: the new file will appear
