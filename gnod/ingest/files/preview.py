"""What a folder would give as a collection: its subfolders to choose from, and its files by kind. Opens no file but
ignore files."""

from __future__ import annotations

import os
import time
from collections import Counter
from heapq import nsmallest
from pathlib import PurePosixPath
from typing import NamedTuple

from gnod.config.model import CollectionConfig
from gnod.ingest.files.ignore import IgnoreFiles
from gnod.ingest.files.scope import is_text
from gnod.ingest.files.walk import Walk

# Files to walk before the clock is asked again.
_PART_FILES = 20


class FolderPreview(NamedTuple):
    """`kinds`: files by the kind that their names say, and by whether gnod reads such files. `excluded`: files that the
    rules leave out. `is_complete`: false if the time was up, so there are more."""

    kinds: Counter[tuple[str, bool]]
    excluded: int
    is_complete: bool


def subfolders(path: str, most: int) -> tuple[list[str], bool]:
    """Return the names of the folders in a folder, at most `most`, and whether these are all. Hidden folders and links
    are left out, because a collection does not enter them. Raises OSError."""
    with os.scandir(path) as entries:
        names = nsmallest(
            most + 1,
            (e.name for e in entries if e.name[0] != "." and is_text(e.name) and e.is_dir(follow_symlinks=False)),
            key=str.casefold,
        )
    return names[:most], len(names) <= most


def preview(collection: CollectionConfig, ignore_files: IgnoreFiles, limit_s: float) -> FolderPreview:
    """Count the files that a collection would have, until the time is up. Raises RootUnavailable."""
    deadline = time.monotonic() + limit_s

    def enter(path: str, *, is_file: bool = False) -> None:
        del path, is_file
        if time.monotonic() > deadline:
            raise _TimeIsUp

    walk = Walk(collection, ignore_files, enter=enter)
    kinds = Counter[tuple[str, bool]]()
    try:
        for part in walk.parts(_PART_FILES):
            kinds.update(map(_kind, part.files))
            enter("")
    except _TimeIsUp:
        return FolderPreview(kinds, walk.excluded, is_complete=False)
    return FolderPreview(kinds, walk.excluded, is_complete=True)


class _TimeIsUp(Exception): ...


def _kind(path: str) -> tuple[str, bool]:
    """Return what the name of a file says about it, and whether such files are read."""
    # The registry knows all converters, which the daemon needs for nothing else.
    from gnod.ingest.formats.registry import REGISTRY

    extension = PurePosixPath(path).suffix.lstrip(".").lower()
    converter = REGISTRY.by_extension(extension) or REGISTRY.by_file_name(path)
    if converter is None:
        return "other files", True  # text, as a rule: their content decides
    return converter.label.removeprefix("an ").removeprefix("a "), converter.read is not None
