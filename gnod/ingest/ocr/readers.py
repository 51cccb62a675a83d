"""Choose the programs that recognise a collection's pages, by its setting `ocr` and by the installed software.

This module runs in the daemon, so it must not load the programs.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from gnod import extras

OFF = "`ocr` is off for this collection"
# Languages in scripts that the models of rapidocr do not know, with their names in tesseract. The models know Latin,
# Greek, Chinese and Japanese.
_OTHER_SCRIPTS = """
    am:amh ar:ara be:bel bg:bul bn:ben fa:fas gu:guj he:heb hi:hin hy:hye ka:kat kk:kaz km:khm kn:kan ko:kor
    ky:kir lo:lao mk:mkd ml:mal mn:mon mr:mar my:mya ne:nep pa:pan ru:rus si:sin sr:srp ta:tam te:tel tg:tgk
    th:tha ti:tir uk:ukr ur:urd yi:yid
"""
_READ_BY_RAPIDOCR = """
    cs:ces da:dan de:deu el:ell en:eng es:spa et:est fi:fin fr:fra hr:hrv hu:hun it:ita ja:jpn lt:lit lv:lav
    nl:nld no:nor pl:pol pt:por ro:ron sk:slk sl:slv sv:swe tr:tur vi:vie zh:chi_sim
"""
# The time of tesseract is proportional to the number of languages.
_MAX_LANGUAGES = 3
_TESSDATA = (
    "/usr/share/tesseract-ocr/*/tessdata /usr/share/tessdata /opt/homebrew/share/tessdata /usr/local/share/tessdata"
)


def _installing() -> str:
    return f"reading it needs OCR: run `{extras.command('ocr')}`"


_OTHERS, _KNOWN = (
    dict(pair.split(":") for pair in languages.split())
    for languages in (_OTHER_SCRIPTS, _OTHER_SCRIPTS + _READ_BY_RAPIDOCR)
)


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """`rapid`: the models of rapidocr. `tesseract`: its languages, for pages that rapidocr cannot read, or for all."""

    rapid: bool
    tesseract: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name under which results are stored, because other programs may give other results."""
        return "+".join([*(["rapidocr"] if self.rapid else []), *(f"tesseract:{code}" for code in self.tesseract)])


def named(name: str) -> Reader:
    parts = name.split("+")
    codes = tuple(part.partition(":")[2] for part in parts if part.startswith("tesseract:"))
    return Reader(rapid="rapidocr" in parts, tesseract=codes)


def choose(setting: str) -> Reader | str:
    """Return the reader for a setting (on, off, or languages such as "ru,de"), or why there is none."""
    return _choose(setting, has_rapid=importlib.util.find_spec("rapidocr") is not None, installed=tesseract_languages())


def _choose(setting: str, *, has_rapid: bool, installed: Collection[str]) -> Reader | str:
    if setting == "off":
        return OFF
    if setting == "on":
        others = [code for code in sorted(installed) if code in _OTHERS.values()][:_MAX_LANGUAGES]
        codes = others or ([] if has_rapid else sorted(installed)[:_MAX_LANGUAGES])
        return Reader(rapid=has_rapid, tesseract=tuple(codes)) if has_rapid or codes else _installing()
    tags = [tag.split("-")[0] for tag in setting.split(",")]
    if has_rapid and not _OTHERS.keys() & tags:
        return Reader(rapid=True)
    codes = [code for tag in tags if (code := _KNOWN.get(tag, tag))]
    if missing := [code for code in codes if code not in installed]:
        return (
            f"the languages in `ocr` need tesseract: install {', '.join(f'tesseract-ocr-{code}' for code in missing)}"
        )
    return Reader(rapid=False, tesseract=tuple(codes))


def tesseract_languages() -> set[str]:
    return {path.stem for folder in tessdata_folders() for path in folder.glob("*.traineddata")} - {"osd"}


def tessdata_folders() -> Iterable[Path]:
    given = os.environ.get("TESSDATA_PREFIX")
    patterns = [given] if given else _TESSDATA.split()
    return [path for pattern in patterns for path in sorted(Path("/").glob(pattern.lstrip("/"))) if path.is_dir()]
