"""How a command declares its options: once, as a struct, read by the fast parser, by typer and by the help.

    class LsOptions(Options, frozen=True, kw_only=True):
        scope: Annotated[str | None, argument("SCOPE", help="…")] = None
        limit: Annotated[Limit, option("-n", "--limit", help="…")] = 100

A field is a flag (bool), takes a value (int, float, str), or is repeatable (list[str]).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
import msgspec.structs

from gnod.errors import UsageError

S = TypeVar("S", bound=msgspec.Struct)


def option(
    *flags: str,
    help: str,
    metavar: str | None = None,
    complete: str | None = None,
    group: str = "Options",
    ge: float | None = None,
    le: float | None = None,
) -> msgspec.Meta:
    """Mark a field as an option. `complete`: "collections", or the words that the shell offers, separated by |.
    `group`: the heading in the help. `ge`, `le`: the least and the greatest number (of a field
    that may be None, its own Meta has them)."""
    extra = {"flags": flags, "metavar": metavar, "complete": complete, "group": group}
    return msgspec.Meta(description=help, extra=extra, ge=ge, le=le)


def argument(metavar: str, *, help: str, complete: str | None = None) -> msgspec.Meta:
    """Mark a field as positional; a list takes all remaining words."""
    return option(help=help, metavar=metavar, complete=complete, group="Arguments")


class Spec(NamedTuple):
    """One field of an options struct, as a parser needs it. `flags` is empty for a positional."""

    name: str
    flags: tuple[str, ...]
    kind: type[bool] | type[int] | type[float] | type[str]
    repeats: bool
    required: bool
    help: str
    metavar: str
    complete: str | None
    group: str


_METAVARS = {bool: "", int: "NUMBER", float: "NUMBER", str: "TEXT"}


def specs(options: type[msgspec.Struct]) -> list[Spec]:
    """Return the fields of `options` in the order of their declaration, the shared ones first."""
    return [_spec(field) for field in msgspec.structs.fields(options)]


def build(options: type[S], values: dict[str, Any]) -> S:
    """Return the struct with `values`, which have their types already. Raises UsageError."""
    try:
        return msgspec.convert(values, options)
    except msgspec.ValidationError as error:
        raise UsageError(_sentence(str(error), options)) from None


def _spec(field: msgspec.structs.FieldInfo) -> Spec:
    kind, meta = _unwrap(field.type)
    repeats = get_origin(kind) is list
    extra = meta.extra or {}
    value_type = get_args(kind)[0] if repeats else kind
    return Spec(
        name=field.name,
        flags=extra["flags"],
        kind=value_type,
        repeats=repeats,
        required=field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT,
        help=meta.description or "",
        metavar=extra["metavar"] or _METAVARS[value_type],
        complete=extra["complete"],
        group=extra["group"],
    )


def _unwrap(annotation: Any) -> tuple[Any, msgspec.Meta]:
    """Return the bare type (`list[str]`, `int`) and the note with the flags of `Annotated[int | None, note]`."""
    bare, *notes = get_args(annotation)
    while (origin := get_origin(bare)) is not None and origin is not list:
        members = get_args(bare)
        if origin is Annotated or origin is Union:
            bare = members[0]
        else:  # X | None
            bare = next(member for member in members if member is not type(None))
    # typing folds a nested Annotated into the outer one: ours is the note that carries the flags.
    return bare, next(note for note in notes if note.extra)


def _sentence(message: str, options: type[msgspec.Struct]) -> str:
    """Turn msgspec's "Expected `int` >= 1 - at `$.limit`" into "--limit must be >= 1"."""
    match = re.match(r"Expected `\w+` (?P<rule>.+) - at `\$\.(?P<name>\w+)", message)
    if not match:
        return message
    spec = next(spec for spec in specs(options) if spec.name == match["name"])
    return f"{spec.flags[-1] if spec.flags else spec.metavar} must be {match['rule']}"
