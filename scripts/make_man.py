"""Write the man pages to FOLDER/man/ and the completion scripts to FOLDER/completions/: `make man`.

Their source is the help of the commands. A page describes a command, or a group with its commands. SOURCE_DATE_EPOCH is
the date of the pages, if it is set.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from typer.completion import get_completion_script  # type: ignore[attr-defined]

from gnoctl.arguments.command_line import VERSION
from gnoctl.arguments.help import GROUP_ORDER, START, SUMMARY, split_help, summary, usage
from gnoctl.arguments.options import specs
from gnoctl.arguments.parser import Spec
from gnoctl.command import Options
from gnoctl.commands import NAMES, PANELS, load
from gnoctl.commands.integration.completion import VARIABLE
from gnod import __version__
from gnod.__main__ import command_line

COMPLETIONS = {"bash": "gnoctl", "zsh": "_gnoctl", "fish": "gnoctl.fish"}


def main() -> int:
    folder = Path(sys.argv[1])
    for name, lines in man_pages().items():
        _write(folder / "man" / f"{name}.1", "\n".join([_title(name), *lines]))
    for shell, file in COMPLETIONS.items():
        _write(folder / "completions" / shell / file, completion_script(shell))
    return 0


def man_pages() -> dict[str, list[str]]:
    """Return the pages by name, each without its title."""
    groups: dict[str, list[str]] = {}
    for name in NAMES:
        groups.setdefault(name.partition(" ")[0], []).append(name)
    commands = {f"gnoctl-{group}": _command_page(group, names) for group, names in groups.items()}
    return {"gnod": _daemon_page(), "gnoctl": _overview(), **commands}


def completion_script(shell: str) -> str:
    script = get_completion_script(prog_name="gnoctl", complete_var=VARIABLE, shell=shell)
    # Zsh loads the script at the first Tab, and expects it to complete immediately.
    return f'{script}\n[[ $funcstack[1] == _gnoctl ]] && _gnoctl_completion "$@"' if shell == "zsh" else script


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", encoding="utf-8")


def _title(name: str) -> str:
    made = time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH", time.time())))
    return f'.TH {name.upper()} 1 {time.strftime("%Y-%m-%d", made)} "gnod {__version__}"'


def _overview() -> list[str]:
    lines = [*_head("gnoctl", "search your notes, documentation and papers"), ".B gnoctl"]
    lines += ["[OPTIONS] COMMAND", ".SH DESCRIPTION", _text(SUMMARY), *map(_text, START.split("\n"))]
    for panel, names in PANELS.items():
        lines.append(f".SH {panel.upper()}")
        for group in dict.fromkeys(name.partition(" ")[0] for name in names):
            lines += [".TP", f".BR gnoctl\\-{_text(group)} (1)", _text(summary(group))]
    return [*lines, ".SH OPTIONS", *_options([*specs(Options), VERSION]), *_see_also(["gnod"])]


def _command_page(group: str, names: list[str]) -> list[str]:
    usages = [f".B {_text(usage(name, specs(load(name).options)))}" for name in names]
    lines = [*_head(f"gnoctl-{group}", summary(group)), "\n.br\n".join(usages)]
    for name in names:
        lines += [".SH DESCRIPTION" if len(names) == 1 else f".SH GNOCTL {_text(name.upper())}", *_command(name)]
    return [*lines, *_see_also(["gnoctl"])]


def _command(name: str) -> Iterator[str]:
    for place, (prose, examples) in enumerate(split_help(load(name).help)):
        yield from (".PP", _text(prose)) if place else (_text(prose),)
        yield from (".PP", ".EX", *map(_text, examples), ".EE") if examples else ()
    declared = [spec for spec in specs(load(name).options) if spec.name not in Options.__struct_fields__]
    for group in GROUP_ORDER:
        chosen = [spec for spec in declared if spec.group == group]
        yield from (f".SS {group}", *_options(chosen)) if chosen else ()


def _daemon_page() -> list[str]:
    daemon = command_line()
    lines = [*_head("gnod", "keep an index of your folders"), ".B gnod", "[OPTIONS]", ".SH DESCRIPTION"]
    lines += [_text(daemon.description or ""), ".SH OPTIONS"]
    for action in daemon._actions:
        value = str(action.metavar or "|".join(action.choices or ()))
        lines += _options([Spec(tuple(action.option_strings), action.help or "", value)])
    return [*lines, *_see_also(["gnoctl"])]


def _head(name: str, summary: str) -> list[str]:
    return [".SH NAME", f"{_text(name)} \\- {_text(summary)}", ".SH SYNOPSIS"]


def _options(declared: Iterable[Spec]) -> Iterator[str]:
    for spec in declared:
        flags = ", ".join(f"\\fB{_text(flag)}\\fR" for flag in spec.flags)
        yield from (".TP", f"{flags} {_text(spec.metavar)}".strip(), _text(spec.help))


def _see_also(names: list[str]) -> list[str]:
    return [".SH SEE ALSO", *(f".BR {name} (1)" for name in names)]


def _text(text: str) -> str:
    """Escape text for a separate line: roff interprets a point or quote at its start, backslashes, and plain
    hyphens."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    bold = re.sub(r"`([^`]+)`", r"\\fB\1\\fR", escaped)
    return re.sub(r"^(?=[.'])", r"\\&", bold)


if __name__ == "__main__":
    sys.exit(main())
