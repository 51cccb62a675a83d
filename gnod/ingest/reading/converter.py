"""Define the declaration of a converter and the content that it reads. Must not depend on particular formats.

A converter is a module that creates a `Converter`; `registry` lists them.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

import msgspec

from gnod.ingest.reading.decode import decode
from gnod.ingest.reading.result import ConversionFailed, Converted, Scans, too_long
from gnod.locations import Kind

HEAD_BYTES = 8192
UNPACKED_BYTES = 500_000_000
UNPACKED_MEMBERS = 2000
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_OLE_NAME = re.compile(rb"(?:[\x20-\x7e]\0){4,31}")  # as a directory stores it
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


class Allowance:
    """The remaining amount that may be unpacked for one file, at any depth of nested archives."""

    def __init__(self) -> None:
        self.unpacked_bytes = UNPACKED_BYTES
        self.members = UNPACKED_MEMBERS

    def take(self, size: int) -> None:
        """Count a member of `size` bytes. Raises ConversionFailed: too_large."""
        self.take_member()
        self.take_bytes(size)

    def take_member(self) -> None:
        if self.members <= 0:
            raise ConversionFailed("too_large", f"At most {UNPACKED_MEMBERS:,} of the files inside it are read.")
        self.members -= 1

    def take_bytes(self, size: int) -> None:
        if size > self.unpacked_bytes:
            raise ConversionFailed("too_large", f"Unpacked, the file has more than {UNPACKED_BYTES // 1_000_000} MB.")
        self.unpacked_bytes -= size


class FileContent(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """The bytes of a file, or of a file in an archive. `convert` converts further content, such as the members of an
    archive. `depth` counts the enclosing archives, which share the `allowance`. `scans`: its pages without text."""

    data: bytes
    name: str
    max_characters: int
    convert: Callable[[FileContent], Converted]
    depth: int = 0
    allowance: Allowance = msgspec.field(default_factory=Allowance)
    scans: Scans = msgspec.field(default_factory=Scans)

    @cached_property
    def extension(self) -> str:
        """Return the last suffix in lower case without its dot; "" if there is none."""
        return PurePosixPath(self.name).suffix.lower().removeprefix(".")

    @property
    def label(self) -> str:
        """Return the description of this file for messages."""
        return f".{self.extension} file" if self.extension else "file without an extension"

    @property
    def head(self) -> bytes:
        return self.data[:HEAD_BYTES]

    @cached_property
    def is_zip(self) -> bool:
        return self.data.startswith(_ZIP)

    @cached_property
    def zip_members(self) -> frozenset[str] | None:
        """The names of a zip's members; None if its table of contents cannot be read."""
        try:
            with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
                return frozenset(name.lstrip("/").replace("\\", "/") for name in archive.namelist())
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError):
            return None

    @cached_property
    def ole_names(self) -> frozenset[str]:
        """The top-level names of an OLE file, in lower case; all names if its directory is damaged."""
        if not self.data.startswith(_OLE):
            return frozenset()
        import olefile

        try:
            with olefile.OleFileIO(io.BytesIO(self.data)) as file:
                return frozenset(path[0].lower() for path in file.listdir(storages=True))
        except (OSError, ValueError, IndexError, TypeError, struct.error):
            found = _OLE_NAME.findall(self.data)
            return frozenset(name.decode("utf-16-le").lower() for name in found) | {""}

    def inner(self, data: bytes, name: str, max_characters: int) -> FileContent:
        return msgspec.structs.replace(
            self,
            data=data,
            name=name,
            max_characters=max_characters,
            depth=self.depth + 1,
            scans=Scans(refusal="OCR does not read files inside other files"),
        )

    def text(self, charset: re.Pattern[bytes] | None = None) -> str:
        """Decode the content. `charset` matches the name of the charset that the file declares in its first bytes.

        Raises ConversionFailed: binary (as NotText), too_long.
        """
        declared = charset.search(self.head) if charset else None
        text = decode(self.data, declared[1].decode("ascii", "replace") if declared else None)
        if len(text) > self.max_characters:
            raise too_long(self.max_characters)
        return text


class LogText(NamedTuple):
    """A part of a log. `end`: its end in the file, in bytes. `after`: the state of the reader after it."""

    end: int
    after: bytes
    converted: Converted


Test = Callable[[FileContent], bool]
ReadLog = Callable[[FileContent, bytes], Iterator[LogText]]
"""Yields the parts of a log. The bytes are the state of the reader at the start of the content; b"" at the beginning of
the log. The end of a part depends on its lines and on the line after it."""


class Converter(msgspec.Struct, frozen=True, kw_only=True):
    """Recognises and reads files of one format.

    `label` names such a file in messages. Spaces separate the items of `extensions` (in lower case without dots),
    `shared_extensions` (which other formats also use, so that the content decides) and `file_names`. `signature`
    recognises a binary format under any file name; `resembles` recognises a text format if the name does not decide. A
    format with `is_container` is the base of many others; it does not read files with their extensions.

    The documentation uses the following fields. `headings`: the text has headings. `images`: the text in pictures is
    read. `location`: what a hit names (empty: only the file). `remark`: further notes. `instead`: what to do if the
    format cannot be read.

    `read` returns the text or raises ConversionFailed; None: gnod knows the format but cannot read it. Other exceptions
    are reported as damage. It imports large libraries when it is called, not with its module.

    `log`: such files only grow, and are read in parts, which are separate documents (gnod.ingest.workers.logs).
    """

    label: str
    mime: str = ""
    extensions: str = ""
    shared_extensions: str = ""
    file_names: str = ""
    is_text: bool = False
    is_container: bool = False
    signature: Test | None = None
    resembles: Test | None = None
    read: Callable[[FileContent], Converted] | None = None
    log: ReadLog | None = None
    headings: bool = False
    images: bool = False
    location: Kind | Literal["line", ""] = ""
    remark: str = ""
    instead: str = ""


def starts_with(*prefixes: bytes) -> Test:
    return lambda content: content.data.startswith(prefixes)


def riff_with(*kinds: bytes) -> Test:
    return lambda content: content.data.startswith(b"RIFF") and content.data[8:12] in kinds


def any_of(*tests: Test) -> Test:
    return lambda content: any(test(content) for test in tests)


def zip_with(*members: str) -> Test:
    """Recognise a zip with at least one of these members."""
    return lambda content: content.is_zip and not (content.zip_members or frozenset()).isdisjoint(members)


def ole_with(*names: str) -> Test:
    """Recognise an OLE file (Office until 2003) with a stream, or a folder of streams, whose name begins with one of
    these."""
    beginnings = tuple(name.lower() for name in names)
    return lambda content: any(name.startswith(beginnings) for name in content.ole_names)


def password_protected() -> ConversionFailed:
    return ConversionFailed("encrypted", "The file is protected by a password.")
