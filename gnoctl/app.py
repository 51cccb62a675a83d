"""The same commands as a typer application: help, completion, and the words for a faulty command line.

Made from the options structs, like the fast parser, and like it parses only: nothing runs in here.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.main import get_command

from gnoctl.commands import ALIASES, GROUPS, PANELS, load
from gnoctl.fastparse import command_name
from gnoctl.options import SHARED, Command, Options, Parsed, Spec, build, specs
from gnod import __version__
from gnod.errors import EXIT_VALIDATION, UsageError

HELP = """Search your notes, documentation and papers, all on this machine.

Begin with `gnoctl init FOLDER`, then `gnoctl search WORDS`. The daemon starts by itself."""

_METAVARS = {bool: "", int: "NUMBER", float: "NUMBER", str: "TEXT"}
_SETTINGS = {"help_option_names": ["-h", "--help"]}


def parse(words: list[str]) -> Parsed | int:
    """Return the command and its options, or the exit status when help was printed. Raises UsageError."""
    if "--no-color" in words:
        os.environ["NO_COLOR"] = "1"  # the only way to tell rich, which draws the help
    completion_init()
    try:
        parsed = get_command(create(command_name(words))).main(args=words, prog_name="gnoctl", standalone_mode=False)
    except Exception as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            print(str(error).strip())  # nothing, where typer has printed the help already
            return EXIT_VALIDATION
        if (usage := _usage_error(error, words)) is None:
            raise
        raise usage from None
    return parsed if isinstance(parsed, tuple) else 0


def create(only: str | None = None) -> typer.Typer:
    """Return the application with every command in it, or with the one that is meant: a third of the time."""
    app = typer.Typer(add_completion=False, no_args_is_help=True, context_settings=_SETTINGS, help=HELP)
    shared: dict[str, Any] = {}
    app.callback()(_root_callback(shared))
    groups: dict[str, typer.Typer] = {}
    for panel, names in PANELS.items():
        for name in names:
            if only is not None and name != only and not name.startswith(f"{only} "):
                continue
            if name in GROUPS:
                groups[name] = _group_that_runs(name, shared)
                app.add_typer(groups[name], name=name, rich_help_panel=panel)
                continue
            group, _, verb = name.rpartition(" ")
            if group and group not in groups:
                groups[group] = typer.Typer(
                    no_args_is_help=True,
                    context_settings=_SETTINGS,
                    help=GROUPS[group],
                    rich_help_panel=panel,
                )
                app.add_typer(groups[group], name=group, rich_help_panel=panel)
            _add(groups.get(group, app), verb, load(name), shared, panel=None if group else panel)
    for alias, name in ALIASES.items():
        if only in (None, name):
            group, _, verb = alias.rpartition(" ")
            _add(groups[group], verb, load(name), shared, hidden=True)
    return app


def _add(
    app: typer.Typer,
    verb: str,
    command: Command[Any],
    shared: dict[str, Any],
    *,
    panel: str | None = None,
    hidden: bool = False,
) -> None:
    def callback(**values: Any) -> Parsed:
        return command, build(command.options, {**shared, **_given(values, declared)})

    declared = specs(command.options)
    register = app.command(
        verb, help=_escape(command.help), context_settings=_SETTINGS, rich_help_panel=panel, hidden=hidden
    )
    register(_with_signature(callback, declared))


def _group_that_runs(name: str, shared: dict[str, Any]) -> typer.Typer:
    """Return a command that has others below it: `gnoctl mcp`, `gnoctl mcp install`."""

    def callback(**values: Any) -> Parsed:
        shared.update(_given(values, declared))
        return command, build(command.options, shared)

    command = load(name)
    declared = specs(command.options)
    assert {spec.name for spec in declared} == SHARED, "what it takes, the commands below it take as well"
    group = typer.Typer(invoke_without_command=True, context_settings=_SETTINGS, help=_escape(command.help))
    group.callback()(_with_signature(callback, declared))
    return group


def _root_callback(shared: dict[str, Any]) -> Callable[..., None]:
    def callback(version: bool, **values: Any) -> None:  # noqa: ARG001
        shared.update(_given(values, declared))

    declared = specs(Options)
    version = typer.Option("--version", metavar="", help="Print the version.", is_eager=True, callback=_print_version)
    option = inspect.Parameter(
        "version", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, version]
    )
    return _with_signature(callback, declared, option)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"gnoctl {__version__}")
        raise typer.Exit


def _given(values: dict[str, Any], declared: list[Spec]) -> dict[str, Any]:
    """Return what was on the command line, as the types of the struct. Raises UsageError."""
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
    # Numbers are converted here: the words of typer's own complaint about one change with its version.
    kind: Any = list[str] if spec.repeats else bool if spec.kind is bool else str
    metavar = spec.metavar or _METAVARS[spec.kind]
    about: dict[str, Any] = {"help": _escape(spec.help), "metavar": metavar, "show_default": False}
    if spec.complete == "collections":
        about["autocompletion"] = _collection_names
    elif spec.complete:
        about["autocompletion"] = _completer(spec.complete.split("|"))
    if spec.flags:
        if spec.name in SHARED:
            about["rich_help_panel"] = "Options of every command"
        declaration = typer.Option(*spec.flags, **about)
    else:
        declaration = typer.Argument(**about)
    default = inspect.Parameter.empty if spec.required else False if spec.kind is bool else None
    if default is None:
        kind = kind | None
    return inspect.Parameter(
        spec.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, declaration]
    )


def _collection_names(incomplete: str) -> list[str]:
    """Ask a running daemon, and never start one: the user is waiting for the Tab key."""
    from gnod.client.connection import connect
    from gnod.errors import GnoError
    from gnod.paths import resolve
    from gnod.protocol.params import NoParams
    from gnod.protocol.results import CollectionListResult

    try:
        with connect(resolve()) as daemon:
            listed = daemon.call("collection.list", NoParams(), CollectionListResult, timeout_s=0.5)
    except (GnoError, OSError):
        return []
    return _starting([each.name for each in listed.collections], incomplete)


def _completer(words: list[str]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return _starting(words, incomplete)

    return complete


def _starting(words: list[str], incomplete: str) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def _escape(help_text: str) -> str:
    """Join the lines of each paragraph, but for examples; keep `[PATH]` from being read as rich markup."""
    paragraphs = help_text.strip().split("\n\n")
    joined = (each if each.startswith(" ") else " ".join(each.split("\n")) for each in paragraphs)
    return "\n\n".join(joined).replace("[", "\\[")


def _usage_error(error: Exception, words: list[str]) -> UsageError | None:
    """Translate click's exceptions.

    Recognised by what they can do: newer releases of typer bring their own copy of click, older ones use
    the real one.
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
        return ". To search without a word, quote the query: gnoctl search 'rust -async'"
    return ""
