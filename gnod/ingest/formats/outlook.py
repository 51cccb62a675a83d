"""Converts Outlook messages (.msg): header, text, attachments and forwarded messages.

Format: [MS-OXMSG]; names of properties: [MS-OXPROPS]; compressed rich text: [MS-OXRTFCP].
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial

from gnod.ingest.formats.mail import fuller, rendered
from gnod.ingest.formats.office import richtext
from gnod.ingest.formats.office.ole import Streams
from gnod.ingest.formats.visible_html import page_text
from gnod.ingest.reading.converter import Converter, FileContent, ole_with
from gnod.ingest.reading.decode import NotText, decode
from gnod.ingest.reading.result import Converted, Member, authorship, too_long

_SUBJECT, _BODY, _HTML, _RTF = "0037", "1000", "1013", "1009"
_SENDER, _ADDRESSES, _TO, _CC, _SENT = "0c1a", ("5d01", "0c1f"), "0e04", "0e03", 0x0039
_LONG_NAME, _SHORT_NAME, _SHOWN_NAME, _DATA = "3707", "3704", "3001", "3701"
_CODE_PAGES = 0x3FDE, 0x3FFD  # properties with the code pages of the body and of other texts
_OF_CONTACTS = "3a"
_TEXT_TYPES = ("001f", "001e")
_MAX_DEPTH = 5
_MAX_RTF = 20_000_000
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_RTF_BEGINNING = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    rb"\pard\plain\f0\fs20\b\i\u\tab\tx"
)


class _Storage:
    """A folder of the file with a message or an attachment; `path` is empty for the main message. `names` are the names
    of the streams and folders in it."""

    def __init__(self, streams: Streams, path: str = "") -> None:
        self._streams = streams
        self._path = path
        inside = (name.removeprefix(path) for name in streams if name.startswith(path))
        self.names = dict.fromkeys(name.partition("/")[0] for name in inside)

    def data(self, property_id: str, kind: str = "0102") -> bytes:
        """Return the bytes of a property; empty if it is missing."""
        return self._bytes(f"__substg1.0_{property_id}{kind}")

    def _bytes(self, name: str) -> bytes:
        return self._streams.read(self._path + name) if self._path + name in self._streams else b""

    def text(self, property_id: str) -> str:
        if wide := self.data(property_id, "001f"):
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        try:
            return decode(self.data(property_id, "001e").rstrip(b"\0"), self.code_page)
        except NotText:
            return ""

    def line(self, *property_ids: str) -> str:
        return next((line for property_id in property_ids if (line := " ".join(self.text(property_id).split()))), "")

    def below(self, prefix: str) -> list[_Storage]:
        return [
            _Storage(self._streams, f"{self._path}{name}/") for name in sorted(self.names) if name.startswith(prefix)
        ]

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The properties of fixed size by id. The stream has a header and then entries of 16 bytes."""
        data = self._bytes("__properties_version1.0")
        header = len(data) % 16 or (16 if self._path else 32)
        entries = (data[at : at + 16] for at in range(header, len(data) - 15, 16))
        return {int.from_bytes(entry[2:4], "little"): int.from_bytes(entry[8:], "little") for entry in entries}

    @cached_property
    def code_page(self) -> str | None:
        number = next((self.numbers[page] & 0xFFFFFFFF for page in _CODE_PAGES if page in self.numbers), 0)
        name = {65001: "utf-8", 20127: "ascii", 28591: "latin-1", 50220: "iso2022_jp"}.get(number, f"cp{number}")
        try:
            return codecs.lookup(name).name
        except LookupError:
            return None


def _read(content: FileContent) -> Converted:
    message = _Storage(Streams(content))
    markdown = _rendered(message, content)
    if len(markdown) > content.max_characters:
        raise too_long(content.max_characters)
    return Converted(
        markdown=markdown,
        converter="outlook/1",
        title=message.line(_SUBJECT) or None,
        metadata=authorship(_sender(message), _sent(message)),
        members=partial(_attachments, content, message),
    )


