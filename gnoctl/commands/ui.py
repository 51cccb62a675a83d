"""`gnoctl ui`: the terminal UI. Checks the terminal, then imports the rest."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Annotated, Literal

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.plain_search_options import FILTERS, split_commas
from gnoctl.arguments.shared_options import Collections
from gnoctl.command import Options, command
from gnoctl.printing import text
from gnoctl.ui.narrowing import Narrowing
from gnod.errors import UsageError


class UiOptions(Options, frozen=True, kw_only=True):
    query: Annotated[list[str], argument("QUERY", "What to search for first")] = []
    collections: Collections = []
    tags_all: Annotated[list[str], option("--tag", "Only documents with all these tags", "TAG", group=FILTERS)] = []
    mode: Annotated[Literal["hybrid", "keyword", "vector"], option("--mode", "hybrid, keyword or vector", "MODE")] = (
        "hybrid"
    )
    print_path: Annotated[bool, option("--print", "Enter prints the path of the file and ends")] = False
    linear: Annotated[bool, option("--linear", "Use plain lines instead of the full screen, for screen readers")] = (
        False
    )

    @property
    def words(self) -> str:
        return " ".join(self.query)

    @property
    def narrowing(self) -> Narrowing:
        return Narrowing.to(collections=split_commas(self.collections), tags=split_commas(self.tags_all))


@command("ui", UiOptions)
def ui(options: UiOptions) -> int | None:
    """Search as you type, with a preview.

    Results change with each keystroke, and with the files on the disk. Enter opens the selected file at the line, Tab
    moves to the preview, F2 narrows the search, Ctrl-A answers a question with quotes, F1 shows all keys.

    `gnoctl completion SHELL` binds Ctrl-G to `gnoctl ui --print`: it inserts the chosen path into the command line.

    Examples:
      gnoctl ui
      gnoctl ui -c notes --mode keyword backup
      $EDITOR "$(gnoctl ui --print)"
      gnoctl ui --linear
    """
    path = _converse(options) if options.linear else _draw(options)
    if path is not None:
        print(text.line(path) if sys.stdout.isatty() else path)
    return 1 if options.print_path and path is None else None


def _draw(options: UiOptions) -> str | None:
    _check_terminal(prints=options.print_path)
    if options.no_color:
        os.environ["NO_COLOR"] = "1"
    elif not os.environ.get("NO_COLOR"):  # Textual would obey even an empty value
        os.environ.pop("NO_COLOR", None)
    from gnoctl.ui.app import UserInterface

    interface = UserInterface(
        options.places,
        may_start=not options.no_start,
        query=options.words,
        mode=options.mode,
        narrowing=options.narrowing,
        prints=options.print_path,
    )
    with _output_on_terminal():
        return interface.run()


@contextmanager
def _output_on_terminal() -> Iterator[None]:
    """If standard output is captured, connect it to the terminal: Textual reads the size of the screen from it."""
    captured = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(captured, 1)
        os.close(captured)


def _converse(options: UiOptions) -> str | None:
    from gnoctl.ui.linear import Dialogue, converse, typed
    from gnod.client.blocking import Client

    # Standard output may be captured. Then only the path is written to it.
    say = partial(print, file=sys.stderr if options.print_path else sys.stdout, flush=True)
    with Client(options.places, start=not options.no_start) as client:
        dialogue = Dialogue(client, say, options.mode, options.narrowing, prints=options.print_path)
        converse(dialogue, chain([options.words] if options.words else [], typed("> ")))
    return dialogue.chosen


def _check_terminal(*, prints: bool) -> None:
    """Raise UsageError without a terminal. With `prints`, standard output may be captured: the screen is on stderr."""
    streams = {"input": sys.stdin, "output": sys.stdout, "error": sys.stderr}
    if prints:
        del streams["output"]
    missing = [name for name, stream in streams.items() if not (stream and stream.isatty())]
    if missing:
        raise UsageError(
            f"`gnoctl ui` needs a terminal: it is not connected to one (standard {', '.join(missing)}); use "
            "`gnoctl query`, or `gnoctl ui --linear`"
        )
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this terminal cannot move its cursor (TERM=dumb): use `gnoctl ui --linear`")
