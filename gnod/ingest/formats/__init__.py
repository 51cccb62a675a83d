"""From the bytes of a file to Markdown: one module for each format. Runs in the converter workers.

    registry    the list of converters; a new one is an entry there
    dispatch    chooses the converter; limits that hold for all of them

What formats share is in `gnod.ingest.reading`. Nothing here knows paths, storage or the index, or opens a file or a
connection: converters see bytes.
"""

from __future__ import annotations

from gnod.ingest.formats.dispatch import convert
from gnod.ingest.reading.result import ConversionFailed, Converted

__all__ = ["ConversionFailed", "Converted", "convert"]
