"""The command `gnod`: serve one index in the foreground until a stop is requested.

It does not detach: `gnoctl`, systemd and launchd do that. The exit status is 0 whenever a stop was requested, even by a
signal. This is the normal end of a daemon, and systemd's `Restart=on-failure` and launchd's `SuccessfulExit` do not
start it again after 0. launchd has no other such status, so under launchd, errors that will occur again, and another
daemon of the same index, also give 0.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import NoReturn

import gnod
from gnod import paths
from gnod.errors import EXIT_RUNTIME, EXIT_VALIDATION, GnoError, IndexLocked

EXIT_INTERRUPTED = 130
LOG_LEVELS = ("debug", "info", "warning", "error")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["bench"] and len(words) == 2:
        return _bench(words[1])
    options = command_line().parse_args(words)
    try:
        return _serve(paths.resolve(options.index), options.log_level, options.on_demand)
    except GnoError as error:
        from gnod.daemon import notify
        from gnod.daemon.logs import LINES, printable

        print(f"gnod: {printable(error.message, keep=LINES)}", file=sys.stderr)
        return exit_status(error, notify.manager_of(os.environ))
    except KeyboardInterrupt:  # before the loop handles the signal
        return EXIT_INTERRUPTED


def exit_status(error: GnoError, manager: str | None) -> int:
    """Return the exit status for an error. launchd restarts a process unless it ends with 0. With a broken config, or
    while a daemon that gnoctl has started serves the index, it would restart gnod for ever."""
    ends = error.exit_status == EXIT_VALIDATION or isinstance(error, IndexLocked)
    return 0 if ends and manager == "launchd" else error.exit_status


class _DaemonParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with gnoctl's status for bad usage. The status of argparse, 2, would mean "try again"."""
        self.print_usage(sys.stderr)
        self.exit(EXIT_VALIDATION, f"gnod: {message}\n")


def command_line() -> argparse.ArgumentParser:
    parser = _DaemonParser(
        prog="gnod",
        description="Keep an index of your folders and answer searches over a Unix socket. gnoctl starts it.",
    )
    parser.add_argument("--index", metavar="NAME", help="the index to serve (default: $GNO_INDEX, else 'default')")
    parser.add_argument("--log-level", choices=LOG_LEVELS, help="default: daemon.log_level in index.yml, else info")
    parser.add_argument(
        "--on-demand", action="store_true", help="refuse to start if index.yml says `daemon: {autostart: false}`"
    )
    parser.add_argument("--version", action="version", version=f"gnod {gnod.__version__}")
    return parser


def _bench(request: str) -> int:
    """Run a measurement in this process, for `gnoctl bench`. Its exit status reports the result."""
    import signal

    from gnod.evaluate import command

    # SIGTERM must also delete the temporary index.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8")
    try:
        status = command.main(request, sys.stdout, sys.stderr)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`). Otherwise Python would flush again at exit, and print an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _serve(places: paths.IndexPaths, log_level: str | None, on_demand: bool) -> int:
    # Import these here, so that --help and a mistyped option do not need them.
    from gnod.daemon import process_settings

    process_settings.before_imports()
    import asyncio
    import logging

    from gnod.daemon import composition, logs, notify
    from gnod.daemon.lifecycle import serve
    from gnod.ingest.files.unreadable import refuse_downloads

    process_settings.after_imports()
    refuse_downloads()
    notifier = notify.from_environment()
    logs.configure(places.log_file, log_level or "info", sys.stderr if sys.stderr.isatty() else None)
    log = logging.getLogger("gnod")

    start = partial(composition.start, log_level=log_level, on_demand=on_demand)

    async def run() -> None:
        if not await serve(places, start, lambda: _announce(places), notifier):
            # The stop is forced, so do not wait for threads, as the end of asyncio.run would.
            logs.flush()
            os._exit(EXIT_RUNTIME)

    try:
        asyncio.run(run())
        return 0
    except IndexLocked as error:  # the log belongs to the running daemon
        notifier.failed(error.message)
        raise
    except GnoError as error:
        notifier.failed(error.message)
        log.error("daemon.failed", extra={"fields": {"kind": error.kind, "message": error.message}})
        raise
    except Exception:
        log.exception("daemon.failed")
        print(f"gnod: internal error; see {places.log_file}", file=sys.stderr)
        return EXIT_RUNTIME
    finally:
        logs.flush()


def _announce(places: paths.IndexPaths) -> None:
    with contextlib.suppress(OSError, ValueError):  # the output may be closed
        print(
            f"gnod {gnod.__version__} serving index '{places.index}' at {places.socket} (pid {os.getpid()}); "
            "Ctrl-C stops it",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
