"""Converts Word documents (docx): all text that Word shows after all changes are accepted, and the comments.

Notes and comments follow the paragraph that refers to them. Headers and footers come at the end, once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gnod.ingest.formats.office import drawings
from gnod.ingest.formats.office.blocks import Blocks, trimmed
from gnod.ingest.formats.office.numbering import (
    BULLET,
    STYLE_ELEMENTS,
    Numbering,
    ParagraphStyle,
    resolved,
    styles_of,
)
from gnod.ingest.formats.office.package import Package, is_on, recognised, remark
from gnod.ingest.formats.office.xml_events import Attributes, Begin, Element, XmlEvents
from gnod.ingest.reading.converter import Converter, FileContent, zip_with
from gnod.ingest.reading.result import ConversionFailed, Converted

_BODY = 9  # the outline level of paragraphs that are not headings
# Deleted text, moved text at its old position, codes of fields, earlier properties, positions of tabs.
_HIDDEN = ("w:del", "w:moveFrom", "w:instrText", "w:tabs", "w:pPrChange", "w:rPrChange", "w:sectPrChange", "w:sdtPr")


def _read(content: FileContent) -> Converted:
    package = Package(content, "word/document.xml")
    story = _Story(package, package.start, content.max_characters)
    package.read(package.start, story)
    story.add_rest()
    pictures = [*drawings.pictures(package, package.start), *recognised(content).values()]
    markdown = "\n\n".join(filter(str.strip, [story.blocks.markdown, *pictures]))
    return package.finished(Converted(markdown=markdown, converter="docx/1"))


@dataclass
class _Paragraph:
    """An open paragraph. `after`: the notes and drawings that it refers to."""

    text: list[str] = field(default_factory=list)
    style: str = ""
    own: ParagraphStyle = field(default_factory=ParagraphStyle)
    after: list[str] = field(default_factory=list)


class _Story(XmlEvents):
    """The text of the main part, or of a part with notes or a header. A text box comes before its paragraph."""

    blocks: Blocks
    _styles: dict[str, ParagraphStyle]
    _numbering: Numbering

    def __init__(self, package: Package, part: str, max_characters: int, main: _Story | None = None) -> None:
        properties = {name: self._property(name) for name in ("w:outlineLvl", "w:ilvl", "w:numId")}
        super().__init__(
            {
                "w:p": lambda _: self._paragraphs.append(_Paragraph()),
                "w:pStyle": self._set_style,
                "w:vanish": self._vanish,
                "w:r": lambda _: self._show(),
                "w:tab": lambda _: self._write("\t"),
                "w:ptab": lambda _: self._write("\t"),
                "w:br": lambda _: self._write("\n"),
                "w:cr": lambda _: self._write("\n"),
                "w:fldChar": self._field,
                "w:headerReference": self._head,
                "w:footerReference": self._head,
                "w:titlePg": self._title_page,
                "w:hyperlink": self._begin_link,
                "w:noBreakHyphen": lambda _: self._write("-"),
                "w:tbl": lambda _: self.blocks.begin_table(),
                "w:tr": lambda _: self.blocks.begin_row(),
                "w:tc": lambda _: self.blocks.begin_cell(),
                "w:footnote": self._begin_note,
                "w:endnote": self._begin_note,
                "w:comment": self._begin_note,
                "w:footnoteReference": lambda found: self._refer("footnotes", found),
                "w:endnoteReference": lambda found: self._refer("endnotes", found),
                "w:commentReference": lambda found: self._refer("comments", found),
                "w:altChunk": self._embedded_text,
                "c:chart": lambda found: self._drawing(found.get("r:id", ""), is_chart=True),
                "dgm:relIds": lambda found: self._drawing(found.get("r:dm", "")),
                "v:textpath": lambda found: self._after(found.get("string", "")),
                "wordprocessingDrawing:docPr": lambda found: self._after(drawings.description(found)),
            }
            | properties,
            {
                "w:p": self._end_paragraph,
                "w:r": self._show,
                "w:hyperlink": self._end_link,
                "w:tbl": lambda: self.blocks.end_table(),
            },
            _HIDDEN,
            on_text=dict.fromkeys(("w:t", "m:t"), lambda text: self._write(text.replace("\n", " "))),
        )
        self.blocks = Blocks(max_characters)
        self.notes: dict[str, tuple[str, Blocks]] = {}
        self._package = package
        self._max_characters = max_characters
        self._relations = package.relations(part)
        self._styles = main._styles if main else styles_of(self._elements("styles", STYLE_ELEMENTS))
        self._numbering = main._numbering if main else Numbering(self._elements("numbering", Numbering.NAMES))
        self._notes: dict[str, dict[str, tuple[str, Blocks]]] = {}
        self._paragraphs: list[_Paragraph] = []
        self._is_shown = True
        self._in_code: list[bool] = []  # for each open field
        self._links: list[str] = []
        self._heads: list[str] = []  # the headers and footers that are shown
        self._first_heads: list[str] = []
        if main is None:
            for kind in ("footnotes", "endnotes", "comments"):
                self._notes[kind] = self._read_other(self._part(kind)).notes

    def add_rest(self) -> None:
        """Add comments without a reference, and the headers and footers, without repetitions."""
        self.blocks.end()
        for author, note in self._notes["comments"].values():
            self.blocks.paragraph(remark(author, note.markdown))
        seen = {""}
        for part in dict.fromkeys(self._heads):
            text = self._read_other(part).blocks.markdown
            if text not in seen:
                seen.add(text)
                self.blocks.paragraph(text)

    def _part(self, kind: str) -> str:
        return next((relation.target for relation in self._relations.values() if relation.kind == kind), "")

    def _elements(self, kind: str, names: tuple[str, ...]) -> list[Element]:
        return self._package.elements(self._part(kind), *names)

    def _read_other(self, part: str) -> _Story:
        story = _Story(self._package, part, self._max_characters, self)
        self._package.read(part, story)
        story.blocks.end()
        return story

    # ---- paragraphs

    def _property(self, name: str) -> Begin:
        return lambda found: self._paragraphs[-1].own.take(name, found) if self._in_properties else None

    @property
    def _in_properties(self) -> bool:
        return self.inside["w:pPr"] > 0 and bool(self._paragraphs)

    def _set_style(self, found: Attributes) -> None:
        if self._paragraphs:
            self._paragraphs[-1].style = found.get("w:val", "")

    def _show(self) -> None:
        self._is_shown = True

    def _vanish(self, found: Attributes) -> None:
        """Hide the rest of a run. In paragraph properties, the switch only hides the paragraph mark."""
        if not self._in_properties:
            self._is_shown = not is_on(found.get("w:val"))

    def _write(self, text: str) -> None:
        if self._paragraphs and self._is_shown and not any(self._in_code):
            self._paragraphs[-1].text.append(text)
            self.written += len(text)

    def _after(self, text: str) -> None:
        if text and self._paragraphs:
            self._paragraphs[-1].after.append(text)
            self.written += len(text)

    def _end_paragraph(self) -> None:
        paragraph = self._paragraphs.pop()
        self._is_shown = True
        if text := trimmed("".join(paragraph.text)):
            self._add(text, resolved(self._styles, paragraph.style, paragraph.own))
        for note in paragraph.after:
            self.blocks.paragraph(note)

    def _add(self, text: str, style: ParagraphStyle) -> None:
        level = style.level or 0
        label = self._numbering.label(style.number, level) if style.number else ""
        labelled = f"{label} {text}" if label else text
        if style.outline is not None and style.outline < _BODY:
            self.blocks.heading(text if label == BULLET else labelled, style.outline + 1)
        elif label:
            self.blocks.item(labelled, level)
        else:
            self.blocks.paragraph(text)

    def _field(self, found: Attributes) -> None:
        """Leave out the code of a field, which precedes its result."""
        match found.get("w:fldCharType"):
            case "begin":
                self._in_code.append(True)
            case "separate" if self._in_code:
                self._in_code[-1] = False
            case "end" if self._in_code:
                self._in_code.pop()

    # ---- referenced parts

    def _begin_link(self, found: Attributes) -> None:
        relation = self._relations.get(found.get("r:id", ""))
        self._links.append(relation.target.replace(" ", "%20") if relation and relation.is_external else "")
        if self._links[-1]:
            self._write("[")

    def _end_link(self) -> None:
        if address := self._links.pop():
            self._write(f"]({address})")

    def _head(self, found: Attributes) -> None:
        relation = self._relations.get(found.get("r:id", ""))
        if relation:
            (self._first_heads if found.get("w:type") == "first" else self._heads).append(relation.target)

    def _title_page(self, found: Attributes) -> None:
        """Show the headers for the first page of a section; their references precede this element."""
        if is_on(found.get("w:val")):
            self._heads += self._first_heads

    def _begin_note(self, found: Attributes) -> None:
        self.blocks = Blocks(self._max_characters)
        self.notes[found.get("w:id", "")] = (found.get("w:author", ""), self.blocks)

    def _refer(self, kind: str, found: Attributes) -> None:
        if note := self._notes.get(kind, {}).pop(found.get("w:id", ""), None):
            author, blocks = note
            self._after(remark(author, blocks.markdown) if kind == "comments" else blocks.markdown)

    def _drawing(self, identifier: str, *, is_chart: bool = False) -> None:
        if found := self._relations.get(identifier):
            self._after("\n".join(drawings.lines(self._package, found.target, is_chart=is_chart)))

    def _embedded_text(self, found: Attributes) -> None:
        """Add an embedded file, such as a web page, that Word shows as a part of the text."""
        part = self._relations.get(found.get("r:id", ""))
        data = self._package.data(part.target) if part else b""
        if part and data:
            content = self._package.content
            try:
                inner = content.convert(content.inner(data, part.target, self._max_characters))
                self.blocks.paragraph(inner.markdown)
            except ConversionFailed:
                self._package.leave_out(part.target)


DOCX = Converter(
    label="a Word document",
    mime="application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    extensions="docx docm dotx dotm",
    signature=zip_with("word/document.xml", "word/document2.xml"),
    read=_read,
    headings=True,
    images=True,
    remark="with headers, footers, text boxes, notes and comments; without deleted text",
)
