"""Reads Office files that are zips of XML parts: the parts, the relations between them, properties, pictures.

A part that cannot be read is left out and reported with the document. Each format has its own module.
"""

from __future__ import annotations

import html
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote
from xml.parsers import expat

import msgspec

from gnod.ingest.formats.office.xml_events import Attributes, Element, Elements, End, XmlEvents
from gnod.ingest.reading.converter import FileContent
from gnod.ingest.reading.result import MAX_PAGES, ConversionFailed, Converted, authorship
from gnod.ingest.reading.unpacking import UNREADABLE_MEMBER, check_unpacked, damage

_CHUNK_BYTES = 1 << 16
_MOST_NAMED = 3
_PROPERTIES_LIMIT = 64 * 1024
_PROPERTY = re.compile(
    rb"<(dc:title|dc:creator|dcterms:created|meta:initial-creator|meta:creation-date)\b[^<>]*>([^<]+)<"
)
_PLACEHOLDER_TITLE = re.compile(r"(?:untitled|powerpoint presentation|slide 1|document\d*|word document)\Z", re.I)
# Does not match previews of the whole file.
_PICTURE = re.compile(r"(?!docProps/|Thumbnails/).*\.(?:png|jpe?g|tiff?|webp|bmp)", re.I)
_MAX_PICTURE_BYTES = 100_000_000
# Smaller files are bullets and logos.
_MIN_PICTURE_BYTES = 2_000
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")


class Relation(NamedTuple):
    """`kind`: the last word of its type, such as `header`. `target`: a part, or an address if it is external."""

    kind: str
    target: str
    is_external: bool


class Package:
    """The parts of a file by their case-insensitive paths. `start`: the main part with the document.

    Raises ConversionFailed if the zip cannot be read.
    """

    def __init__(self, content: FileContent, usual_start: str) -> None:
        self.content = content
        self._members = {_part(member.filename): member for member in check_unpacked(content)}
        self._archive = zipfile.ZipFile(io.BytesIO(content.data))
        self._unread: list[str] = []
        found = [relation.target for relation in self.relations("").values() if relation.kind == "officeDocument"]
        self.start = next((part for part in [*found, usual_start] if part in self), usual_start)

    def __contains__(self, part: str) -> bool:
        return _part(part) in self._members

    def parts(self, pattern: str) -> list[str]:
        """Return the parts whose path matches the pattern, `slide2` before `slide10`."""
        found = (part for part in self._members if re.fullmatch(pattern, part))
        return sorted(found, key=lambda part: (len(part), part))

    def read(self, part: str, events: XmlEvents) -> None:
        """Read a part up to the first damage. A missing part counts as empty."""
        for _ in self.stream(part, events):
            pass

    def stream(self, part: str, events: XmlEvents) -> Iterator[None]:
        """Read a part as `read` does, chunk by chunk."""
        if part not in self:
            return
        try:
            yield from events.read(self._chunks(part))
        except (*UNREADABLE_MEMBER, expat.ExpatError):
            self._unread.append(part)

    def elements(self, part: str, *names: str, hidden: tuple[str, ...] = ()) -> list[Element]:
        """Return the elements of a part with these names, up to the first damage."""
        events = Elements(names, hidden)
        self.read(part, events)
        return events.found

    def data(self, part: str) -> bytes:
        """Return the bytes of a part; empty if it cannot be read."""
        try:
            return b"".join(self._chunks(part)) if part in self else b""
        except UNREADABLE_MEMBER:
            self._unread.append(part)
            return b""

    def leave_out(self, part: str) -> None:
        self._unread.append(part)

    def relations(self, part: str) -> dict[str, Relation]:
        """Return the relations of a part by their ids."""
        folder, _, name = part.rpartition("/")
        listed = self.elements(f"{folder}/_rels/{name}.rels".lstrip("/"), "r:Relationship")
        return {found.get("Id", ""): _relation(found, folder) for _, found, _ in listed}

    def related(self, part: str, *kinds: str) -> list[str]:
        """Return the parts of these kinds that a part refers to, in the order of its relations."""
        found = [relation.target for relation in self.relations(part).values() if relation.kind in kinds]
        return list(dict.fromkeys(target for target in found if target in self))

    def remarks(self, part: str, kind: str) -> Iterator[tuple[str, str]]:
        """Yield the notes or comments on a part with their cells; replies follow."""
        for target in self.related(part, kind):
            events = _Remarks()
            self.read(target, events)
            for cell, author, lines in events.found:
                if text := unescaped("".join(lines)).strip():
                    yield cell, remark(self._authors.get(author, ""), text)

    @cached_property
    def _authors(self) -> dict[str, str]:
        people = [
            found
            for part in self.related(self.start, "commentAuthors", "authors", "person")
            for _, found, _ in self.elements(part, "p:cmAuthor", "powerpoint:author", "x:person")
        ]
        return {found.get("id", ""): found.get("displayName") or found.get("name", "") for found in people}

    def finished(self, converted: Converted, properties: str = "docProps/core.xml") -> Converted:
        """Add the title, author and date from the properties of the file, and the list of unreadable parts.

        Raises ConversionFailed if nothing could be read because of damage.
        """
        missing = [*self._unread, *([] if self.start in self else [self.start])]
        if missing and not converted.markdown.strip():
            raise damage(self.content) or ConversionFailed(
                "corrupt", f"The {self.content.label} is damaged: {missing[0][:100]} inside it cannot be read."
            )
        return msgspec.structs.replace(with_properties(converted, self.data(properties)), left_out=self._left_out())

    def _chunks(self, part: str) -> Iterator[bytes]:
        with self._archive.open(self._members[_part(part)]) as file:
            while chunk := file.read(_CHUNK_BYTES):
                yield chunk

    def _left_out(self) -> dict[str, str]:
        if not self._unread:
            return {}
        parts = list(dict.fromkeys(part[:100] for part in self._unread))
        named = ", ".join(parts[:_MOST_NAMED]) + (f" and {len(parts) - _MOST_NAMED} more" * (len(parts) > _MOST_NAMED))
        return {"corrupt": f"The file is damaged: not all of {named} can be read."}


