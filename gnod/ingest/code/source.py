"""What preparing a document needs to know of source code: its chunks, its definitions, its prose. Pure."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

from gnod.ingest.chunking import Passage
from gnod.ingest.code import chunks
from gnod.ingest.code.languages import BY_MIME

# Files with these names are named by their folder.
_OF_FOLDER = frozenset({"__init__", "index", "mod"})


class SourceCode(NamedTuple):
    """`module`: what the path of each definition begins with. `identity`: what else than the text decides on the
    chunks. `prose`: comments and docstrings."""

    module: str
    identity: str
    passages: list[Passage]
    prose: str


def read(markdown: str, mime: str, relative_path: str) -> SourceCode | None:
    """Return what a canonical text contains; None if it is not source code, or not treated as such."""
    language = BY_MIME.get(mime)
    if language is None:
        return None
    from gnod.ingest.code.structure import structure

    found = structure(markdown, language)
    if found is None:
        return None
    module = module_of(relative_path)
    return SourceCode(module, f"{mime}\0{module}", chunks.cut(markdown, module, found), found.prose)


def module_of(path: str) -> str:
    """Return the name of a file as a module.

    >>> module_of("src/net/backoff.py"), module_of("src/net/__init__.py")
    ('backoff', 'net')
    """
    file = PurePosixPath(path)
    name = file.name.partition(".")[0] or file.name
    return file.parent.name if name in _OF_FOLDER and file.parent.name else name
