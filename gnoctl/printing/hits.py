"""Draw search results for people: title, place, passage; and one hit as text for the clipboard. Pure: returns lines.

A plain search uses this module, so it imports nothing slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gnoctl.printing import text
from gnoctl.printing.terminal import BOLD, DIM, MATCH, YELLOW, Terminal
from gnoctl.printing.wording import also, at_lines, corrected, count, loosely, matches, missed_by, reason

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gnod.protocol.evidence import EvidenceResult
    from gnod.protocol.search import AskResult, Hit, HitPassage, SearchResult


INDENT = "  "


def render(result: SearchResult, terminal: Terminal, *, line_numbers: bool = False) -> Iterator[str]:
    """Yield the lines of all results. Every character of a document in them is checked."""
    yield from corrections(result, terminal)
    for are_loose in (False, True):
        hits = [hit for hit in result.hits if bool(hit.loose) is are_loose]
        if hits and are_loose:
            yield from (terminal.paint("only loosely similar:", YELLOW), "")
        for hit in hits:
            yield from render_hit(hit, terminal, line_numbers=line_numbers)
            yield ""
    yield from ending(result, terminal)


def ending(result: SearchResult, terminal: Terminal) -> Iterator[str]:
    """Yield the lines below the results: their number, facets, and what they may lack."""
    yield terminal.paint(f"{_counted(result)} · {result.took_ms:.0f} ms", DIM)
    for name, counts in result.facets.items():
        yield text.line(f"{name}: {', '.join(f'{each.value} {each.count:,}' for each in counts) or 'none'}")
    yield from remarks(result, terminal)
    if result.explain:
        yield from (terminal.paint(line, DIM) for line in explanation(result.explain))


def remarks(result: SearchResult | EvidenceResult | AskResult, terminal: Terminal) -> Iterator[str]:
    """Yield what a result may lack, and why."""
    yield from (terminal.line(hint, YELLOW) for hint in result.hints)
    yield from (terminal.line(f"left out: {note}", YELLOW) for note in result.notes)
    if reason := getattr(result, "lexical_only_reason", None):
        yield terminal.line(f"keyword search only: {reason}", YELLOW)
    if missed := missed_by(result.freshness):
        yield terminal.line(missed, YELLOW)


def corrections(result: SearchResult | EvidenceResult | AskResult, terminal: Terminal) -> Iterator[str]:
    yield from (terminal.line(line, YELLOW) for line in corrected(result.corrections))


def render_hit(hit: Hit, terminal: Terminal, *, line_numbers: bool = False) -> Iterator[str]:
    yield terminal.paint(terminal.clip(text.line(hit.title)), BOLD)
    yield _place(hit, terminal)
    if hit.reasons:
        reasons = " · ".join(reason(each.kind, each.number) for each in hit.reasons)
        yield terminal.paint(INDENT + text.line(reasons), DIM)
    for line in filter(None, (also(hit.also, hit.also_left_out), hit.context)):
        yield terminal.paint(terminal.clip(INDENT + text.line(line)), DIM)
    if hit.matches and hit.matches.count:
        yield terminal.paint(INDENT + matches(hit.matches), DIM)
    if hit.passages and hit.text is None:
        yield from _passages(hit.passages, terminal, line_numbers=line_numbers)
    else:
        yield from _passage(hit, terminal, line_numbers=line_numbers)
    if hit.explain:
        parts = [f"{text.line(name)} {value:.4g}" for name, value in hit.explain.items()]
        by = f"`{hit.dated_by}`" if hit.dated_by else "the time of the file"
        parts += [text.line(f"date {hit.date[:10]} by {by}")] if hit.date else []
        yield terminal.paint(INDENT + " · ".join(parts), DIM)


def _counted(result: SearchResult) -> str:
    """Return the number of documents. In vector search every document matches a little, so count the hits, or the
    compared documents."""
    found, shown = count(result.total, "document"), len(result.rows or result.hits)
    if result.mode == "hybrid":
        found = f"the best {shown:,} of {found}"
    elif result.mode in ("keyword", "list"):
        found = f"{shown:,} of {found}"
    if not result.loose:
        return found
    how = "" if any(hit.loose for hit in result.hits) else " (--loose)"
    return f"{found}; {loosely(result.loose)}{how}"


def _place(hit: Hit, terminal: Terminal) -> str:
    """Return `collection/path:line in definition or section`, or a page instead of the line, with docid and score at
    the right edge."""
    place = f"{hit.location.label if hit.location else hit.line}"
    within = hit.definition.label if hit.definition else hit.heading.rpartition(" > ")[2]
    where = text.line(f"{hit.collection}/{hit.path}:{place}{f' in {within}' if within else ''}")
    about = text.line(f"{hit.docid}  {hit.score:.2f}")
    if terminal.width is None:
        return f"{where}  {about}"
    room = terminal.width - text.cells(about) - 2
    shown = text.clip_start(where, room)
    space = " " * (room - text.cells(shown))
    return terminal.paint(f"{terminal.link(shown, hit.source)}{space}  {about}", DIM)


def _passages(passages: Sequence[HitPassage], terminal: Terminal, *, line_numbers: bool) -> Iterator[str]:
    """Yield the passages, each below its line numbers."""
    for passage in passages:
        if len(passages) > 1:
            lines = at_lines(passage.line, passage.end_line)
            yield terminal.paint(f"{INDENT}line{'s' if '-' in lines else ''} {lines}", DIM)
        shown = text.block(passage.snippet)
        yield from _lines(shown, passage.marks, passage.snippet_line, terminal, line_numbers=line_numbers)


def _passage(hit: Hit, terminal: Terminal, *, line_numbers: bool) -> Iterator[str]:
    """Yield the passage with its matches marked, or the whole text if it was requested."""
    if hit.text is not None:
        shown, marks, first = text.block(hit.text), [], 1
    else:
        shown, marks, first = text.block(hit.snippet), hit.marks, hit.snippet_line
    yield from _lines(shown, marks, first, terminal, line_numbers=line_numbers)


def _lines(
    shown: str, marks: list[tuple[int, int]], first: int, terminal: Terminal, *, line_numbers: bool
) -> Iterator[str]:
    """Yield the lines of a passage; the first one has the number `first`."""
    shown = shown.replace("\t", " ")
    start = 0
    for number, line in enumerate(shown.split("\n"), first):
        margin = INDENT + (terminal.paint(f"{number:>5}  ", DIM) if line_numbers else "")
        room = None if terminal.width is None else terminal.width - len(INDENT) - (7 if line_numbers else 0)
        ranges = text.wrap(line, max(1, room)) if room is not None else [(0, len(line))]
        for begin, end in ranges:
            if line.strip():
                yield margin + marked(shown, start + begin, start + end, marks, terminal)
        start += len(line) + 1


def marked(shown: str, start: int, end: int, marks: list[tuple[int, int]], terminal: Terminal) -> str:
    """Return `shown[start:end]` with the ranges in `marks` painted."""
    pieces = text.pieces(shown, start, end, marks)
    return "".join(terminal.paint(piece, MATCH) if is_match else piece for piece, is_match in pieces)


def explanation(explain: dict[str, object], indent: str = "") -> Iterator[str]:
    for name, value in explain.items():
        if name == "stages" and isinstance(value, list):
            yield from map(_stage, value)
        elif isinstance(value, dict):
            yield f"{indent}{text.line(str(name))}:"
            yield from explanation(value, indent + INDENT)
        else:
            yield f"{indent}{text.line(str(name))}: {_value(value)}"


def _stage(stage: dict[str, object]) -> str:
    """Return one line: the stage, its time, the reason why it did not run, and its figures."""
    rest = dict(stage)
    name, ran, took_ms, why = (rest.pop(key, None) for key in ("stage", "ran", "ms", "why"))
    time = f"{took_ms:>8.1f} ms" if ran and isinstance(took_ms, int | float) else f"{'–':>11}"
    parts = [str(why)] if why else []
    parts += [f"{key} {_value(value)}" for key, value in rest.items() if value not in (None, [], {})]
    return f"{text.line(str(name)):<14}{time}  {text.line(' · '.join(parts))}".rstrip()


def _value(value: object) -> str:
    if isinstance(value, dict):
        shown = (f"{text.line(str(key))} {_value(each)}" for key, each in value.items() if each is not None)
        return f"({', '.join(shown)})"
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return text.line(f"{value:,.4g}" if isinstance(value, float) else str(value))


def file_place(hit: Hit) -> str:
    """Return the path on the disk, with the line if the file is text."""
    return text.line(hit.source if hit.location else f"{hit.source}:{hit.line}")


def address(hit: Hit) -> str:
    """Return the address that every gnoctl command, editor and agent opens."""
    return f"{hit.uri}#{hit.location.fragment}" if hit.location and hit.location.fragment else f"{hit.uri}:{hit.line}"


def citation(hit: Hit) -> str:
    """Return title, place and address.

    >>> from gnod.protocol.search import Hit
    >>> citation(Hit(rank=1, score=1, docid="#a", uri="gno://n/a.md", collection="n", path="a.md", source="/n/a.md",
    ...              title="Boats", line=3, end_line=3, snippet="", mime="text/markdown", modified=""))
    'Boats, n/a.md, line 3 <gno://n/a.md:3>'
    """
    where = hit.location.label if hit.location else f"line {hit.line}"
    return f"{text.line(f'{hit.title}, {hit.collection}/{hit.path}, {where}')} <{address(hit)}>"
