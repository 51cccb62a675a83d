"""Generate PDF files with known words on known pages, for benchmarks of locations.

They differ in columns, rotation, crop boxes, kerning, hyphens, ligatures and encodings.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_HAN = "日本語文書検索研究東京大学図書館知識情報処理言語資料世界経済社会科学技術電気機械自然環境生物化学物理数学"
_FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")  # from Debian; without it, no font is embedded
_CYRILLIC = "абвгдежзиклмнопрстухцчшэюя"


class Page(NamedTuple):
    """`words`: words that are on no other page."""

    words: list[str]
    content: bytes


class Layout(NamedTuple):
    """`entries` of the page; `columns`: their number; `moved`: the text matrix; `top`: position of the first line, in
    points."""

    name: str
    entries: bytes = b""
    columns: int = 1
    moved: bytes = b"1 0 0 1 0 0"
    hyphenates: bool = False
    top: int = 720


class Script(NamedTuple):
    """`font`: its dictionary, and further objects from number 4 on. `encode`: returns the operators for a line."""

    name: str
    font: Sequence[bytes]
    encode: Callable[[str], bytes]
    letters: str = ""


def _escaped(text: str) -> bytes:
    return b"(%s) Tj" % text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _kerned(text: str) -> bytes:
    """Draw each letter separately, with gaps instead of spaces."""
    words = (b"12".join(b"(%s)" % each.encode() for each in word) for word in text.split())
    return b"[%s] TJ" % b"-320".join(words)


def _with_ligatures(text: str) -> bytes:
    return b"(%s) Tj" % text.replace("fi", "\x01").replace("fl", "\x02").encode("latin-1")


def _in_han(text: str) -> bytes:
    return b"<%s> Tj" % text.encode("utf-16-be").hex().encode()


def _in_subset(text: str) -> bytes:
    """Encode for a subset font, with codes from 1 on in alphabetical order."""
    return b"<%s> Tj" % bytes(1 + (" " + _CYRILLIC).index(each) for each in text).hex().encode()


def _to_unicode() -> bytes:
    pairs = b"\n".join(b"<%02x> <%04x>" % (1 + at, ord(each)) for at, each in enumerate(" " + _CYRILLIC))
    head = b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /S def /CMapType 2 def\n"
    ranges = b"1 begincodespacerange <00> <ff> endcodespacerange\n%d beginbfchar\n%s\nendbfchar\n"
    body = head + ranges % (len(_CYRILLIC) + 1, pairs) + b"endcmap end end"
    return _stream(body)


def _glyph(letter: str) -> bytes:
    """Return the glyph name of a Russian letter."""
    return b"/afii%d" % (10065 + ord(letter) - ord("а") + (letter > "е"))


def _stream(body: bytes) -> bytes:
    return b"<</Length %d>>stream\n%s\nendstream" % (len(body), body)


def _base(name: bytes, encoding: bytes = b"/WinAnsiEncoding") -> bytes:
    return b"<</Type/Font/Subtype/Type1/BaseFont/%s/Encoding %s>>" % (name, encoding)


_SCRIPTS = (
    Script("Helvetica", [_base(b"Helvetica")], _escaped),
    Script("Times", [_base(b"Times-Roman")], _escaped),
    Script("Courier", [_base(b"Courier")], _escaped),
    Script("kerned", [_base(b"Times-Roman")], _kerned),
    Script("ligatures", [_base(b"Times-Roman", b"<</Differences[1/fi/fl]>>")], _with_ligatures),
    Script(
        "Han",
        [
            b"<</Type/Font/Subtype/Type0/BaseFont/HeiseiMin-W3/Encoding/UniJIS-UCS2-H/DescendantFonts[5 0 R]>>",
            b"<</Type/Font/Subtype/CIDFontType0/BaseFont/HeiseiMin-W3/CIDSystemInfo<</Registry(Adobe)/Ordering(Japan1)"
            b"/Supplement 2>>/DW 1000/FontDescriptor 6 0 R>>",
            b"<</Type/FontDescriptor/FontName/HeiseiMin-W3/Flags 6/FontBBox[0 -120 1000 880]/ItalicAngle 0/Ascent 880"
            b"/Descent -120/CapHeight 700/StemV 80>>",
        ],
        _in_han,
        _HAN,
    ),
    Script(
        "subset",
        [
            b"<</Type/Font/Subtype/TrueType/BaseFont/AAAAAA+DejaVuSans/FirstChar 1/LastChar %d/Widths[%s]"
            b"/ToUnicode 5 0 R/FontDescriptor 6 0 R/Encoding<</Differences[1/space %s]>>>>"
            % (len(_CYRILLIC) + 1, b"500 " * (len(_CYRILLIC) + 1), b"".join(map(_glyph, _CYRILLIC))),
            _to_unicode(),
            b"<</Type/FontDescriptor/FontName/AAAAAA+DejaVuSans/Flags 4/FontBBox[0 -200 1000 800]/ItalicAngle 0"
            b"/Ascent 800/Descent -200/CapHeight 700/StemV 80%s>>" % (b"/FontFile2 7 0 R" if _FONT.exists() else b""),
            *([_stream(_FONT.read_bytes())] if _FONT.exists() else []),
        ],
        _in_subset,
        _CYRILLIC,
    ),
)
_LAYOUTS = (
    Layout("plain"),
    Layout("columns", columns=2),
    Layout("hyphens", hyphenates=True),
    Layout("crop box", b"/CropBox[60 90 560 760]"),
    Layout("negative origin", b"/MediaBox[-40 -80 612 792]"),
    Layout("rotated 90", b"/Rotate 90", moved=b"0 1 -1 0 612 0", top=540),
    Layout("rotated 180, cropped", b"/Rotate 180/CropBox[30 40 600 780]", moved=b"-1 0 0 -1 612 792"),
    Layout("rotated 270", b"/Rotate 270/CropBox[20 30 610 790]", moved=b"0 -1 1 0 0 792", top=540),
    Layout("sideways", moved=b"0 1 -1 0 612 0", top=540),
    Layout("slanted", moved=b"0.966 0.259 -0.259 0.966 90 -60", top=540),
    Layout("scaled", moved=b"0.5 0 0 0.5 40 200", columns=3),
)


def generated(count: int) -> Iterator[tuple[str, bytes, list[list[str]]]]:
    """Yield (name, content, words by page); every word is on one page only."""
    chance = random.Random(20261123)
    words = _words(chance)
    shared = list(islice(words, 200))
    for number in range(count):
        layout, script = _LAYOUTS[number % len(_LAYOUTS)], _SCRIPTS[number % len(_SCRIPTS)]
        pages = [_page(chance, layout, script, words, shared) for _ in range(2 + number % 5)]
        name = f"{number:03} {layout.name}, {script.name}.pdf"
        yield name, _file(pages, layout, script), [page.words for page in pages]


def long_file(pages: int) -> bytes:
    """Return a file whose pages are full of text."""
    chance = random.Random(20261123)
    words = [*islice(_words(chance), 400)]
    layout, script = _LAYOUTS[0], _SCRIPTS[0]
    return _file([Page([], _drawn(chance.choices(words, k=450), layout, script)) for _ in range(pages)], layout, script)


def _words(chance: random.Random) -> Iterator[str]:
    """Yield made-up words; none is the beginning of another."""
    seen: set[str] = set()
    while True:
        word = "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(3, 5)))
        if word[:5] not in seen:
            seen.add(word[:5])
            yield word + chance.choice(["", "n", "fit", "fl", "t"])


def _page(chance: random.Random, layout: Layout, script: Script, words: Iterator[str], shared: Sequence[str]) -> Page:
    own = [_in_script(word, script) for word in islice(words, 6)]
    text = [_in_script(chance.choice(shared), script) for _ in range(90)] + own
    chance.shuffle(text)
    return Page(own, _drawn(text, layout, script))


def _in_script(word: str, script: Script) -> str:
    """Replace the letters of a word by letters of the script. Equal words give equal results."""
    if not script.letters:
        return word
    picked = random.Random(word)
    return "".join(picked.choice(script.letters) for _ in word)


def _drawn(text: Sequence[str], layout: Layout, script: Script) -> bytes:
    """Draw the text at 10 points, in columns from the top."""
    width = 480 // layout.columns - 12
    room = int(width // (10 if script.letters is _HAN else 6.2))
    lines = list(_lines(text, room, hyphenates=layout.hyphenates and not script.letters))
    drawn = [b"q %s cm BT /F1 10 Tf" % layout.moved]
    for at, line in enumerate(lines):
        column, row = divmod(at, 44)
        x, y = 80 + (column % layout.columns) * (width + 12), layout.top - 14 * row
        drawn.append(b"1 0 0 1 %d %d Tm %s" % (x, y, script.encode(line)))
    return b"\n".join([*drawn, b"ET Q"])


def _lines(text: Sequence[str], room: int, *, hyphenates: bool) -> Iterator[str]:
    line = ""
    for word in text:
        if len(line) + len(word) + 1 > room:
            left = room - len(line) - 2
            if hyphenates and 3 <= left <= len(word) - 3:
                yield f"{line} {word[:left]}-".strip()
                line = word[left:]
                continue
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def _file(pages: Sequence[Page], layout: Layout, script: Script) -> bytes:
    first = 4 + len(script.font)
    kids = b" ".join(b"%d 0 R" % (first + 2 * at) for at in range(len(pages)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        # The pages inherit the size, as in files of some writers.
        b"<</Type/Pages/Kids[%s]/Count %d/MediaBox[0 0 612 792]>>" % (kids, len(pages)),
        b"<</Font<</F1 4 0 R>>>>",
        *script.font,
    ]
    for page in pages:
        number = len(objects) + 1
        objects.append(b"<</Type/Page/Parent 2 0 R/Resources 3 0 R/Contents %d 0 R%s>>" % (number + 1, layout.entries))
        objects.append(_stream(page.content))
    return assembled(objects)


def assembled(objects: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(b"%010d 00000 n \n" % len(out))
        out += b"%d 0 obj%s\nendobj\n" % (number, body)
    size = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n" % size + b"".join(offsets)
    return bytes(out) + table + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(out))
