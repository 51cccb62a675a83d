"""The text of `--help`, made from the declarations of the commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gnoctl.arguments.command_line import HELP, VERSION, begin
from gnoctl.arguments.options import specs
from gnoctl.arguments.parser import Spec
from gnoctl.arguments.plain_search_options import FILTERS
from gnoctl.command import GLOBAL_GROUP, Options
from gnoctl.commands import GROUPS, PANELS, load
from gnoctl.printing import text
from gnoctl.printing.terminal import BOLD, GREEN, Terminal, detect
from gnod import __version__
from gnod.errors import EXIT_RUNTIME

SUMMARY = "Search your notes, documentation and papers. Everything stays on this machine."
START = """Start with `gnoctl init FOLDER`, then `gnoctl search WORDS`. The daemon starts automatically.
`gnoctl help COMMAND` explains a command.
Exit status: 0 found, 1 nothing found, 2 error."""

MAX_WIDTH = 100
# The text of a longer flag begins on the next line.
MAX_FLAG_WIDTH = 30

GROUP_ORDER = ("Arguments", "Options", FILTERS, "Output", GLOBAL_GROUP)


def show(words: list[str]) -> int | None:
    """Print the help or the version if `words` ask for it, or the help for an incomplete command.

    Return the exit status; None if the words are something else. Raises UsageError.
    """
    before = words[: words.index("--")] if "--" in words else words
    values, name, rest = begin([word for word in before if word not in HELP.flags])
    asked = any(word in HELP.flags for word in before)
    terminal = detect(no_color="--no-color" in words)
    if "version" in values:
        lines = iter([f"gnoctl {__version__}"])
    elif asked and name:
        lines = of_command(name, terminal)
    elif name is None and rest[:1] and rest[0] in GROUPS and (asked or len(rest) == 1):
        lines = of_group(rest[0], terminal)
    elif not rest and not name:
        lines = overview(terminal)
    else:
        return None
    for line in lines:
        print(line)
    return 0 if asked or "version" in values else EXIT_RUNTIME


def overview(terminal: Terminal) -> Iterator[str]:
    yield from (SUMMARY, "", f"{terminal.paint('Usage:', BOLD)} gnoctl [OPTIONS] COMMAND", "")
    for panel, names in PANELS.items():
        heads = dict.fromkeys(name.partition(" ")[0] for name in names)
        yield from _section(panel, [(f"{name:<10}", summary(name)) for name in heads], terminal)
    yield from _options([*specs(Options), VERSION], terminal)
    yield START


def of_group(group: str, terminal: Terminal) -> Iterator[str]:
    yield from (GROUPS[group], "", f"{terminal.paint('Usage:', BOLD)} gnoctl {group} COMMAND", "")
    yield from _commands(group, terminal)
    yield f"`gnoctl help {group} COMMAND` explains a command."


def of_command(name: str, terminal: Terminal) -> Iterator[str]:
    declared = specs(load(name).options)
    (first, _), *paragraphs = split_help(load(name).help)
    yield from (first, "", f"{terminal.paint('Usage:', BOLD)} {usage(name, declared)}", "")
    for prose, examples in paragraphs:
        yield from _wrapped(prose, _width(terminal))
        yield from examples
        yield ""
    if name in GROUPS:
        yield from _commands(name, terminal)
    yield from _options(declared, terminal)


def split_help(help: str) -> list[tuple[str, list[str]]]:
    """Return the paragraphs of a command's help: prose on one line, and the indented lines below it."""
    paragraphs = []
    for paragraph in help.split("\n\n"):
        lines = paragraph.split("\n")
        prose = " ".join(line for line in lines if not line.startswith(" "))
        paragraphs.append((prose, [line for line in lines if line.startswith(" ")]))
    return paragraphs


def usage(name: str, declared: list[Spec]) -> str:
    """Return the usage line, such as `gnoctl get [OPTIONS] REF`."""
    words = ["gnoctl", name, "[OPTIONS]"]
    for spec in declared:
        if not spec.flags:
            words.append(_placeholder(spec) if spec.required else f"[{_placeholder(spec)}]")
    return " ".join(words)


def summary(name: str) -> str:
    """Return the summary of a command or group, for a list."""
    return (GROUPS[name] if name in GROUPS else split_help(load(name).help)[0][0]).rstrip(".")


def _placeholder(spec: Spec) -> str:
    return f"{spec.metavar}{'...' if spec.repeats else ''}"


def _commands(group: str, terminal: Terminal) -> Iterator[str]:
    names = [name for names in PANELS.values() for name in names if name.startswith(f"{group} ")]
    rows = [(name.removeprefix(f"{group} "), summary(name)) for name in names]
    yield from _section("Commands", rows, terminal)


def _options(declared: list[Spec], terminal: Terminal) -> Iterator[str]:
    for group in GROUP_ORDER:
        rows = [(_flags(spec), spec.help) for spec in [*declared, HELP] if spec.group == group]
        if rows:
            yield from _section(group, rows, terminal)


def _flags(spec: Spec) -> str:
    if not spec.flags:
        return _placeholder(spec)
    indent = "    " if spec.flags[0].startswith("--") else ""
    return f"{indent}{', '.join(spec.flags)} {spec.metavar}".rstrip()


def _section(title: str, rows: Iterable[tuple[str, str]], terminal: Terminal) -> Iterator[str]:
    """Yield a title, two columns, and an empty line."""
    rows = list(rows)
    yield terminal.paint(f"{title}:", BOLD)
    column = max(len(head) for head, _ in rows if len(head) <= MAX_FLAG_WIDTH)
    indent = " " * (column + 4)
    for head, body in rows:
        first, *more = _wrapped(body, _width(terminal) - len(indent))
        shown = f"  {terminal.paint(head, GREEN)}"
        if len(head) > column:
            yield shown
            shown = " " * (column + 2)
        else:
            shown += " " * (column - len(head))
        yield f"{shown}  {first}"
        yield from (indent + line for line in more)
    yield ""


def _wrapped(prose: str, width: int) -> list[str]:
    return [prose[start:end] for start, end in text.wrap(prose, max(20, width))]


def _width(terminal: Terminal) -> int:
    return min(terminal.width or MAX_WIDTH, MAX_WIDTH)
