"""Hide parts of a text from a search, so that places stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gnod.ingest.links.targets import WrittenLink

HIDDEN = "\0"  # canonical text never contains it


def masked(text: str, ranges: Iterable[tuple[int, int]]) -> str:
    """Return the text with other characters in these ranges. A range of whole lines keeps its last line end.

    >>> masked("ab `c` d", [(3, 6)]).replace(HIDDEN, "*")
    'ab *** d'
    """
    parts: list[str] = []
    at = 0
    for start, end in sorted(ranges):
        if end <= max(at, start):
            continue
        start = max(start, at)
        parts += [text[at:start], HIDDEN * (end - start - 1), "\n" if text[end - 1] == "\n" else HIDDEN]
        at = end
    return "".join([*parts, text[at:]]) if parts else text


def in_turn(text: str, *syntaxes: Callable[[str], Iterator[WrittenLink]]) -> Iterator[WrittenLink]:
    """Yield the links of each syntax in what the ones before it leave of the text."""
    for syntax in syntaxes:
        found = list(syntax(text))
        yield from found
        text = masked(text, ((each.start, each.end) for each in found))
