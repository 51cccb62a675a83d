"""`gnoctl completion`: completion with the Tab key, and Ctrl-G, which inserts a path that the user chose in `gnoctl
ui`.

Zsh and fish read completion scripts when Tab is pressed, so they get a file that they read when they start.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

from gnoctl.arguments.options import argument, option
from gnoctl.command import Options, command

VARIABLE = "_GNOCTL_COMPLETE"

_BASH = r"""
_gnoctl_ui() {
  local chosen
  chosen=$(gnoctl ui --print) || return
  printf -v chosen %q "$chosen"
  READLINE_LINE="${READLINE_LINE:0:READLINE_POINT}$chosen${READLINE_LINE:READLINE_POINT}"
  READLINE_POINT=$((READLINE_POINT + ${#chosen}))
}
case $- in *i*) bind -x '"\C-g": _gnoctl_ui' ;; esac
"""

_ZSH = r"""
_gnoctl_ui() {
  local chosen
  chosen=$(gnoctl ui --print </dev/tty) && LBUFFER+="${(q)chosen}"
  zle reset-prompt
}
if [[ -o interactive ]]; then
  zle -N _gnoctl_ui
  bindkey '^G' _gnoctl_ui
fi
"""

_FISH = r"""
function _gnoctl_ui
    set -l chosen (gnoctl ui --print)
    and commandline -i -- (string escape -- $chosen)
    commandline -f repaint
end
if status is-interactive
    bind \cg _gnoctl_ui
end
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


class CompletionOptions(Options, frozen=True, kw_only=True):
    shell: Annotated[Literal["bash", "zsh", "fish"], argument("SHELL", "bash, zsh or fish")]
    install: Annotated[bool, option("--install", "Install the script for this shell")] = False


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


def place(shell: str, completion: Path, home: Path) -> tuple[Path, Path | None]:
    """Return where to store the widget, beside a completion script that is installed at `completion`, and the file that
    must source it; None if the shell does so itself."""
    if shell == "bash":
        return completion, None  # the file is read at the start, and written again each time
    if shell == "zsh":
        return completion.parent / "gnoctl-ui.zsh", home / ".zshrc"
    return completion.parent.parent / "conf.d" / "gnoctl-ui.fish", None
