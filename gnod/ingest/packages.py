"""Folders that macOS shows as one file. Of a document, one part has the text; the others have no text to index.

Opens no file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate
from pathlib import PurePosixPath

# Libraries of photos, films and music, projects of sound and film, disk images and previews.
_LIBRARIES = frozenset(
    [
        *("aplibrary", "backupbundle", "band", "fcpbundle", "imovielibrary", "logicx", "lrdata", "lrlibrary"),
        *("migratedphotolibrary", "musiclibrary", "photolibrary", "photoslibrary", "sparsebundle", "theater"),
        "tvlibrary",
    ]
)
# A program, a plugin and the like; the name of the folder may have any extension.
_OF_PROGRAMS = "Contents/Info.plist"
# The first of these that is there stands for the document. gnod reads the preview of an iWork document, and says of the
# others that it does not.
_IWORK = (
    *("QuickLook/Preview.pdf", "preview.pdf", "Index.zip"),
    *("index.xml.gz", "index.apxl.gz", "index.xml", "index.apxl"),
)
_PARTS = {"pages": _IWORK, "numbers": _IWORK, "key": _IWORK, "rtfd": ("TXT.rtf",)}


def patterns(folder: str) -> Sequence[str]:
    """Return the patterns of what is left out in a folder, as in a `.gitignore` in it; none for a plain folder."""
    extension = _extension(folder)
    if not extension:
        return ()
    if extension in _LIBRARIES or os.path.isfile(f"{folder}/{_OF_PROGRAMS}"):  # noqa: PTH113
        return ("*",)
    for part in _PARTS.get(extension, ()):
        if os.path.isfile(f"{folder}/{part}"):  # noqa: PTH113
            return ("*", *(f"!/{path}" for path in accumulate(part.split("/"), "{}/{}".format)))
    return ()


def stem(path: str) -> str:
    """Return the name of a document without its extension; for the part of a package, that of the package.

    >>> stem("notes/Plan.md"), stem("notes/Plan.pages/QuickLook/Preview.pdf")
    ('Plan', 'Plan')
    """
    for folder in PurePosixPath(path).parents:
        if path.removeprefix(f"{folder}/") in _PARTS.get(_extension(folder.name), ()):
            return folder.stem
    return PurePosixPath(path).stem


def concerned(path: str) -> str:
    """Return what a changed path concerns: the whole package that it may be a part of, or only the path.

    >>> concerned("notes/Plan.pages/QuickLook/Preview.pdf"), concerned("notes/Plan.md")
    ('notes/Plan.pages', 'notes/Plan.md')
    """
    *folders, _ = parts = path.split("/")
    for depth, folder in enumerate(folders, 1):
        if _extension(folder) in _PARTS:
            return "/".join(parts[:depth])
    return path.removesuffix(f"/{_OF_PROGRAMS}")


def _extension(path: str) -> str:
    name, _, extension = path.rpartition("/")[2].rpartition(".")
    return extension.lower() if name else ""