class _Remarks(XmlEvents):
    """`found`: cells, ids of authors, and texts. Replies are nested in the comment and precede its text."""

    def __init__(self) -> None:
        names = ("x:comment", "x:threadedComment", "p:cm", "powerpoint:cm", "powerpoint:reply")
        texts = ("x:t", "a:t", "x:text", "p:text")
        ends: dict[str, End] = {**dict.fromkeys(names, self._end), "a:p": lambda: self._write("\n")}
        super().__init__(dict.fromkeys(names, self._begin), ends, ["x:rPh"], on_text=dict.fromkeys(texts, self._write))
        self.found: list[tuple[str, str, list[str]]] = []
        self._open: list[list[str]] = []

    def _begin(self, found: Attributes) -> None:
        self._open.append([])
        author = found.get("personId", found.get("authorId", ""))
        self.found.append((found.get("ref", ""), author, self._open[-1]))

    def _end(self) -> None:
        self._open.pop()

    def _write(self, text: str) -> None:
        if self._open:
            self._open[-1].append(text)


def _relation(found: Attributes, folder: str) -> Relation:
    target = found.get("Target", "")
    is_external = found.get("TargetMode") == "External"
    if not is_external:
        target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
    return Relation(found.get("Type", "").rpartition("/")[2], target, is_external)


def with_properties(converted: Converted, xml: bytes) -> Converted:
    """Add the title, author and date from a part with properties."""
    found = {
        name.decode(): " ".join(html.unescape(value.decode("utf-8", "replace")).split())
        for name, value in reversed(_PROPERTY.findall(xml[:_PROPERTIES_LIMIT]))  # the first of each counts
    }
    title = found.get("dc:title")
    if title and _PLACEHOLDER_TITLE.match(title):
        title = None
    author = found.get("meta:initial-creator") or found.get("dc:creator")
    date = found.get("dcterms:created") or found.get("meta:creation-date")
    return msgspec.structs.replace(converted, title=title or None, metadata=authorship(author, date))


def unescaped(text: str) -> str:
    """Replace escapes such as `_x000D_`, with which Office writes control characters."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text


def remark(author: str, text: str) -> str:
    """Return a note or comment as Markdown."""
    return "> " + (f"{author}: {text}" if author else text).replace("\n", "\n> ")


def is_on(value: str | None) -> bool:
    """Tell whether the attribute of a switch such as `<w:b/>` turns it on; a missing attribute does."""
    return value not in ("0", "false", "off", "none")


def _part(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()


def _pictures(data: bytes) -> list[str]:
    """Return the names of the pictures in a file, in a stable order."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            found = [
                member.filename
                for member in archive.infolist()
                if _MIN_PICTURE_BYTES <= member.file_size <= _MAX_PICTURE_BYTES and _PICTURE.fullmatch(member.filename)
            ]
    except UNREADABLE_MEMBER:
        return []
    return sorted(found, key=lambda name: (len(name), name))


def embedded_picture(data: bytes, number: int) -> bytes:
    """Return the bytes of a picture, numbered from 1. Raises ConversionFailed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return archive.read(_pictures(data)[number - 1])
    except (*UNREADABLE_MEMBER, LookupError) as error:
        raise ConversionFailed("corrupt", f"Picture {number} in the file is damaged.") from error


def recognised(content: FileContent) -> dict[str, str]:
    """Return the recognised text of the pictures, by name, and record the pictures that OCR has not read."""
    if not content.scans.wanted:
        return {}
    pictures = _pictures(content.data)
    found = {name: content.scans.text(number) for number, name in enumerate(pictures[: 2 * MAX_PAGES], 1)}
    return {name: text for name, text in found.items() if text}
