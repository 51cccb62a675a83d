"""Decode bytes: byte order marks, UTF-8, UTF-16 and UTF-32 without a mark, the declared encoding, then a guess.

Texts by several writers may have lines in different encodings, and Latin-1 bytes inside UTF-8; both are supported.

Every step is linear in the size of the input; the statistical guess uses a bounded sample.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from functools import partial

from gnod.ingest.reading.legacy_encodings import WESTERN, legacy_encoding
from gnod.ingest.reading.result import ConversionFailed

_MARKS = (  # UTF-32 LE begins like UTF-16 LE, so the longest mark comes first
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_ASCII, _HIGH = bytes(range(128)), bytes(range(128, 256))
_WIDE_SAMPLE = 4096
_GUESS_SAMPLE = 64 * 1024
# As in browsers (WHATWG Encoding), an encoding is replaced by the larger one that writers really use.
_LARGER = {
    **dict.fromkeys(("ascii", "latin-1", "iso8859-1", "us-ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "cp950",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "iso2022_jp": "iso2022_jp_ext",
}
# Seven-bit encodings, which are also valid UTF-8, by the sequences that switch to their letters.
_SWITCHES = (
    (b"\x1b$)C", "iso2022_kr"),
    *((sequence, "iso2022_jp_ext") for sequence in (b"\x1b$B", b"\x1b$@", b"\x1b(J", b"\x1b(I", b"\x1b$(D")),
)
# Scripts as ranges of characters. East Asian texts mix several scripts.
_SCRIPTS = (
    *((0x80, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F), (0x590, 0x5FF), (0x600, 0x77F), (0x900, 0x97F)),
    *((0x980, 0xDFF), (0xE00, 0xEFF), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1200, 0x137F), (0x1780, 0x17FF)),
)
_EAST_ASIAN = ((0x3000, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xFF00, 0xFFEF))
_PUNCTUATION = ((0x2010, 0x2027), (0x2030, 0x205E), (0x20A0, 0x20BF), (0x2190, 0x25FF))
_LEAST_OF_SCRIPT = 0.95


class NotText(ConversionFailed):
    def __init__(self, found: str = "") -> None:
        super().__init__("binary", f"The content is binary, not text{found and ': it is '}{found}.")


def decode(data: bytes, declared: str | None = None) -> str:
    """Return the text of `data`. `declared`: the charset that the file declares. Raises NotText."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _sane(data[len(mark) :].decode(encoding, "replace"))
    if wide := _wide(data):
        return wide
    if data.count(0) * 1000 > len(data):
        raise NotText
    declared = _codec(declared)
    if seven_bits := _seven_bits(data, declared):
        return data.decode(seven_bits, "replace")
    return _utf8(data) or _other(data, declared)


def _seven_bits(data: bytes, declared: str | None) -> str | None:
    """Return the encoding of a text that uses ASCII bytes to encode other characters."""
    if declared == "utf-7":
        return declared if data.isascii() else None
    if declared == "hz":
        return declared if b"~{" in data else None
    return next((encoding for sequence, encoding in _SWITCHES if sequence in data), None) if b"\x1b" in data else None


def _utf8(data: bytes) -> str | None:
    """Decode UTF-8 with errors, if at least half of the characters beyond ASCII, or many lines, are valid."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if _right_characters(data) >= data.decode("utf-8", "replace").count("\ufffd"):
        return data.decode("utf-8", _OR_WESTERN)
    return _by_line(data)


def _right_characters(data: bytes) -> int:
    """Return the number of valid multi-byte characters."""
    text = data.decode("utf-8", "ignore")
    return len(text) - len(text.encode().translate(None, _HIGH))


def _by_line(data: bytes) -> str | None:
    """Decode a text if at least a fifth of its non-ASCII lines is UTF-8. The others are in one older encoding."""
    lines = data.split(b"\n")
    high = [line for line in lines if not line.isascii()]
    wrong = [line for line in high if not _is_utf8(line)]
    if len(high) - len(wrong) < len(high) / 5:
        return None
    encoding = legacy_encoding(_sample(b"\n".join(wrong)))
    return "\n".join(
        line.decode("utf-8", _OR_WESTERN)
        if _is_utf8(line) or (encoding == WESTERN and _right_characters(line))
        else line.decode(encoding, "replace")
        for line in lines
    )


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _or_western(error: UnicodeError) -> tuple[str, int]:
    """Decode invalid UTF-8 as Western letters if it is inside a word or next to one."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    start, end = error.start, error.end
    beside = error.object[max(start - 1, 0) : start] + error.object[end : end + 1]
    letters = error.object[start:end].decode(WESTERN, "replace")
    is_word = letters.isalpha() and any(chr(byte).isalpha() and byte < 0x80 for byte in beside)
    return (letters if is_word else "\ufffd"), end


