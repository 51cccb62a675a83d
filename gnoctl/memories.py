"""Draw memories for people. Pure: returns lines, of which no character of a memory is unchecked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gnoctl import text
from gnoctl.terminal import BOLD, DIM, YELLOW, Terminal
from gnoctl.wording import count
from gnod.protocol.memory import MemoryFound, MemoryListResult, MemoryRecord, MemorySearchResult, MemoryStatusResult

INDENT = "  "
PERSONAL = "personal"

# docs/memory.md says so too.
GOOD = 0.20


class _Shown(NamedTuple):
    """What is drawn of a memory, from whatever answer it comes."""

    id: str
    kind: str
    time: str
    topics: Sequence[str]
    namespace: str


def render_found(result: MemorySearchResult, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of a search's answer."""
    for each in result.results:
        yield f"{each.rerank:.2f}  {_head(_of_found(each), terminal)}"
        yield from _indented(each.text, terminal)
        yield ""
    yield terminal.paint(text.line(result.counts), DIM)
    for note in result.notes:
        yield terminal.paint(text.line(note), YELLOW)
    if result.results and result.results[0].rerank < GOOD:
        yield terminal.paint(f"All of them are weak, below {GOOD:.2f}: maybe nothing of the kind is stored", YELLOW)


def render_list(result: MemoryListResult, terminal: Terminal) -> Iterator[str]:
    """Yield two lines for each memory, then how many there are."""
    for each in result.memories:
        yield _head(_of_record(each), terminal)
        first = text.line(" ".join(each.text.split()))
        yield INDENT + (text.clip(first, max(1, terminal.width - len(INDENT))) if terminal.width else first)
    shown = f"{len(result.memories):,} of " if result.cursor or len(result.memories) < result.total else ""
    yield terminal.paint(f"{shown}{memories(result.total)}", DIM)
    for note in result.notes:
        yield terminal.paint(text.line(note), YELLOW)


def render_whole(record: MemoryRecord, terminal: Terminal) -> Iterator[str]:
    """Yield what is known of a memory, and its text: made safe for a terminal, as it is for a file or a pipe."""
    yield _head(_of_record(record), terminal)
    yield from (record.text if terminal.width is None else text.block(record.text)).split("\n")


def render_status(status: MemoryStatusResult) -> Iterator[str]:
    """Yield how the memories stand."""
    places = {"keyring": "in the system's keyring", "passphrase": "protected by a passphrase"}
    key = f"their key is {places.get(status.key, status.key)}" if status.key else "nothing was stored yet"
    if status.unlocked:
        yield text.line(f"unlocked; {key}")
    elif status.opens_by_itself:
        yield text.line(f"not opened yet, the first use opens them; {key}")
    else:
        yield text.line(f"locked, `gnoctl memory unlock` opens them; {key}")
    if status.keyring_problem and status.key != "passphrase":
        yield text.line(f"keyring: {status.keyring_problem}")
    if status.memories is not None:
        waiting = f", {status.unembedded:,} of them found by topic only until they are embedded"
        yield memories(status.memories) + (waiting if status.unembedded else "")
    if status.namespaces:
        yield text.line(f"namespaces: {', '.join(status.namespaces)}")


def memories(number: int) -> str:
    """Return a number of memories in words.

    >>> memories(1), memories(1200)
    ('1 memory', '1,200 memories')
    """
    return count(number, "memory") if number == 1 else f"{number:,} memories"


def _of_found(found: MemoryFound) -> _Shown:
    namespace = found.namespace if isinstance(found.namespace, str) else PERSONAL
    return _Shown(found.id, found.type, found.time, found.topics, namespace)


def _of_record(record: MemoryRecord) -> _Shown:
    return _Shown(record.id, record.type, record.updated, record.topics, record.namespace)


def _head(shown: _Shown, terminal: Terminal) -> str:
    """Return `m4x0q2v7ke  decision  2026-11-21  auth, postgres  (team)`."""
    parts = [shown.kind, shown.time[:10], ", ".join(shown.topics)]
    parts += [f"({shown.namespace})"] if shown.namespace != PERSONAL else []
    about = text.line("  ".join(filter(None, parts)))
    return f"{terminal.paint(text.line(shown.id), BOLD)}  {terminal.paint(about, DIM)}"


def _indented(shown: str, terminal: Terminal) -> Iterator[str]:
    safe = text.block(shown).replace("\t", " ")
    for line in safe.split("\n"):
        room = max(1, terminal.width - len(INDENT)) if terminal.width else None
        ranges = text.wrap(line, room) if room else [(0, len(line))]
        yield from (INDENT + line[start:end] for start, end in ranges if line.strip())
