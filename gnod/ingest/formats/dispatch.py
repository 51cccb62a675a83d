"""Chooses the converter of a file by its content and its extension, and applies the same limits to every result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from gnod.ingest.formats.registry import REGISTRY
from gnod.ingest.formats.text import PLAIN
from gnod.ingest.reading.converter import Converter, FileContent, LogText
from gnod.ingest.reading.decode import NotText, decode
from gnod.ingest.reading.result import ConversionFailed, Converted, Scans, too_long

_SURROGATE = re.compile("[\ud800-\udfff]")


def convert(data: bytes, name: str, *, max_characters: int, scans: Scans | None = None) -> Converted:
    """Return the text of a file as Markdown. `name` is the name of the file; folders in it are ignored. `scans`
    collects the pages without text; a file with such pages may have no text.

    Raises ConversionFailed, and MemoryError when the process's limit is reached.
    """
    return _convert(
        FileContent(
            data=data,
            name=name,
            max_characters=max_characters,
            convert=_convert,
            scans=Scans() if scans is None else scans,
        )
    )


def _convert(content: FileContent) -> Converted:
    try:
        converter = _choose(content)
        if converter.read is None:
            raise _no_converter(content, converter)
        converted = converter.read(content)
    except RecursionError:
        raise ConversionFailed("corrupt", "The file is nested too deeply to be read.") from None
    except NotText:
        named = REGISTRY.by_extension(content.extension)
        if named and not named.is_text:  # this is a binary format that has no signature
            raise _no_converter(content, named) from None
        raise
    except (ConversionFailed, MemoryError, OSError):  # an OSError comes from a limit of the process
        raise
    except Exception as error:  # a library fails on damage that it does not check for
        message = f"The converter failed: the {content.label} may be damaged ({type(error).__name__}: {error})."
        raise ConversionFailed("failed", _SURROGATE.sub("\ufffd", message[:300])) from error
    if not content.scans.found and not converted.markdown.strip("\ufeff\0 \t\r\n\f\v"):
        raise ConversionFailed("empty", "There is no text in the file." if content.data else "The file is empty.")
    return _checked(converted, converter, content.max_characters)


def log_reader(head: bytes, name: str, max_characters: int) -> Callable[[bytes, bytes], Iterator[LogText]] | None:
    """Return a function that reads the bytes of a log like `ReadLog`; None if `head`, the first bytes, is not of a log.
    The function raises ConversionFailed."""
    content = FileContent(data=head, name=name, max_characters=max_characters, convert=_convert)
    converter = REGISTRY.by_signature(content, among=lambda each: each.log)
    if converter is None or (read := converter.log) is None:
        return None

    def read_checked(data: bytes, state: bytes) -> Iterator[LogText]:
        for part in read(msgspec.structs.replace(content, data=data), state):
            yield part._replace(converted=_checked(part.converted, converter, max_characters))

    return read_checked


def _checked(converted: Converted, converter: Converter, max_characters: int) -> Converted:
    """Return a result that can be stored. Raises ConversionFailed if the text is too long."""
    if len(converted.markdown) > max_characters:
        raise too_long(max_characters)
    return msgspec.structs.replace(
        converted,
        mime=converted.mime or converter.mime,
        markdown=_encodable(converted.markdown),
        title=_encodable(converted.title) if converted.title else None,
    )


def _encodable(text: str) -> str:
    """Replace lone surrogates, which msgpack and SQLite reject. They come from escapes in JSON and mail headers."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _choose(content: FileContent) -> Converter:
    """Return the converter; its `read` may be None. Raises ConversionFailed."""
    extension = content.extension
    named = REGISTRY.by_extension(extension)
    is_named_text = named is not None and named.is_text and named.read is not None
    # A note about GIF89a or %PDF- may begin with these words.
    is_text = is_named_text and _is_utf8(content.data)
    found = REGISTRY.by_signature(content)
    if found is None or (is_text and not found.is_text):
        return _by_name(content, named)
    if is_named_text and not found.is_text:
        raise NotText(found.label)
    has_signature = named is not None and bool(named.read) and _decides(extension, named)
    if found.read is None and has_signature:
        raise ConversionFailed("corrupt", f"This is not a {content.label}: it is {found.label}.")
    if found.is_container and extension and named is not found and not has_signature:
        raise _no_converter(content, named)
    return found


def _decides(extension: str, named: Converter) -> bool:
    """Tell whether the extension alone shows that a file is binary."""
    return not named.is_text and not REGISTRY.is_shared(extension)


def _by_name(content: FileContent, named: Converter | None) -> Converter:
    """Choose the converter of content without a signature."""
    extension = content.extension
    if named and _decides(extension, named):
        if named.read and content.data:
            raise ConversionFailed("corrupt", _mislabelled(content))
        return PLAIN if named.read else named
    text = named if named and named.is_text else REGISTRY.by_file_name(content.name)
    if (text or extension) and not REGISTRY.is_shared(extension):
        return text or PLAIN
    return REGISTRY.by_resemblance(content) or text or PLAIN


def _is_utf8(data: bytes) -> bool:
    try:
        return b"\0" not in data and data.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def _no_converter(content: FileContent, found: Converter | None = None) -> ConversionFailed:
    if found and found.instead:
        return ConversionFailed("unsupported", f"This is {found.label}, which gnod does not read: {found.instead}.")
    what = found.label if found and not content.extension else f"a {content.label}"
    return ConversionFailed("unsupported", f"There is no converter for {what}.")


def _mislabelled(content: FileContent) -> str:
    """Describe a file that lacks the signature of its extension's format."""
    if not content.data.strip(b"\0"):
        return f"This is not a {content.label}: all its bytes are zero."
    try:
        decode(content.head)
    except NotText:
        return f"This is not a {content.label}, or its beginning is damaged."
    found = REGISTRY.by_resemblance(content) or PLAIN
    return f"This is not a {content.label}: it is {found.label}."
