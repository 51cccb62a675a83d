"""Detect the 8-bit or East Asian encoding of a text that is not Unicode, by the letters that each encoding would give.

Statistical detectors take Shift-JIS for Korean and `naïve` for Czech. This module chooses the encoding that gives the
frequent letters of a language; for Western texts, sequences of letters decide on the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from math import inf

WESTERN = "cp1252"
_HIGH = re.compile(rb"[\x80-\xff]")
_RUN = re.compile(rb"[\x80-\xff]{3,}")
_WORD = re.compile(r"[^\W\d_]+")
_HIGH_CHARACTER = re.compile("[^\x00-\x7f]")
_LEAST = 0.2
_MARGIN = 3.0  # other languages must be likelier than Western ones by this much, as a logarithm

# The letters of languages, sorted by frequency; for East Asian languages, the most frequent characters.
_RUSSIAN = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъё"
_UKRAINIAN = "оанивітерскулдмпьзябйгчюхцїжєшщфґ"
_GREEK = "ατοιεσνηυρπκμλςθδγφχάίόέήώύβωξζψϊΐ"
_HEBREW = "יולאהרמתבשנםדחעקפגכטסןצזךףץ"
_ARABIC = "ايلمونرتبةعدسفهكقأحجشطصىخإذضزءثئغظؤآ"
_THAI = "านรกอเงยลมวดทตสะปคหพแจบขไใผโชซฟธณถศษภ์่้ัีิืุูำ็ึ"
_CHINESE = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事"
    "成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心本前开但因只从想实日者意无力它与长把机十民第公此已工"
    "使情明性知全三又关点正业外将两高间由问很最重并物手应向头文体政美相见被利什二等产或新己制身果加西月话合回特代内信表化"
    "老给世位次度门任常先海通教原东提立及比员解水名真论处义各入几口认条平系气题活更别打变四神总何电数安少报才结反受目量再"
    "感建务做接场件计管期市直资命山金指统区保至形社空决治展科司五基书非则界达光放强即难且权思王完设式色路记南品住告类求据程"
)
_TRADITIONAL = (
    "這個們來為國說時會對過發後種經學現當沒動開還進樣無與長機關點業將兩間問應戰頭體見產話門論處義條氣題電數報結務場計資"
    "統區隊決馬書則聽達強難權設記類據師觀讓識導爭運檢訊腦課員買車東單號級線總辦議項請錢鐘鑰張購雞麵裡"
)
_KANJI = (
    "東京都道府県市区町村会社部長課員様御願致田川山本木中井藤佐高橋渡辺伊加島人年月日時分円件数番号千代新大小駅店名前住所電話"
    "品金額売上合計備考作成更新確認内容種類項目商価格税込送料注文書設定資報告議案予算表曜今明昨後午朝夜齢請求倉庫語題漢字"
)
_KOREAN = (
    "이다는에의가을고하지로한사기도리자어나시서인대해라은그스일과정아를으수보부전구장주상제여오게만있었면니트모성안동신국적공"
    "들우소비요연원경조방말문화유생무드분습중저학했개거합및단선체진관차세미와러마당회레설용산실내려터위야물불크것같등될된되데때"
)

_ALPHABETS = (
    (_RUSSIAN, ("cp1251", "koi8_r", "cp866", "iso8859_5")),
    (_UKRAINIAN, ("cp1251", "koi8_u")),
    (_GREEK, ("cp1253", "iso8859_7")),
    (_HEBREW, ("cp1255",)),
    (_ARABIC, ("cp1256", "iso8859_6")),
    (_THAI, ("cp874",)),
)
_COMMON_CHINESE = frozenset(_CHINESE)
_COMMON_TRADITIONAL = frozenset(_CHINESE + _TRADITIONAL)
_COMMON_JAPANESE, _COMMON_KOREAN = frozenset(_KANJI), frozenset(_KOREAN)
_KANA = re.compile("[\u3041-\u3096\u30a1-\u30fc]")
_HALF_KANA = re.compile("[\uff61-\uff9f]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_PUNCTUATION = re.compile("[\u3000-\u303f\uff00-\uff60]")

# The encodings of languages in Latin letters, and their letters beyond ASCII.
_WESTERN = (WESTERN, "cp850", "mac_roman")
_CENTRAL, _BALTIC = ("cp1250", "iso8859_2"), ("cp1257", "iso8859_13")
_LATIN = {
    "de": ("äöüß", _WESTERN),
    "fr": ("àâçéèêëîïôùûüÿœæ", _WESTERN),
    "es": ("áéíóñúü¿¡ºª", _WESTERN),
    "pt": ("ãáâàçéêíõóôúüºª", _WESTERN),
    "it": ("àèéìíîòóùú", _WESTERN),
    "nl": ("áéëïóöü", (WESTERN,)),
    "en": ("éèïöñçâêü", (WESTERN,)),
    "sv": ("åäöéü", _WESTERN),
    "fi": ("åäö", (WESTERN,)),
    "da": ("æøåé", _WESTERN),
    "nb": ("æøåéòô", (WESTERN,)),
    "is": ("áðéíóúýþæö", (WESTERN,)),
    "pl": ("ąćęłńóśźż", _CENTRAL),
    "cs": ("áčďéěíňóřšťúůýž", _CENTRAL),
    "sk": ("áäčďéíĺľňóôŕšťúýž", _CENTRAL),
    "hu": ("áéíóöőúüű", _CENTRAL),
    "ro": ("ăâîşţ", _CENTRAL),
    "hr": ("čćđšž", _CENTRAL),
    "sl": ("čšž", _CENTRAL),
    "tr": ("çğıöşüâîİ", ("cp1254",)),
    "lt": ("ąčęėįšųūž", _BALTIC),
    "lv": ("āčēģīķļņšūž", _BALTIC),
    "et": ("äõöüšž", (*_BALTIC, WESTERN)),
    "vi": ("àáâãèéêìíòóôõùúýăđĩũơư\u0300\u0301\u0303\u0309\u0323", ("cp1258",)),
}
_SIGNS = frozenset("“”„‘’‚«»–—…•·°§€£©®™ \u00a0")


def legacy_encoding(sample: bytes) -> str:
    """Return the likeliest encoding of a sample that is not UTF-8; cp1252 when in doubt."""
    for japanese in ("cp932", "euc_jp"):
        text = _decoded(sample, japanese) or ""
        if len(_KANA.findall(text)) * 5 > len(_HIGH_CHARACTER.findall(text)) - len(_PUNCTUATION.findall(text)):
            return japanese
    if sum(map(len, _RUN.findall(sample))) * 2 >= len(_HIGH.findall(sample)):
        scores = dict(_scores(sample))
        best = max(scores, key=scores.__getitem__, default=WESTERN)
        if scores.get(best, 0) > _LEAST:
            return best
    return _latin(sample)


def _scores(sample: bytes) -> Iterator[tuple[str, float]]:
    """Yield encodings with a score of at most 1 that says how well their letters fit a language."""
    for encoding, score in _EAST_ASIAN:
        if text := _decoded(sample, encoding):
            wide = _HIGH_CHARACTER.findall(text)
            yield encoding, score(text, wide) / max(len(wide), 1)
    for letters, encodings in _ALPHABETS:
        for encoding in encodings:
            if text := _decoded(sample, encoding):
                yield encoding, _of_alphabet(text, letters)


def _japanese(text: str, wide: list[str]) -> float:
    # In Shift-JIS, narrow kana are single bytes, as are the letters of other encodings.
    return sum(char in _COMMON_JAPANESE for char in wide) + len(_KANA.findall(text)) - len(_HALF_KANA.findall(text))


def _korean(text: str, wide: list[str]) -> float:
    hangul = _HANGUL.findall(text)
    if len(hangul) < 0.9 * (len(wide) - len(_PUNCTUATION.findall(text))):
        return 0.0
    return sum(1.0 if char in _COMMON_KOREAN else 0.4 for char in hangul if char.encode("euc_kr", "ignore"))


def _chinese(common: frozenset[str], _: str, wide: list[str]) -> float:
    return 1.6 * sum(char in common or char in "，。、：；？！" for char in wide)


_EAST_ASIAN: tuple[tuple[str, Callable[[str, list[str]], float]], ...] = (
    ("cp932", _japanese),
    ("euc_jp", _japanese),
    ("gb18030", partial(_chinese, _COMMON_CHINESE)),
    ("cp950", partial(_chinese, _COMMON_TRADITIONAL)),
    ("cp949", _korean),
)


def _of_alphabet(text: str, letters: str) -> float:
    """Return the mean frequency score of the letters in a language. Capitals inside words lower it."""
    wide = _HIGH_CHARACTER.findall(text)
    rank: dict[str, float] = {letter: 1 - 0.8 * place / len(letters) for place, letter in enumerate(letters)}
    found = sum(rank.get(char.lower(), -1.0) for char in wide)
    wrong: int = sum(char.isupper() for word in _WORD.findall(text) if not word.isupper() for char in word[1:])
    return (found - wrong) / max(len(wide), 1)


def _latin(sample: bytes) -> str:
    """Choose the encoding by letters that only one language uses, or else by the sequences of letters."""
    possible: dict[str, str] = {}
    for language, (letters, encodings) in _LATIN.items():
        for encoding in encodings:
            text = _decoded(sample, encoding)
            if text and all(
                char in letters or char.lower() in letters or char in _SIGNS for char in _HIGH_CHARACTER.findall(text)
            ):
                possible.setdefault(language, encoding)
    if not possible or set(possible.values()) == {WESTERN}:
        return WESTERN
    from gnod.analysis import trigrams

    known = [language for language in possible if language in trigrams.LANGUAGES]
    scores = {language: trigrams.scores(sample.decode(possible[language]), [language])[language] for language in known}
    western = max((scores[language] for language in known if possible[language] == WESTERN), default=-inf)
    best = max(known, key=scores.__getitem__)
    return possible[best] if scores[best] > western + _MARGIN else WESTERN


def _decoded(sample: bytes, encoding: str) -> str | None:
    try:
        return sample.decode(encoding)
    except UnicodeDecodeError:
        return None
