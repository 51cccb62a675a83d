"""Chooses the reader of a file by its content and its extension, and holds every result to the same
limits."""

from __future__ import annotations

import re
from collections.abc import Callable

from gnod.ingest.convert import formats
from gnod.ingest.convert.decode import NotText, decode
from gnod.ingest.convert.formats import TextFormat
from gnod.ingest.convert.result import ConversionFailed, Converted, Source, too_long
from gnod.ingest.convert.sniff import PDF_HEADER, WORDS, sniff

# Possessive and atomic groups: each beginning is tried in one way only, so that none takes exponential time.
_HTML = re.compile(
    rb"\A\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?>.*?-->)\s*)*)<(?:!doctype\s+html|html)\b",
    re.I | re.S,
)
_MAIL = re.compile(rb"\A(?:From .*+\n)?(?:[A-Za-z][A-Za-z0-9-]*+:.*+(?:\n[ \t].*+)*+\n){3}")
_MAIL_FIELD = re.compile(rb"^(?:Received|Message-ID|MIME-Version|Return-Path|Delivered-To):", re.I | re.M)
_XML_ENCODING = re.compile(rb"\A\s*<\?xml[^>]*\sencoding\s*=\s*[\"']([\w.:-]+)[\"']")
_META_CHARSET = re.compile(rb"<meta[^<>]+charset\s*=\s*[\"']?([\w.:-]+)", re.I)
_SURROGATE = re.compile("[\ud800-\udfff]")
_HEAD = 8192


def convert(data: bytes, name: str, *, max_characters: int) -> Converted:
    """Return the text of a file as Markdown. `name` is the file's, without folders that matter.

    Raises ConversionFailed, and MemoryError when the process's limit is reached.
    """
    return convert_source(Source(data=data, name=name, max_characters=max_characters))


def convert_source(source: Source) -> Converted:
    """As `convert`; for readers that find files inside files."""
    try:
        converted = _reader(source)(source)
    except RecursionError:
        raise ConversionFailed("corrupt", "The file is nested too deeply to be read.") from None
    except (ConversionFailed, MemoryError, OSError):  # of the last, the limits of the process speak
        raise
    except Exception as error:  # a library's, for damage that it does not know
        message = f"The {source.label} broke its converter and may be damaged ({type(error).__name__}: {error})."
        raise ConversionFailed("failed", _SURROGATE.sub("\ufffd", message[:300])) from error
    if len(converted.markdown) > source.max_characters:
        raise too_long(source.max_characters)
    if not converted.markdown.strip("\ufeff\0 \t\r\n\f\v"):
        raise ConversionFailed("empty", "There is no text in the file." if source.data else "The file is empty.")
    return _encodable(converted)


def _encodable(converted: Converted) -> Converted:
    """Escapes in JSON and mail headers can make lone surrogates, which neither msgpack nor SQLite takes."""
    if not _SURROGATE.search(converted.markdown) and not _SURROGATE.search(repr(converted.title)):
        return converted
    return Converted(
        markdown=_SURROGATE.sub("\ufffd", converted.markdown),
        mime=converted.mime,
        converter=converted.converter,
        title=_SURROGATE.sub("\ufffd", converted.title) if converted.title else None,
        metadata=converted.metadata,
    )


def _reader(source: Source) -> Callable[[Source], Converted]:
    found = sniff(source.data)
    if found is None and source.extension == "pdf" and PDF_HEADER in source.data[:_HEAD]:
        found = "pdf"
    if found is not None and not (source.extension in formats.TEXT and _is_utf8(source.data)):
        return _binary_reader(source, found)
    if source.extension in formats.UNREADABLE:
        raise _no_converter(source)
    if source.extension in formats.SIGNED and source.data:
        raise ConversionFailed("corrupt", _mislabelled(source))
    return lambda text_source: _read_text(text_source, _text_format(text_source))


def _is_utf8(data: bytes) -> bool:
    """A note about GIF89a or %PDF- may well begin with these words."""
    try:
        return not data.startswith(b"{\\rtf") and b"\0" not in data and data.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def _no_converter(source: Source, found: str = "") -> ConversionFailed:
    what = WORDS[found] if found in WORDS and not source.extension else f"a {source.label}"
    return ConversionFailed("unsupported", f"There is no converter for {what}.")


