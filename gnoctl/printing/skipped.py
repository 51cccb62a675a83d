"""What `document.multi_get` left out, in lines: for each reason how many, and the first of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from gnod.protocol.documents import SkippedReference

EXAMPLES = 5


def by_reason(skipped: Iterable[SkippedReference]) -> list[str]:
    """Return one line for each kind of reason.

    >>> by_reason([SkippedReference(ref=f"{n}.md", kind="too_large", reason="too large") for n in range(7)])
    ['7 too large: 0.md, 1.md, 2.md, 3.md, 4.md and 2 more']
    """
    kinds: dict[str, list[SkippedReference]] = {}
    for each in skipped:
        kinds.setdefault(each.kind, []).append(each)
    return [_line(group) for group in kinds.values()]


def _line(group: list[SkippedReference]) -> str:
    first, *others = group
    if not others:
        return f"{first.ref}: {first.reason}"
    more = f" and {len(group) - EXAMPLES:,} more" if len(group) > EXAMPLES else ""
    if any(other.reason != first.reason for other in others):
        # These sentences name what they are about.
        return f"{len(group):,} references: {'; '.join(each.reason for each in group[:EXAMPLES])}{more}"
    return f"{len(group):,} {first.reason}: {', '.join(each.ref for each in group[:EXAMPLES])}{more}"
