"""Declare the options of a command once, as a struct; parsing, help, completion and the docs derive from it.

    class LsOptions(Options, frozen=True, kw_only=True):
        scope: Annotated[str | None, argument("SCOPE", "…")] = None
        limit: Annotated[Limit, option("-n, --limit", "…")] = 100

A field is a flag (bool), takes a value (int, float, str, one of a Literal), or is repeatable (list[str]).
"""

from __future__ import annotations

import re
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
import msgspec.structs

from gnoctl.arguments.parser import Misused, Spec

S = TypeVar("S", bound=msgspec.Struct)

_FAULT = re.compile(r"(?:Expected `\w+` (?P<rule>.+)|Invalid enum value (?P<value>.+)) - at `\$\.(?P<name>\w+)")


def option(
    flags: str,
    help: str,
    metavar: str = "",
    *,
    complete: str | None = None,
    group: str = "Options",
    ge: float | None = None,
    le: float | None = None,
) -> msgspec.Meta:
    """Mark a field as an option.

    Args:
        flags: The flags as the user types them: "-n, --limit".
        help: A sentence. A default that is not empty is appended.
        metavar: The placeholder for the value in the help.
        complete: "collections", or the words that the shell offers, separated by |. A Literal offers its own.
        group: The heading in the help.
        ge, le: The minimum and the maximum. A field that may be None has them in a separate Meta.
    """
    return declared(Spec(tuple(flags.split(", ")) if flags else (), help, metavar, complete, group), ge=ge, le=le)


def argument(metavar: str, help: str, *, complete: str | None = None) -> msgspec.Meta:
    """Mark a field as positional; a list takes all remaining words."""
    return option("", help, metavar, complete=complete, group="Arguments")


def declared(spec: Spec, *, ge: float | None = None, le: float | None = None) -> msgspec.Meta:
    """Mark a field as an option that is declared elsewhere."""
    return msgspec.Meta(extra={"spec": spec}, ge=ge, le=le)


_METAVARS = {bool: "", int: "NUMBER", float: "NUMBER", str: "TEXT"}


def specs(options: type[msgspec.Struct]) -> list[Spec]:
    """Return the fields of `options` in the order of their declaration, the shared ones first."""
    return [_spec(field) for field in msgspec.structs.fields(options)]


def build(options: type[S], values: dict[str, Any]) -> S:
    """Return the struct with `values`, which have their types already. Raises Misused."""
    try:
        return msgspec.convert(values, options)
    except msgspec.ValidationError as error:
        raise _misused(str(error), specs(options)) from None


def _spec(field: msgspec.structs.FieldInfo) -> Spec:
    kind, spec = _unwrap(field.type)
    repeats = get_origin(kind) is list
    value_type = get_args(kind)[0] if repeats else kind
    if get_origin(value_type) is Literal:
        spec = spec._replace(complete="|".join(get_args(value_type)))
        value_type = str
    return spec._replace(
        help=spec.help + _stated(field.default, spec),
        name=field.name,
        kind=value_type,
        repeats=repeats,
        required=field.default is msgspec.NODEFAULT and field.default_factory is msgspec.NODEFAULT,
        metavar=spec.metavar or _METAVARS[value_type],
    )


def _stated(default: object, spec: Spec) -> str:
    """Return the note about a default for the help; "" if the default is empty or the text already mentions it."""
    if not spec.flags or not default or not isinstance(default, str | int | float) or "[default" in spec.help:
        return ""
    return f" [default: {default:g}]" if isinstance(default, float) else f" [default: {default}]"


def _unwrap(annotation: Any) -> tuple[Any, Spec]:
    """Return the bare type (`list[str]`, `int`) and the declaration in `Annotated[int | None, option(…)]`."""
    bare, *notes = get_args(annotation)
    while get_origin(bare) in (Annotated, Union, UnionType):
        bare = get_args(bare)[0]
    # typing folds a nested Annotated into the outer one: use the note that carries the declaration.
    return bare, next(note.extra["spec"] for note in notes if note.extra)


def _misused(message: str, declared: list[Spec]) -> Misused:
    """Turn msgspec's "Expected `int` >= 1 - at `$.limit`" into "--limit must be >= 1"."""
    match = _FAULT.match(message)
    assert match, message
    spec = next(spec for spec in declared if spec.name == match["name"])
    said = spec.flags[-1] if spec.flags else spec.metavar
    if match["value"]:
        *choices, last = (spec.complete or "").split("|")
        return Misused(f"{said} must be {', '.join(choices)} or {last}, not {match['value']}")
    return Misused(f"{said} must be {match['rule']}")
