"""The commands as a typer application, for the Tab key. Made from the declarations; no command runs here."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.main import get_command

from gnoctl.arguments.help import summary
from gnoctl.arguments.options import specs
from gnoctl.arguments.parser import Spec
from gnoctl.command import Options
from gnoctl.commands import ALIASES, GROUPS, NAMES, load


def complete() -> None:
    """Print the completions, and exit. The shell passes the words in the environment."""
    completion_init()
    get_command(create()).main(prog_name="gnoctl")


def create() -> typer.Typer:
    app = typer.Typer(add_completion=False)
    app.callback()(_taking(specs(Options)))
    groups = {"": app}
    for group, about in GROUPS.items():
        groups[group] = typer.Typer(invoke_without_command=group in NAMES)
        app.add_typer(groups[group], name=group, help=about)
    for name in [*NAMES, *ALIASES]:
        declared = specs(load(ALIASES.get(name, name)).options)
        if name in GROUPS:  # this command has subcommands: `gnoctl mcp`, `gnoctl mcp install`
            groups[name].callback()(_taking(declared))
        else:
            group, _, verb = name.rpartition(" ")
            register = groups[group].command(verb, help=summary(ALIASES.get(name, name)), hidden=name in ALIASES)
            register(_taking(declared))
    return app


def _taking(declared: list[Spec]) -> Callable[..., None]:
    """Return a function with the parameters that typer reads."""

    def run(**_: Any) -> None:
        raise AssertionError("this application only completes")

    parameters = [*map(_parameter, declared)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _parameter(spec: Spec) -> inspect.Parameter:
    kind: Any = list[str] if spec.repeats else bool if spec.kind is bool else str
    more: dict[str, Any] = {"help": spec.help, "metavar": spec.metavar}
    if spec.complete:
        more["autocompletion"] = _completer(spec.complete)
    declaration = typer.Option(*spec.flags, **more) if spec.flags else typer.Argument(**more)
    default = inspect.Parameter.empty if spec.required else False if spec.kind is bool else None
    if default is None:
        kind = kind | None
    return inspect.Parameter(
        spec.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declaration]
    )


def _completer(complete: str) -> Callable[[str], list[str]]:
    def candidates(incomplete: str) -> list[str]:
        words = _collection_names() if complete == "collections" else complete.split("|")
        return [word for word in words if word.startswith(incomplete)]

    return candidates


def _collection_names() -> list[str]:
    """Ask a running daemon; never start one, because the user waits for the Tab key."""
    from gnod.client.opening import connect_now
    from gnod.errors import GnoError
    from gnod.paths import resolve
    from gnod.protocol.base import NoParams
    from gnod.protocol.collections import CollectionListResult

    try:
        with connect_now(resolve()) as daemon:
            listed = daemon.call("collection.list", NoParams(), CollectionListResult, timeout_s=0.5)
    except (GnoError, OSError):
        return []
    return [*(collection.name for collection in listed.collections), *(each.name for each in listed.attached)]
