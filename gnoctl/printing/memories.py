"""Draw memories for people. Pure: returns lines; every character of a memory in them is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gnoctl.printing import text
from gnoctl.printing.terminal import BOLD, DIM, YELLOW, Terminal
from gnoctl.printing.wording import count
from gnod.protocol import memory as wire

INDENT = "  "
PERSONAL = "personal"

# docs/memory.md gives the same figure.
GOOD = 0.20
_VALIDITIES = {"ended": "no longer true", "not_yet": "not true yet", "unknown": "stored later"}


def render_results(result: wire.MemorySearchResult, terminal: Terminal) -> Iterator[str]:
    for each in result.results:
        namespace = each.namespace if isinstance(each.namespace, str) else PERSONAL
        time = each.when if isinstance(each.when, str) else each.time
        topics = _topics(each.topics, each.suggested if isinstance(each.suggested, list) else [])
        cosine = "   –" if each.vector is None else f"{each.vector:.2f}"
        head = _head(each, time, topics, namespace, terminal)
        yield f"{each.rerank:.2f}  vector {cosine}  {head}"
        yield from _indented(each.text, terminal)
        if each.folded:
            more = f"+{len(each.folded)} more of the same event: {' '.join(each.folded)}"
            yield terminal.paint(INDENT + text.line(more), DIM)
        yield ""
    yield terminal.line(result.counts, DIM)
    for note in result.notes:
        yield terminal.line(note, YELLOW)
    if result.results and result.results[0].rerank < GOOD:
        weak = f"All results are weak (below {GOOD:.2f}): perhaps no such memory is stored"
        yield terminal.paint(weak, YELLOW)


def render_list(result: wire.MemoryListResult, terminal: Terminal) -> Iterator[str]:
    """Yield two lines for each memory, then the number of memories."""
    for memory in result.memories:
        yield _record_head(memory, terminal)
        yield terminal.clip(INDENT + text.line(" ".join(memory.text.split())))
    shown = f"{len(result.memories):,} of " if result.cursor or len(result.memories) < result.total else ""
    yield terminal.paint(f"{shown}{memories(result.total)}", DIM)
    for note in result.notes:
        yield terminal.line(note, YELLOW)


def render_whole(record: wire.MemoryRecord, terminal: Terminal) -> Iterator[str]:
    """Yield a memory with its text: made safe for a terminal, unchanged for a file or a pipe."""
    yield _record_head(record, terminal)
    yield from (record.text if terminal.width is None else text.block(record.text)).split("\n")


def render_history(result: wire.MemoryHistoryResult, terminal: Terminal) -> Iterator[str]:
    """Yield a chain of memories, the current one first."""
    for memory in result.memories:
        yield _record_head(memory, terminal)
        yield from _indented(memory.text, terminal)


def render_status(status: wire.MemoryStatusResult) -> Iterator[str]:
    places = {"keyring": "in the system keyring", "passphrase": "protected by a passphrase", "file": "in a file"}
    key = f"the key is {places.get(status.key, status.key)}" if status.key else "no memory is stored yet"
    if status.unlocked:
        yield text.line(f"unlocked; {key}")
    elif status.opens_by_itself:
        yield text.line(f"locked until the first use, which unlocks them; {key}")
    else:
        yield text.line(f"locked: run `gnoctl memory unlock`; {key}")
    if status.keyring_problem and status.key not in ("passphrase", "file"):
        yield text.line(f"keyring: {status.keyring_problem}")
    if status.memories is not None:
        waiting = f"; {status.unembedded:,} of them have no vector yet and are found only by keyword and topic"
        yield memories(status.memories) + (waiting if status.unembedded else "")
    if status.unindexed:
        yield f"{memories(status.unindexed)} not in the keyword index yet"
    if status.index_locked is False:
        yield "the keyword index may be swapped: raise the limit on locked memory (ulimit -l), or encrypt your swap"
    if status.namespaces:
        yield text.line(f"namespaces: {', '.join(status.namespaces)}")


def memories(number: int) -> str:
    """Return a number of memories in words.

    >>> memories(1), memories(1200)
    ('1 memory', '1,200 memories')
    """
    return count(number, "memory") if number == 1 else f"{number:,} memories"


def _record_head(record: wire.MemoryRecord, terminal: Terminal) -> str:
    time = record.when or (record.created if record.superseded_by else record.updated)
    topics = _topics(record.topics, record.suggested)
    return _head(record, time, topics, record.namespace, terminal)


def _topics(given: Sequence[str], suggested: Sequence[str]) -> list[str]:
    return [*given, *(f"~{topic}" for topic in suggested)]


def _head(
    each: wire.MemoryFound | wire.MemoryRecord, time: str, topics: Sequence[str], namespace: str, terminal: Terminal
) -> str:
    """Return `m4x0q2v7ke  decision  2026-11-21  auth, ~postgres  (team)`."""
    parts = [each.type, time[:10], ", ".join(topics), "" if namespace == PERSONAL else f"({namespace})", *about(each)]
    shown = text.line("  ".join(filter(None, parts)))
    return f"{terminal.line(each.id, BOLD)}  {terminal.paint(shown, DIM)}"


def about(each: wire.MemoryFound | wire.MemoryRecord) -> list[str]:
    """Return when a memory is true, and what supersedes it."""
    ends = [end for end in (each.valid_until, each.superseded_at) if isinstance(end, str)]
    validity = each.validity if isinstance(each, wire.MemoryFound) and isinstance(each.validity, str) else ""
    parts = [
        f"from {each.valid_from[:10]}" if each.valid_from else "",
        f"until {min(ends)[:10]}" if ends else "",
        _VALIDITIES.get(validity, ""),
        f"superseded by {each.superseded_by}" if each.superseded_by else "",
    ]
    return [part for part in parts if part]


def _indented(shown: str, terminal: Terminal) -> Iterator[str]:
    yield from filter(None, terminal.wrap(shown, INDENT))
