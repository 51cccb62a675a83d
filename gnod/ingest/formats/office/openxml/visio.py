"""Drawings of Visio (vsdx), page by page: the texts of the shapes."""

from __future__ import annotations

import re

from gnod.ingest.formats.office.openxml import drawings
from gnod.ingest.formats.office.openxml.package import Package
from gnod.ingest.formats.office.xml_events import XmlEvents
from gnod.ingest.reading.converter import Converter, FileContent, zip_with
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import Converted

_PAGES = r"visio/pages/page\d+\.xml"
_NO_NAME = re.compile(r"\w+-\d+")  # Visio itself gives names such as `Page-1`


def _read(content: FileContent) -> Converted:
    package = Package(content, "visio/document.xml")
    names = _ShapeNames()
    contents = package.related(package.start, "pages")
    for part in contents:
        package.read(part, names)
    related = [part for each in contents for part in package.related(each, "page")]
    pages = Parts("page", content.max_characters)
    for number, part in enumerate(related or package.parts(_PAGES), start=1):
        shapes = _PageShapes()
        package.read(part, shapes)
        name = names.found[number - 1] if number <= len(names.found) else ""
        heading = f"## {name}" if name and not _NO_NAME.fullmatch(name) else ""
        pages.add("\n\n".join(filter(None, [heading, *shapes.texts, *drawings.pictures(package, part)])), number)
    return package.finished(Converted(markdown=pages.markdown, converter="vsdx/1", locations=pages.locations))


class _ShapeNames(XmlEvents):
    """The names of the pages."""

    def __init__(self) -> None:
        super().__init__({"visio:Page": lambda found: self.found.append(found.get("Name", ""))}, {})
        self.found: list[str] = []


class _PageShapes(XmlEvents):
    """The texts of the shapes of a page."""

    def __init__(self) -> None:
        super().__init__({"visio:Text": self.keep}, {"visio:Text": self._end})
        self.texts: list[str] = []

    def _end(self) -> None:
        lines = (" ".join(line.split()) for line in self.kept().split("\n"))
        if text := "\n".join(filter(None, lines)):
            self.texts.append(text)


VSDX = Converter(
    label="a Visio drawing",
    mime="application/vnd.ms-visio.drawing.main+xml",
    extensions="vsdx vsdm vstx",
    signature=zip_with("visio/document.xml"),
    read=_read,
    headings=True,
    location="page",
)
