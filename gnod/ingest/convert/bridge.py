"""The one module that knows markitdown: calls one of its converters and translates what goes wrong.

Its converters are called directly, not through the MarkItDown class: that loads a neural network to guess
file types, opens an HTTP session, and has converters that ask YouTube for transcripts or start other
programs.
"""

from __future__ import annotations

import io
from functools import cache
from types import ModuleType
from typing import NamedTuple

from gnod.ingest.convert.patience import OutOfPatience, patience
from gnod.ingest.convert.result import ConversionFailed

# Its callers have a second, plainer way to read a file, and 60 s for both.
_PATIENCE_S = 15.0
_PASSWORD_ERRORS = frozenset({"PDFPasswordIncorrect", "PDFEncryptionError", "PasswordError"})


class Conversion(NamedTuple):
    markdown: str
    title: str | None
    converter: str


@cache
def _library() -> ModuleType:
    import markitdown
    import markitdown.converters

    return markitdown


def through_markitdown(converter: str, data: bytes, *, extension: str, url: str | None = None) -> Conversion:
    """Run one converter class of markitdown by its name; text formats must be UTF-8.

    Raises ConversionFailed (timeout, encrypted, corrupt); lets MemoryError and RecursionError pass.
    """
    library = _library()
    info = library.StreamInfo(extension="." + extension, charset="utf-8", url=url)
    try:
        with patience(_PATIENCE_S):
            result = getattr(library.converters, converter)().convert(io.BytesIO(data), info)
    except (MemoryError, RecursionError):
        raise
    except OutOfPatience:
        message = f"The .{extension} file is built so that it takes more than {_PATIENCE_S:g} s to read."
        raise ConversionFailed("timeout", message) from None
    except Exception as error:
        raise _translated(error, extension) from error
    title = " ".join(str(result.title).split()) if result.title else None
    return Conversion(result.markdown or "", title or None, f"markitdown/{library.__version__}")


def _translated(error: BaseException, extension: str) -> ConversionFailed:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            raise cause
        if type(cause).__name__ in _PASSWORD_ERRORS or "encrypted" in str(cause).lower():
            return ConversionFailed("encrypted", "The file is protected by a password.")
        cause = cause.__cause__ or cause.__context__
    return ConversionFailed("corrupt", f"The .{extension} file could not be read; it may be damaged.")
