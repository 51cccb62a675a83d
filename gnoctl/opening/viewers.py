"""Choose the program that shows a file at a line or page, and its arguments. Pure: runs nothing, and reads no file.

Arguments contain no text of a document, only the path of its file and numbers. They go to the system as a list, never
through a shell.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from gnoctl.printing import text
from gnod.errors import Unavailable, UsageError

PDF = "application/pdf"


class ViewerTarget(NamedTuple):
    """The place to show. `path` is absolute. `line`: None for files that are not text. `page`: of a PDF file, or a
    slide."""

    path: str
    mime: str
    line: int | None = None
    page: int = 1
    row: int = 1


class ViewerCommand(NamedTuple):
    """A program with its arguments. `has_window`: it needs a display instead of the terminal. `gets_page`: an argument
    names the page."""

    words: list[str]
    has_window: bool
    gets_page: bool = False


class System(NamedTuple):
    """The programs of this machine. `find` returns the path of a program, `preferred_viewer` the desktop's name for its
    PDF viewer."""

    environment: Mapping[str, str]
    find: Callable[[str], str | None]
    preferred_viewer: Callable[[], str] = str
    is_macos: bool = False
    has_skim: bool = False

    @property
    def has_display(self) -> bool:
        if self.is_macos:
            return "SSH_CONNECTION" not in self.environment
        return bool(self.environment.get("DISPLAY") or self.environment.get("WAYLAND_DISPLAY"))


_TEXT_EDITORS = ("nvim", "vim", "vi", "nano", "hx", "kak", "emacs")
_PDF_VIEWERS = {
    "zathura": ("-P", "{page}", "{path}"),
    **dict.fromkeys(("evince", "papers", "atril", "xreader"), ("--page-index={page}", "{path}")),
    "okular": ("-p", "{page}", "{path}"),
    "sioyek": ("--page", "{page}", "{path}"),
    "qpdfview": ("{path}#{page}",),
    "mupdf": ("{path}", "{page}"),
    **dict.fromkeys(
        ("firefox", "chromium", "chromium-browser", "google-chrome", "brave-browser", "microsoft-edge"),
        ("{uri}#page={page}",),
    ),
}
_OPENERS = ("xdg-open", "open")
_TERMINAL_EDITORS = ("vi", "vim", "nvim", "nano", "pico", "micro", "joe", "jed", "mg", "ne", "kak", "emacs")
_TERMINAL_PROGRAMS = frozenset((*_TERMINAL_EDITORS, "hx", "helix", "less", "more"))
# Arguments of programs that support lines or pages, by their names.
_ARGUMENTS = {
    **_PDF_VIEWERS,
    **dict.fromkeys((*_TERMINAL_EDITORS, "emacsclient", "gvim", "gedit", "gnome-text-editor"), ("+{line}", "{path}")),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor"), ("-g", "{path}:{line}")),
    **dict.fromkeys(("hx", "helix", "subl", "zed"), ("{path}:{line}",)),
    **dict.fromkeys(("kate", "kwrite", "mate"), ("-l", "{line}", "{path}")),
}
_FIELD = re.compile(r"\{(path|uri|line|page|row)\}")


def choose(
    target: ViewerTarget, system: System, *, wanted: str | None = None, configured: Sequence[str] = ()
) -> ViewerCommand:
    """Return the program: the one `wanted` on the command line, the one `configured` for such files, the editor for
    text, a viewer that supports pages for PDF files, or the desktop's program for such files.

    Raises Unavailable if there is none, and UsageError if `wanted` is not a command.
    """
    if wanted is not None:
        return _opening(split(wanted, "--with"), target)
    if configured:
        return _opening(configured, target)
    if target.line is not None:
        return _opening(_editor(system), target)
    return _opening(_viewer(target, system), target)


def choose_window(target: ViewerTarget, system: System, *, configured: Sequence[str] = ()) -> ViewerCommand:
    """Return a program with a window, for a caller without a terminal: the choice of `choose`, or else the desktop's
    program for such files. Raises Unavailable."""
    chosen = choose(target, system, configured=configured)
    if Path(chosen.words[0]).name not in _TERMINAL_PROGRAMS:
        return chosen
    opener = _OPENERS[system.is_macos]
    if not system.find(opener):
        raise Unavailable(f"only a terminal program can show {target.path}: run `gnoctl open`")
    return _opening([opener], target)


def choose_file_manager(target: ViewerTarget, system: System) -> ViewerCommand:
    """Return the program that shows the folder of a file. Raises Unavailable."""
    opener = _OPENERS[system.is_macos]
    if not system.find(opener):
        raise Unavailable(f"no program was found to show a folder: install {opener}")
    shown = ["-R", target.path] if system.is_macos else [str(Path(target.path).parent)]
    return ViewerCommand([opener, *shown], has_window=True)


def _opening(command: Sequence[str], target: ViewerTarget) -> ViewerCommand:
    """Fill in the arguments. If the command names none of them, they are appended."""
    name = Path(command[0]).name
    if not any(_FIELD.search(word) for word in command):
        command = [*command, *_ARGUMENTS.get(name, ("{path}",))]
    values = {
        "path": target.path,
        "uri": Path(target.path).as_uri(),
        "line": str(target.line or 1),
        "page": str(target.page),
        "row": str(target.row),
    }
    # Replace in one pass, because a path may contain "{line}".
    words = [_FIELD.sub(lambda match: values[match[1]], word) for word in command]
    gets_page = any("{page}" in word for word in command)
    return ViewerCommand(words, name in _PDF_VIEWERS or name in _OPENERS, gets_page)


def _editor(system: System) -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        if system.environment.get(variable, "").strip():
            return split(system.environment[variable], f"${variable}")
    if found := next(filter(system.find, _TEXT_EDITORS), None):
        return [found]
    raise Unavailable("no text editor was found: set EDITOR, or name one with `--with COMMAND`")


def _viewer(target: ViewerTarget, system: System) -> list[str]:
    if target.mime == PDF and system.has_skim:
        return ["open", f"skim://{Path(target.path).as_uri().removeprefix('file://')}#page={{page}}"]
    if target.mime == PDF and (found := _pdf_viewer(system)):
        return [found]
    opener = _OPENERS[system.is_macos]
    if system.find(opener):
        return [opener]
    raise Unavailable(
        f"no program was found to open {target.path}: name one with `--with COMMAND`, or under `viewers` in index.yml"
    )


def _pdf_viewer(system: System) -> str | None:
    """Return the installed viewer that supports pages; if there are several, the one that the desktop prefers."""
    installed = [name for name in _PDF_VIEWERS if system.find(name)]
    preferred = system.preferred_viewer().lower() if len(installed) > 1 else ""
    return next((name for name in installed if name in preferred), next(iter(installed), None))


def split(command: str, source: str) -> list[str]:
    """Split the user's command as a shell does, without expansions."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{source} is not a command: {error} in {command!r}") from None
    if not words:
        raise UsageError(f"{source} does not name a program")
    return words


def shown(words: Sequence[str]) -> str:
    """Return the command as a line for a shell, without characters that control a terminal."""
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """Quote a word. Control characters become escapes, which bash, zsh and ksh understand."""
    if text.line(word) == word:
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return "\\" + char
    if text.line(char) == char:
        return char
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
