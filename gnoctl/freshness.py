"""What the daemon says of its own knowledge, in one sentence. Pure."""

from __future__ import annotations

from gnoctl.wording import count
from gnod.protocol.results import Freshness


def describe(freshness: Freshness, *, nothing_found: bool = False) -> str | None:
    """Return what a search may have missed, or None when the index is current.

    Files that failed are told where they may be the reason that nothing was found: said at every search, nobody
    would read it any more. What is merely unwatched is left to `gnoctl status`: it may well be current.
    """
    if freshness.current:
        return None
    parts = []
    if freshness.pending:
        parts.append(f"{_are(freshness.pending, 'file')} still being indexed")
    if freshness.unembedded:
        parts.append(f"{_are(freshness.unembedded, 'chunk')} not embedded yet: `gnoctl embed` follows it")
    if freshness.unavailable:
        names = ", ".join(freshness.unavailable)
        parts.append(f"the folder of {names} is not there (its documents are kept as they were)")
    if freshness.failed and nothing_found:
        parts.append(f"{freshness.failed:,} could not be read (`gnoctl status --errors`)")
    return "; ".join(parts) or None


def _are(number: int, noun: str) -> str:
    return f"{count(number, noun)} {'is' if number == 1 else 'are'}"
