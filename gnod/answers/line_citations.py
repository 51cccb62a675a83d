"""Cite lines so that the citation can be checked later: `gno://notes/plan.md:12-14@9f3b2c1d4e5f`.

The part after the `@` is a hash of the words of these lines. With it, the check notices any edit, and finds lines that
moved within their document. It does not protect against a document that was crafted to have the same hash.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal, NamedTuple

from gnod.errors import GnoError
from gnod.search.query import references
from gnod.store.connection import Connection
from gnod.store.tables import documents
from gnod.store.tables.documents import DocumentRow
from gnod.types import canonical_line, source_line

State = Literal["unchanged", "moved", "changed", "gone"]

# Longer citations are not searched for at another place.
_MAX_LINES = 60
_CITATION = re.compile(
    r"(?P<document>[^\s<>()\[\]\"`]+):(?P<line>\d{1,9})(?:-(?P<end_line>\d{1,9}))?@(?P<hash>[0-9a-f]{12})(?!\w)"
)
_MARKED = re.compile(rf"[ \t]*[<(\[]?{_CITATION.pattern}[>)\]]?")


class LineCitation(NamedTuple):
    """`document`: a reference to it. The lines are lines of its file."""

    written: str
    document: str
    line: int
    end_line: int
    hash: str


class CitationNow(NamedTuple):
    """`line` and `end_line`: where the lines are now, or were."""

    written: str
    state: State
    document: DocumentRow | None
    line: int
    end_line: int


def cite(document: DocumentRow, text: str, line: int, end_line: int) -> str:
    """Return the citation of lines of a document's file. `text`: its canonical text."""
    first, last = (canonical_line(document.line_map, number) for number in (line, end_line))
    lines = f"{line}-{end_line}" if end_line > line else str(line)
    hash_ = _hash(text.split("\n")[first - 1 : last])
    return f"{document.uri}:{lines}@{hash_}"


def find(text: str) -> list[LineCitation]:
    """Return the citations in a text, each once.

    >>> [each.document for each in find("Kept for 30 days [gno://n/a.md:3@9f3b2c1d4e5f]; see n/b.md:7-9@0123456789ab.")]
    ['gno://n/a.md', 'n/b.md']
    """
    found = {}
    for match in _CITATION.finditer(text):
        line = int(match["line"])
        found[match[0]] = LineCitation(
            match[0], match["document"], line, max(int(match["end_line"] or 0), line), match["hash"]
        )
    return list(found.values())


def without(text: str) -> str:
    """Return a text without its citations.

    >>> without("Kept for 30 days [gno://n/a.md:3@9f3b2c1d4e5f].")
    'Kept for 30 days.'
    """
    return _MARKED.sub("", text)


def check(connection: Connection, citation: LineCitation) -> CitationNow:
    """Return whether the document still has the lines, and where; the nearest place if there are several."""
    now = CitationNow(citation.written, "gone", None, citation.line, citation.end_line)
    try:
        document = references.resolve(connection, citation.document, propose=False).document
    except GnoError:
        return now
    lines = documents.markdown(connection, document.mirror_hash).split("\n")
    first, last = (canonical_line(document.line_map, number) for number in (citation.line, citation.end_line))
    if _hash(lines[first - 1 : last]) == citation.hash:
        return now._replace(state="unchanged", document=document)
    at = _moved(lines, first, last - first + 1, citation.hash)
    if at is None:
        return now._replace(state="changed", document=document)
    line, end_line = (source_line(document.line_map, number) for number in (at, at + last - first))
    return now._replace(state="moved", document=document, line=line, end_line=end_line)


def _moved(lines: Sequence[str], first: int, count: int, digest: str) -> int | None:
    """Return the line, from 1, where `count` lines with this hash begin; the nearest to `first` if there are
    several."""
    if not 0 < count <= _MAX_LINES:
        return None
    starts = sorted(range(1, len(lines) - count + 2), key=lambda start: abs(start - first))
    return next((start for start in starts if _hash(lines[start - 1 : start - 1 + count]) == digest), None)


def _hash(lines: Sequence[str]) -> str:
    words = " ".join(" ".join(lines).split())
    return sha256(words.encode("utf-8", "surrogatepass")).hexdigest()[:12]
