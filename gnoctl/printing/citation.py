"""A hit as text for the clipboard: its path, a citation, its address. Pure."""

from __future__ import annotations

from gnoctl.printing import text
from gnod.protocol.search import Hit


def file_place(hit: Hit) -> str:
    """Return the path on the disk; with the line, where the file is text."""
    return text.line(hit.source if hit.location else f"{hit.source}:{hit.line}")


def address(hit: Hit) -> str:
    """Return the address that every gnoctl command, editor and agent opens."""
    return f"{hit.uri}#{hit.location.fragment}" if hit.location and hit.location.fragment else f"{hit.uri}:{hit.line}"


def citation(hit: Hit) -> str:
    """Return title, place and address.

    >>> from gnod.protocol.base import Freshness
    >>> citation(Hit(rank=1, score=1, docid="#a", uri="gno://n/a.md", collection="n", path="a.md", source="/n/a.md",
    ...              title="Boats", line=3, end_line=3, snippet="", mime="text/markdown", modified=""))
    'Boats, n/a.md, line 3 <gno://n/a.md:3>'
    """
    where = hit.location.label if hit.location else f"line {hit.line}"
    return f"{text.line(f'{hit.title}, {hit.collection}/{hit.path}, {where}')} <{address(hit)}>"
