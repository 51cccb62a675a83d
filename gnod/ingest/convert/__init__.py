"""From the bytes of a file to Markdown. Must not depend on paths, storage or the index; runs in the converter workers.

    result      what a converter returns: `Converted`, or `ConversionFailed` with a stable kind
    converter   what a converter declares, and the content that it reads
    decode      bytes to text
    registry    the list of converters
    dispatch    chooses the converter; limits that hold for all of them
    bridge      the only module that knows markitdown (0.1 s to import, so: late)
    unpacking   the limits of everything that is a zip
    text, webpage, office, pdf, sheets, table, notebook, mail, feed, archive    the converters

Nothing here opens a file or a connection: converters see bytes.
"""

from __future__ import annotations

from gnod.ingest.convert.dispatch import convert
from gnod.ingest.convert.result import ConversionFailed, Converted

__all__ = ["ConversionFailed", "Converted", "convert"]
