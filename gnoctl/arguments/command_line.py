"""Read a whole command line: the global options, the name of the command, and its own options."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any, NoReturn

from gnoctl.arguments.options import build, specs
from gnoctl.arguments.parser import Misused, Spec, did_you_mean, parse, scan
from gnoctl.command import GLOBAL_GROUP, Options, Parsed
from gnoctl.commands import ALIASES, GROUPS, NAMES, load, longest_name
from gnod.errors import UsageError

HELP = Spec(("-h", "--help"), "Print help", "", group=GLOBAL_GROUP, name="help", kind=bool)
VERSION = Spec(("--version",), "Print the version", "", group=GLOBAL_GROUP, name="version", kind=bool)


def begin(words: list[str]) -> tuple[dict[str, Any], str | None, list[str]]:
    """Read the words up to the name of the command. Return the values of the options, the name of the command if there
    is one, and the words after it. Raises UsageError."""
    place = "gnoctl"
    try:
        values, rest = scan(words, [*specs(Options), VERSION], stop_at_word=True)
        if rest and rest[0] in GROUPS and longest_name(rest) in (None, rest[0]):
            # Options may also be between a group and its verb.
            place = f"gnoctl {rest[0]}"
            # A group that is also a command has its own options, which are read later.
            with suppress(Misused) if rest[0] in NAMES else nullcontext():
                more, verb = scan(rest[1:], specs(Options), stop_at_word=True)
                if longest_name([rest[0], *verb]) != rest[0]:
                    values, rest = values | more, [rest[0], *verb]
    except Misused as error:
        _explain(error, place)
    name = longest_name(rest)
    return values, name, rest[len(name.split()) :] if name else rest


def read(words: list[str]) -> Parsed:
    """Return the command and its options. Raises UsageError."""
    values, name, rest = begin(words)
    if name is None:
        _refuse_name(rest)
    command = load(name)
    try:
        return command, build(command.options, values | parse(rest, specs(command.options)))
    except Misused as error:
        _explain(error, f"gnoctl {name}")


def _refuse_name(rest: list[str]) -> NoReturn:
    group = f"{rest.pop(0)} " if rest and rest[0] in GROUPS else ""
    place = f"gnoctl {group}".rstrip()
    if not rest:
        _explain(Misused("a command is missing"), place)
    names = [name.removeprefix(group) for name in [*NAMES, *ALIASES] if name.startswith(group)]
    known = names if group else {name.partition(" ")[0] for name in names}
    _explain(Misused(f"there is no command {group}{rest[0]}", did_you_mean(rest[0], sorted(known))), place)


def _explain(error: Misused, command: str) -> NoReturn:
    hint = f". {error.hint}" if error.hint else ""
    raise UsageError(f"{error}; see `{command} --help`{hint}") from None
