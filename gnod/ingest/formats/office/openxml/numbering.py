"""The styles and the numbering of a Word document: which paragraphs are headings, and the labels of lists ("3.2.1")."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gnod.ingest.formats.office.xml_events import Attributes, Begin, XmlEvents

BULLET = "-"
_HEADING = re.compile(r"heading ?(\d)", re.I)
_PLACE = re.compile(r"%(\d)")
_LONGEST_CHAIN = 20
_LEVELS = 9
_ROMAN = [(1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")]
_ROMAN += [(9, "ix"), (5, "v"), (4, "iv"), (1, "i")]


@dataclass
class ParagraphStyle:
    """What a style, or a paragraph itself, says; None where it says nothing. `outline` counts from 0."""

    name: str = ""
    based_on: str = ""
    outline: int | None = None
    number: str | None = None
    level: int | None = None

    def take(self, element: str, found: Attributes) -> None:
        """Take a property of a paragraph."""
        value = found.get("w:val", "")
        match element:
            case "w:outlineLvl":
                self.outline = _digit(value)
            case "w:ilvl":
                self.level = _digit(value)
            case "w:numId":
                self.number = value


class Styles(XmlEvents):
    """The styles of paragraphs, read from `word/styles.xml`."""

    _style: ParagraphStyle

    def __init__(self) -> None:
        starts = {name: self._taking(name) for name in ("w:outlineLvl", "w:ilvl", "w:numId")}
        super().__init__(
            {
                "w:style": self._begin,
                "w:name": lambda found: setattr(self._style, "name", found.get("w:val", "")),
                "w:basedOn": lambda found: setattr(self._style, "based_on", found.get("w:val", "")),
            }
            | starts,
            {},
        )
        self._style = ParagraphStyle()
        self._styles: dict[str, ParagraphStyle] = {}

    def resolved(self, identifier: str, own: ParagraphStyle) -> ParagraphStyle:
        """Return what holds for a paragraph of a style, with what it says itself."""
        found = ParagraphStyle(own.name, "", own.outline, own.number, own.level)
        for _ in range(_LONGEST_CHAIN):
            if not identifier:
                break
            style = self._styles.get(identifier, ParagraphStyle(name=identifier))
            if found.outline is None:
                found.outline = _outline(style)
            if found.number is None:
                found.number, found.level = style.number, style.level if found.level is None else found.level
            identifier = style.based_on
        return found

    def _taking(self, name: str) -> Begin:
        return lambda found: self._style.take(name, found)

    def _begin(self, found: Attributes) -> None:
        self._style = self._styles[found.get("w:styleId", "")] = ParagraphStyle()


def _outline(style: ParagraphStyle) -> int | None:
    if style.outline is not None:
        return style.outline
    heading = _HEADING.fullmatch(style.name)
    return int(heading[1]) - 1 if heading else 0 if style.name.lower() == "title" else None


@dataclass
class _Level:
    start: int = 1
    form: str = "decimal"
    text: str = ""


@dataclass
class _List:
    levels: dict[int, _Level] = field(default_factory=dict)
    linked_style: str = ""


class Numbering(XmlEvents):
    """The lists of a document, read from `word/numbering.xml`, and how far each one has counted."""

    def __init__(self) -> None:
        super().__init__(
            {
                "w:abstractNum": self._begin_list,
                "w:numStyleLink": self._link,
                "w:styleLink": self._name,
                "w:lvl": self._begin_level,
                "w:start": lambda found: setattr(self._level, "start", _digit(found.get("w:val", ""), 1)),
                "w:numFmt": lambda found: setattr(self._level, "form", found.get("w:val", "")),
                "w:lvlText": lambda found: setattr(self._level, "text", found.get("w:val", "")),
                "w:num": self._begin_number,
                "w:abstractNumId": self._use,
                "w:lvlOverride": lambda found: setattr(self, "_override", _digit(found.get("w:ilvl", ""))),
                "w:startOverride": self._restart,
            },
            {},
        )
        self._lists: dict[str, _List] = {}
        self._named: dict[str, _List] = {}
        self._numbers: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()
        self._list = _List()
        self._level = _Level()
        self._number = ""
        self._override = 0

    def label(self, number: str, level: int) -> str:
        """Count one more paragraph of a list, and return its label; "" where it has none."""
        key = self._numbers.get(number)
        found = self._lists.get(key) if key is not None else None
        if key is None or found is None:
            return ""
        found = self._named.get(found.linked_style, found)
        counts = self._counts.setdefault(key, {})
        if number not in self._begun:
            self._begun.add(number)
            counts.update({at: start - 1 for (num, at), start in self._starts.items() if num == number})
        shape = found.levels.get(level, _Level())
        counts[level] = counts.get(level, shape.start - 1) + 1
        for deeper in [each for each in counts if each > level]:
            del counts[deeper]
        if shape.form == "bullet":
            return BULLET
        return _PLACE.sub(lambda place: self._shown(found, counts, int(place[1]) - 1), shape.text).strip()

    def _shown(self, found: _List, counts: dict[int, int], level: int) -> str:
        shape = found.levels.get(level, _Level())
        return _counted(counts.setdefault(level, shape.start), shape.form)

    def _begin_list(self, found: Attributes) -> None:
        self._list = self._lists[found.get("w:abstractNumId", "")] = _List()

    def _link(self, found: Attributes) -> None:
        self._list.linked_style = found.get("w:val", "")

    def _name(self, found: Attributes) -> None:
        self._named[found.get("w:val", "")] = self._list

    def _begin_level(self, found: Attributes) -> None:
        self._level = self._list.levels[_digit(found.get("w:ilvl", ""))] = _Level()

    def _begin_number(self, found: Attributes) -> None:
        self._number = found.get("w:numId", "")
        self._list = _List()  # levels that follow belong to this number

    def _use(self, found: Attributes) -> None:
        self._numbers[self._number] = found.get("w:val", "")

    def _restart(self, found: Attributes) -> None:
        self._starts[self._number, self._override] = _digit(found.get("w:val", ""), 1)


def _counted(count: int, form: str) -> str:
    match form:
        case "lowerLetter" | "upperLetter" if count > 0:
            text = chr(ord("a") + (count - 1) % 26) * min((count - 1) // 26 + 1, 9)
        case "lowerRoman" | "upperRoman" if 0 < count < 4000:
            text = _roman(count)
        case "decimalZero":
            text = f"{count:02}"
        case "none":
            text = ""
        case _:
            text = str(count)
    return text.upper() if form.startswith("upper") else text


def _roman(count: int) -> str:
    text = ""
    for value, letters in _ROMAN:
        text += letters * (count // value)
        count %= value
    return text


def _digit(text: str, otherwise: int = 0) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise
