"""Numbers, sizes, times, gaps of an index and omissions of an answer in words. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from gnod.protocol.base import Copy, Correction, Freshness, Location
    from gnod.protocol.documents import SkippedReference
    from gnod.protocol.index import CollectionStatus
    from gnod.protocol.search import HitMatches

_UNITS = ("B", "kB", "MB", "GB", "TB")
_LINKS = {"links_to": "→", "linked_from": "←"}
_EXAMPLES = 5  # shown of the references that were left out for the same reason
_STEPS = ((60, "s"), (60, "min"), (24, "h"))


def count(number: int, noun: str) -> str:
    """Return the number with its noun.

    >>> count(1, "document"), count(1200, "document")
    ('1 document', '1,200 documents')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def matches(found: HitMatches) -> str:
    """Return how many matches a document has, with a plus if counting stopped early.

    >>> from gnod.protocol.search import HitMatches
    >>> matches(HitMatches(count=1000, exact=False, lines=[], pages=46))
    '1,000+ matches on 46+ pages'
    """
    more = "" if found.exact else "+"
    on = f" on {found.pages:,}{more} page{'' if found.pages == 1 else 's'}" if found.pages else ""
    return f"{found.count:,}{more} match{'' if found.count == 1 else 'es'}{on}"


def reason(kind: str, number: float) -> str:
    """Return why a document is related to another one.

    >>> reason("links_to", 2.0), reason("cited_together", 1.0), reason("similar", 0.823)
    ('→ 2 links', '1 document with links to both', 'similarity 0.82')
    """
    if kind in _LINKS:
        return f"{_LINKS[kind]} {count(int(number), 'link')}"
    if kind == "cited_together":
        return f"{count(int(number), 'document')} with links to both"
    return f"similarity {number:.2f}" if kind == "similar" else f"{kind} {number:g}"


def size(number: float) -> str:
    """Return bytes in decimal units, as disks are sold.

    >>> size(999), size(12_345_678)
    ('999 B', '12.3 MB')
    """
    for unit in _UNITS[:-1]:
        if number < 1000:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} {_UNITS[-1]}"


def duration(seconds: float) -> str:
    """Return a time span in its largest whole unit.

    >>> duration(5), duration(7300), duration(90_000)
    ('5 s', '2 h', '1 d')
    """
    amount = max(0.0, seconds)
    for step, unit in _STEPS:
        if amount < step:
            return f"{amount:.0f} {unit}" if unit == "s" else f"{int(amount)} {unit}"
        amount /= step
    return f"{int(amount)} d"


def about(seconds: float) -> str:
    """Return an estimated time: to about two digits, never less than a second.

    >>> about(0.2), about(95), about(4000), about(100_000)
    ('1 s', '2 min', '1.1 h', '28 h')
    """
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 3600:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.2g} h"


def ago(timestamp: str | None, now: datetime | None = None) -> str:
    """Return how long ago an ISO 8601 time was; anything else is returned unchanged."""
    from datetime import UTC, datetime  # the search commands do not need it

    if timestamp is None:
        return "never"
    try:
        then = datetime.fromisoformat(timestamp)
    except ValueError:
        return timestamp
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return f"{duration(((now or datetime.now(UTC)) - then).total_seconds())} ago"


def missed_by(freshness: Freshness) -> str | None:
    """Return what a search may have missed, in the daemon's words; None if the index is current."""
    return None if freshness.current else freshness.state


# The reasons why files are not documents.
SKIPPED = {
    "needs_ocr": "need OCR (pictures and scans)",
    "unsupported": "of an unknown kind",
    "binary": "binary",
    "empty": "without text",
    "too_large": "too large",
    "not_downloaded": "not downloaded from their cloud",
    "hidden": "hidden",
}

# The parts that documents lack.
IN_PART = {
    "needs_ocr": "with pages that need OCR",
    "corrupt": "damaged",
    "too_large": "too large",
    "too_long": "too long",
    "bad_head": "with lines in the frontmatter that cannot be read",
    "members": "with files inside that are not read",
}


