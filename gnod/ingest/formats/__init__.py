"""Converts the bytes of a file to Markdown, with one module for each format. Runs in the converter workers.

    registry    the list of converters; a new one is an entry there
    dispatch    chooses the converter; limits that hold for all of them

Code that formats share is in `gnod.ingest.reading`. Converters only see bytes: they do not use paths, storage or the
index, and they do not open files or connections.
"""

from __future__ import annotations

from gnod.ingest.reading.result import ConversionFailed, Converted, Scans

__all__ = ["ConversionFailed", "Converted", "convert"]


def convert(data: bytes, name: str, *, max_characters: int, scans: Scans | None = None) -> Converted:
    """Call `dispatch.convert`. The first call imports all converters, because code that shows pages and pictures
    imports this package too, but does not need them."""
    from gnod.ingest.formats import dispatch

    return dispatch.convert(data, name, max_characters=max_characters, scans=scans)
