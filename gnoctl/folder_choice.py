"""`gnoctl init` in a terminal asks what the page of `gnoctl web` asks: which folder, and under which name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from gnoctl.arguments.references import folder
from gnoctl.printing import text
from gnoctl.printing.output import note
from gnoctl.printing.wording import count
from gnod.client.connection import Connection
from gnod.errors import NotFound, Refused
from gnod.protocol import collections as wire

_MOST_KINDS = 8

TO_TRY = """
Three things to try:
  gnoctl search WORDS          # documents with these words
  gnoctl ask 'A QUESTION?'     # sentences of your documents that answer it
  gnoctl web                   # the same in the browser"""


class ChosenFolder(NamedTuple):
    path: str
    name: str | None


def choose_folder(daemon: Connection) -> ChosenFolder | None:
    """Ask until there is a folder to add, and say what it has. Returns None if the user answers nothing."""
    while path := _answer("Which folder do you want to search? "):
        try:
            params = wire.CollectionPreviewParams(path=folder(path))
            found = daemon.call("collection.preview", params, wire.CollectionPreviewResult)
        except (NotFound, Refused) as error:
            note(text.line(error.message))
            continue
        print("\n".join(map(text.line, described(found))))
        proposed = f" [{found.name}]" if found.name else ""
        return ChosenFolder(found.path, _answer(f"Name of the collection{proposed}: ") or found.name or None)
    return None


def described(found: wire.CollectionPreviewResult) -> Iterator[str]:
    """Yield what adding a folder would index."""
    read = [each for each in found.kinds if each.is_read]
    total = count(sum(each.files for each in read), "file")
    kinds = [f"{each.kind} {each.files:,}" for each in read[:_MOST_KINDS]]
    if others := sum(each.files for each in read[_MOST_KINDS:]):
        kinds.append(f"of other kinds {others:,}")
    yield f"{found.path} has {'' if found.is_complete else 'at least '}{total} to read: {', '.join(kinds) or 'none'}"
    left = [f"{each.kind} {each.files:,}" for each in found.kinds if not each.is_read]
    if found.excluded:
        left.append(f"left out by rules {found.excluded:,}")
    if left:
        yield f"not read: {', '.join(left)}"
    if found.collections:
        yield f"already in the index, whole or in part: {', '.join(found.collections)}"


def _answer(question: str) -> str:
    """Ask on the terminal, with Tab for names of files. The end of the input is an empty answer."""
    with contextlib.suppress(ImportError):
        import readline

        readline.parse_and_bind("tab: complete")
        readline.set_completer_delims("\n")  # a name may contain blanks
    try:
        return input(question).strip()
    except EOFError:
        print()
        return ""
