"""Call a converter of markitdown and translate its exceptions. Only this module uses markitdown.

It calls converters directly, because the MarkItDown class loads a neural network to guess file types, opens an HTTP
session, and has converters that request transcripts from YouTube or start other programs.
"""

from __future__ import annotations

import importlib
import importlib.util
import io
import re
import sys
from functools import cache
from typing import Any

from gnod.ingest.reading.converter import password_protected
from gnod.ingest.reading.cpu_time import CpuTimeExceeded, limit_cpu_time
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.versions import versioned

# After this time, callers use a simpler reader. Both readers together have 60 s.
_LIMIT_S = 15.0


@cache
def _converter_class(name: str) -> Any:
    """Import one converter without the `__init__` of the packages, which would import all converters, pandas and
    onnxruntime (0.6 s and 130 MB)."""
    for package in ("markitdown", "markitdown.converters"):
        if package not in sys.modules:
            spec = importlib.util.find_spec(package)
            assert spec
            sys.modules[package] = importlib.util.module_from_spec(spec)
    module = re.sub("([A-Z])", r"_\1", name).lower()
    return getattr(importlib.import_module(f"markitdown.converters.{module}"), name)


def through_markitdown(converter: str, data: bytes, *, extension: str, url: str | None = None) -> Converted:
    """Run a converter class of markitdown by its name. Text formats must be in UTF-8.

    Raises ConversionFailed (timeout, encrypted, corrupt); lets MemoryError and RecursionError pass.
    """
    reader = _converter_class(converter)()
    from markitdown._stream_info import StreamInfo

    info = StreamInfo(extension="." + extension, charset="utf-8", url=url)
    try:
        with limit_cpu_time(_LIMIT_S):
            result = reader.convert(io.BytesIO(data), info)
    except (MemoryError, RecursionError):
        raise
    except CpuTimeExceeded:
        message = f"The .{extension} file takes more than {_LIMIT_S:g} s to read because of its structure."
        raise ConversionFailed("timeout", message) from None
    except Exception as error:
        raise _translated(error, extension) from error
    title = " ".join(str(result.title).split()) if result.title else None
    return Converted(markdown=result.markdown or "", title=title or None, converter=versioned("markitdown"))


def _translated(error: BaseException, extension: str) -> ConversionFailed:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, MemoryError):
            raise cause
        if "encrypted" in str(cause).lower():
            return password_protected()
        cause = cause.__cause__ or cause.__context__
    return ConversionFailed("corrupt", f"The .{extension} file is damaged: its text cannot be read.")