def _mislabelled(source: Source) -> str:
    """Say what a file is instead that has none of the marks of what its name says."""
    if not source.data.strip(b"\0"):
        return f"This is not a {source.label}: all its bytes are zero."
    try:
        decode(source.data[:_HEAD])
    except NotText:
        return f"This is not a {source.label}, or its beginning is damaged."
    return f"This is not a {source.label}: it is {'a web page' if _HTML.match(source.data[:_HEAD]) else 'plain text'}."


def _binary_reader(source: Source, found: str) -> Callable[[Source], Converted]:
    extension = source.extension
    if extension in formats.TEXT and found != "rtf":
        raise NotText(WORDS[found])
    if found == "encrypted":
        raise ConversionFailed("encrypted", "The file is protected by a password.")
    if found == "zip-damaged" and extension in formats.SIGNED | {""}:
        from gnod.ingest.convert.archive import without_contents

        raise ConversionFailed("corrupt", without_contents(source))
    if found == "zip" and extension in formats.SIGNED - {"zip"}:
        raise ConversionFailed("corrupt", f"The {source.label} is damaged: it has no document inside.")
    if found == "zip" and extension not in ("", "zip"):
        raise _no_converter(source)
    match found:
        case "pdf":
            from gnod.ingest.convert.pdf import read_pdf as reader
        case "docx":
            from gnod.ingest.convert.office import read_docx as reader
        case "pptx":
            from gnod.ingest.convert.office import read_pptx as reader
        case "epub":
            from gnod.ingest.convert.office import read_epub as reader
        case "msg":
            from gnod.ingest.convert.office import read_msg as reader
        case "xlsx":
            from gnod.ingest.convert.sheets import read_xlsx as reader
        case "xls":
            from gnod.ingest.convert.sheets import read_xls as reader
        case "zip":
            from gnod.ingest.convert.archive import read_zip as reader
        case _ if extension in formats.SIGNED:
            raise ConversionFailed("corrupt", f"This is not a {source.label}: it is {WORDS[found]}.")
        case _:
            raise _no_converter(source, found)
    return reader


def _text_format(source: Source) -> TextFormat:
    known = formats.TEXT.get(source.extension) or formats.NAMES.get(source.name.rpartition("/")[2].lower())
    if known and known.reader != "xml":
        return known
    head = source.data[:_HEAD]
    if (known or not source.extension or source.extension in formats.LEGACY) and _HTML.match(head):
        return formats.HTML
    if not source.extension and _MAIL.match(head) and _MAIL_FIELD.search(head):
        return formats.MAIL
    return known or formats.PLAIN


def _read_text(source: Source, text_format: TextFormat) -> Converted:
    if text_format.reader == "mail":  # every part of a mail has its own charset
        from gnod.ingest.convert.mail import read_mail

        return read_mail(source)
    try:
        text = decode(source.data, _declared(source.data, text_format.reader))
    except NotText:
        if source.extension in formats.LEGACY:
            raise _no_converter(source) from None
        raise
    if len(text) > source.max_characters:
        raise too_long(source.max_characters)
    return _read_decoded(text, source, text_format)


def _read_decoded(text: str, source: Source, text_format: TextFormat) -> Converted:
    match text_format.reader:
        case "html":
            from gnod.ingest.convert.webpage import read_webpage

            return read_webpage(text)
        case "xml":
            from gnod.ingest.convert.feed import read_xml

            return read_xml(text)
        case "table":
            from gnod.ingest.convert.table import read_separated

            return read_separated(text, text_format.mime, source.max_characters)
        case "notebook":
            from gnod.ingest.convert.notebook import read_notebook

            return read_notebook(text)
    return Converted(markdown=text, mime=text_format.mime, converter=text_format.converter)


def _declared(data: bytes, reader: str) -> str | None:
    """Return the charset that a web page or an XML text names for itself."""
    pattern = {"html": _META_CHARSET, "xml": _XML_ENCODING}.get(reader)
    found = pattern.search(data[:_HEAD]) if pattern else None
    return found[1].decode("ascii", "replace") if found else None
