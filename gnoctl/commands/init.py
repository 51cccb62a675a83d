"""`gnoctl init`: the first folder, and models for it. In a terminal it asks what the page of `gnoctl web` asks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated

from msgspec.structs import replace

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.references import folder
from gnoctl.command import command
from gnoctl.commands.collection import FolderOptions, add_and_index
from gnoctl.commands.models import PRESET_CHOICES, choose_preset, download_for_search, use_preset
from gnoctl.printing import text
from gnoctl.printing.output import note, print_json
from gnoctl.printing.wording import count
from gnod.client.connection import Connection
from gnod.errors import NotFound, Refused, UsageError
from gnod.presets import PRESETS
from gnod.protocol import collections as wire
from gnod.protocol.base import NoParams
from gnod.protocol.index import IndexInitResult
from gnod.protocol.models import ModelsRecommendResult

_MOST_KINDS = 8
_TO_TRY = """
Three things to try:
  gnoctl search WORDS          # documents with these words
  gnoctl ask 'A QUESTION?'     # sentences of your documents that answer it
  gnoctl web                   # the same in the browser"""


class InitOptions(FolderOptions, frozen=True, kw_only=True):
    path: Annotated[str | None, argument("PATH", "The folder to index")] = None
    preset: Annotated[
        str | None,
        option(
            "--preset", f"Models: auto, none, {', '.join(PRESETS)} [default: auto, unless index.yml names some]", "NAME"
        ),
    ] = None
    yes: Annotated[bool, option("-y, --yes", "Download the models without asking")] = False


@command("init", InitOptions)
def init(options: InitOptions) -> int:
    """Create the config file, index a first folder, and choose models for it.

    Asks for the folder in a terminal, if you name none. Chooses a preset of models that fits this machine and the
    languages of the folder, says why, and writes it to index.yml. Asks before it downloads anything; without a
    terminal, only --yes downloads. Keyword search works without models.

    Examples:
      gnoctl init
      gnoctl init ~/notes --yes
      gnoctl init ~/notes --preset none             # keyword search alone
      gnoctl init ~/work/docs --name work --exclude drafts
    """
    if options.preset not in (None, *PRESET_CHOICES):
        raise UsageError(f"there is no preset {options.preset!r}: choose auto, none, or one of {', '.join(PRESETS)}")
    with options.connect() as daemon:
        places = daemon.call("index.init", NoParams(), IndexInitResult)
        if not options.json:
            print(f"{'created' if places.config_created else 'kept'} {text.line(places.config_file)}")
        if options.preset not in (None, "auto"):
            use_preset(daemon, options, options.preset)
        is_person = sys.stdin.isatty() and not options.json
        if options.path is None and is_person and (asked := _ask_folder(daemon)):
            path, name = asked
            options = replace(options, path=path, name=options.name or name)
        if options.path is not None:
            status, added = add_and_index(daemon, options, options.path)
            chosen = _choose_models(daemon, options, has_preset=places.has_preset)
            if options.json:
                print_json({"collection": added.collection, "models": chosen})
            elif is_person:
                print(_TO_TRY)
            return status
    options.show(places, "next: `gnoctl collection add FOLDER`")
    return 0


def _choose_models(daemon: Connection, options: InitOptions, *, has_preset: bool) -> ModelsRecommendResult | None:
    if options.preset not in (None, "auto"):
        if options.yes:
            download_for_search(daemon, options)
        return None
    if options.preset is None and has_preset:
        return None
    if options.no_index:
        options.note("When the folder is indexed, `gnoctl models use auto` chooses models")
        return None
    return choose_preset(daemon, options, yes=options.yes)


def _ask_folder(daemon: Connection) -> tuple[str, str | None] | None:
    """Ask until the user names a folder that can be added, and describe it. Return its path and the name of the
    collection; None for an empty answer."""
    while path := _answer("Which folder do you want to search? "):
        try:
            params = wire.CollectionPreviewParams(path=folder(path))
            found = daemon.call("collection.preview", params, wire.CollectionPreviewResult)
        except (NotFound, Refused) as error:
            note(text.line(error.message))
            continue
        print("\n".join(map(text.line, _described(found))))
        proposed = f" [{found.name}]" if found.name else ""
        return found.path, _answer(f"Name of the collection{proposed}: ") or found.name or None
    return None


def _described(found: wire.CollectionPreviewResult) -> Iterator[str]:
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
    """Ask on the terminal. Tab completes file names. The end of the input counts as an empty answer."""
    with suppress(ImportError):
        import readline

        readline.parse_and_bind("tab: complete")
        readline.set_completer_delims("\n")  # a name may contain spaces
    try:
        return input(question).strip()
    except EOFError:
        print()
        return ""
