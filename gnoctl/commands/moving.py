"""`gnoctl mv`: rename and move files, with the links to and in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.references import absolute, folder
from gnoctl.arguments.standard_input import confirmed
from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.terminal import GREEN, RED, Terminal
from gnoctl.printing.wording import count
from gnod.errors import UsageError
from gnod.protocol import links as wire
from gnod.types import SCHEME

_COLOURS = {"+": GREEN, "-": RED}


class MoveOptions(JsonOptions, frozen=True, kw_only=True):
    old: Annotated[str | None, argument("OLD", "A file or folder: collection/path or a path on disk")] = None
    new: Annotated[str | None, argument("NEW", "Its new path, or a folder to move it into")] = None
    dry_run: Annotated[bool, option("-n, --dry-run", "Show what would change, and change nothing")] = False
    yes: Annotated[bool, option("-y, --yes", "Do not ask")] = False
    undo: Annotated[bool, option("--undo", "Undo the last move")] = False


@command("mv", MoveOptions)
def mv(options: MoveOptions) -> None:
    """Rename or move a note or a folder, and rewrite the links to it and in it.

    Shows what changes in other files, and asks. `[[Note]]` stays a name as long as only one file has it; relative
    links stay relative. A link that cannot be rewritten stays as it is, and is listed. --undo takes back the last move.

    Examples:
      gnoctl mv notes/boat.md notes/projects/ship.md
      gnoctl mv ./projects ./archive/2025 --dry-run
      gnoctl mv --undo
    """
    if options.undo:
        _undo(options)
        return
    if options.old is None or options.new is None:
        raise UsageError("name the file and its new path: gnoctl mv OLD NEW")
    old = absolute(options.old)
    is_shown_first = options.dry_run or not options.yes
    params = wire.DocumentMoveParams(old=old, new=_destination(old, options.new), dry_run=is_shown_first)
    found = options.call("document.move", params, wire.DocumentMoveResult)
    if not options.json:
        for line in _changes(found, options.terminal):
            print(line)
    if not options.dry_run and not options.yes:
        if not confirmed(f"Move {found.source} to {found.destination}?"):
            return
        params = wire.DocumentMoveParams(old=params.old, new=params.new, digest=found.digest)
        found = options.call("document.move", params, wire.DocumentMoveResult)
    options.show(found, _summary(found))


def _destination(old: str, new: str) -> str:
    """Return a path on disk if the file was named by one. It need not exist. After a slash, the name stays."""
    new += PurePath(old).name if new.endswith("/") else ""
    return folder(new) if old.startswith("/") and not new.startswith(SCHEME) else absolute(new)


def _undo(options: MoveOptions) -> None:
    found = options.call("document.unmove", wire.DocumentUnmoveParams(), wire.DocumentUnmoveResult)
    restored = f"moved {found.source} back to {found.destination}; restored {count(found.files, 'file')}"
    options.show(found, text.line(restored))


def _changes(found: wire.DocumentMoveResult, terminal: Terminal) -> Iterator[str]:
    for line in found.diff.splitlines():
        yield terminal.paint(text.line(line), _COLOURS.get(line[:1], ""))
    for link in found.left:
        place = f"{link.uri.removeprefix(SCHEME)}:{link.line}"
        yield text.line(f"not rewritten: {place}: {link.target}: {link.problem}")


def _summary(found: wire.DocumentMoveResult) -> str:
    verb = "moved" if found.is_done else "would move"
    rewritten = f"{count(found.links, 'link')} in {count(found.files, 'file')}"
    repair = f"; {count(len(found.left), 'link')} to repair by hand" if found.left else ""
    return text.line(f"{verb} {found.source} to {found.destination}; {rewritten} rewritten{repair}")