def _rendered(message: _Storage, content: FileContent, depth: int = 0) -> str:
    attached = message.below("__attach_version1.0_")
    fields = {"From": _sender(message), "To": message.line(_TO), "Cc": message.line(_CC), "Date": _sent(message)}
    names = [name for attachment in attached if (name := _name(attachment))]
    forwarded = (storage for part in attached for storage in part.below(f"__substg1.0_{_DATA}000d"))
    inner = [_rendered(part, content, depth + 1) for part in forwarded] if depth < _MAX_DEPTH else []
    texts = [_body(message, content), _contact(message), *inner]
    return rendered(message.line(_SUBJECT), fields, names, "\n\n".join(text.strip() for text in texts if text.strip()))


def _body(message: _Storage, content: FileContent) -> str:
    html = message.data(_HTML)
    page = page_text(decode(html, message.code_page)) if html else page_text(message.text(_HTML))
    plain = message.text(_BODY)
    if plain.strip() or page.strip():
        return fuller(plain, page)
    rtf = decompressed(message.data(_RTF))
    return richtext.text_of(rtf[: content.max_characters].decode("latin-1"), content.label) if rtf else ""


def _contact(message: _Storage) -> str:
    """Return the data of a contact: names, company, numbers, addresses."""
    start = len("__substg1.0_")
    ids = {name[start : start + 4] for name in message.names if name[start : start + 2] == _OF_CONTACTS}
    return "\n".join(dict.fromkeys(line for property_id in sorted(ids) if (line := message.line(property_id))))


def _sender(message: _Storage) -> str:
    name, address = message.line(_SENDER), message.line(*_ADDRESSES)
    is_shown = "@" in address and address != name
    return f"{name} <{address}>".strip() if is_shown else name


def _sent(message: _Storage) -> str:
    """Return when the message was sent. Times are in tenths of a microsecond since 1601."""
    ticks = message.numbers.get(_SENT, 0)
    try:
        return (_EPOCH + timedelta(microseconds=ticks // 10)).isoformat(timespec="seconds") if ticks else ""
    except OverflowError:
        return ""


def _name(attachment: _Storage) -> str:
    return attachment.line(_LONG_NAME, _SHORT_NAME, _SHOWN_NAME) if attachment.data(_DATA) else ""


def _attachments(content: FileContent, message: _Storage) -> Iterator[Member]:
    for attachment in message.below("__attach_version1.0_"):
        if name := _name(attachment):
            yield Member(name, partial(_attached, content, attachment, name))


def _attached(content: FileContent, attachment: _Storage, name: str) -> FileContent:
    content.allowance.take_member()
    return content.inner(attachment.data(_DATA), name, content.max_characters)


def decompressed(data: bytes) -> bytes:
    """Decompress rich text, which consists of literal bytes and references into a ring buffer of 4,096 bytes."""
    size, kind = int.from_bytes(data[4:8], "little"), data[8:12]
    if kind == b"MELA":
        return data[16 : 16 + size]
    if kind != b"LZFu" or size > _MAX_RTF:
        return b""
    ring = bytearray(_RTF_BEGINNING.ljust(4096, b"\0"))
    write, at, found = len(_RTF_BEGINNING), 16, bytearray()
    while at < len(data) and len(found) < size:
        flags, at = data[at], at + 1
        for bit in range(8):
            if flags >> bit & 1:
                reference, at = int.from_bytes(data[at : at + 2], "big"), at + 2
                read, length = reference >> 4, (reference & 15) + 2
                if read == write or at > len(data):
                    return bytes(found)
            else:
                ring[write % 4096] = data[at] if at < len(data) else 0
                read, length, at = write, 1, at + 1
            for _ in range(length):
                ring[write] = ring[read % 4096]
                found.append(ring[write])
                read, write = (read + 1) % 4096, (write + 1) % 4096
    return bytes(found[:size])


MSG = Converter(
    label="an Outlook message",
    mime="application/vnd.ms-outlook",
    extensions="msg",
    signature=ole_with("__substg1.0_"),
    read=_read,
    headings=True,
    remark="attachments are documents",
)
