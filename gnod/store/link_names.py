"""Make the names by which links find documents. Pure; reads no document.

Names are compared ignoring case, in Unicode NFC and without `.md`. The rank says how good a name is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gnod.disks.spellings import folded

# Ranks, best first. A link reaches the names up to a rank: a path, an end of a path, or any name.
PATH, END, ALIAS = range(3)
# Values instead of a rank: an address on the web, and a path that leads out of the collection.
EXTERNAL, OUTSIDE = -1, -2

_MARKDOWN = ".md"
# Tools link to documents of these formats without the extension.
_OPTIONAL = (".rst", ".adoc", ".asciidoc", ".org", ".markdown", ".txt")
OF_FOLDER = frozenset({"index", "readme", "_index"})
_MAX_DEPTH = 12


class Name(NamedTuple):
    """`depth`: if several documents have the same rank, a link means the one with the lowest depth."""

    name: str
    rank: int
    depth: int


def key(path: str) -> str:
    """Return the name that a link with this path or end of a path looks for.

    >>> key("Notes/A.md"), key("paper.pdf")
    ('notes/a', 'paper.pdf')
    """
    found = folded(path)
    return found.removesuffix(_MARKDOWN) or found


def label_key(kind: str, label: str) -> str:
    """Return the name of a label. Links name the place of a label without its file.

    >>> label_key("ref", "My  Label")
    'ref:my label'
    """
    return f"{kind}:{folded(' '.join(label.split()))}"


def names_of(path: str, aliases: Iterable[str], labels: Iterable[str]) -> Iterator[Name]:
    """Yield the names of a document: its path, the ends of its path, its aliases and its labels. Labels are keys."""
    depth = path.count("/")
    written = key(path)
    for worse, whole in enumerate(_shorter(written)):
        yield Name(whole, PATH, depth + worse)
        end = whole
        for _ in range(min(depth, _MAX_DEPTH)):
            _, slash, end = end.partition("/")
            if not slash:
                break
            yield Name(end, END, depth + worse)
    folder, _, last = written.rpartition("/")
    if last.partition(".")[0] in OF_FOLDER:
        yield Name(folder, PATH, depth + 1)
    for alias in aliases:
        yield Name(key(alias), ALIAS, depth)
    for label in labels:
        yield Name(label, PATH, depth)


def _shorter(name: str) -> Iterator[str]:
    """Yield the name, and the name without an extension that links may omit."""
    yield name
    if not name.endswith(_OPTIONAL):  # this is true of most names
        return
    for extension in _OPTIONAL:
        if name.endswith(extension) and not name.endswith("/" + extension):
            yield name.removesuffix(extension)
