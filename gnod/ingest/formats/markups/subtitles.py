"""Extracts the text of subtitles (SRT, WebVTT). Numbers, times and settings of cues become empty lines."""

from __future__ import annotations

import re

from gnod.ingest.formats.markups.line_by_line import Translation, markup
from gnod.ingest.reading.converter import Converter

_TIMES = re.compile(r"\s*(?:\d+:)?\d+:\d+[.,]\d+\s*-->")
_MARKS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>|<[\d:.]{5,20}>|\{\\[^{}]{0,200}\}")


def _translate(to: Translation) -> None:
    """Translate cues. A cue begins after an empty line; it has an optional name or number, its times, and its text."""
    in_cue = False
    for at, line in enumerate(to.source):
        if _TIMES.match(line):
            in_cue = True
        elif not line.strip():
            in_cue = False
        elif in_cue:
            to.lines[at] = _MARKS.sub("", line).strip()


def _subtitles(mime: str, extensions: str) -> Converter:
    return markup("subtitles", mime, extensions, "subtitles/1", _translate, headings=False)


FORMATS = (_subtitles("application/x-subrip", "srt"), _subtitles("text/vtt", "vtt"))
