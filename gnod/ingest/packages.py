"""Handle folders that macOS shows as one file. One part of such a document has the text; the other parts have none.

Must not open files.
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
# Programs, plugins and similar packages have this file; their folder may have any extension.
_OF_PROGRAMS = "Contents/Info.plist"
# The first of these parts that exists represents the document. gnod reads the preview of an iWork document, and reports
# that it does not read the others.
_IWORK = (
    *("QuickLook/Preview.pdf", "preview.pdf", "Index.zip"),
    *("index.xml.gz", "index.apxl.gz", "index.xml", "index.apxl"),
)
_PARTS = {"pages": _IWORK, "numbers": _IWORK, "key": _IWORK, "rtfd": ("TXT.rtf",)}


def patterns(folder: str) -> Sequence[str]:
    """Return the patterns that exclude parts of a folder, as a `.gitignore` in it would; none for a plain folder."""
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
    """Return the name of a document without its extension; for a part of a package, return the name of the package.

    >>> stem("notes/Plan.md"), stem("notes/Plan.pages/QuickLook/Preview.pdf")
    ('Plan', 'Plan')
    """
    for folder in PurePosixPath(path).parents:
        if path.removeprefix(f"{folder}/") in _PARTS.get(_extension(folder.name), ()):
            return folder.stem
    return PurePosixPath(path).stem


def concerned(path: str) -> str:
    """Return the path that a change affects: the package that contains the changed path, or the path itself.

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
