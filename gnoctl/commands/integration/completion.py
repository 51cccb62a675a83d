"""`gnoctl completion`: completion with the Tab key, and search with Ctrl-G."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

from gnoctl.arguments.options import argument, option
from gnoctl.command import Options, command
from gnoctl.commands.integration.shell_widgets import SCRIPTS, place

VARIABLE = "_GNOCTL_COMPLETE"


class CompletionOptions(Options, frozen=True, kw_only=True):
    shell: Annotated[Literal["bash", "zsh", "fish"], argument("SHELL", help="bash, zsh or fish")]
    install: Annotated[bool, option("--install", help="Install the script for this shell")] = False


@command("completion", CompletionOptions)
def completion(options: CompletionOptions) -> None:
    """Print the completion script of a shell, or install it.

    It also binds Ctrl-G: `gnoctl ui` inserts the path of the chosen file into the command line.

    Examples:
      gnoctl completion zsh --install
      eval "$(gnoctl completion bash)"
    """
    from typer.completion import get_completion_script, install  # type: ignore[attr-defined]

    if options.install:
        shell, path = install(shell=options.shell, prog_name="gnoctl", complete_var=VARIABLE)
        _install_widget(options.shell, path)
        print(f"installed for {shell} in {path}; it takes effect in new shells")
    else:
        print(get_completion_script(prog_name="gnoctl", complete_var=VARIABLE, shell=options.shell))
        print(SCRIPTS[options.shell])


def _install_widget(shell: str, completion: Path) -> None:
    file, startup = place(shell, completion, Path.home())
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a" if file == completion else "w") as script:
        script.write(SCRIPTS[shell])
    if startup is not None:
        line = f"source {shlex.quote(str(file))}"
        before = startup.read_text() if startup.exists() else ""
        if line not in before.splitlines():
            startup.write_text(f"{before}\n{line}\n")
