"""Draw what the documents say of the claims and citations of a text. Pure: returns lines."""

from __future__ import annotations

from collections.abc import Iterator

from gnoctl.printing import text
from gnoctl.printing.hits import INDENT
from gnoctl.printing.terminal import DIM, GREEN, RED, Terminal
from gnoctl.printing.wording import at_lines, count, missed_by
from gnod.protocol.evidence import AskVerifyResult, CheckedCitation, VerifiedClaim

_COLOURS = {"supported": GREEN, "contradicted": RED, "not_found": DIM}


def render(result: AskVerifyResult, terminal: Terminal) -> Iterator[str]:
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
        yield terminal.paint(text.line(missed), DIM)


def stance(claim: VerifiedClaim) -> str:
    """Return what the documents say of a claim, and how they differ from it."""
    if claim.stance == "not_found":
        return "not in the documents"
    return f"{claim.stance} ({text.line(', '.join(claim.differs))})" if claim.differs else claim.stance


def citation(checked: CheckedCitation) -> str:
    """Return a citation and its state."""
    moved = f" to {at_lines(checked.line, checked.end_line)}" if checked.state == "moved" else ""
    return f"{checked.citation}: {checked.state}{moved}"


def _sentence(claim: VerifiedClaim, terminal: Terminal) -> Iterator[str]:
    if sentence := claim.sentence:
        place = at_lines(sentence.line, sentence.end_line, sentence.location)
        where = text.line(f"{sentence.collection}/{sentence.path}:{place}")
        yield terminal.paint(terminal.clip(where), DIM)
        yield from terminal.wrap(" ".join(sentence.text.split()), INDENT)
        if sentence.citation:
            yield terminal.paint(text.line(sentence.citation), DIM)
