"""Converts Visio drawings (vsdx) page by page: the texts of the shapes."""

from __future__ import annotations

import re

from gnod.ingest.formats.office import drawings
from gnod.ingest.formats.office.blocks import trimmed
from gnod.ingest.formats.office.package import Package
from gnod.ingest.reading.converter import Converter, FileContent, zip_with
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import Converted

_PAGES = r"visio/pages/page\d+\.xml"
_NO_NAME = re.compile(r"\w+-\d+")  # Visio generates names such as `Page-1`


def _read(content: FileContent) -> Converted:
    package = Package(content, "visio/document.xml")
    contents = package.related(package.start, "pages")
    names = [found.get("Name", "") for part in contents for _, found, _ in package.elements(part, "visio:Page")]
    related = [part for each in contents for part in package.related(each, "page")]
    pages = Parts("page", content.max_characters)
    for number, part in enumerate(related or package.parts(_PAGES), start=1):
        shapes = (trimmed(shape.text) for shape in package.elements(part, "visio:Text"))
        name = names[number - 1] if number <= len(names) else ""
        heading = f"## {name}" if name and not _NO_NAME.fullmatch(name) else ""
        pages.add("\n\n".join(filter(None, [heading, *shapes, *drawings.pictures(package, part)])), number)
    return package.finished(Converted(markdown=pages.markdown, converter="vsdx/1", locations=pages.locations))


VSDX = Converter(
    label="a Visio drawing",
    mime="application/vnd.ms-visio.drawing.main+xml",
    extensions="vsdx vsdm vstx",
    signature=zip_with("visio/document.xml"),
    read=_read,
    headings=True,
    location="page",
)
