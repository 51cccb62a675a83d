"""Translates markup to Markdown line by line. Each line stays one line, so that hits name lines of the file.

Lines that are not prose (options, comments, targets) become empty. A file without prose stays unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.result import Converted, unchanged
from gnod.types import KEEPS_LINES

CODE_INDENT = "    "


class Translation:
    """The new lines of a text so far. Lines that are not set stay empty."""

    def __init__(self, text: str) -> None:
        self.source = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.lines = [""] * len(self.source)
        self.metadata: dict[str, object] = {}
        self._prose: set[int] = set()
        self.fence = "~~~~" if any(line.lstrip().startswith("```") for line in self.source) else "```"

    def prose(self, at: int, line: str) -> None:
        """Set a line of prose, whose inline markup is translated later."""
        self.lines[at] = line
        self._prose.add(at)

    def code(self, start: int, end: int) -> None:
        block = self.source[start:end]
        margin = min((indent(line) for line in block if line.strip()), default=0)
        for at, line in enumerate(block, start):
            self.lines[at] = CODE_INDENT + line[margin:] if line.strip() else ""

    def translate_inline(self, marks: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> None:
        """Replace marks inside paragraphs, which are runs of prose lines."""
        at = 0
        while at < len(self.lines):
            end = at
            while end in self._prose:
                end += 1
            if end > at:
                paragraph = "\n".join(self.lines[at:end])
                self.lines[at:end] = marks.sub(lambda found: _same_breaks(found[0], replace(found)), paragraph).split(
                    "\n"
                )
            at = end + 1


def _same_breaks(old: str, new: str) -> str:
    """Return `new` with as many line breaks as `old`."""
    missing = old.count("\n") - new.count("\n")
    return new + "\n" * missing if missing >= 0 else new.replace("\n", " ", -missing)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def markup(
    label: str,
    mime: str,
    extensions: str,
    converter: str,
    translate: Callable[[Translation], None],
    *,
    headings: bool = True,
) -> Converter:
    def read(content: FileContent) -> Converted:
        text = content.text()
        translation = Translation(text)
        translate(translation)
        if not any(line.strip() for line in translation.lines):
            return unchanged(text)
        return Converted(
            markdown="\n".join(translation.lines),
            converter=converter + KEEPS_LINES,
            metadata=translation.metadata,
            markup="markdown" if headings else "plain",
            keeps_lines=True,
            source="\n".join(translation.source),
        )

    return Converter(
        label=label, mime=mime, extensions=extensions, is_text=True, read=read, headings=headings, location="line"
    )
