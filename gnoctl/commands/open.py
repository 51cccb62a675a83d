"""`gnoctl open`: show the source of a hit, at its line or page, in the user's own program."""

from __future__ import annotations

from typing import Annotated

from gnoctl.arguments.options import argument, option
from gnoctl.arguments.references import absolute
from gnoctl.command import Options, command
from gnoctl.opening import starting as programs
from gnoctl.opening import viewers
from gnod.protocol.documents import DocumentLocateParams, DocumentPlace


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

    Text opens in $VISUAL or $EDITOR at the line. PDF files open at the page in your viewer, if it supports pages; other
    files open in your desktop's program for them. `viewers` in index.yml chooses other programs.

    Examples:
      gnoctl open notes/deploy.md:40
      gnoctl open papers/attention.pdf:p12
      gnoctl open gno://papers/attention.pdf#page=12 --with zathura
      gnoctl open '#a1b2c3d4' --print
    """
    place = options.call("document.locate", DocumentLocateParams(ref=absolute(options.ref)), DocumentPlace)
    opening = viewers.choose(
        programs.target_of(place), programs.this_system(), wanted=options.program, configured=place.viewer
    )
    if options.print_only:
        print(viewers.shown(opening.words))
        return
    if place.stale:
        options.note(f"{place.uri}: the file has changed since it was indexed")
    if opening.has_window:
        programs.show(opening, place)
    else:
        programs.become(opening)
