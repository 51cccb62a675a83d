"""The freshness of the index in one sentence. Pure."""

from __future__ import annotations

from gnoctl.wording import count
from gnod.protocol.base import Freshness


def describe(freshness: Freshness, *, nothing_found: bool = False) -> str | None:
    """Return what a search may have missed, or None if the index is current.

    Failed files are mentioned only if they may be the reason for no results: users would ignore a note at every search.
    Unwatched collections are left to `gnoctl status`: they may well be current.
    """
    if freshness.current:
        return None
    parts = []
    if freshness.pending:
        are = "is" if freshness.pending == 1 else "are"
        parts.append(f"{count(freshness.pending, 'file')} {are} not indexed yet")
    if freshness.unembedded:
        has, them = ("has", "it") if freshness.unembedded == 1 else ("have", "them")
        chunks = count(freshness.unembedded, "chunk")
        parts.append(f"{chunks} {has} no vector yet (`gnoctl embed` waits for {them})")
    if freshness.unavailable:
        names = ", ".join(freshness.unavailable)
        parts.append(f"the folder of {names} does not exist now (its documents stay in the index)")
    if freshness.failed and nothing_found:
        parts.append(f"{freshness.failed:,} could not be read (`gnoctl status --errors`)")
    return "; ".join(parts) or None
