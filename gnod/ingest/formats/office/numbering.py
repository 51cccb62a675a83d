"""Reads the styles and the numbering of a Word document, to find headings and the labels of lists ("3.2.1")."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gnod.ingest.formats.office.xml_events import Attributes, Element

BULLET = "-"
_HEADING = re.compile(r"heading ?(\d)", re.I)
_PLACE = re.compile(r"%(\d)")
_LONGEST_CHAIN = 20
_LEVELS = 9
_ROMAN = [(1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x")]
_ROMAN += [(9, "ix"), (5, "v"), (4, "iv"), (1, "i")]


@dataclass
class ParagraphStyle:
    """The properties of a style or of a paragraph; None if not set. `outline` counts from 0."""

    name: str = ""
    based_on: str = ""
    outline: int | None = None
    number: str | None = None
    level: int | None = None

    def take(self, element: str, found: Attributes) -> None:
        value = found.get("w:val", "")
        match element:
            case "w:name":
                self.name = value
            case "w:basedOn":
                self.based_on = value
            case "w:outlineLvl":
                self.outline = _digit(value)
            case "w:ilvl":
                self.level = _digit(value)
            case "w:numId":
                self.number = value


STYLE_ELEMENTS = ("w:style", "w:name", "w:basedOn", "w:outlineLvl", "w:ilvl", "w:numId")


def styles_of(defined: Iterable[Element]) -> dict[str, ParagraphStyle]:
    """Return the paragraph styles by id, from the elements of `word/styles.xml`."""
    styles: dict[str, ParagraphStyle] = {}
    style = ParagraphStyle()
    for name, found, _ in defined:
        if name == "w:style":
            style = styles[found.get("w:styleId", "")] = ParagraphStyle()
        else:
            style.take(name, found)
    return styles


def resolved(styles: Mapping[str, ParagraphStyle], identifier: str, own: ParagraphStyle) -> ParagraphStyle:
    """Return the effective properties of a paragraph from its style and its `own` properties."""
    found = replace(own)
    for _ in range(_LONGEST_CHAIN):
        if not identifier:
            break
        style = styles.get(identifier, ParagraphStyle(name=identifier))
        if found.outline is None:
            found.outline = _outline(style)
        if found.number is None:
            found.number, found.level = style.number, style.level if found.level is None else found.level
        identifier = style.based_on
    return found


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


class Numbering:
    """The lists of a document and their counters. `defined`: the elements of `word/numbering.xml`."""

    NAMES = (
        *("w:abstractNum", "w:numStyleLink", "w:styleLink", "w:lvl", "w:start", "w:numFmt", "w:lvlText"),
        *("w:num", "w:abstractNumId", "w:lvlOverride", "w:startOverride"),
    )

    def __init__(self, defined: Iterable[Element]) -> None:
        self._lists: dict[str, dict[int, _Level]] = {}
        self._links: dict[str, str] = {}  # lists that use the levels of a style
        self._named: dict[str, dict[int, _Level]] = {}
        self._numbers: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()
        self._define(defined)

    def _define(self, defined: Iterable[Element]) -> None:
        identifier = number = ""
        levels: dict[int, _Level] = {}
        level, override = _Level(), 0
        for name, found, _ in defined:
            value = found.get("w:val", "")
            match name:
                case "w:abstractNum":
                    identifier = found.get("w:abstractNumId", "")
                    levels = self._lists[identifier] = {}
                case "w:numStyleLink":
                    self._links[identifier] = value
                case "w:styleLink":
                    self._named[value] = levels
                case "w:lvl":
                    level = levels[_digit(found.get("w:ilvl", ""))] = _Level()
                case "w:start":
                    level.start = _digit(value, 1)
                case "w:numFmt":
                    level.form = value
                case "w:lvlText":
                    level.text = value
                case "w:num":
                    number = found.get("w:numId", "")
                    levels = {}  # the next levels belong to this number
                case "w:abstractNumId":
                    self._numbers[number] = value
                case "w:lvlOverride":
                    override = _digit(found.get("w:ilvl", ""))
                case "w:startOverride":
                    self._starts[number, override] = _digit(value, 1)

    def label(self, number: str, level: int) -> str:
        """Count a paragraph of a list and return its label; "" if it has none."""
        key = self._numbers.get(number)
        if key is None or key not in self._lists:
            return ""
        found = self._named.get(self._links.get(key, ""), self._lists[key])
        counts = self._counts.setdefault(key, {})
        if number not in self._begun:
            self._begun.add(number)
            counts.update({at: start - 1 for (num, at), start in self._starts.items() if num == number})
        shape = found.get(level, _Level())
        counts[level] = counts.get(level, shape.start - 1) + 1
        for deeper in [counted for counted in counts if counted > level]:
            del counts[deeper]
        if shape.form == "bullet":
            return BULLET
        return _PLACE.sub(lambda place: self._shown(found, counts, int(place[1]) - 1), shape.text).strip()

    def _shown(self, found: dict[int, _Level], counts: dict[int, int], level: int) -> str:
        shape = found.get(level, _Level())
        return _counted(counts.setdefault(level, shape.start), shape.form)


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
