"""EPUB books, chapter by chapter in the order of reading; each is converted as the web page that it is."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

import msgspec

from gnod.ingest.formats.office import embedded
from gnod.ingest.reading.converter import Converter, FileContent
from gnod.ingest.reading.markitdown_bridge import through_markitdown
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import ConversionFailed, Converted
from gnod.ingest.reading.unpacking import check_unpacked, unpack
from gnod.locations import Locations

_CONTAINER = "META-INF/container.xml"
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_MAX_NAME = 80
# Metadata of the book (Dublin Core), and how the text calls it.
_LABELS = {
    "title": "Title",
    "creator": "Authors",
    "language": "Language",
    "publisher": "Publisher",
    "date": "Date",
    "description": "Description",
    "identifier": "Identifier",
}
# Libraries raise these for a damaged package. markitdown then reads what it can.
_DAMAGE = (KeyError, ValueError, SyntaxError, IndexError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)


class _Package(NamedTuple):
    """`described`: what the book says of itself, as Markdown; `chapters`: members in the order of reading."""

    title: str
    described: str
    chapters: list[str]


def read_epub(content: FileContent) -> Converted:
    check_unpacked(content)
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        try:
            package = _package(archive)
        except _DAMAGE:
            package = None
        book = _book(archive, package, content) if package else None
    return book or through_markitdown("EpubConverter", content.data, extension="epub")


def _book(archive: zipfile.ZipFile, package: _Package, content: FileContent) -> Converted | None:
    """Return the text; None where no chapter has any."""
    parts = Parts("chapter", content.max_characters)
    names: set[str] = set()
    for number, text in _chapters(archive, package, content):
        name = _name(text, number, names)
        names.add(name)
        parts.add(text, name)
    if not parts.markdown:
        return None
    above = f"{package.described}\n\n" if package.described else ""
    lines = above.count("\n")
    starts = [msgspec.structs.replace(start, line=start.line + lines) for start in parts.locations.starts]
    return Converted(
        markdown=above + parts.markdown,
        converter="epub/2",
        title=package.title or None,
        locations=Locations("chapter", starts),
    )


def _chapters(archive: zipfile.ZipFile, package: _Package, content: FileContent) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each chapter that has any."""
    left = content.max_characters
    for number, member in enumerate(package.chapters, start=1):
        try:
            data = unpack(archive, archive.getinfo(member), content)
            # It is a web page, whatever the name of the member is.
            page = msgspec.structs.replace(
                content, data=data, name="chapter.html", max_characters=left, depth=content.depth + 1
            )
            text = content.convert(page).markdown
        except ConversionFailed as failure:
            if failure.kind in ("too_long", "too_large"):
                raise
            continue  # a cover has no text, and an unreadable chapter must not fail the book
        left -= len(text)
        yield number, text


def _name(text: str, number: int, taken: set[str]) -> str:
    """Return the first heading of a chapter, with its number if another has the same; else the number."""
    heading = _HEADING.search(text)
    name = heading[1].strip()[:_MAX_NAME] if heading else ""
    if not name:
        return str(number)
    return f"{name} ({number})" if name in taken else name


def _package(archive: zipfile.ZipFile) -> _Package:
    path = _xml(archive, _CONTAINER).findall(".//{*}rootfile")[0].get("full-path", "")
    root = _xml(archive, path)
    files = {item.get("id", ""): item.get("href", "") for item in root.findall(".//{*}item")}
    members = set(archive.namelist())
    references = [files.get(item.get("idref", ""), "") for item in root.findall(".//{*}itemref")]
    resolved = (_member(posixpath.dirname(path), reference, members) for reference in references if reference)
    about = [(label, _texts(root, name)) for name, label in _LABELS.items()]
    described = [f"**{label}:** {', '.join(texts)}" for label, texts in about if texts]
    return _Package(about[0][1][0] if about[0][1] else "", "\n".join(described), list(filter(None, resolved)))


def _xml(archive: zipfile.ZipFile, member: str) -> ElementTree.Element:
    # expat refuses entities that expand to more than a hundred times the file, and the worker has its limits.
    return ElementTree.fromstring(archive.read(member))


def _texts(root: ElementTree.Element, name: str) -> list[str]:
    found = ("".join(each.itertext()) for each in root.iter(f"{{http://purl.org/dc/elements/1.1/}}{name}"))
    return [" ".join(text.split()) for text in found if text.strip()]


def _member(folder: str, reference: str, members: set[str]) -> str | None:
    """Return the member that a reference names. The reference should be percent-encoded, but may be plain."""
    paths = (posixpath.normpath(posixpath.join(folder, each)) for each in (unquote(reference), reference))
    return next((path for path in paths if path in members), None)


def _read(content: FileContent) -> Converted:
    """Return the book, and behind its text what was recognised in its pictures."""
    book = read_epub(content)
    markdown = "\n\n".join(filter(str.strip, [book.markdown, *embedded.texts(content).values()]))
    return msgspec.structs.replace(book, markdown=markdown)


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
