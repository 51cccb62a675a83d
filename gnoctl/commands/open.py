"""`gnoctl open`: show the source of a hit, at its line or page, in the user's own program."""

from __future__ import annotations

from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.references import absolute
from gnoctl.command import Options, command
from gnoctl.opening import starting as programs
from gnoctl.opening import viewers
from gnoctl.printing import text
from gnod.protocol.documents import DocumentGetParams, DocumentLocateParams, DocumentPlace, DocumentText

_CONVERSATION = "application/x-conversation"


class OpenOptions(Options, frozen=True, kw_only=True):
    ref: Annotated[
        str,
        argument("HIT", "As a search prints it: collection/path:LINE or collection/path:pPAGE; or as for get"),
    ]
    program: Annotated[
        str | None, option("--with", "Use this program, such as 'zathura -P {page} {path}'", "COMMAND")
    ] = None
    print_only: Annotated[bool, option("--print", "Print the command instead of running it")] = False


@command("open", OpenOptions)
def open_hit(options: OpenOptions) -> None:
    """Open the file of a hit at its line or page.

    Text opens in $VISUAL or $EDITOR at the line. PDF files open at the page in your viewer, if it supports pages. The
    text of a conversation opens in $PAGER at the message. Other files open in your desktop's program for them.
    `viewers` in index.yml chooses other programs.

    Examples:
      gnoctl open notes/deploy.md:40
      gnoctl open papers/attention.pdf:p12
      gnoctl open gno://papers/attention.pdf#page=12 --with zathura
      gnoctl open '#a1b2c3d4' --print
    """
    place = options.call("document.locate", DocumentLocateParams(ref=absolute(options.ref)), DocumentPlace)
    if place.mime == _CONVERSATION and not (options.program or place.viewer or options.print_only):
        _read(options)
        return
    target = programs.target_of(place)
    opening = viewers.choose(target, programs.this_system(), wanted=options.program, configured=place.viewer)
    if options.print_only:
        print(viewers.shown(opening.words))
        return
    if place.stale:
        options.note(f"{place.uri}: the file has changed since it was indexed")
    if not opening.has_window:
        programs.become(opening)
    programs.show(opening, place)
    if target.page > 1 and not opening.gets_page:
        options.note(f"{opening.words[0]} shows the first page: the hit is on page {target.page}")


def _read(options: OpenOptions) -> None:
    """Show the text of a conversation, whose file is not for people to read, at the place of the reference."""
    named = options.call("document.get", DocumentGetParams(ref=absolute(options.ref)), DocumentText)
    whole = options.call("document.get", DocumentGetParams(ref=named.uri), DocumentText)
    programs.page(text.block(whole.text), named.start_line)
