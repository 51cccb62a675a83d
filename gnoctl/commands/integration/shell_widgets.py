"""Ctrl-G in a shell: `gnoctl ui` inserts the path of the chosen file into the command line. Pure.

Zsh and fish read completion scripts when Tab is pressed, so they get a file that they read when they start.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

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


class WidgetFile(NamedTuple):
    """Where a widget is stored.

    `file`: its file; `startup`: the file that must source it, None if the shell does so itself.
    """

    file: Path
    startup: Path | None = None


def place(shell: str, completion: Path, home: Path) -> WidgetFile:
    """Return where to store the widget, beside a completion script that is installed at `completion`."""
    if shell == "bash":
        return WidgetFile(completion)  # the file is read at the start, and written again each time
    if shell == "zsh":
        return WidgetFile(completion.parent / "gnoctl-ui.zsh", home / ".zshrc")
    return WidgetFile(completion.parent.parent / "conf.d" / "gnoctl-ui.fish")
