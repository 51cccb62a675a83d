"""Converts mail: one message with its header (.eml, saved web archives), or a mailbox with threads as conversations."""

from __future__ import annotations

import base64
import contextlib
import email
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.header import decode_header
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parseaddr, parsedate_to_datetime
from functools import partial
from itertools import chain
from pathlib import PurePosixPath

from msgspec.structs import replace

from gnod.ingest.formats.conversations.conversation import ChatMessage
from gnod.ingest.formats.conversations.exports import Conversation, container, members
from gnod.ingest.formats.conversations.mail_threads import MailHeader, base_subject, threads
from gnod.ingest.formats.signed_mail import signed_content
from gnod.ingest.formats.visible_html import page_text
from gnod.ingest.formats.webpage import CHARSET
from gnod.ingest.reading.converter import HEAD_BYTES, Converter, FileContent
from gnod.ingest.reading.decode import NotText, decode
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted, Member, authorship, unchanged
from gnod.ingest.reading.versions import versioned

_ENVELOPE = re.compile(
    rb"^From (?=.*?\d{4})(?P<sender>\S*+).*+\n(?=(?P<header>(?:[^\s:]++:.*+\n(?:[ \t].*+\n)*+)++))", re.M
)
# `git format-patch` writes a hash as the sender. In the text of a message, such a line is a quotation.
_COMMIT = re.compile(rb"[0-9a-f]{40}\Z")
_QUOTED_FROM = re.compile(rb"^>(?=>*From )", re.M)
# The possessive groups prevent backtracking, which could take exponential time.
_HEADER = re.compile(rb"\A(?:From .*+\n)?(?:[A-Za-z][A-Za-z0-9-]*+:.*+(?:\n[ \t].*+)*+\n){3}")
_MAIL_FIELD = re.compile(rb"^(?:Received|Message-ID|MIME-Version|Return-Path|Delivered-To):", re.I | re.M)
_FIELD_OF_A_MESSAGE = re.compile(
    rb"^(?:From|To|Date|Subject|Sender|Received|Message-ID|MIME-Version|Return-Path|Delivered-To|Content-Type|Status"
    rb"|X-[\w-]+):",
    re.I | re.M,
)
_SOURCE = "Mail"
_SHOWN = ("From", "To", "Cc", "Date")
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]|[^\\W_]+")
_STUB = 0.5  # a plain text with a smaller share of the words of the HTML text only points to it
_SIGNATURES = {f"application/{kind}" for kind in ("pkcs7-signature", "x-pkcs7-signature", "pgp-signature", "pgp-keys")}
_SIGNED = {"application/pkcs7-mime", "application/x-pkcs7-mime"}
_ENCODED_WORD = re.compile(r"=\?[^\s?]+\?[bq]\?", re.I)


def _resembles_mail(content: FileContent) -> bool:
    return not content.extension and bool(_HEADER.match(content.head) and _MAIL_FIELD.search(content.head))


def _read(content: FileContent) -> Converted:
    """Read a message or a mailbox. Attachments are named and become documents. Each part has its own charset."""
    found = _split(content.data)
    if not any(map(_header, found)):
        return unchanged(decode(content.data), "text/plain")
    if len(found) > 1:
        return _mailbox(content, found)
    message = _parsed(found[0])
    return Converted(
        markdown=_message(message).replace("\r\n", "\n").replace("\r", "\n").strip("\n"),
        converter=versioned("mail"),
        title=_field(message, "Subject") or None,
        metadata=_metadata(message),
        members=partial(_attachments, content, found),
    )


def _header(data: bytes) -> Message:
    return BytesHeaderParser().parsebytes(data)


