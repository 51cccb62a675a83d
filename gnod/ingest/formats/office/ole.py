"""Reads OLE files with olefile: the streams of Office documents until 2003, and encrypted documents of all versions."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

import msgspec

from gnod.ingest.reading.converter import Converter, FileContent, ole_with, password_protected
from gnod.ingest.reading.cpu_time import CpuTimeExceeded, limit_cpu_time
from gnod.ingest.reading.result import ConversionFailed, Converted, authorship

# Excel encrypts workbooks that are only protected against changes with this fixed password ([MS-OFFCRYPTO] 2.4.2.3),
# and opens them without a prompt. Files with another password are not read.
_KNOWN_PASSWORD = "VelvetSweatshop"
_LIMIT_S = 10.0  # the file sets the number of hash rounds


class Streams:
    """The streams of one file by their case-insensitive names.

    Raises ConversionFailed if the directory cannot be read.
    """

    def __init__(self, content: FileContent) -> None:
        import olefile

        self._content = content
        try:
            self._file = olefile.OleFileIO(io.BytesIO(content.data), raise_defects=olefile.DEFECT_FATAL)
            self._paths: dict[str, list[str]] = {"/".join(path).lower(): path for path in self._file.listdir()}
        except (OSError, ValueError, IndexError, TypeError, struct.error) as error:
            raise self.damaged("its directory cannot be read") from error

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._paths

    def __iter__(self) -> Iterator[str]:
        """Yield the names in lower case."""
        return iter(self._paths)

    def read(self, *names: str) -> bytes:
        """Return the first existing stream among `names`. Raises ConversionFailed (corrupt)."""
        name = next((stream.lower() for stream in names if stream in self), None)
        if name is None:
            raise self.damaged(f"it has no stream {names[0]}")
        try:
            data: bytes = self._file.openstream(self._paths[name]).read()
            return data
        except (OSError, ValueError, IndexError, struct.error) as error:
            raise self.damaged(f"its stream {name} cannot be read") from error

    def finished(self, converted: Converted) -> Converted:
        """Add the title, author and date from the properties of the file."""
        try:
            found = self._file.get_metadata()
        except (OSError, ValueError, IndexError, struct.error, TypeError):
            return converted
        title, author = (_text(value, found.codepage or 1252) for value in (found.title, found.author))
        date = found.create_time.isoformat() + "Z" if found.create_time else None
        return msgspec.structs.replace(converted, title=title or None, metadata=authorship(author, date))

    def damaged(self, what: str) -> ConversionFailed:
        return ConversionFailed("corrupt", f"The {self._content.label} is damaged: {what}.")


def _text(value: bytes | str | None, code_page: int) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    encoding = "utf-8" if code_page == 65001 else "utf-16-le" if code_page == 1200 else f"cp{code_page % 65536}"
    try:
        text = (value or b"").decode(encoding, "replace")
    except LookupError:
        text = (value or b"").decode("cp1252", "replace")
    return " ".join(text.replace("\0", " ").split())


def decrypted(content: FileContent) -> bytes:
    """Decrypt the file. Raises ConversionFailed (encrypted)."""
    import msoffcrypto

    plain = io.BytesIO()
    try:
        with limit_cpu_time(_LIMIT_S):
            file = msoffcrypto.OfficeFile(io.BytesIO(content.data))
            file.load_key(password=_KNOWN_PASSWORD, verify_password=True)
            file.decrypt(plain)
    except MemoryError:
        raise
    except (Exception, CpuTimeExceeded) as error:  # a wrong password or damage can raise any exception
        raise password_protected() from error
    return plain.getvalue()


def _read_encrypted(content: FileContent) -> Converted:
    return content.convert(msgspec.structs.replace(content, data=decrypted(content)))


ENCRYPTED = Converter(label="an encrypted document", signature=ole_with("EncryptedPackage"), read=_read_encrypted)
