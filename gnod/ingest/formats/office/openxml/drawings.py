"""The text of charts, diagrams (SmartArt) and shapes, which all Office Open XML files may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from gnod.ingest.formats.office import metafile
from gnod.ingest.formats.office.number_format import general, number, number_format
from gnod.ingest.formats.office.openxml.package import Package, unescaped
from gnod.ingest.formats.office.xml_events import Attributes, Begin, End, XmlEvents

# Names of files, addresses, and descriptions that Office itself wrote
_GENERATED = re.compile(
    r"^\S+\.\w{3,4}$|[\\/]\S+\.\w{2,4}$|://|\bautomatically generated$|^(?:picture|image|grafik|bild) ?\d*$", re.I
)
_VALUES = ("c:val", "c:yVal", "c:xVal", "c:bubbleSize")
# What Office shows where a chart of several series has a title without text
_UNTITLED = "Chart Title"


class Paragraphs(XmlEvents):
    """The paragraphs of shapes, one line each."""

    def __init__(self, on_start: Mapping[str, Begin] | None = None, on_end: Mapping[str, End] | None = None) -> None:
        starts = {"a:t": self.keep, "a:br": lambda _: self._write(" ")}
        ends = {"a:t": lambda: self._write(self.kept()), "a:p": self._end_paragraph}
        super().__init__(starts | dict(on_start or {}), ends | dict(on_end or {}))
        self.lines: list[str] = []
        self._paragraph: list[str] = []

    def taken(self) -> list[str]:
        """Return the lines so far, and forget them."""
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


class _Chart(XmlEvents):
    """Titles, then the names of series and categories. Values count where the chart shows them as labels."""

    def __init__(self) -> None:
        super().__init__(
            {"a:t": self.keep, "c:v": self.keep, "c:formatCode": self.keep, "chartex:pt": self.keep}
            | {"c:showVal": self._show_values, "c:tx": self._begin_texts, "c:strCache": self._begin_texts}
            | {"c:numCache": self._begin_numbers, "c:title": self._begin_title, "c:ser": self._begin_series},
            {"a:t": self._end_run, "a:p": self._end_paragraph, "c:v": self._end_value}
            | {"c:title": self._end_title, "c:formatCode": self._end_format, "chartex:pt": self._end_value},
            ["c:extLst"],
        )
        self.found: dict[str, None] = {}
        self._labels: dict[str, None] = {}
        self._has_labels = False
        self._has_title_without_text = False
        self._before_title = 0
        self._series = 0
        self._runs: list[str] = []
        self._shown: Callable[[float], str] | None = None

    @property
    def lines(self) -> list[str]:
        untitled = {_UNTITLED: None} if self._has_title_without_text and self._series > 1 else {}
        return list(untitled | self.found | (self._labels if self._has_labels else {}))

    def _end_run(self) -> None:
        self._runs.append(self.kept())

    def _end_paragraph(self) -> None:
        text = " ".join("".join(self._runs).split())
        self._runs = []
        if text:
            self.found[text] = None

    def _begin_texts(self, _: Attributes) -> None:
        self._shown = None

    def _begin_numbers(self, _: Attributes) -> None:
        self._shown = general

    def _end_format(self) -> None:
        self._shown = number_format(self.kept()).shown

    def _end_value(self) -> None:
        text = " ".join(self.kept().split())
        value = number(text) if self._shown else None
        shown = text if value is None or self._shown is None else self._shown(value)
        if shown:
            (self._labels if any(map(self.inside.get, _VALUES)) else self.found)[shown] = None

    def _begin_title(self, _: Attributes) -> None:
        self._before_title = len(self.found)

    def _end_title(self) -> None:
        self._has_title_without_text |= not self._series and self._before_title == len(self.found)

    def _begin_series(self, _: Attributes) -> None:
        self._series += 1

    def _show_values(self, found: Attributes) -> None:
        self._has_labels |= found.get("val") in ("1", "true")


def lines(package: Package, part: str, *, is_chart: bool = False) -> list[str]:
    """Return the text of a chart, or of the part with the data of a diagram or with shapes, line by line."""
    events = _Chart() if is_chart else Paragraphs()
    package.read(part, events)
    return events.lines


def beside(package: Package, part: str) -> list[str]:
    """Return the texts of the diagrams, charts and metafiles of a part, each with its lines."""
    diagrams = (lines(package, each) for each in package.related(part, "diagramData"))
    charts = (lines(package, each, is_chart=True) for each in package.related(part, "chart", "chartEx"))
    return [*("\n".join(found) for found in (*diagrams, *charts) if found), *pictures(package, part)]


def pictures(package: Package, part: str) -> list[str]:
    """Return the text in the metafiles that a part shows, also as the previews of embedded objects."""
    old = package.related(part, "vmlDrawing")
    images = [image for each in (part, *old) for image in package.related(each, "image")]
    shown = (image for image in dict.fromkeys(images) if image.lower().endswith((".emf", ".wmf")))
    return ["\n".join(found) for image in shown if (found := metafile.lines(package.data(image)))]


def description(found: Attributes) -> str:
    """Return what the properties of a picture say for those who do not see it; "" for what a program wrote."""
    text = " ".join(found.get("descr", "").split())
    return "" if _GENERATED.search(text) else text
