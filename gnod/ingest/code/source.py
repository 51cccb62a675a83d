"""What preparing a document needs to know of source code: its chunks, its definitions, its prose. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from gnod.ingest.code import chunks
from gnod.ingest.code.languages import BY_MIME
from gnod.ingest.text.chunking import ChunkText
from gnod.store.tables.records import StoredDefinition

if TYPE_CHECKING:
    from gnod.ingest.code import structure

_LINE = re.compile(r"\n")
# Files with these names are named after their folder.
_OF_FOLDER = frozenset({"__init__", "index", "mod"})


class SourceCode(NamedTuple):
    """`identity`: what else than the text decides on the passages. `prose`: comments and docstrings."""

    identity: str
    passages: list[ChunkText]
    definitions: list[StoredDefinition]
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
    passages = chunks.cut(markdown, module, found)
    return SourceCode(f"{mime}\0{module}", passages, _records(markdown, found.definitions), found.prose)


def module_of(path: str) -> str:
    """Return the name of a file as a module.

    >>> module_of("src/net/backoff.py"), module_of("src/net/__init__.py")
    ('backoff', 'net')
    """
    file = PurePosixPath(path)
    name = file.name.partition(".")[0] or file.name
    return file.parent.name if name in _OF_FOLDER and file.parent.name else name


def _records(text: str, definitions: Iterable[structure.CodeDefinition]) -> list[StoredDefinition]:
    line_starts = [0, *(match.end() for match in _LINE.finditer(text))]

    def line_of(place: int) -> int:
        return bisect_right(line_starts, place)

    return [
        StoredDefinition(
            definition.start,
            definition.end,
            line_of(definition.lead),
            line_of(definition.start),
            line_of(max(definition.end - 1, definition.start)),
            definition.kind,
            definition.name,
            " > ".join(definition.path),
        )
        for definition in definitions
        if not definition.is_scope
    ]