def by_kind(numbers: Mapping[str, int], words: Mapping[str, str]) -> str:
    """Return numbers by kind, in words.

    >>> by_kind({"unsupported": 1200, "binary": 2}, SKIPPED)
    '2 binary, 1,200 of an unknown kind'
    """
    return ", ".join(f"{number:,} {words.get(kind, kind)}" for kind, number in sorted(numbers.items()))


def unreadable(failed: int) -> str:
    """Return how many files could not be read.

    >>> unreadable(1)
    '1 file could not be read'
    """
    return f"{count(failed, 'file')} could not be read"


def also(copies: Sequence[Copy], left_out: int = 0) -> str | None:
    """Return the other paths of a file, or None if it has no copies.

    >>> from gnod.protocol.base import Copy
    >>> copy = Copy(uri="gno://notes/b.md", collection="notes", path="b.md", source="/n/b.md")
    >>> also([copy], 2), also([])
    ('also: notes/b.md and 2 more', None)
    """
    listed = ", ".join(f"{copy.collection}/{copy.path}" for copy in copies)
    return f"also: {listed}{f' and {left_out:,} more' if left_out else ''}" if listed else None


def loosely(number: int) -> str:
    """Say how many documents of a result are only loosely similar to the query.

    >>> loosely(1)
    '1 document is only loosely similar'
    """
    return f"{count(number, 'document')} {'is' if number == 1 else 'are'} only loosely similar"


def corrected(corrections: Sequence[Correction]) -> list[str]:
    """Return lines that say which words were corrected.

    >>> from gnod.protocol.base import Correction
    >>> corrected([Correction(written="certifcate", searched="certificate")])
    ['Showing results for "certificate" (you wrote "certifcate")']
    >>> corrected([Correction(written="Tarif", searched="*tarif*")])
    ['Showing results for longer words with "Tarif"']
    """
    return [
        f'Showing results for longer words with "{correction.written}"'
        if correction.searched.startswith("*")
        else f'Showing results for "{correction.searched}" (you wrote "{correction.written}")'
        for correction in corrections
    ]


def at_lines(line: int, end_line: int, location: Location | None = None) -> str:
    """Return the lines of a passage, or its page, to follow the path.

    >>> from gnod.protocol.base import Location
    >>> at_lines(3, 5, None), at_lines(3, 3, None), at_lines(3, 5, Location(page=2, label="p2"))
    ('3-5', '3', 'p2')
    """
    if location:
        return location.label
    return str(line) if line == end_line else f"{line}-{end_line}"


def skipped_of(collection: CollectionStatus) -> str:
    """Return how many files of a collection are skipped or hidden, by reason; "" if none are."""
    hidden = {"hidden": collection.hidden} if collection.hidden else {}
    kinds = by_kind(collection.skipped_by_kind | hidden, SKIPPED)
    return f"{collection.name}: skipped: {kinds}" if kinds else ""


def skipped_by_reason(skipped: Iterable[SkippedReference]) -> list[str]:
    """Return what `document.multi_get` left out: for each kind of reason the number of references, and the first ones.

    >>> from gnod.protocol.documents import SkippedReference
    >>> skipped_by_reason([SkippedReference(ref=f"{n}.md", kind="too_large", reason="too large") for n in range(7)])
    ['7 too large: 0.md, 1.md, 2.md, 3.md, 4.md and 2 more']
    """
    kinds: dict[str, list[SkippedReference]] = {}
    for each in skipped:
        kinds.setdefault(each.kind, []).append(each)
    return [_skipped_line(group) for group in kinds.values()]


def _skipped_line(group: list[SkippedReference]) -> str:
    first, *others = group
    if not others:
        return f"{first.ref}: {first.reason}"
    more = f" and {len(group) - _EXAMPLES:,} more" if len(group) > _EXAMPLES else ""
    if any(other.reason != first.reason for other in others):
        # These reasons are sentences that name their reference.
        return f"{len(group):,} references: {'; '.join(each.reason for each in group[:_EXAMPLES])}{more}"
    return f"{len(group):,} {first.reason}: {', '.join(each.ref for each in group[:_EXAMPLES])}{more}"
