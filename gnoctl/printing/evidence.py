"""Draw a packet of evidence: the passages of each document, then what was left out. Also draw the results for the
claims and citations of a text. Pure: returns lines."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl.printing import text
from gnoctl.printing.hits import INDENT, corrections, explanation, remarks
from gnoctl.printing.terminal import BOLD, DIM, GREEN, RED, YELLOW, Terminal
from gnoctl.printing.wording import also, at_lines, count, missed_by
from gnod.protocol.evidence import (
    AskVerifyResult,
    CheckedCitation,
    EvidencePassage,
    EvidenceResult,
    LeftOutPassages,
    VerifiedClaim,
)

_COLOURS = {"supported": GREEN, "contradicted": RED, "not_found": DIM}


def render(result: EvidenceResult, terminal: Terminal) -> Iterator[str]:
    """Yield the lines. Every character of a document in them is checked."""
    if weak := why_weak(result):
        yield terminal.paint(f"{weak[:1].upper()}{weak[1:]}:", YELLOW)
        yield ""
    document = None
    for passage in result.passages:
        if passage.uri != document:
            document = passage.uri
            yield terminal.paint(terminal.clip(text.line(f"{passage.title}  {passage.docid}")), BOLD)
            if copies := also(passage.also, passage.also_left_out):
                yield terminal.paint(terminal.clip(INDENT + text.line(copies)), DIM)
        yield from _passage(passage, terminal)
        yield ""
    if nothing := why_nothing(result):
        yield f"{nothing[:1].upper()}{nothing[1:]}."
    passages = count(len(result.passages), "passage")
    yield terminal.paint(
        f"{passages} · {result.tokens:,} of {result.max_tokens:,} tokens · {result.took_ms:.0f} ms", DIM
    )
    for each in result.left_out:
        yield terminal.line(left_out(each), DIM)
    yield from corrections(result, terminal)
    yield from remarks(result, terminal)
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
    """Return the remark about passages that may not answer the question; None if they do, or if there are none."""
    if result.state == "answered" or not result.passages:
        return None
    if result.state == "perhaps":
        return "these passages may have the answer, or only a part of it"
    return "your documents do not seem to answer this; the nearest passages"


def left_out(group: LeftOutPassages) -> str:
    """Return what was left out, why, and the best passage among it."""
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
    yield terminal.paint(terminal.clip(f"{where}  {heading}".rstrip()), DIM)
    if passage.lead:
        yield from (terminal.paint(line, DIM) for line in terminal.wrap(passage.lead, INDENT))
    yield from terminal.wrap(passage.text, INDENT)


def render_claims(result: AskVerifyResult, terminal: Terminal) -> Iterator[str]:
    """Yield the lines. Every character of a document or of the text in them is checked."""
    for claim in result.claims:
        yield terminal.paint(f"{stance(claim)}:", _COLOURS[claim.stance])
        yield from terminal.wrap(claim.text, INDENT)
        yield from _sentence(claim, terminal)
        yield ""
    for each in result.citations:
        yield text.line(citation(each))
    if not result.claims and not result.citations:
        yield "This text has no claims to check. Write a statement: questions, headings and code do not count."
    stances = [claim.stance for claim in result.claims]
    counts = [f"{stances.count(each)} {each.replace('_', ' ')}" for each in _COLOURS if each in stances]
    if counts:
        yield terminal.paint(f"{count(len(stances), 'claim')}: {', '.join(counts)}", DIM)
    if missed := missed_by(result.freshness):
        yield terminal.line(missed, DIM)


def stance(claim: VerifiedClaim) -> str:
    """Return what the documents say about a claim, and how they differ from it."""
    if claim.stance == "not_found":
        return "not in the documents"
    return f"{claim.stance} ({text.line(', '.join(claim.differs))})" if claim.differs else claim.stance


def citation(checked: CheckedCitation) -> str:
    moved = f" to {at_lines(checked.line, checked.end_line)}" if checked.state == "moved" else ""
    return f"{checked.citation}: {checked.state}{moved}"


def _sentence(claim: VerifiedClaim, terminal: Terminal) -> Iterator[str]:
    if sentence := claim.sentence:
        place = at_lines(sentence.line, sentence.end_line, sentence.location)
        where = text.line(f"{sentence.collection}/{sentence.path}:{place}")
        yield terminal.paint(terminal.clip(where), DIM)
        yield from terminal.wrap(" ".join(sentence.text.split()), INDENT)
        if sentence.citation:
            yield terminal.line(sentence.citation, DIM)
