"""How a command declares what it accepts: once, as a struct, read by the fast parser and by typer.

    class LsOptions(Options, frozen=True, kw_only=True):
        scope: Annotated[str | None, argument("SCOPE", help="…")] = None
        limit: Annotated[Limit, option("-n", "--limit", help="…")] = 100

A field is a flag (bool), takes a value (int, float, str), or is repeatable (list[str]). Ranges are msgspec's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
import msgspec.structs

from gnoctl.terminal import Terminal, detect
from gnod.client.connection import Connection, connect_or_start
from gnod.errors import UsageError
from gnod.paths import Places, resolve


def option(*flags: str, help: str, metavar: str | None = None, complete: str | None = None) -> msgspec.Meta:
    """Mark a field as an option. `complete`: "collections", or the words that the shell offers."""
    return msgspec.Meta(description=help, extra={"flags": flags, "metavar": metavar, "complete": complete})


def argument(metavar: str, *, help: str, complete: str | None = None) -> msgspec.Meta:
    """Mark a field as positional; a list takes every word that is left."""
    return option(help=help, metavar=metavar, complete=complete)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What every command accepts, before or after its name."""

    index: Annotated[
        str | None,
        option("--index", metavar="NAME", help="Index to use (default: $GNO_INDEX, else 'default')."),
    ] = None
    no_start: Annotated[
        bool,
        option("--no-start", help="Do not start the daemon when it is not running (also GNO_NO_AUTOSTART=1)."),
    ] = False
    no_color: Annotated[bool, option("--no-color", help="No colours (also NO_COLOR=1).")] = False
    quiet: Annotated[bool, option("-q", "--quiet", help="No progress and no notes.")] = False

    @property
    def places(self) -> Places:
        return resolve(self.index)

    @property
    def terminal(self) -> Terminal:
        """Standard output, as far as drawing on it goes."""
        return detect(no_color=self.no_color)

    def connect(self) -> Connection:
        """Return a connection to the daemon; start it when it is not running and that is allowed."""
        announced = None if self.quiet else announce_start
        return connect_or_start(self.places, may_start=not self.no_start, on_started=announced)


class JsonOptions(Options, frozen=True, kw_only=True):
    json: Annotated[bool, option("--json", help="Print the daemon's answer as JSON.")] = False


O = TypeVar("O", bound=Options)  # noqa: E741


class Command(NamedTuple, Generic[O]):
    """One command. `run` returns the exit status; None is 0. `help`: the first line is the summary."""

    options: type[O]
    run: Callable[[O], int | None]
    help: str


def announce_start(places: Places, pid: int) -> None:
    """Say that there is a daemon now, and how to end it."""
    from gnoctl.failures import note

    gnoctl = "gnoctl" if places.index == "default" else f"gnoctl --index {places.index}"
    note(f"started gnod (pid {pid}) for index '{places.index}'; it keeps running: `{gnoctl} daemon stop` ends it")


Parsed = tuple[Command[Any], Options]


class Spec(NamedTuple):
    """One field of an options struct, as a parser needs it. `flags` is empty for a positional."""

    name: str
    flags: tuple[str, ...]
    kind: type[bool] | type[int] | type[float] | type[str]
    repeats: bool
    required: bool
    default: object
    help: str
    metavar: str | None
    complete: str | None


def specs(options: type[Options]) -> list[Spec]:
    """Return the fields of `options` in the order of their declaration, the shared ones first."""
    return [_spec(field) for field in msgspec.structs.fields(options)]


SHARED = frozenset(Options.__struct_fields__)


def build(options: type[O], values: dict[str, Any]) -> O:
    """Return the struct with `values`, which have their types already. Raises UsageError."""
    try:
        return msgspec.convert(values, options)
    except msgspec.ValidationError as error:
        raise UsageError(_sentence(str(error), options)) from None


def _spec(field: msgspec.structs.FieldInfo) -> Spec:
    kind, meta = _unwrap(field.type)
    repeats = get_origin(kind) is list
    required = field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT
    extra = meta.extra or {}
    return Spec(
        name=field.name,
        flags=extra["flags"],
        kind=get_args(kind)[0] if repeats else kind,
        repeats=repeats,
        required=required,
        default=None if required or field.default is msgspec.NODEFAULT else field.default,
        help=meta.description or "",
        metavar=extra["metavar"],
        complete=extra["complete"],
    )


def _unwrap(annotation: Any) -> tuple[Any, msgspec.Meta]:
    """Return the bare type (`list[str]`, `int`) and the outermost note of `Annotated[int | None, note]`."""
    bare, *notes = get_args(annotation)
    while (origin := get_origin(bare)) is not None and origin is not list:
        members = get_args(bare)
        if origin is Annotated or origin is Union:
            bare = members[0]
        else:  # X | None
            bare = next(member for member in members if member is not type(None))
    # typing folds a nested Annotated into the outer one: ours is the note that carries the flags.
    return bare, next(note for note in notes if note.extra)


def _sentence(message: str, options: type[Options]) -> str:
    """Turn msgspec's "Expected `int` >= 1 - at `$.limit`" into "--limit must be >= 1"."""
    match = re.match(r"Expected `\w+` (?P<rule>.+) - at `\$\.(?P<name>\w+)", message)
    if not match:
        return message
    spec = next(spec for spec in specs(options) if spec.name == match["name"])
    return f"{spec.flags[-1] if spec.flags else spec.metavar} must be {match['rule']}"
