"""The same commands as a typer application: for completion, and to explain a faulty command line.

Made from the options structs like the fast parser, and like it only parses: no command runs here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.main import get_command

from gnoctl.arguments.fastparse import command_name
from gnoctl.arguments.help import summary
from gnoctl.arguments.options import Spec, build, specs
from gnoctl.command import SHARED, Command, Options, Parsed
from gnoctl.commands import ALIASES, GROUPS, NAMES, load
from gnod import __version__
from gnod.errors import UsageError


def parse(words: list[str]) -> Parsed | int:
    """Return the command and its options, or the exit status after --version. Raises UsageError."""
    completion_init()
    try:
        parsed = get_command(create(command_name(words))).main(args=words, prog_name="gnoctl", standalone_mode=False)
    except Exception as error:
        if (usage := _usage_error(error, words)) is None:
            raise
        raise usage from None
    return parsed if isinstance(parsed, tuple) else 0


def create(only: str | None = None) -> typer.Typer:
    """Return the application with all commands, or with one and those below it: a third of the time."""
    app = typer.Typer(add_completion=False)
    shared: dict[str, Any] = {}
    app.callback()(_root_callback(shared))
    groups = {"": app}
    for name in NAMES:
        if only is None or name == only or name.startswith(f"{only} "):
            _add(groups, name, load(name), shared)
    for alias, name in ALIASES.items():
        if only in (None, name):
            _add(groups, alias, load(name), shared, hidden=True)
    return app


def _add(
    groups: dict[str, typer.Typer], name: str, command: Command[Any], shared: dict[str, Any], *, hidden: bool = False
) -> None:
    declared = specs(command.options)

    def run(**values: Any) -> Parsed:
        return command, build(command.options, {**shared, **_given(values, declared)})

    def run_group(**values: Any) -> Parsed:
        shared.update(_given(values, declared))
        return command, build(command.options, shared)

    if name in GROUPS:  # this command has others below it: `gnoctl mcp`, `gnoctl mcp install`
        assert {spec.name for spec in declared} == SHARED, "the commands below it must take its options"
        groups[name] = typer.Typer(invoke_without_command=True)
        groups[name].callback()(_with_signature(run_group, declared))
        groups[""].add_typer(groups[name], name=name, help=summary(name))
        return
    group, _, verb = name.rpartition(" ")
    if group not in groups:
        groups[group] = typer.Typer()
        groups[""].add_typer(groups[group], name=group, help=summary(group))
    groups[group].command(verb, help=summary(ALIASES.get(name, name)), hidden=hidden)(_with_signature(run, declared))


def _root_callback(shared: dict[str, Any]) -> Callable[..., None]:
    def callback(version: bool, **values: Any) -> None:  # noqa: ARG001
        shared.update(_given(values, declared))

    declared = specs(Options)
    version = typer.Option("--version", help="Print the version", is_eager=True, callback=_print_version)
    option = inspect.Parameter(
        "version", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, version]
    )
    return _with_signature(callback, declared, option)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"gnoctl {__version__}")
        raise typer.Exit


def _given(values: dict[str, Any], declared: list[Spec]) -> dict[str, Any]:
    """Return what the command line gives, with the types of the struct. Raises UsageError."""
    by_name = {spec.name: spec for spec in declared}
    return {
        name: value if spec.repeats or spec.kind is bool else _converted(value, spec)
        for name, value in values.items()
        if value is not None and value is not False and value != [] and (spec := by_name[name])
    }


def _converted(value: str, spec: Spec) -> str | int | float:
    try:
        return spec.kind(value)
    except ValueError:
        noun = "a whole number" if spec.kind is int else "a number"
        raise UsageError(f"{spec.flags[-1]} takes {noun}, not {value!r}") from None


def _with_signature(function: Callable[..., Any], declared: list[Spec], *more: inspect.Parameter) -> Callable[..., Any]:
    """Give `function` the parameters that typer reads; it takes them all as keywords."""
    parameters = [*map(_parameter, declared), *more]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


def _parameter(spec: Spec) -> inspect.Parameter:
    # Numbers are converted in _given, because the text of typer's own error message changes with its version.
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


def _usage_error(error: Exception, words: list[str]) -> UsageError | None:
    """Translate click's exceptions.

    They are recognised by their attributes: newer releases of typer contain a copy of click, older ones use click.
    """
    format_message = getattr(error, "format_message", None)
    if format_message is None:
        return None
    context = getattr(error, "ctx", None)
    path = context.command_path if context else f"gnoctl {command_name(words) or ''}".rstrip()
    sentence = _sentence(format_message())
    separator = " " if sentence.endswith("?") else "; "
    return UsageError(f"{sentence}{separator}see `{path} --help`{_hint(error)}")


def _sentence(message: str) -> str:
    message = " ".join(message.split()).rstrip(".")
    return message[:1].lower() + message[1:]


def _hint(error: Exception) -> str:
    option = getattr(error, "option_name", "")
    if type(error).__name__ == "NoSuchOption" and not option.startswith("--"):
        return ". To exclude a word, quote the query: gnoctl search 'rust -async'"
    return ""
