"""Reads XML as a stream of events, without a tree. It does not expand entities. Must not depend on a format.

Elements have short names such as `w:p`, independent of the prefixes in the file: the last word of the namespace's
address, and the name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple
from xml.parsers import expat

Attributes = dict[str, str]
Begin = Callable[[Attributes], None]
End = Callable[[], None]
# Prefixes for namespaces whose address ends in another word.
_PREFIXES = {
    "wordprocessingml": "w",
    "spreadsheetml": "x",
    "threadedcomments": "x",
    "presentationml": "p",
    "drawingml": "a",
    "chart": "c",
    "diagram": "dgm",
    "relationships": "r",
    "markup-compatibility": "mc",
    "math": "m",
    "vml": "v",
}
_NO_NAME = re.compile(r"[\d.]*|main")


@lru_cache(maxsize=4096)
def short(name: str) -> str:
    """Return `text:p` for the name that expat gives: the address of the namespace, a space, and `p`."""
    namespace, _, local = name.rpartition(" ")
    words = [word for word in re.split(r"[:/#]", namespace) if not _NO_NAME.fullmatch(word)]
    prefix = words[-1] if words else ""
    return f"{_PREFIXES.get(prefix, prefix)}:{local}"


class XmlEvents:
    """Calls `on_start` and `on_end` of an element by its short name, and `on_text` at its end with the text in it.
    Attributes have short names; without a namespace, only their name. The content of `hidden` elements is left out.
    `inside` counts the surrounding elements by name.

    A file may have alternatives of an element for newer and older programs; the first one with text is read.
    Subclasses count the text that they take in `written`.
    """

    def __init__(
        self,
        on_start: Mapping[str, Begin],
        on_end: Mapping[str, End],
        hidden: Iterable[str] = (),
        *,
        on_text: Mapping[str, Callable[[str], None]] = {},
    ) -> None:
        self._on_start = {"mc:AlternateContent": self._begin_forms, "mc:Fallback": self._begin_fallback, **on_start}
        self._on_start |= dict.fromkeys(on_text, self._keep)
        self._on_end = {"mc:AlternateContent": self._end_forms, **on_end}
        self._on_end |= {name: partial(self._pass_text, take) for name, take in on_text.items()}
        self._hidden_names = frozenset(hidden)
        self._hidden = 0
        self._forms: list[int] = []
        self._kept: list[str] | None = None
        self.written = 0
        self.inside: defaultdict[str, int] = defaultdict(int)

    def read(self, chunks: Iterable[bytes]) -> Iterator[None]:
        """Read chunk by chunk and yield after each, so that callers can take partial results. Raises
        expat.ExpatError."""
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._element_begins
        parser.EndElementHandler = self._element_ends
        parser.CharacterDataHandler = self._text_comes
        parser.DefaultHandler = lambda _: None  # this handler stops expat from expanding entities
        for chunk in chunks:
            parser.Parse(chunk, False)
            yield
        parser.Parse(b"", True)
        yield

    def hide(self) -> None:
        """Leave out the rest of the element that has just started."""
        self._hidden = 1

    def _keep(self, _: Attributes) -> None:
        self._kept = []

    def _pass_text(self, take: Callable[[str], None]) -> None:
        text, self._kept = "".join(self._kept or ()), None
        take(text)

    def _element_begins(self, name: str, attributes: Attributes) -> None:
        name = short(name)
        if self._hidden or name in self._hidden_names:
            self._hidden += 1
            return
        if begin := self._on_start.get(name):
            for key in [key for key in attributes if " " in key]:
                attributes[short(key)] = attributes.pop(key)
            begin(attributes)
        if not self._hidden:
            self.inside[name] += 1

    def _element_ends(self, name: str) -> None:
        if self._hidden:
            self._hidden -= 1
            return
        name = short(name)
        self.inside[name] -= 1
        if end := self._on_end.get(name):
            end()

    def _text_comes(self, text: str) -> None:
        if self._kept is not None and not self._hidden:
            self._kept.append(text)

    def _begin_forms(self, _: Attributes) -> None:
        self._forms.append(self.written)

    def _begin_fallback(self, _: Attributes) -> None:
        if self._forms and self._forms[-1] < self.written:
            self.hide()

    def _end_forms(self) -> None:
        self._forms.pop()


class Element(NamedTuple):
    name: str
    found: Attributes
    texts: list[str]

    @property
    def text(self) -> str:
        return "".join(self.texts)


class Elements(XmlEvents):
    """Collects elements with some names in document order, with the text up to the next one or to their end."""

    def __init__(self, names: Sequence[str], hidden: Iterable[str] = ()) -> None:
        super().__init__(
            {name: partial(self._begin, name) for name in names}, dict.fromkeys(names, self._end_text), hidden
        )
        self.found: list[Element] = []

    def _begin(self, name: str, found: Attributes) -> None:
        self._kept = []
        self.found.append(Element(name, found, self._kept))

    def _end_text(self) -> None:
        self._kept = None
