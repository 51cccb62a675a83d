"""Converts EPUB books, chapter by chapter in reading order. Each chapter is converted as a web page."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec

from gnod.analysis.markup import without_closing
from gnod.ingest.formats.office.package import Package, recognised
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.versions import versioned
from gnod.locations import Locations

_CONTAINER = "META-INF/container.xml"
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)
_MAX_NAME = 80
# Metadata of the book (Dublin Core), and its labels in the text.
_LABELS = {
    "title": "Title",
    "creator": "Authors",
    "language": "Language",
    "publisher": "Publisher",
    "date": "Date",
    "description": "Description",
    "identifier": "Identifier",
}
# Some books omit the namespaces.
_NAMES = [f"{space}:{name}" for space in ("opf", "") for name in ("item", "itemref")]
_NAMES += [f"elements:{name}" for name in _LABELS]


def _read(content: FileContent) -> Converted:
    """Return the book, with the recognised text of its pictures at the end."""
    package = Package(content, _CONTAINER)
    roots = package.elements(_CONTAINER, "container:rootfile", ":rootfile")
    root = roots[0].found.get("full-path", "") if roots else ""
    above, listed = _described(package, root)
    parts = Parts("chapter", content.max_characters)
    names: set[str] = set()
    for number, text in _chapters(package, listed or package.parts(r".*\.x?html?")):
        name = _name(text, number, names)
        names.add(name)
        parts.add(text, name)
    lines = above.count("\n") + 2 if above else 0
    starts = [msgspec.structs.replace(start, line=start.line + lines) for start in parts.locations.starts]
    markdown = "\n\n".join(filter(str.strip, [above, parts.markdown, *recognised(content).values()]))
    book = Converted(
        markdown=markdown if parts.markdown else "", converter=versioned("epub"), locations=Locations("chapter", starts)
    )
    return package.finished(book, root)


def _described(package: Package, root: str) -> tuple[str, list[str]]:
    """Return the metadata of the book as Markdown, and its chapters in reading order."""
    about: defaultdict[str, list[str]] = defaultdict(list)
    files: dict[str, str] = {}
    order: list[str] = []
    for element in package.elements(root, *_NAMES):
        match element.name.partition(":")[2]:
            case "item":
                files[element.found.get("id", "")] = element.found.get("href", "")
            case "itemref":
                order.append(files.get(element.found.get("idref", ""), ""))
            case name if text := " ".join(element.text.split()):
                about[name].append(text)
    described = [f"**{label}:** {', '.join(texts)}" for name, label in _LABELS.items() if (texts := about[name])]
    chapters = (_member(package, posixpath.dirname(root), reference) for reference in order if reference)
    return "\n".join(described), list(filter(None, chapters))


def _chapters(package: Package, chapters: list[str]) -> Iterator[tuple[int, str]]:
    content = package.content
    left = content.max_characters
    for number, member in enumerate(chapters, start=1):
        content.allowance.take_member()  # a book may list one chapter a million times
        # A chapter is a web page, even if the member has another extension.
        page = msgspec.structs.replace(
            content, data=package.data(member), name="chapter.html", max_characters=left, depth=content.depth + 1
        )
        try:
            text = content.convert(page).markdown
        except ConversionFailed as failure:
            if failure.kind in ("too_long", "too_large"):
                raise
            continue  # a cover has no text, and an unreadable chapter must not fail the book
        left -= len(text)
        yield number, text


def _name(text: str, number: int, taken: set[str]) -> str:
    """Return the first heading of a chapter, with its number if the heading is not unique; otherwise the number."""
    heading = _HEADING.search(text)
    name = without_closing(heading[1])[:_MAX_NAME] if heading else ""
    if not name:
        return str(number)
    return f"{name} ({number})" if name in taken else name


def _member(package: Package, folder: str, reference: str) -> str | None:
    """Return the member that a reference names. References should be percent-encoded, but some are plain."""
    paths = (posixpath.normpath(posixpath.join(folder, member)) for member in (unquote(reference), reference))
    return next((path for path in paths if path in package), None)


EPUB = Converter(
    label="an EPUB book",
    mime="application/epub+zip",
    extensions="epub",
    signature=lambda content: (
        content.is_zip and (content.zip_members or set()) >= {"META-INF/container.xml", "mimetype"}
    ),
    read=_read,
    headings=True,
    images=True,
    location="chapter",
)
