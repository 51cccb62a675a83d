"""Detect the 8-bit or East Asian encoding of a text that is not Unicode.

charset-normalizer alone takes Shift-JIS for Korean and `naïve` for Czech. So two cases are recognised first: Japanese
by its kana, Western European by single high bytes inside ASCII words.
"""

from __future__ import annotations

import re

WESTERN = "cp1252"
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_WIDE_CHARACTER = re.compile("[^\x00-\x7f]")
_RUN = re.compile(rb"[\x80-\xff]{3,}")
# Bytes between two letters that are symbols or undefined in cp1252, so they are letters of another alphabet.
# Apostrophes, dashes, dots and ordinals are left out, because they occur inside words.
_MISFIT = re.compile(
    rb"(?<=[A-Za-z\xc0-\xff])"
    rb"[\x81\x82\x84\x86-\x89\x8b\x8d\x8f\x90\x9b\x9d\xa1-\xa9\xab\xac\xae-\xb3\xb5\xb6\xb8\xb9\xbb-\xbf]"
    rb"(?=[a-z\xe0-\xff])"
)
_CENTRAL = ["cp1250", "iso8859_2", "cp852", "cp1254", "cp1257", "cp850", "mac_roman"]
_OTHER = [
    "cp1251", "koi8_r", "cp866", "iso8859_5", "cp1253", "cp1255", "cp1256", "cp874",
    "gb18030", "big5", "cp949", "cp932", "euc_jp", "cp1250", "iso8859_2",
]  # fmt: skip


def legacy_encoding(sample: bytes) -> str:
    """Return the likeliest encoding of a sample that is not UTF-8; cp1252 when in doubt."""
    for japanese in ("cp932", "euc_jp"):
        if _kana_share(sample, japanese) > 0.2:
            return japanese
    high = len(sample) - len(sample.translate(None, bytes(range(128, 256))))
    if sum(len(run) for run in _RUN.findall(sample)) * 2 >= high:
        return _statistical(sample, _OTHER) or WESTERN
    if len(_MISFIT.findall(sample)) * 20 > high:
        return _statistical(sample, _CENTRAL) or _CENTRAL[0]
    return WESTERN


def _kana_share(sample: bytes, encoding: str) -> float:
    try:
        text = sample.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    wide = len(_WIDE_CHARACTER.findall(text))
    return len(_KANA.findall(text)) / wide if wide else 0.0


def _statistical(sample: bytes, candidates: list[str]) -> str | None:
    from charset_normalizer import from_bytes  # the import takes 30 ms, and most files are UTF-8

    best = from_bytes(sample, cp_isolation=candidates, preemptive_behaviour=False).best()
    return best.encoding if best else None
