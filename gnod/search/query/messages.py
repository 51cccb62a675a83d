"""Find the messages of a conversation for `role:` and `from:` in a query.

Does not depend on formats. Uses only the lines where messages begin, and the form of their headings: `## Mara,
2026-03-04 10:22`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from gnod.locations import Locations

_HEADING = re.compile(r"## (?P<speaker>.+?)(?:, \d{4}-\d\d-\d\d[^,\n]*)?$", re.MULTILINE)


class Speakers(NamedTuple):
    """In lower case. `roles`: a message of one of these roles must match the query. `names`: parts of names; messages
    of these speakers are preferred."""

    roles: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def include(self, speaker: str) -> bool:
        if self.roles:
            return speaker in self.roles
        return any(name in speaker for name in self.names)


def ranges_of(text: str, locations: Locations | None, speakers: Speakers) -> list[tuple[int, int]] | None:
    """Return the ranges of these speakers' messages, without their headings; None if the text is not a conversation."""
    if locations is None or locations.kind != "message":
        return None
    starts = _offsets(text, [start.line for start in locations.starts])
    headings = [_HEADING.match(text, start) for start in starts]
    if not all(headings):
        return None
    ends = [end for _, end in pairwise([*starts, len(text)])]
    return [
        (heading.end(), end)
        for heading, end in zip(headings, ends, strict=True)
        if heading and speakers.include(heading["speaker"].casefold())
    ]


def alone(text: str, ranges: Sequence[tuple[int, int]]) -> str:
    """Replace all other messages by spaces, so that positions stay the same."""
    ends = [0, *(end for _, end in ranges)]
    return "".join(" " * (start - before) + text[start:end] for (start, end), before in zip(ranges, ends, strict=False))


def _offsets(text: str, lines: Sequence[int]) -> list[int]:
    """Return the start of each of these lines. The lines must be in order."""
    found, at, line = [], 0, 1
    for wanted in lines:
        for _ in range(wanted - line):
            at = text.find("\n", at) + 1
        line = max(line, wanted)
        found.append(at)
    return found