_OR_WESTERN = "gnod-or-western"
codecs.register_error(_OR_WESTERN, _or_western)


def _other(data: bytes, declared: str | None) -> str:
    if not data:
        return ""
    controls = len(data) - len(data.translate(None, _CONTROLS))
    if controls * 50 > len(data):
        raise NotText
    if declared and declared != "utf-7":
        text = data.decode(declared, "replace")
        if text.count("\ufffd") * 100 <= len(text):
            return text
    return data.decode(legacy_encoding(_sample(data)), "replace")


def _wide(data: bytes) -> str | None:
    """Decode UTF-16 or UTF-32 without a mark. In Western text, every other byte is 0."""
    sample = data[: _WIDE_SAMPLE - _WIDE_SAMPLE % 4]
    if len(sample) < 4 or len(sample.translate(None, _CONTROLS)) * 50 >= len(sample) * 49:
        return None
    lanes = [sample[lane::4].count(0) * 4 / len(sample) for lane in range(4)]
    if min(lanes[2:]) > 0.9:
        encoding: str | None = "utf-32-le"
    elif min(lanes[:2]) > 0.9:
        encoding = "utf-32-be"
    elif min(lanes[1], lanes[3]) > 0.3 and max(lanes[0], lanes[2]) < 0.05:
        encoding = "utf-16-le"
    elif min(lanes[0], lanes[2]) > 0.3 and max(lanes[1], lanes[3]) < 0.05:
        encoding = "utf-16-be"
    else:
        encoding = next(filter(partial(_is_of_one_script, sample), ("utf-16-le", "utf-16-be")), None)
    try:
        return _sane(data.decode(encoding, "replace")) if encoding else None
    except NotText:
        return None


def _is_of_one_script(sample: bytes, encoding: str) -> bool:
    """Return whether nearly all characters are ASCII, punctuation or of one script. Binary data that is decoded as text
    has letters of many scripts."""
    codes = [ord(char) for char in sample[: len(sample) // 2 * 2].decode(encoding, "replace")]
    plain = sum(code in (9, 10, 13) or 0x20 <= code < 0x7F for code in codes) + _count(codes, _PUNCTUATION)
    # Some UTF-8 with control characters looks like Chinese by chance.
    scripts = [(script,) for script in _SCRIPTS] + ([] if _is_utf8(sample) else [_EAST_ASIAN])
    of_script = max(_count(codes, script) for script in scripts)
    return 4 <= len(codes) <= of_script * 4 and plain + of_script >= _LEAST_OF_SCRIPT * len(codes)


def _count(codes: Sequence[int], ranges: Iterable[tuple[int, int]]) -> int:
    return sum(low <= code <= high for low, high in ranges for code in codes)


def _sane(text: str) -> str:
    """Return the text. Raises NotText if its beginning looks like decoded binary data."""
    sample = text[:_WIDE_SAMPLE]
    odd = sum(not (char.isprintable() or char.isspace()) or char == "\ufffd" for char in sample)
    if odd * 5 > len(sample):
        raise NotText
    return text


def _codec(name: str | None) -> str | None:
    """Return Python's name for a declared charset; None if it is unknown, or if gnod detects it without a
    declaration."""
    if not name:
        return None
    name = name.strip().strip("\"'")
    for known in (name, name.lower().removeprefix("x-")):
        try:
            info = codecs.lookup(known)
        except (LookupError, ValueError):
            continue
        if not getattr(info, "_is_text_encoding", True):
            return None
        if info.name.startswith(("utf", "punycode", "idna")):
            return "utf-7" if info.name == "utf-7" else None
        return _LARGER.get(info.name, info.name)
    return None


def _sample(data: bytes) -> bytes:
    """Return the part around the first non-ASCII byte, cut at a line or a space: a cut inside a character would rule
    out the right encoding."""
    first = len(data) - len(data.lstrip(_ASCII))
    start = max(data.rfind(b"\n", 0, first) + 1, first - 256)
    sample = data[start : start + _GUESS_SAMPLE]
    if start + _GUESS_SAMPLE >= len(data):
        return sample
    end = max(sample.rfind(b"\n"), sample.rfind(b" "))
    return sample[: end + 1] if end > len(sample) // 2 else sample
