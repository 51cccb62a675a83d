"""Recognise text with Tesseract if the system has it. The sandbox blocks new processes, so use its library (ctypes)."""

from __future__ import annotations

import csv
import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from gnod.ingest.ocr.layout import RecognisedLine
from gnod.ingest.ocr.readers import tessdata_folders

if TYPE_CHECKING:
    from PIL.Image import Image

_LIBRARIES = (
    "libtesseract.so.5 libtesseract.so.4 libtesseract.so libtesseract.dylib /opt/homebrew/lib/libtesseract.dylib"
)
_CONFIDENCE_FLOOR = 40.0
_WORD = "5"
_TEXT_OF_WORDS = 12  # columns of the table that tesseract returns


def read(image: Image, languages: Sequence[str]) -> list[RecognisedLine]:
    """Return the words of a page in reading order. Raises OSError when the library or a language is missing."""
    api, handle = _opened("+".join(languages))
    grey = image.convert("L")
    api.TessBaseAPISetImage(handle, grey.tobytes(), grey.width, grey.height, 1, grey.width)
    api.TessBaseAPISetSourceResolution(handle, 150)
    pointer = api.TessBaseAPIGetTsvText(handle, 0)
    table = ctypes.string_at(pointer).decode("utf-8", "replace") if pointer else ""
    api.TessDeleteText(pointer)
    api.TessBaseAPIClear(handle)
    return _lines(table)


def _lines(table: str) -> list[RecognisedLine]:
    words: dict[tuple[str, ...], list[tuple[str, float, list[int]]]] = {}
    for row in csv.reader(table.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        if len(row) == _TEXT_OF_WORDS and row[0] == _WORD and row[11].strip() and float(row[10]) >= _CONFIDENCE_FLOOR:
            words.setdefault(tuple(row[1:5]), []).append((row[11], float(row[10]), [int(each) for each in row[6:10]]))
    return [_line(found) for found in words.values()]


def _line(words: list[tuple[str, float, list[int]]]) -> RecognisedLine:
    left, top = min(box[0] for *_, box in words), min(box[1] for *_, box in words)
    right, bottom = max(box[0] + box[2] for *_, box in words), max(box[1] + box[3] for *_, box in words)
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    confidence = sum(each for _, each, _ in words) / len(words) / 100
    return RecognisedLine(" ".join(text for text, *_ in words), confidence, corners)


@cache
def _opened(languages: str) -> tuple[Any, Any]:
    api = _library()
    api.TessBaseAPICreate.restype = ctypes.c_void_p
    api.TessBaseAPIGetTsvText.restype = ctypes.c_void_p
    api.TessBaseAPIGetTsvText.argtypes = [ctypes.c_void_p, ctypes.c_int]
    api.TessDeleteText.argtypes = api.TessBaseAPIClear.argtypes = [ctypes.c_void_p]
    api.TessBaseAPISetSourceResolution.argtypes = [ctypes.c_void_p, ctypes.c_int]
    api.TessBaseAPISetImage.argtypes = [ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4]
    api.TessBaseAPIInit3.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    handle = api.TessBaseAPICreate()
    for folder in tessdata_folders():
        if api.TessBaseAPIInit3(handle, str(folder).encode(), languages.encode()) == 0:
            return api, handle
    raise OSError(f"tesseract has no models for {languages}")


def _library() -> Any:
    for name in _LIBRARIES.split():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise OSError("the library of tesseract is not installed")
