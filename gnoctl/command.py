"""Common parts of all commands: their shared options, one call of the daemon, and the output of its answer.

@command("index why", WhyOptions)
def why(options: WhyOptions) -> None:
    \"\"\"Explain why a file is or is not in the index.\"\"\"
    result = options.call("index.why", IndexWhyParams(path=options.path), IndexWhyResult)
    options.show(result, _lines(result))
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec

from gnoctl.arguments.options import declared, option
from gnoctl.arguments.plain_search_options import JSON
from gnoctl.other_version import note_once
from gnoctl.printing.output import note, print_json
from gnoctl.printing.terminal import Terminal, detect
from gnod.client.connection import Connection
from gnod.client.opening import connect_or_start, gnoctl
from gnod.lock_holder import holder_of
from gnod.paths import IndexPaths, resolve
from gnod.protocol.base import Params, Result

if TYPE_CHECKING:
    from gnoctl.printing.progress import CallProgress

R = TypeVar("R", bound=Result)

GLOBAL_GROUP = "Global options"
_POLL_S = 0.03


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The options that every command accepts, before or after its name."""

    index: Annotated[
        str | None, option("--index", "Use this index [default: $GNO_INDEX, or default]", "NAME", group=GLOBAL_GROUP)
    ] = None
    no_start: Annotated[
        bool, option("--no-start", "Do not start the daemon [also: GNO_NO_AUTOSTART=1]", group=GLOBAL_GROUP)
    ] = False
    no_color: Annotated[bool, option("--no-color", "Do not use colours [also: NO_COLOR=1]", group=GLOBAL_GROUP)] = False
    quiet: Annotated[bool, option("-q, --quiet", "Do not print progress and notes", group=GLOBAL_GROUP)] = False

    @property
    def places(self) -> IndexPaths:
        return resolve(self.index)

    @property
    def terminal(self) -> Terminal:
        return detect(no_color=self.no_color)

    @property
    def may_start(self) -> bool:
        """Return whether a program that runs for long may start the daemon."""
        return not (self.no_start or os.environ.get("GNO_NO_AUTOSTART"))

    def connect(self) -> Connection:
        """Return a connection to the daemon; start the daemon if it is not running and may be started."""
        places = self.places
        on_started, on_wait = (None, None) if self.quiet else (announce_start, partial(announce_wait, places))
        connection = connect_or_start(places, may_start=not self.no_start, on_started=on_started, on_wait=on_wait)
        if not self.quiet:
            note_once(places.index)
        return connection

    def progress(self, *, quiet: bool = False) -> CallProgress:
        """Return a progress bar for `Connection.call(on_progress=…)`, to be used as a context manager."""
        from gnoctl.printing.progress import CallProgress

        return CallProgress(quiet=self.quiet or quiet, no_color=self.no_color)

    def call(self, method: str, params: Params, result: type[R], *, shows_progress: bool = False) -> R:
        """Call one method on a separate connection."""
        with self.connect() as daemon:
            if not shows_progress:
                return daemon.call(method, params, result)
            with self.progress() as progress:
                return daemon.call(method, params, result, on_progress=progress)

    def note(self, message: str) -> None:
        """Print a message that is not part of the answer to standard error, unless --quiet is given."""
        note(message, quiet=self.quiet)


class JsonOptions(Options, frozen=True, kw_only=True):
    json: Annotated[bool, declared(JSON)] = False

    def show(self, result: object, lines: str | Iterable[str]) -> None:
        """Print `result` as JSON if --json is given, otherwise `lines`, which may call `note` between them."""
        if self.json:
            print_json(result)
        else:
            for line in [lines] if isinstance(lines, str) else lines:
                print(line)


O = TypeVar("O", bound=Options)  # noqa: E741
Run = Callable[[O], int | None]


class Command(NamedTuple, Generic[O]):
    """One command. `run` returns the exit status (None: 0); its docstring is the help."""

    options: type[O]
    run: Run[O]

    @property
    def help(self) -> str:
        """The first line is the summary; an indented paragraph is an example."""
        from inspect import cleandoc

        return cleandoc(self.run.__doc__ or "")


COMMANDS: dict[str, Command[Any]] = {}
"""The commands of the modules that are imported. `gnoctl.commands.load` imports one."""

Parsed = tuple[Command[Any], Options]


def command(name: str, options: type[O]) -> Callable[[Run[O]], Run[O]]:
    """Register the function as the command `name`."""

    def register(run: Run[O]) -> Run[O]:
        COMMANDS[name] = Command(options, run)
        return run

    return register


def wait_until(is_done: Callable[[], object], timeout_s: float) -> bool:
    """Return whether `is_done` returned true in time."""
    deadline = time.monotonic() + timeout_s
    while not is_done():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def announce_start(places: IndexPaths, pid: int) -> None:
    """Tell the user that a daemon runs now, and how to stop it."""
    stop = f"{gnoctl(places)} daemon stop"
    note(f"started gnod (pid {pid}) for index '{places.index}'; it keeps running: `{stop}` stops it")


def announce_wait(places: IndexPaths) -> None:
    holder = holder_of(places.lock_file)
    note(f"waiting for gnod (pid {holder.pid if holder else 'unknown'}) …")
