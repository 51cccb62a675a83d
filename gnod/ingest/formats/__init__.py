"""From the bytes of a file to Markdown: one module for each format. Runs in the converter workers.

    registry    the list of converters; a new one is an entry there
    dispatch    chooses the converter; limits that hold for all of them

What formats share is in `gnod.ingest.reading`. Nothing here knows paths, storage or the index, or opens a file or a
connection: converters see bytes.
"""

from __future__ import annotations

from gnod.ingest.reading.result import ConversionFailed, Converted, Scans

__all__ = ["ConversionFailed", "Converted", "convert"]


def convert(data: bytes, name: str, *, max_characters: int, scans: Scans | None = None) -> Converted:
    """Call `dispatch.convert`. All converters are imported with the first file, because pages and pictures, which share
    this package, are shown without them."""
    from gnod.ingest.formats import dispatch

    return dispatch.convert(data, name, max_characters=max_characters, scans=scans)
