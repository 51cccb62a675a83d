"""Gemini: `My Activity` of Google Takeout as JSON. It does not say what belongs together: each day is a document."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby
from pathlib import PurePosixPath

from gnod.ingest.formats.conversations.agents import minute
from gnod.ingest.formats.conversations.exports import Conversation, export_converter
from gnod.ingest.formats.conversations.message import ASSISTANT, USER, ChatMessage, ConversationFormat
from gnod.ingest.formats.visible_html import page_text
from gnod.ingest.reading.json_values import listed, mapping, string
from gnod.ingest.reading.versions import versioned

_NAMES = ("Gemini", "Bard")
_PROMPTED = "Prompted "


def _conversations(objects: list[dict[str, object]], _: PurePosixPath) -> Iterator[Conversation]:
    entries = [each for each in objects if any(name in string(each.get("header")) for name in _NAMES)]
    entries.sort(key=_time)
    for day, found in groupby(entries, key=lambda each: _time(each)[:10]):
        yield Conversation(title=f"Gemini, {day}", began=day, messages=partial(_messages, list(found)))


def _time(entry: dict[str, object]) -> str:
    return string(entry.get("time"))


def _messages(entries: list[dict[str, object]]) -> Iterator[ChatMessage]:
    for each in entries:
        time = minute(each.get("time"))
        asked = string(each.get("title")).removeprefix(_PROMPTED)
        yield ChatMessage(speaker=USER, role=USER, time=time, text=asked)
        pages = [string(mapping(part).get("html")) for part in listed(each.get("safeHtmlItem"))]
        if said := "\n\n".join(map(page_text, pages)):
            yield ChatMessage(speaker=ASSISTANT, role=ASSISTANT, time=time, text=said)


FORM = ConversationFormat(source="Gemini", converter=versioned("gemini"))
GEMINI = export_converter(
    FORM,
    "an export of Gemini",
    _conversations,
    rb'"header"\s*:\s*"[^"]*(?:Gemini|Bard)',
    rb'"title"\s*:',
    rb'"time"\s*:\s*"\d{4}-',
)
