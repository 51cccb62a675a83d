"""The text of a PDF page as PDFium finds it, made readable. Must not know of other pages.

One call returns all characters of a page, 20 times as fast as asking for the box of each. Only the letters of words are
asked for, because PDFium takes a gap that is narrow beside wide letters for none.
"""

from __future__ import annotations

import ctypes
import re
import unicodedata
from typing import Any

from gnod.ingest.formats.pdf.page_text import LIGATURES, MAX_CHARACTERS, from_utf8, tex_ligatures

# Stands for the hyphen and the line end inside a word that PDFium has found.
DIVIDED = "\ufffe"
_WORD = re.compile(r"[^\W\d_]{3,}")
# The narrowest space between words, as a share of the height of a line.
_SPACE = 0.13
_NEARLY_ALL = 0.9
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32)), " ")
_READABLE = str.maketrans(_CONTROLS | {0x0D: None} | LIGATURES)
# TeX draws an accent as a character of its own before the letter.
_ACCENTS = dict(zip("´¨ˆ˜ˇ˘˙˚¸˝", "\u0301\u0308\u0302\u0303\u030c\u0306\u0307\u030a\u0327\u030b", strict=True))
_ACCENTED = re.compile(rf"(?<=[^\W\d_]) ([{''.join(_ACCENTS)}]) ([^\W\d_])|([{''.join(_ACCENTS)}])([^\W\d_])")


def plain_text(page: Any) -> str:
    """Return the text of a page, line by line. Raises what PDFium raises."""
    text_page = _text_page(page)
    try:
        text = _shown(page, text_page)
    finally:
        text_page.close()
    if ligatures := tex_ligatures(text):
        text = "".join(ligatures.get(at, letter) for at, letter in enumerate(text))
    return _ACCENTED.sub(_composed, from_utf8(text).translate(_READABLE)).strip()


def _shown(page: Any, text_page: Any) -> str:
    """Return the characters of a page, without those outside of it."""
    count: int = text_page.count_chars()
    whole: str = text_page.get_text_range()
    if len(whole) == count and page.get_cropbox() == page.get_mediabox():
        return _with_spaces(whole, text_page)
    visible: str = text_page.get_text_bounded()
    # Here, PDFium runs lines together that do not run across. So the whole text is better where it is the same.
    if len(whole) == count and len(visible) > _NEARLY_ALL * count:
        return _with_spaces(whole, text_page)
    return visible.replace("\x02", DIVIDED) or whole


def _text_page(page: Any) -> Any:
    """Return the characters of a page. PDFium leaves out lines without a width, as lines that run upwards in a font
    that is neither embedded nor installed; they are turned."""
    import pypdfium2  # type: ignore[import-untyped]
    from pypdfium2 import raw

    found = page.get_textpage()
    if found.count_chars():
        return found
    drawn = list(page.get_objects(filter=[raw.FPDF_PAGEOBJ_TEXT], max_depth=1))
    for each in drawn:
        each.transform(pypdfium2.PdfMatrix().rotate(90))
    return page.get_textpage() if drawn else found


def _with_spaces(text: str, text_page: Any) -> str:
    """Return a text, in which each character has the same place as on the page, with the spaces that PDFium lacks."""
    from pypdfium2 import raw

    if len(text) > MAX_CHARACTERS:
        return text
    rect = raw.FS_RECTF()
    reference, box_of, handle = ctypes.byref(rect), raw.FPDFText_GetLooseCharBox, text_page.raw
    cuts = [0]
    for word in _WORD.finditer(text):
        start, end = word.span()
        right, wide, heights = 0.0, [], set()
        for at in range(start, end):
            box_of(handle, at, reference)
            height = rect.top - rect.bottom
            if at > start and rect.left - right > _SPACE * height:
                wide.append(at)
            heights.add(height)
            right = rect.right
        if not wide:
            continue
        if max(heights) > 1.05 * min(heights):
            return text  # the boxes are those of the drawn letters, with gaps between them
        # Where all letters are set apart, there is no space between them.
        close = set(range(start + 1, end)).difference(wide)
        cuts += [at for at in wide if at - 1 in close or at + 1 in close]
    return " ".join(text[start:end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True))


def _composed(match: re.Match[str]) -> str:
    """Return a letter with the accent before it."""
    accent, letter = match[1] or match[3], match[2] or match[4]
    plain = "i" if letter == "ı" else letter  # it lost its dot for the accent
    both = unicodedata.normalize("NFC", plain + _ACCENTS[accent])
    return both if len(both) == 1 else match[0]
