"""Converts presentations (pptx) slide by slide: shapes, tables, charts, diagrams, speaker notes and comments.

Text of masters and layouts that slides show, such as a copyright, comes once, with the first slide that shows it. The
prompts in their placeholders ("Click to edit") are left out, because no slide shows them.
"""

from __future__ import annotations

from gnod.ingest.formats.office import drawings
from gnod.ingest.formats.office.blocks import Blocks
from gnod.ingest.formats.office.package import Package, is_on, recognised
from gnod.ingest.formats.office.xml_events import Attributes
from gnod.ingest.reading.converter import Converter, FileContent, zip_with
from gnod.ingest.reading.parts import Parts
from gnod.ingest.reading.result import Converted

_TITLES = ("title", "ctrTitle")
_NOT_NOTES = ("sldImg", "sldNum", "dt", "hdr", "ftr")
_PLACEHOLDERS = (*_TITLES, *_NOT_NOTES, "body", "subTitle", "obj", "chart", "tbl", "clipArt", "dgm", "media", "pic")
_SLIDES = r"ppt/slides/slide\d+\.xml"


def _read(content: FileContent) -> Converted:
    package = Package(content, "ppt/presentation.xml")
    pictures = recognised(content)
    slides = Parts("slide", content.max_characters)
    deck = _Deck(package)
    for number, part in enumerate(deck.slides, start=1):
        texts = [pictures[name] for name in package.related(part, "image") if name in pictures]
        slides.add("\n\n".join([deck.text(part, slides.left), *texts]), number)
    return package.finished(Converted(markdown=slides.markdown, converter="pptx/1", locations=slides.locations))


class _Deck:
    """The shared data of the slides. A master or layout is read once."""

    def __init__(self, package: Package) -> None:
        relations = package.relations(package.start)
        listed = package.elements(package.start, "p:sldId", hidden=("p:extLst",))
        targets = [relations[each].target for _, found, _ in listed if (each := found.get("r:id")) in relations]
        self.slides = [part for part in targets if part in package] or package.parts(_SLIDES)
        self._package = package
        self._seen: set[str] = set()

    def text(self, part: str, max_characters: int) -> str:
        slide = self._shapes(part, max_characters)
        texts = [slide.markdown, *drawings.beside(self._package, part)]
        if slide.shows_master:
            texts += self._background(part, max_characters)
        for notes in self._package.related(part, "notesSlide"):
            text = self._shapes(notes, max_characters, _NOT_NOTES).markdown
            texts.append(f"### Notes\n\n{text}" if text else "")
        texts += [text for _, text in self._package.remarks(part, "comments")]
        return "\n\n".join(filter(None, texts))

    def _background(self, part: str, max_characters: int) -> list[str]:
        """Return the text of the layout and the master of a slide, unless an earlier slide had it."""
        texts = []
        for behind in self._package.related(part, "slideLayout", "slideMaster"):
            if behind not in self._seen:
                self._seen.add(behind)
                shapes = self._shapes(behind, max_characters, _PLACEHOLDERS)
                texts += [shapes.markdown, *(self._background(behind, max_characters) if shapes.shows_master else ())]
        return texts

    def _shapes(self, part: str, max_characters: int, hidden: tuple[str, ...] = ()) -> _Shapes:
        shapes = _Shapes(max_characters, hidden)
        self._package.read(part, shapes)
        shapes.blocks.end()
        return shapes


class _Shapes(drawings.Paragraphs):
    """The shapes of one slide, title first. `hidden`: the kinds of placeholders that are left out."""

    def __init__(self, max_characters: int, hidden: tuple[str, ...]) -> None:
        super().__init__(
            {
                "p:sld": self._begin_slide,
                "p:sldLayout": self._begin_slide,
                "p:sp": lambda _: self._set_placeholder({"type": ""}),
                "p:graphicFrame": lambda _: self._set_placeholder({"type": ""}),
                "p:ph": self._set_placeholder,
                "p:cNvPr": self._describe,
                "a:tbl": lambda _: self.blocks.begin_table(),
                "a:tr": lambda _: self.blocks.begin_row(),
                "a:tc": lambda _: self.blocks.begin_cell(),
            },
            {
                "p:txBody": self._end_body,
                "a:txBody": self._end_body,
                "a:tbl": lambda: self.blocks.end_table(),
            },
        )
        self.blocks = Blocks(max_characters)
        self.shows_master = True
        self._hidden_kinds = hidden
        self._placeholder = ""
        self._title: list[str] = []

    @property
    def markdown(self) -> str:
        title = f"# {' '.join(self._title)}" if self._title else ""
        return "\n\n".join(filter(None, [title, self.blocks.markdown]))

    def _begin_slide(self, found: Attributes) -> None:
        self.shows_master = is_on(found.get("showMasterSp"))

    def _set_placeholder(self, found: Attributes) -> None:
        self._placeholder = found.get("type", "obj")

    def _end_body(self) -> None:
        lines = self.taken()
        if not lines or self._placeholder in self._hidden_kinds:
            return
        if self._placeholder in _TITLES and not self._title:
            self._title = lines
        else:
            self.blocks.paragraph("\n".join(lines))

    def _describe(self, found: Attributes) -> None:
        if text := drawings.description(found):
            self.blocks.paragraph(text)


PPTX = Converter(
    label="a presentation",
    mime="application/vnd.openxmlformats-officedocument.presentationml.presentation",
    extensions="pptx pptm ppsx ppsm potx potm",
    signature=zip_with("ppt/presentation.xml"),
    read=_read,
    headings=True,
    images=True,
    location="slide",
    remark="with notes, comments, charts and diagrams",
)
