"""`gnoctl completion`: completion with the Tab key."""

from __future__ import annotations

from typing import Annotated

from gnoctl.command import Options, command
from gnoctl.options import argument, option
from gnod.errors import UsageError

SHELLS = "bash|zsh|fish"
VARIABLE = "_GNOCTL_COMPLETE"


class CompletionOptions(Options, frozen=True, kw_only=True):
    shell: Annotated[str, argument("SHELL", help="bash, zsh or fish", complete=SHELLS)]
    install: Annotated[bool, option("--install", help="Install the script for this shell")] = False


@command("completion", CompletionOptions)
def completion(options: CompletionOptions) -> None:
    """Print the completion script of a shell, or install it.

    Examples:
      gnoctl completion zsh --install
      eval "$(gnoctl completion bash)"
    """
    from typer.completion import get_completion_script, install  # type: ignore[attr-defined]

    if options.shell not in SHELLS.split("|"):
        raise UsageError(f"no completion for {options.shell!r}: choose bash, zsh or fish")
    if options.install:
        shell, path = install(shell=options.shell, prog_name="gnoctl", complete_var=VARIABLE)
        print(f"installed for {shell} in {path}; it takes effect in new shells")
    else:
        print(get_completion_script(prog_name="gnoctl", complete_var=VARIABLE, shell=options.shell))