def _mailbox(content: FileContent, found: Sequence[bytes]) -> Converted:
    """Return each thread as a conversation, and the mails without an answer as the document of the mailbox."""
    headers = [_thread_header(header) for header in map(_header, found)]
    grouped = threads(headers)
    place = PurePosixPath(content.name).stem
    conversations = [
        Conversation(
            title=base_subject(headers[thread[0]].subject),
            place=place,
            began=headers[thread[0]].time,
            messages=partial(_said, [found[number] for number in thread]),
        )
        for thread in grouped
        if len(thread) > 1
    ]
    if unanswered := sorted(thread[0] for thread in grouped if len(thread) == 1):
        box = _list_of_mails(content, found, unanswered)
        box = replace(box, members=partial(members, _SOURCE, content, conversations))
    else:
        box = container(_SOURCE, content, conversations)
    return replace(box, members=lambda: chain(box.members(), _attachments(content, found)))


def _list_of_mails(content: FileContent, found: Sequence[bytes], places: Sequence[int]) -> Converted:
    """Return a document of the mails at `places`. They keep their numbers in the mailbox."""
    # Each message adds two line ends.
    parts = Parts("message", max(content.max_characters - 2 * len(places), content.max_characters // 2))
    left_out = {}
    for read, place in enumerate(places):
        try:
            parts.add(_message(_parsed(found[place])), place + 1)
        except ConversionFailed as failure:
            if not read:
                raise
            last = f"the last {len(places) - read:,} messages, from message {place + 1:,} on: {failure.message}"
            left_out = {failure.kind: last}
            break
    return Converted(
        markdown=parts.markdown,
        mime="application/mbox",
        converter=versioned("mail"),
        locations=parts.locations,
        left_out=left_out,
    )


def _thread_header(message: Message) -> MailHeader:
    sent = _sent(message)
    return MailHeader(
        identifier=_field(message, "Message-ID"),
        references=_field(message, "References"),
        in_reply_to=_field(message, "In-Reply-To"),
        subject=_field(message, "Subject"),
        time=sent.isoformat() if sent else "",
    )


def _said(found: Sequence[bytes]) -> Iterator[ChatMessage]:
    """Yield the mails of a thread without duplicates: a mailbox may contain a mail twice."""
    seen: set[ChatMessage] = set()
    title = base_subject(_field(_header(found[0]), "Subject"))
    for message in map(_parsed, found):
        sent = _sent(message)
        fields = {name: _field(message, name) for name in _SHOWN if name != "Date" or not sent}
        if base_subject(subject := _field(message, "Subject")) != title:
            fields["Subject"] = subject
        text = rendered("", fields, _attached_names(message), _body(message))
        time = f"{sent:%Y-%m-%d %H:%M}" if sent else ""
        said = ChatMessage(speaker=_speaker(message), time=time, text=text, is_whole=True)
        if said not in seen:
            seen.add(said)
            yield said


def _speaker(message: Message) -> str:
    name, address = parseaddr(_field(message, "From"))
    return name or address or "unknown"


def _dated(message: Message) -> datetime | None:
    """Return when a mail was sent, in the time zone of its header."""
    with contextlib.suppress(ValueError, TypeError, IndexError, OverflowError):
        return parsedate_to_datetime(_field(message, "Date"))
    return None


def _sent(message: Message) -> datetime | None:
    """Return when a mail was sent, in UTC."""
    with contextlib.suppress(OverflowError):
        return sent.replace(tzinfo=sent.tzinfo or UTC).astimezone(UTC) if (sent := _dated(message)) else None
    return None


def _parsed(data: bytes) -> Message:
    """Parse a message. If a signature encloses the content, return the content instead of the signature."""
    message = email.message_from_bytes(data)
    if message.get_content_type() not in _SIGNED:
        return message
    payload = message.get_payload(decode=True)
    content = signed_content(payload) if isinstance(payload, bytes) else None
    if content is None:
        return message
    inner = email.message_from_bytes(content)
    for name in (*_SHOWN, "Subject"):
        if name in message and name not in inner:
            inner[name] = message[name]
    return inner


def _read_signed(content: FileContent) -> Converted:
    """Read a message, or a part of one, that its signature encloses."""
    data = content.data
    if not data.startswith(b"\x30"):  # PEM, or bare base64
        with contextlib.suppress(ValueError):
            data = base64.b64decode(re.sub(rb"-----[^-\n]*-----", b"", data))
    inner = signed_content(data)
    if inner is None:
        raise ConversionFailed("unsupported", f"This {content.label} is encrypted, or is a signature without text.")
    return _read(content.inner(inner, f"{content.name}.eml", content.max_characters))


def _split(data: bytes) -> list[bytes]:
    """Split a mailbox (RFC 4155) and restore its quoted lines. A paragraph may also begin with "From"."""
    if not data.startswith(b"From "):
        return [data]
    starts = [found for found in _ENVELOPE.finditer(data) if _separates(data, found)]
    if not starts or starts[0].start():
        return [data]
    is_of_git = bool(_COMMIT.match(starts[0]["sender"]))
    starts = [found for found in starts if is_of_git or not _COMMIT.match(found["sender"])]
    ends = [found.start() for found in starts[1:]] + [len(data)]
    return [_QUOTED_FROM.sub(b"", data[found.end() : end]) for found, end in zip(starts, ends, strict=True)]


def _separates(data: bytes, found: re.Match[bytes]) -> bool:
    """Tell whether a message begins here: the line follows an empty line and precedes a message header."""
    start = found.start()
    is_after_empty = start == 0 or data[max(0, start - 4) : start].endswith((b"\n\n", b"\n\r\n"))
    return is_after_empty and _FIELD_OF_A_MESSAGE.search(found["header"]) is not None


def _message(message: Message) -> str:
    fields = {name: _field(message, name) for name in _SHOWN}
    return rendered(_field(message, "Subject"), fields, _attached_names(message), _body(message))


def _attached_names(message: Message) -> list[str]:
    return [name for part in _leaves(message) if (name := _attachment(part))]


def rendered(subject: str, fields: Mapping[str, str], attachments: Sequence[str], body: str) -> str:
    """Return a message as Markdown, without its empty fields."""
    header = [f"**{name}:** {value}" for name, value in fields.items() if value]
    if attachments:
        header.append("**Attachments:** " + ", ".join(attachments))
    parts = [f"# {subject}" if subject else "", "\n".join(header), body]
    return "\n\n".join(part for part in parts if part.strip())


def _leaves(message: Message) -> Iterator[Message]:
    """Yield the parts of a message that have no parts themselves. An attached message counts as one of them; a message
    that is forwarded inline does not."""
    if message.is_multipart() and not (_is_message(message) and _attachment(message)):
        for part in _parts_of(message):
            yield from _leaves(part)
    else:
        yield message


def _is_message(part: Message) -> bool:
    return part.get_content_type() == "message/rfc822"


def _body(part: Message) -> str:
    """Return the text of a message or of a part, as a mail program shows it."""
    if _attachment(part):
        return ""
    if not part.is_multipart():
        return _text(part)
    if _is_message(part):
        return "\n\n".join(_message(inner) for inner in _parts_of(part))
    if part.get_content_type() == "multipart/alternative":
        return _best(_parts_of(part))
    return _joined(map(_body, _parts_of(part)))


def _parts_of(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [inner for inner in payload if isinstance(inner, Message)] if isinstance(payload, list) else []


def _joined(texts: Iterator[str]) -> str:
    return "\n\n".join(text.strip("\n") for text in texts if text.strip())


def _best(alternatives: list[Message]) -> str:
    """Return the plain text, or an alternative with much more text, and append invitations."""
    texts = {part: _body(part) for part in alternatives}
    plain = [text for part, text in texts.items() if part.get_content_type() in ("text/plain", "text/enriched")]
    added = [text for part, text in texts.items() if part.get_content_type() == "text/calendar"]
    others = [text for text in texts.values() if text not in plain and text not in added]
    return _joined(iter([fuller(_joined(iter(plain)), others[-1] if others else ""), *added]))


def fuller(plain: str, page: str) -> str:
    """Return the plain text of a message, or its HTML text `page` if the plain text only points to it."""
    words, others = (set(_WORD.findall(text.lower())) for text in (plain, page))
    is_stub = len(words) < len(others) and len(words & others) < _STUB * len(others)
    return page if is_stub or not words else plain


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if part.get_content_maintype() != "text" or not isinstance(payload, bytes):
        return ""
    is_page = part.get_content_type() == "text/html"
    charset = part.get_content_charset()
    if is_page and not charset and (named := CHARSET.search(payload[:HEAD_BYTES])):
        charset = named[1].decode("ascii", "replace")
    try:
        text = decode(payload, charset)
    except NotText:
        return ""
    if is_page:
        return page_text(text)
    if str(part.get_param("delsp", "")).lower() == "yes":  # RFC 3676: a soft line break ends in an added space
        text = re.sub(r" \r?\n", "", text)
    return text


def _attachments(content: FileContent, found: Sequence[bytes]) -> Iterator[Member]:
    """Yield the attachments. In a mailbox, each message has a folder named by its number."""
    for number, message in enumerate(map(_parsed, found), start=1):
        for part in _leaves(message):
            if name := _attachment(part):
                yield Member(name if len(found) == 1 else f"{number}/{name}", partial(_attached, content, part, name))


def _attached(content: FileContent, part: Message, name: str) -> FileContent:
    content.allowance.take_member()
    data = _parts_of(part)[0].as_bytes() if _is_message(part) else part.get_payload(decode=True)
    if not isinstance(data, bytes):
        raise ConversionFailed("corrupt", "The attachment cannot be decoded.")
    return content.inner(data, name, content.max_characters)


def _attachment(part: Message) -> str:
    """Return the name of an attached file; "" for other parts, for texts that are shown inline, and for signatures."""
    try:
        name = part.get_filename()
    except (ValueError, LookupError, TypeError):
        return ""
    is_attached = part.get_content_disposition() == "attachment"
    if part.get_content_type() in _SIGNATURES:
        return ""
    if _is_message(part) and _parts_of(part) and (name or is_attached):
        name = name or _field(_parts_of(part)[0], "Subject") or "message"
        name = _decoded(name)
        return name if name.lower().endswith(".eml") else f"{name}.eml"
    if not name or (part.get_content_maintype() == "text" and not is_attached):
        return ""
    return _decoded(name)


def _field(message: Message | None, name: str) -> str:
    """Return a header field. `Message.get` would replace bytes outside ASCII."""
    fields = message.raw_items() if message else ()
    return next((_decoded(str(value)) for key, value in fields if key.lower() == name.lower()), "")


def _decoded(value: str) -> str:
    """Decode a header field. Many are invalid; those that cannot be decoded are shown unchanged."""
    if "\x1b" in value or (not value.isascii() and _escaped(value)):
        value = _of_bytes(value.encode("utf-8", "surrogateescape"))
    if _ENCODED_WORD.search(value):
        with contextlib.suppress(ValueError, LookupError):
            value = "".join(
                text if isinstance(text, str) else _of_bytes(text, charset) for text, charset in decode_header(value)
            )
    return " ".join(value.split())


def _of_bytes(value: bytes, charset: str | None = None) -> str:
    try:
        return decode(value, charset)
    except NotText:
        return value.decode("utf-8", "replace")


def _escaped(value: str) -> bool:
    """Tell whether all characters outside ASCII are bytes that the parser kept."""
    return all(char.isascii() or "\udc80" <= char <= "\udcff" for char in value)


def _metadata(message: Message) -> dict[str, object]:
    date = _dated(message)
    return authorship(_field(message, "From"), date.isoformat() if date else None)


MAIL = Converter(
    label="a mail",
    mime="message/rfc822",
    extensions="eml mht mhtml mbox mbx",
    is_text=True,
    resembles=_resembles_mail,
    read=_read,
    headings=True,
    location="message",
    remark="each thread of a mailbox is a conversation; attachments are documents",
)

SIGNED = Converter(
    label="signed mail",
    mime="application/pkcs7-mime",
    extensions="p7m p7s",
    is_text=True,  # it may be in base64
    read=_read_signed,
    headings=True,
    remark="only signatures that enclose the text; they are not verified",
)
