"""Bytes to text: byte order marks, UTF-8, UTF-16 and UTF-32 without a mark, what the file declares, then a guess.

Every step is linear in the size of the input; the statistical guess sees a bounded sample.
"""

from __future__ import annotations

import codecs

from gnod.ingest.reading.legacy_encodings import legacy_encoding
from gnod.ingest.reading.result import ConversionFailed

_MARKS = (  # UTF-32 LE begins like UTF-16 LE, so the longest mark comes first
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_ASCII = bytes(range(128))
_WIDE_SAMPLE = 4096
_GUESS_SAMPLE = 64 * 1024
_LATIN = frozenset({"ascii", "latin-1", "iso8859-1", "iso-8859-1", "us-ascii"})


class NotText(ConversionFailed):
    def __init__(self, found: str = "") -> None:
        super().__init__("binary", f"The content is binary, not text{found and ': it is '}{found}.")


def decode(data: bytes, declared: str | None = None) -> str:
    """Return the text of `data`; `declared` is the charset that the file names for itself. Raises NotText."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _sane(data[len(mark) :].decode(encoding, "replace"))
    if wide := _wide(data):
        return wide
    if data.count(0) * 1000 > len(data):
        raise NotText
    declared = _codec(declared)
    if declared and declared.startswith(("iso2022", "hz")) and (b"\x1b" in data or b"~{" in data):
        return data.decode(declared, "replace")  # the text has seven bits, and UTF-8 would accept it
    return _utf8(data) or _other(data, declared)


def _utf8(data: bytes) -> str | None:
    """Decode UTF-8, with replacements where at least four of five multi-byte characters are right."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    text = data.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = len(text) - bad - len(data) + len(data.translate(None, _ASCII))
    return text if good >= 4 * bad else None


def _other(data: bytes, declared: str | None) -> str:
    if not data:
        return ""
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls * 50 > len(data):
        raise NotText
    if declared:
        text = data.decode(declared, "replace")
        if text.count("\ufffd") * 100 <= len(text):
            return text
    return data.decode(legacy_encoding(_sample(data)), "replace")


def _wide(data: bytes) -> str | None:
    """Decode UTF-16 or UTF-32 without a mark, recognised by where its NULs are. Only Western text has these."""
    sample = data[: _WIDE_SAMPLE - _WIDE_SAMPLE % 4]
    if len(sample) < 4 or not sample.count(0):
        return None
    lanes = [sample[lane::4].count(0) * 4 / len(sample) for lane in range(4)]
    if min(lanes[2:]) > 0.9:
        encoding = "utf-32-le"
    elif min(lanes[:2]) > 0.9:
        encoding = "utf-32-be"
    elif min(lanes[1], lanes[3]) > 0.3 and max(lanes[0], lanes[2]) < 0.05:
        encoding = "utf-16-le"
    elif min(lanes[0], lanes[2]) > 0.3 and max(lanes[1], lanes[3]) < 0.05:
        encoding = "utf-16-be"
    else:
        return None
    try:
        return _sane(data.decode(encoding, "replace"))
    except NotText:
        return None


def _sane(text: str) -> str:
    """Return the text. Raises NotText where its beginning looks like numbers that were read as letters."""
    sample = text[:_WIDE_SAMPLE]
    odd = sum(not (char.isprintable() or char.isspace()) or char == "\ufffd" for char in sample)
    if odd * 5 > len(sample):
        raise NotText
    return text


def _codec(name: str | None) -> str | None:
    """Return Python's name of a text codec; Latin-1 is read as cp1252, as browsers do (WHATWG Encoding)."""
    if not name:
        return None
    try:
        info = codecs.lookup(name.strip().strip("\"'"))
    except (LookupError, ValueError):
        return None
    if not getattr(info, "_is_text_encoding", True) or info.name.startswith(("utf", "punycode", "idna")):
        return None
    return "cp1252" if info.name in _LATIN else info.name.replace("_", "")


def _sample(data: bytes) -> bytes:
    """Return the part around the first byte that is not ASCII, cut at a line or a space: a cut inside a character would
    rule out the right encoding."""
    first = len(data) - len(data.lstrip(_ASCII))
    start = max(data.rfind(b"\n", 0, first) + 1, first - 256)
    sample = data[start : start + _GUESS_SAMPLE]
    if start + _GUESS_SAMPLE >= len(data):
        return sample
    end = max(sample.rfind(b"\n"), sample.rfind(b" "))
    return sample[: end + 1] if end > len(sample) // 2 else sample
