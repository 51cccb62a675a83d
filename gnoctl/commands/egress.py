"""`gnoctl egress`: what was sent to other programs and machines."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl.command import JsonOptions, command
from gnoctl.printing import text
from gnoctl.printing.terminal import DIM, Terminal, columns
from gnoctl.printing.wording import ago, size
from gnod.protocol.base import NoParams
from gnod.protocol.index import EgressEntry, IndexEgressResult

_HEADERS = ["address", "for", "collection", "requests", "sent", "first", "last"]


@command("egress", JsonOptions)
def egress(options: JsonOptions) -> None:
    """Show what was sent where, and when.

    Counts the requests and bytes for model servers and for the servers of shared collections, by role and collection.
    No text is kept. A request over several collections counts for each of them, and once in the line `all`.
    `(memories)` are memories and searches in them; `(checks)` are sentences of gnod's own, which `gnoctl doctor` sends;
    `(bench)` is what `gnoctl bench` sends. `gnoctl status` shows which servers are in use now, and who may use them.
    """
    result = options.call("index.egress", NoParams(), IndexEgressResult)
    options.show(result, _report(result, options.terminal))


def _report(result: IndexEgressResult, terminal: Terminal) -> Iterator[str]:
    if not result.entries:
        yield "Nothing was ever sent: no model server and no server of a shared collection was asked"
        return
    rows = [_row(entry) for entry in result.entries if entry.collection or _is_shared(entry, result.entries)]
    yield from columns(_HEADERS, rows, terminal, flexible=0)
    yield ""
    yield terminal.paint(text.line(result.journal), DIM)


def _is_shared(total: EgressEntry, entries: list[EgressEntry]) -> bool:
    """Tell whether a total is over several collections."""
    return sum((entry.address, entry.role) == (total.address, total.role) for entry in entries) > 2


def _row(each: EgressEntry) -> list[str]:
    shown = [each.address, each.role, each.collection or "all", f"{each.requests:,}", size(each.bytes)]
    return [*shown, ago(each.first_at), ago(each.last_at)]
