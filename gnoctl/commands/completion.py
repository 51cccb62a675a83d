"""`gnoctl completion`: what makes the Tab key work."""

from __future__ import annotations

from typing import Annotated

from gnoctl.options import Command, Options, argument, option
from gnod.errors import UsageError

HELP = """Print the completion script of a shell, or install it.

Examples:

  gnoctl completion zsh --install

  eval "$(gnoctl completion bash)"
"""

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_GNOCTL_COMPLETE"


class CompletionOptions(Options, frozen=True, kw_only=True):
    shell: Annotated[str, argument("SHELL", help="bash, zsh or fish.", complete="bash|zsh|fish")]
    install: Annotated[bool, option("--install", help="Write it where the shell looks for it.")] = False


def completion(options: CompletionOptions) -> None:
    from typer.completion import get_completion_script, install  # type: ignore[attr-defined]

    if options.shell not in SHELLS:
        raise UsageError(f"no completion for {options.shell!r}: choose bash, zsh or fish")
    if options.install:
        shell, path = install(shell=options.shell, prog_name="gnoctl", complete_var=VARIABLE)
        print(f"installed for {shell} in {path}; it works from the next shell on")
    else:
        print(get_completion_script(prog_name="gnoctl", complete_var=VARIABLE, shell=options.shell))


COMMAND = Command(CompletionOptions, completion, HELP)
