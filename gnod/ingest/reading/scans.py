"""The pages of a file that have no text, as converters see them: what was recognised of a page, or a note that it must
be. Must not depend on recognition itself, which comes later and one page at a time (docs/adr/0039-ocr.md)."""

from __future__ import annotations

from collections.abc import Mapping

# The maximum for one file. A book has 500 pages; recognising 2,000 takes two hours.
MAX_PAGES = 2_000


class Scans:
    """The pages of one file. `recognised`: the texts so far, by number from 1; "" if a page has no text. `refusal`: why
    nothing is recognised; None if pages can be recognised."""

    def __init__(self, recognised: Mapping[int, str] | None = None, refusal: str | None = "OCR is off") -> None:
        self.refusal = refusal
        self.pages = 0
        self.pending: list[int] = []
        self.used = sum(1 for text in (recognised or {}).values() if text)
        self._recognised = recognised or {}

    @property
    def wanted(self) -> bool:
        return self.refusal is None

    @property
    def found(self) -> bool:
        """Tell whether the file has such pages."""
        return self.pages > 0

    @property
    def note(self) -> str | None:
        """Return which parts of the file are not recognised, for its owner."""
        if self.pages <= MAX_PAGES:
            return None
        return f"{self.pages:,} of its pages or pictures have no text; OCR reads the first {MAX_PAGES:,}"

    def text(self, number: int) -> str:
        """Return the text of a page; "" while it is not recognised, which is noted."""
        if not self.wanted:
            return ""
        self.pages += 1
        if number in self._recognised:
            return self._recognised[number]
        if self.pages <= MAX_PAGES:
            self.pending.append(number)
        return ""
