"""`gnoctl mcp install`: tell the agents on this machine of `gnoctl mcp`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct, field

from gnoctl import text
from gnoctl.agents.catalogue import AGENTS, Agent
from gnoctl.agents.entry import Entry, entry
from gnoctl.agents.installing import Change, carry_out, plan, snippet
from gnoctl.failures import note
from gnoctl.json_output import print_json
from gnoctl.options import Command, JsonOptions, option
from gnoctl.searching import split_commas
from gnod.errors import EXIT_VALIDATION, GnoError, UsageError

HELP = """Tell the AI agents on this machine of `gnoctl mcp`.

Adds one entry to the settings of each agent that is found, and keeps everything else in them, comments too. To do it
again changes nothing. The agents: claude-code, claude-desktop, codex, copilot, cursor, gemini, vscode, windsurf, zed.

Examples:

  gnoctl mcp install --dry-run

  gnoctl mcp install --agent claude-code,zed
"""

_DONE = {"created": "created", "changed": "changed", "unchanged": "already there:"}
_PLANNED = {"created": "would create", "changed": "would change", "unchanged": "already there:"}


class InstallOptions(JsonOptions, frozen=True, kw_only=True):
    agent: Annotated[
        list[str],
        option("--agent", metavar="NAME", help="Only this agent, found or not. Repeatable.", complete="|".join(AGENTS)),
    ] = field(default_factory=list)
    dry_run: Annotated[bool, option("--dry-run", help="Only show what would be changed.")] = False


class Outcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one agent's file. `action`: created, changed, unchanged or refused."""

    agent: str
    file: str
    action: str
    message: str | None = None


def install(options: InstallOptions) -> int:
    agents, added = _chosen(options.agent), entry(options.places)
    outcomes = [_install(agent, added, options) for agent in agents]
    if options.json:
        print_json({"dry_run": options.dry_run, "agents": outcomes})
    elif not outcomes:
        shown = snippet(AGENTS["cursor"], added)
        note(f"no agent was found: name one with --agent, or give it this yourself:\n\n{shown}", quiet=options.quiet)
    elif not options.dry_run and any(each.action in ("created", "changed") for each in outcomes):
        note("agents that are running read it when they start again", quiet=options.quiet)
    return EXIT_VALIDATION if any(each.action == "refused" for each in outcomes) else 0


def _chosen(names: list[str]) -> list[Agent]:
    names = split_commas(names)
    for name in names:
        if name not in AGENTS:
            raise UsageError(f"no agent '{name}' is known; there are {', '.join(AGENTS)}")
    return [agent for agent in AGENTS.values() if (agent.name in names if names else agent.is_here())]


def _install(agent: Agent, added: Entry, options: InstallOptions) -> Outcome:
    try:
        change = plan(agent, added)
        if not options.dry_run:
            carry_out(change)
    except (GnoError, OSError) as error:
        message = error.message if isinstance(error, GnoError) else f"{agent.file()}: {error.strerror or error}"
        if not options.json:
            note(f"{agent.title}: {message}")
        return Outcome(agent=agent.name, file=str(agent.file()), action="refused", message=message)
    if not options.json:
        _show(agent, change, added, dry_run=options.dry_run)
    return Outcome(agent=agent.name, file=str(change.file), action=change.action)


def _show(agent: Agent, change: Change, added: Entry, *, dry_run: bool) -> None:
    words = _PLANNED if dry_run else _DONE
    print(text.line(f"{agent.title}: {words[change.action]} {change.file}"))
    if change.action != "unchanged":
        for line in snippet(agent, added).splitlines():
            print(text.line(f"  + {line}"))


COMMAND = Command(InstallOptions, install, HELP)
