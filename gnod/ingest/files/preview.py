"""Preview a folder as a collection: list its subfolders, and count its files by kind. Opens only ignore files."""

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

# Check the clock after this many files.
_PART_FILES = 20


class FolderPreview(NamedTuple):
    """`kinds`: number of files by the kind that their names indicate, and by whether gnod reads this kind. `excluded`:
    number of files that the rules exclude. `is_complete`: false if the time was up before all files were counted."""

    kinds: Counter[tuple[str, bool]]
    excluded: int
    is_complete: bool


def subfolders(path: str, most: int) -> tuple[list[str], bool]:
    """Return at most `most` names of folders in a folder, and whether these are all. Hidden folders and links are
    omitted, because a collection does not enter them. Raises OSError."""
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
    """Return the kind of file that a name indicates, and whether gnod reads such files."""
    # The registry imports all converters, which the daemon does not need otherwise.
    from gnod.ingest.formats.registry import REGISTRY

    extension = PurePosixPath(path).suffix.lstrip(".").lower()
    converter = REGISTRY.by_extension(extension) or REGISTRY.by_file_name(path)
    if converter is None:
        return "other files", True  # mostly text; their content decides
    return converter.label.removeprefix("an ").removeprefix("a "), converter.read is not None
