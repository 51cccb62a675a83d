"""Mail: one message (.eml, saved web archives) or a mailbox, each message as a heading, its header and its text."""

from __future__ import annotations

import contextlib
import email
import re
from collections.abc import Iterator, Sequence
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from functools import partial

from gnod.ingest.formats.webpage import page_text
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.decode import NotText, decode
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted, Member, unchanged

_ENVELOPE = re.compile(rb"^From (?=.*?\d{4}).*+\n", re.M)
# Possessive groups: each beginning is tried in only one way, so that none takes exponential time.
_HEADER = re.compile(rb"\A(?:From .*+\n)?(?:[A-Za-z][A-Za-z0-9-]*+:.*+(?:\n[ \t].*+)*+\n){3}")
_MAIL_FIELD = re.compile(rb"^(?:Received|Message-ID|MIME-Version|Return-Path|Delivered-To):", re.I | re.M)
_SHOWN = ("From", "To", "Cc", "Date")


def _resembles_mail(content: FileContent) -> bool:
    return not content.extension and bool(_HEADER.match(content.head) and _MAIL_FIELD.search(content.head))


def _read(content: FileContent) -> Converted:
    """Attachments are named, and become documents of their own. Every part has its own charset."""
    found = _split(content.data)
    # Two more line ends follow each message.
    parts = Parts("message", max(content.max_characters - 2 * len(found), content.max_characters // 2))
    has_header, left_out = False, None
    for number, message in enumerate(map(email.message_from_bytes, found), start=1):
        has_header = has_header or bool(message.keys())
        try:
            parts.add(_message(message), number)
        except ConversionFailed as failure:
            if number == 1:
                raise
            left_out = f"its {len(found) - number + 1:,} last messages, from the {number:,}th on: {failure.message}"
            break
    if not has_header:
        return unchanged(decode(content.data), "text/plain")
    single = email.message_from_bytes(found[0]) if len(found) == 1 else None
    return Converted(
        markdown=parts.markdown,
        mime="" if single else "application/mbox",
        converter="mail/3",
        title=_field(single, "Subject") or None if single else None,
        metadata=_metadata(single) if single else {},
        locations=None if single else parts.locations,
        members=partial(_attachments, content, found),
        left_out=left_out,
    )


def _attachments(content: FileContent, found: Sequence[bytes]) -> Iterator[Member]:
    """Yield the attachments. In a mailbox, those of each message are in a folder with its number."""
    for number, message in enumerate(map(email.message_from_bytes, found), start=1):
        for part in message.walk():
            if not part.is_multipart() and (name := _attachment(part)):
                yield Member(name if len(found) == 1 else f"{number}/{name}", partial(_attached, content, part, name))


def _attached(content: FileContent, part: Message, name: str) -> FileContent:
    content.allowance.take_member()
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        raise ConversionFailed("corrupt", "The attachment cannot be decoded.")
    return content.inner(data, name, content.max_characters)


def _split(data: bytes) -> list[bytes]:
    """Split a mailbox: it begins with an envelope line and has one before each message, after a blank line."""
    if not data.startswith(b"From "):
        return [data]
    starts = [
        found
        for found in _ENVELOPE.finditer(data)
        if found.start() == 0 or data[max(0, found.start() - 4) : found.start()].endswith((b"\n\n", b"\n\r\n"))
    ]
    if not starts:
        return [data]
    ends = [found.start() for found in starts[1:]] + [len(data)]
    return [data[found.end() : end] for found, end in zip(starts, ends, strict=True)]


def _message(message: Message) -> str:
    header = [f"**{name}:** {value}" for name in _SHOWN if (value := _field(message, name))]
    subject = _field(message, "Subject")
    names = [name for part in message.walk() if (name := _attachment(part))]
    if names:
        header.append("**Attachments:** " + ", ".join(names))
    parts = [f"# {subject}" if subject else "", "\n".join(header), _body(message)]
    return "\n\n".join(part for part in parts if part.strip())


def _body(message: Message) -> str:
    """Return the plain texts; if there are none, the web pages."""
    plain: list[str] = []
    pages: list[str] = []
    for part in message.walk():
        if part.is_multipart() or _attachment(part):
            continue
        match part.get_content_type():
            case "text/html":
                pages.append(page_text(_text(part)))
            case "text/plain" | "text/calendar" | "text/enriched":
                plain.append(_text(part))
    return "\n\n".join(text.strip() for text in plain if text.strip()) or "\n\n".join(pages)


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    try:
        return decode(payload, part.get_content_charset()) if isinstance(payload, bytes) else ""
    except NotText:
        return ""


def _attachment(part: Message) -> str:
    """Return the name of an attached file; "" for other parts and for texts that are shown inline."""
    try:
        name = part.get_filename()
    except (ValueError, LookupError, TypeError):
        return ""
    if not name or (part.get_content_maintype() == "text" and part.get_content_disposition() != "attachment"):
        return ""
    return _decoded(name)


def _field(message: Message | None, name: str) -> str:
    return _decoded(str(message.get(name, ""))) if message else ""


def _decoded(value: str) -> str:
    """Decode a header. Many headers break the rules, and those that cannot be decoded are shown unchanged."""
    raw = value.encode("ascii", "surrogateescape") if not value.isascii() and _escaped(value) else None
    if raw is not None:
        try:
            value = decode(raw)
        except NotText:
            value = value.encode("utf-8", "replace").decode()
    with contextlib.suppress(ValueError, LookupError):
        value = str(make_header(decode_header(value)))
    return " ".join(value.split())


def _escaped(value: str) -> bool:
    """Tell whether everything outside ASCII is bytes that the parser kept."""
    return all(char.isascii() or "\udc80" <= char <= "\udcff" for char in value)


def _metadata(message: Message) -> dict[str, object]:
    found: dict[str, object] = {}
    if author := _field(message, "From"):
        found["author"] = author
    with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
        found["date"] = parsedate_to_datetime(_field(message, "Date")).isoformat()
    return found


MAIL = Converter(
    label="a mail",
    mime="message/rfc822",
    extensions="eml mht mhtml mbox mbx",
    is_text=True,
    resembles=_resembles_mail,
    read=_read,
    headings=True,
    location="message",
    remark="a file with one message has no locations; attachments are named",
)
