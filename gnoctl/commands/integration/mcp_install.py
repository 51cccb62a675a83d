"""`gnoctl mcp install`: adds `gnoctl mcp` to the settings of the AI agents on this machine."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from gnoctl.agents.catalogue import AGENTS, Agent
from gnoctl.agents.installing import FileEdit, ServerEntry, address_of, carry_out, command_of, plan, snippet
from gnoctl.arguments.options import option
from gnoctl.arguments.plain_search_options import split_commas
from gnoctl.command import JsonOptions, command
from gnoctl.commands.integration.mcp import DEFAULT_PORT
from gnoctl.printing import text
from gnoctl.printing.output import note, print_json
from gnod.errors import EXIT_RUNTIME, GnoError, UsageError

_DONE = {"created": "created", "changed": "changed", "unchanged": "already configured:"}
_PLANNED = {"created": "would create", "changed": "would change", "unchanged": "already configured:"}


class InstallOptions(JsonOptions, frozen=True, kw_only=True):
    agent: Annotated[
        list[str],
        option("--agent", "Only this agent, even if it is not detected. Repeatable", "NAME", complete="|".join(AGENTS)),
    ] = []
    dry_run: Annotated[bool, option("--dry-run", "Only show what would change")] = False
    http: Annotated[bool, option("--http", "The address and token of `gnoctl mcp --http`, instead of a command")] = (
        False
    )
    port: Annotated[
        Annotated[int, Meta(ge=1, le=65535)] | None,
        option("--port", f"With --http: the port of the bridge [default: {DEFAULT_PORT}]", "N"),
    ] = None


@command("mcp install", InstallOptions)
def install(options: InstallOptions) -> int:
    """Add gno to the settings of the AI agents on this machine.

    Adds one entry to the settings of each detected agent and keeps everything else in them, comments included. A second
    run changes nothing. The agents: claude-code, claude-desktop, codex, copilot, cursor, gemini, vscode, windsurf, zed.

    With --http, the agents share one bridge, which you keep running: `gnoctl mcp --http`. It takes 70 MB in total
    instead of 70 MB for each agent. Claude Desktop only starts commands.

    Examples:
      gnoctl mcp install --dry-run
      gnoctl mcp install --agent claude-code,zed
      gnoctl mcp install --http
    """
    if options.port is not None and not options.http:
        raise UsageError("--port needs --http")
    agents, added = _chosen(options), _entry(options)
    outcomes = [_install(agent, added, options) for agent in agents]
    if options.json:
        print_json({"dry_run": options.dry_run, "agents": outcomes})
    elif not outcomes:
        shown = snippet(AGENTS["cursor"], added)
        options.note(f"no agent was detected: name one with --agent, or add this to its settings:\n\n{shown}")
    elif not options.dry_run and any(outcome["action"] in ("created", "changed") for outcome in outcomes):
        options.note("restart the agents that are running")
    return EXIT_RUNTIME if any(outcome["action"] == "refused" for outcome in outcomes) else 0


def _entry(options: InstallOptions) -> ServerEntry:
    if not options.http:
        return command_of(options.places)
    from gnoctl.mcp.token import address, token_of

    return address_of(options.places, address(options.port or DEFAULT_PORT), token_of(options.places))


def _chosen(options: InstallOptions) -> list[Agent]:
    names = split_commas(options.agent)
    for name in names:
        if name not in AGENTS:
            raise UsageError(f"unknown agent '{name}': choose from {', '.join(AGENTS)}")
    if names:
        return [AGENTS[name] for name in dict.fromkeys(names)]
    return [agent for agent in AGENTS.values() if agent.is_installed() and (agent.http or not options.http)]


def _install(agent: Agent, added: ServerEntry, options: InstallOptions) -> dict[str, str]:
    """Return what was done with the agent's file. `action`: created, changed, unchanged or refused."""
    try:
        change = plan(agent, added)
        if not options.dry_run:
            carry_out(change)
    except (GnoError, OSError) as error:
        message = error.message if isinstance(error, GnoError) else f"{agent.file()}: {error.strerror or error}"
        if not options.json:
            note(f"{agent.title}: {message}")
        return {"agent": agent.name, "file": str(agent.file()), "action": "refused", "message": message}
    if not options.json:
        _show(agent, change, added, dry_run=options.dry_run)
    return {"agent": agent.name, "file": str(change.file), "action": change.action}


def _show(agent: Agent, change: FileEdit, added: ServerEntry, *, dry_run: bool) -> None:
    verbs = _PLANNED if dry_run else _DONE
    print(text.line(f"{agent.title}: {verbs[change.action]} {change.file}"))
    if change.action != "unchanged":
        for line in snippet(agent, added).splitlines():
            print(text.line(f"  + {line}"))
