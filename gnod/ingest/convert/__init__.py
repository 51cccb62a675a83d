"""From the bytes of a file to Markdown. Knows no paths, no storage and no index; runs in the converter
workers.

    result      what comes out: `Converted`, or `ConversionFailed` with a stable kind
    formats     what an extension says
    sniff       what the content says
    decode      bytes to text
    dispatch    the two together choose a reader; limits that hold for all of them
    bridge      the only module that knows markitdown (1.3 s to import, so: late)
    webpage, office, pdf, sheets, table, notebook, mail, feed, archive      the readers

Nothing here opens a file or a connection: readers see bytes.
"""

from __future__ import annotations

from gnod.ingest.convert.dispatch import convert
from gnod.ingest.convert.result import ConversionFailed, Converted

__all__ = ["ConversionFailed", "Converted", "convert"]
