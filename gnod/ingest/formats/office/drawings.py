"""Extracts the text of charts, diagrams (SmartArt) and shapes from Office Open XML files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gnod.ingest.formats.office import metafile
from gnod.ingest.formats.office.number_format import general, number, number_format
from gnod.ingest.formats.office.package import Package, unescaped
from gnod.ingest.formats.office.xml_events import Attributes, Begin, Element, End, XmlEvents

# Names of files, addresses, and descriptions that Office generated.
_GENERATED = re.compile(
    r"^\S+\.\w{3,4}$|[\\/]\S+\.\w{2,4}$|://|\bautomatically generated$|^(?:picture|image|grafik|bild) ?\d*$", re.I
)
_CHART = (
    *("c:title", "c:ser", "c:tx", "c:cat", "c:val", "c:yVal", "c:xVal", "c:bubbleSize", "a:p", "a:t"),
    *("c:strCache", "c:numCache", "c:formatCode", "c:v", "c:showVal", "chartex:pt"),
)
_END = Element("", {}, [])
# Office shows this if a chart of several series has a title without text.
_UNTITLED = "Chart Title"


class Paragraphs(XmlEvents):
    """The paragraphs of shapes, one line each."""

    def __init__(self, on_start: Mapping[str, Begin] = {}, on_end: Mapping[str, End] = {}) -> None:
        super().__init__(
            {"a:br": lambda _: self._write(" "), **on_start},
            {"a:p": self._end_paragraph, **on_end},
            on_text={"a:t": self._write},
        )
        self.lines: list[str] = []
        self._paragraph: list[str] = []

    def taken(self) -> list[str]:
        """Return the lines so far and clear them."""
        found, self.lines = self.lines, []
        return found

    def _write(self, text: str) -> None:
        self._paragraph.append(text)
        self.written += len(text)

    def _end_paragraph(self) -> None:
        text = " ".join(unescaped("".join(self._paragraph)).split())
        self._paragraph = []
        if text:
            self.lines.append(text)


def _chart(package: Package, part: str) -> list[str]:
    """Return titles, names of series and categories, and the values that the chart shows as labels."""
    texts: dict[str, None] = {}
    values: dict[str, None] = {}
    shown: Callable[[float], str] | None = None
    series, paragraph = 0, ""
    in_values = has_labels = has_title = is_untitled = False
    for name, found, pieces in (*package.elements(part, *_CHART, hidden=("c:extLst",)), _END):
        text = "".join(pieces)
        if name != "a:t":
            texts[" ".join(paragraph.split())] = None
            paragraph = ""
        match name:
            case "a:t":
                paragraph += text
            case "c:title":
                has_title, in_values = True, False
            case "c:ser":
                is_untitled |= has_title and not series and not any(texts)
                series += 1
            case "c:showVal":
                has_labels |= found.get("val") in ("1", "true")
            case "c:tx" | "c:strCache":
                shown = None
                in_values &= name != "c:tx"
            case "c:numCache":
                shown = general
            case "c:formatCode":
                shown = number_format(text).shown
            case "c:v" | "chartex:pt":
                value = number(text) if shown else None
                text = " ".join((text if value is None or shown is None else shown(value)).split())
                (values if in_values else texts)[text] = None
            case _:
                in_values = name != "c:cat"
    untitled = [_UNTITLED] if is_untitled and series > 1 else []
    return [text for text in (*untitled, *texts, *(values if has_labels else ())) if text]


def lines(package: Package, part: str, *, is_chart: bool = False) -> list[str]:
    """Return the lines of text of a part: a chart, the data of a diagram, or shapes."""
    if is_chart:
        return _chart(package, part)
    events = Paragraphs()
    package.read(part, events)
    return events.lines


def beside(package: Package, part: str) -> list[str]:
    """Return the texts of the diagrams, charts and metafiles of a part; each text has lines."""
    diagrams = (lines(package, diagram) for diagram in package.related(part, "diagramData"))
    charts = (lines(package, chart, is_chart=True) for chart in package.related(part, "chart", "chartEx"))
    return [*("\n".join(found) for found in (*diagrams, *charts) if found), *pictures(package, part)]


def pictures(package: Package, part: str) -> list[str]:
    """Return the text in the metafiles of a part, including previews of embedded objects."""
    old = package.related(part, "vmlDrawing")
    images = [image for source in (part, *old) for image in package.related(source, "image")]
    shown = (image for image in dict.fromkeys(images) if image.lower().endswith((".emf", ".wmf")))
    return ["\n".join(found) for image in shown if (found := metafile.lines(package.data(image)))]


def description(found: Attributes) -> str:
    """Return the alternative text of a picture; "" if a program generated it."""
    text = " ".join(found.get("descr", "").split())
    return "" if _GENERATED.search(text) else text
