"""Documents as pages of text for an agent, with line numbers. Pure. Must not depend on MCP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate, takewhile

from gnoctl.mcp.output_text import address, for_agent, noted, paragraphs
from gnoctl.printing import text
from gnoctl.printing.wording import count, skipped_by_reason
from gnod.protocol.documents import DocumentMultiGetResult, DocumentText, SkippedReference
from gnod.types import canonical_line, estimated_tokens, source_line

# With fewer tokens left, `read` does not begin another document.
_FEWEST_TOKENS = 100
# A line that is longer than all tokens is cut after this many characters per token.
_TOKEN_CHARS = 4
_DAY = len("2026-11-21")
_FULL = "not read, no tokens are left: request them in another call, or with more `tokens`"


def document(result: DocumentText, tokens: int) -> str:
    """Return as much of a document as fits into a number of tokens, but at least one line."""
    page, end = cut(result, tokens)
    head = f"{address(result.uri)} lines {result.start_line}-{end} of {result.total_lines}"
    head += f"; modified {result.modified[:_DAY]}"
    if end < result.total_lines:
        head += f"; continues at start_line={end + 1}"
    most = tokens * _TOKEN_CHARS
    notes = (
        "the file has changed since it was indexed: call `search` with fresh=true" if result.stale else None,
        f"line {result.start_line} was cut because it is too long; the resource {result.uri} is complete"
        if len(page) > most  # the text is a single line, so there is no smaller page
        else None,
    )
    labels = {"title": result.title, "tags": ", ".join(result.tags or []), "about": result.context}
    said = [f"{label}: {text.line(words)}" for label, words in labels.items() if words]
    return paragraphs("\n".join([head, *said, *noted(notes)]), _numbered(result, page[:most]))


def several(found: Sequence[DocumentMultiGetResult], tokens: int) -> str:
    """Return documents until the tokens are used up. The last one may be cut; the following ones are only listed."""
    kept: list[str] = []
    full = []
    parts = {(each.uri, each.start_line, each.end_line): each for result in found for each in result.documents}
    for each in parts.values():
        if kept and tokens < _FEWEST_TOKENS:
            full.append(SkippedReference(ref=each.uri, kind="answer_full", reason=_FULL))
        else:
            kept.append(document(each, tokens))
            tokens -= estimated_tokens(kept[-1])
    skipped = skipped_by_reason([*(each for result in found for each in result.skipped), *full])
    left_out = "\n".join(f"left out: {text.line(for_agent(each))}" for each in skipped)
    return paragraphs(count(len(kept), "document"), left_out, *kept)


def cut(result: DocumentText, tokens: int) -> tuple[str, int]:
    """Return the lines that fit into a number of tokens, at least one, and the number of the last one in the file."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", result.text)  # some other characters, such as a form feed, do not end a line
    fit = _how_many(lines, tokens)
    if fit == len(lines):
        return result.text, result.end_line
    # The line numbers refer to the file. Canonical text may have fewer lines.
    last = canonical_line(result.line_map, result.start_line) + fit - 1
    return "".join(lines[:fit]), source_line(result.line_map, last)


def _how_many(lines: list[str], tokens: int) -> int:
    """Return how many lines fit, at least one. End at the last blank line or before the last heading, if this leaves
    out only a short part."""
    sizes = accumulate(estimated_tokens(line) for line in lines)
    fits = max(sum(1 for _ in takewhile(lambda size: size <= tokens, sizes)), 1)
    if fits >= len(lines):
        return len(lines)
    ends = (n for n in range(fits, fits * 3 // 4, -1) if not lines[n - 1].strip() or lines[n].startswith("#"))
    return next(ends, fits)


def _numbered(result: DocumentText, page: str) -> str:
    """Return the lines with their numbers in the file."""
    lines = text.block(page).rstrip("\n").split("\n")
    first = canonical_line(result.line_map, result.start_line)
    numbered = (f"{source_line(result.line_map, number)}|{line}" for number, line in enumerate(lines, first))
    return "\n".join(each if line.strip() else "" for each, line in zip(numbered, lines, strict=True))
