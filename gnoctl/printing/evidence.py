"""Draw a packet of evidence: the passages of each document, then what was left out. Pure: returns lines."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl.printing import text
from gnoctl.printing.hits import explanation
from gnoctl.printing.terminal import BOLD, DIM, YELLOW, Terminal
from gnoctl.printing.wording import also, at_lines, corrected, count, missed_by
from gnod.protocol.evidence import EvidencePassage, EvidenceResult, LeftOutPassages

INDENT = "  "


def render(result: EvidenceResult, terminal: Terminal) -> Iterator[str]:
    """Yield the lines. Every character of a document in them is checked."""
    if weak := why_weak(result):
        yield terminal.paint(f"{weak[:1].upper()}{weak[1:]}:", YELLOW)
        yield ""
    document = None
    for passage in result.passages:
        if passage.uri != document:
            document = passage.uri
            title = text.line(f"{passage.title}  {passage.docid}")
            yield terminal.paint(text.clip(title, terminal.width) if terminal.width else title, BOLD)
            if copies := also(passage.also, passage.also_left_out):
                shown = INDENT + text.line(copies)
                yield terminal.paint(text.clip(shown, terminal.width) if terminal.width else shown, DIM)
        yield from _passage(passage, terminal)
        yield ""
    if nothing := why_nothing(result):
        yield f"{nothing[:1].upper()}{nothing[1:]}."
    passages = count(len(result.passages), "passage")
    yield terminal.paint(
        f"{passages} · {result.tokens:,} of {result.max_tokens:,} tokens · {result.took_ms:.0f} ms", DIM
    )
    for each in result.left_out:
        yield terminal.paint(text.line(left_out(each)), DIM)
    for line in corrected(result.corrections):
        yield terminal.paint(text.line(line), YELLOW)
    for hint in result.hints:
        yield terminal.paint(text.line(hint), YELLOW)
    for note in result.notes:
        yield terminal.paint(text.line(f"left out: {note}"), YELLOW)
    if result.lexical_only_reason:
        yield terminal.paint(text.line(f"keyword search only: {result.lexical_only_reason}"), YELLOW)
    if missed := missed_by(result.freshness):
        yield terminal.paint(text.line(missed), YELLOW)
    if result.explain:
        scores = " · ".join(f"{each.number}: {each.score:.3f}" for each in result.passages)
        yield terminal.paint(f"scores of the passages  {scores}", DIM)
        yield from (terminal.paint(line, DIM) for line in explanation(result.explain))


def why_nothing(result: EvidenceResult) -> str | None:
    """Return why there are no passages; None if there are some."""
    if result.reason == "over_budget":
        needed = min(each.tokens for each in result.left_out)
        return f"no passage fits into {count(result.max_tokens, 'token')}: the best one needs {needed:,}"
    return "nothing in the documents is about this question" if result.reason else None


def why_weak(result: EvidenceResult) -> str | None:
    """Return what is to be said of passages that do not answer the question; None if they do, or there are none."""
    if result.found or not result.passages:
        return None
    return "your documents do not seem to answer this; perhaps these passages, the nearest, help"


def left_out(group: LeftOutPassages) -> str:
    """Return what was left out, why, and the best of it."""
    passages, place = count(group.count, "passage"), f"{group.uri}:{group.line}"
    match group.reason:
        case "over_budget":
            return f"left out: {passages} over the budget; the best is {place} ({group.tokens:,} tokens)"
        case "repeats":
            return f"left out: {passages} with the same text as another; {place} repeats passage {group.repeats}"
        case _:
            return f"left out: {passages} that add little; the best is {place} (score {group.score:.2f})"


def _passage(passage: EvidencePassage, terminal: Terminal) -> Iterator[str]:
    lines = at_lines(passage.line, passage.end_line, passage.location)
    where = text.line(f"[{passage.number}] {passage.collection}/{passage.path}:{lines}")
    heading = "" if passage.heading == passage.title else text.line(passage.heading)  # the title is already above
    place = f"{where}  {heading}".rstrip()
    yield terminal.paint(text.clip(place, terminal.width) if terminal.width else place, DIM)
    if passage.lead:
        yield from (terminal.paint(line, DIM) for line in _lines(passage.lead, terminal))
    yield from _lines(passage.text, terminal)


def _lines(shown: str, terminal: Terminal) -> Iterator[str]:
    for line in text.block(shown).replace("\t", "    ").split("\n"):
        ranges = text.wrap(line, max(terminal.width - len(INDENT), 1)) if terminal.width else [(0, len(line))]
        yield from (INDENT + line[start:end] for start, end in ranges) if line.strip() else [""]
