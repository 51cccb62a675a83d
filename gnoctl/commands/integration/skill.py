"""`gnoctl skill install` and `gnoctl skill remove`: tell agents when to search, how to cite, and what to remember."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from gnoctl.agents import skill
from gnoctl.arguments.options import option
from gnoctl.command import Options, command
from gnoctl.printing import text
from gnoctl.printing.output import note
from gnod.errors import EXIT_RUNTIME, Refused

_DONE = {"created": "wrote", "changed": "updated", "unchanged": "already there:"}


class SkillOptions(Options, frozen=True, kw_only=True):
    dry_run: Annotated[bool, option("--dry-run", "Only show what would be written")] = False


@command("skill install", SkillOptions)
def install(options: SkillOptions) -> int:
    """Write instructions for AI agents: when to search with gno, how to cite, and what to remember.

    Agents read such a skill when a task calls for it, even without the tools of `gnoctl mcp install`, because it also
    names the commands. It is stored in ~/.claude/skills for Claude Code, and in ~/.agents/skills for the others.

    Examples:
      gnoctl skill install --dry-run
      gnoctl skill install
      gnoctl skill remove
    """
    files = skill.places()
    if not files:
        options.note(f"no agent was detected: put this into its folder of skills\n\n{skill.TEXT}")
    elif options.dry_run:
        print("\n".join(text.line(f"would write {file}") for file in files), skill.TEXT, sep="\n\n")
    else:
        return _each(files, lambda file: f"{_DONE[skill.write(file)]} {file}")
    return 0


@command("skill remove", Options)
def remove(_: Options) -> int:
    """Remove the instructions that `gnoctl skill install` wrote.

    A file that somebody else wrote or replaced stays.

    Example:
      gnoctl skill remove
    """
    return _each(
        skill.places(detected=False), lambda file: f"removed {file}" if skill.remove(file) else f"not there: {file}"
    )


def _each(files: list[Path], act: Callable[[Path], str]) -> int:
    status = 0
    for file in files:
        try:
            print(text.line(act(file)))
        except (Refused, OSError) as error:
            note(error.message if isinstance(error, Refused) else f"{file}: {error.strerror or error}")
            status = EXIT_RUNTIME
    return status
