"""Single files that are compressed with gzip, bzip2, xz or zstd: unpacked in memory and read as the file inside."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from functools import partial

from gnod.ingest.reading.converter import Converter, FileContent, Test, starts_with
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.unpacking import check_depth, read_unpacked

_Open = Callable[[io.BytesIO], io.BufferedIOBase]
_TAR = frozenset({"tgz", "tbz", "tbz2", "txz", "tzst"})


def _read(content: FileContent, *, opened: _Open, extensions: str) -> Converted:
    """The name without its last suffix says what is inside. Text, lines and title are those of the file inside."""
    if content.extension and content.extension not in extensions.split():
        raise ConversionFailed("corrupt", f"This is not a {content.label}: it is a compressed file.")
    check_depth(content)
    return content.convert(content.inner(_unpacked(content, opened), _inner_name(content), content.max_characters))


def _unpacked(content: FileContent, opened: _Open) -> bytes:
    try:
        with opened(io.BytesIO(content.data)) as file:
            return read_unpacked(file, content)
    except (ConversionFailed, MemoryError):
        raise
    except EOFError as error:
        raise ConversionFailed("corrupt", f"The {content.label} is cut off: its end is missing.") from error
    except Exception as error:  # each format has its own exception
        raise ConversionFailed("corrupt", f"The {content.label} is damaged: it cannot be unpacked.") from error


def _inner_name(content: FileContent) -> str:
    stem = content.name[: -len(content.extension) - 1] if content.extension else content.name
    return f"{stem}.tar" if content.extension in _TAR else stem


def _open_zstd(file: io.BytesIO) -> io.BufferedIOBase:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd.ZstdFile(file)


def _is_bzip2(content: FileContent) -> bool:
    """A text may begin with the letters BZh; then comes the size of the blocks, and the first block, or none."""
    return content.data.startswith(b"BZh") and content.data[4:10] in (b"1AY&SY", b"\x17rE8P\x90")


def _compressed(program: str, mime: str, extensions: str, signature: Test, opened: _Open) -> Converter:
    return Converter(
        label=f"a file compressed with {program}",
        mime=mime,
        extensions=extensions,
        is_container=True,
        signature=signature,
        read=partial(_read, opened=opened, extensions=extensions),
        remark="read as the file inside, whose lines and pages a hit names; up to 100 MB, and 500 times the size",
    )


FORMATS = (
    _compressed(
        "gzip", "application/gzip", "gz tgz", starts_with(b"\x1f\x8b\x08"), lambda file: gzip.GzipFile(fileobj=file)
    ),
    _compressed("bzip2", "application/x-bzip2", "bz2 tbz tbz2", _is_bzip2, bz2.BZ2File),
    _compressed("xz", "application/x-xz", "xz txz", starts_with(b"\xfd7zXZ\x00"), lzma.LZMAFile),
    _compressed("zstd", "application/zstd", "zst tzst", starts_with(b"(\xb5/\xfd"), _open_zstd),
)
