"""Find the kind of answer that a question expects by its question word, and texts that contain such an answer. Pure.

"How many" asks for a number, "wann" for a date. The form of a text shows its content: figures, names of months, capital
letters. Other questions ("what", "which") do not expect a certain kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

AnswerType = Literal["number", "date", "person", "place", "reason"]


class ExpectedAnswer(NamedTuple):
    """The kind of answer that a question expects.

    `type`: None if no kind is expected. `question`: in lower case, to exclude its own words from answers.
    """

    type: AnswerType | None
    question: str


def _either(lines: str) -> str:
    return "|".join(line.strip() for line in lines.strip().split("\n"))


def _question_words(spaced: str, others: str) -> re.Pattern[str]:
    """Return the question words of one type. `spaced`: patterns of whole words; `others`: words of scripts in which
    words have no boundaries that `re` detects."""
    return re.compile(rf"\b(?:{_either(spaced)})\b|{_either(others)}", re.I)


# Question words of the languages with function word lists, and of Chinese, Japanese and Korean.
_QUESTIONS: Mapping[AnswerType, re.Pattern[str]] = {
    "number": _question_words(
        r"""how (?:many|much|old|tall|high|long|large|big|far|deep|wide|fast|heavy|hot|often|frequently)
        (?:what|which) (?:\w+ ){0,2}(?:percentage|percent|number|amount|price|cost|size|temperature|pressure)
        wie ?(?:viele?[mnrs]?|alt|hoch|lang|lange|groß|weit|tief|breit|schnell|schwer|heiß|oft|häufig|teuer)
        combien
        cu[aá]nt[oa]s?
        quant[oaie]s?
        hoe ?(?:veel|oud|lang|hoog|groot|vaak)
        сколько
        hur (?:många|mycket|gammal|lång|hög|stor|ofta)""",
        r"""(?<!\S)कितन[ेीा]
        いくつ|いくら|ど(?:れ|の)(?:くらい|ぐらい)|どれほど
        何(?:人|個|本|回|度|歳|才|倍|割|番|つ|種|社|校|点|円|台|匹|冊|時間|分|秒|キロ|メートル|パーセント|[%％])
        何(?:か月|カ月|ヶ月|年間|日間|世帯|平方|試合)
        多少|几[个人次岁种]
        몇|얼마""",
    ),
    "date": _question_words(
        r"""when
        (?:what|which) (?:\w+ ){0,2}(?:years?|date|days?|months?|century|decade|time)
        wann
        welche[mnrs]? (?:\w+ )?(?:jahr|jahre|jahren|tag|tage|tagen|monat|datum|jahrhundert|uhrzeit)
        quand
        cu[aá]ndo
        quando
        wanneer
        когда
        när""",
        r"""(?<!\S)कब
        いつ|何(?:年|月|日|世紀|時|曜日)
        什么时候|何时|哪一?[年天月]
        언제""",
    ),
    "person": _question_words(
        r"""who(?:m|se)?
        we(?:r|n|m|ssen)
        qui
        qui[eé]n(?:es)?
        chi
        quem
        кто|кого|кому|кем|чей
        vem""",
        r"""(?<!\S)(?:कौन|किसने|किसे|किसके)
        誰|だれ
        谁
        누가|누구""",
    ),
    "place": _question_words(
        r"""where
        (?:what|which) (?:\w+ )?(?:country|countries|city|cities|town|state|continent|place|region)
        wo(?:her|hin)?
        welche[mnrs]? (?:\w+ )?(?:land|ländern?|stadt|städten?|kontinents?|ort|region)
        où
        d[oó]nde
        dove
        onde
        waar
        где|куда""",
        r"""(?<!\S)कहा[ँं]
        どこ|何(?:県|市|国|州|町)
        哪里|哪儿|在哪
        어디""",
    ),
    "reason": _question_words(
        r"""why
        warum|wieso|weshalb
        pourquoi
        por qu[eé]
        perché
        waarom
        почему
        varför""",
        r"""(?<!\S)क्यों
        なぜ|どうして
        为什么|為什麼
        왜""",
    ),
}

_FIGURE = r"\d+(?:[.,:]\d+)*|[०-९]+|[一二三四五六七八九十百千万億兆]+[人年月日個本回度歳倍割種つ時分円]"
_NUMERALS = _either(
    r"""one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty
    hundreds?|thousands?|millions?|billions?|half|third|quarter|twice|once|double|dozen
    every|each|daily|weekly|monthly|yearly|annually
    zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|zwanzig|hundert|tausend|millionen|milliarden
    hälfte|drittel|viertel|einmal|zweimal|dreimal|jede[mnrs]?|täglich|wöchentlich|monatlich|jährlich
    deux|trois|quatre|cinq|sept|huit|neuf|dix|dos|tres|cuatro|cinco|siete|ocho|nueve|diez"""
)
_DATES = _either(
    r"""\d{3,4}s?
    jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|march|märz|mars|marzo|april|avril|abril|(?-i:May)|mai|mayo
    june?|juni|juin|junio|july?|juli|juillet|julio|aug(?:ust)?|août|agosto|sep(?:tember|tembre|tiembre)?
    o[ck]t(?:ober|obre|ubre)?|nov(?:ember|embre|iembre)?|de[cz](?:ember)?|décembre|diciembre
    (?:mon|tues|wednes|thurs|fri|satur|sun)days?
    (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?
    lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche|lunes|martes|miércoles|jueves|viernes|domingo
    spring|summer|autumn|winter|frühling|frühjahr|sommer|herbst|century|decade|jahrhundert|siècle|siglo"""
)
_FORMS: Mapping[AnswerType, re.Pattern[str]] = {
    "number": re.compile(rf"{_FIGURE}|\b(?:{_NUMERALS})\b", re.I),
    "date": re.compile(rf"\b(?:{_DATES})\b|\d\d?:\d\d|[\d一二三四五六七八九十]+ ?[年月日時]|世紀|[०-९]{{4}}", re.I),
    "reason": re.compile(
        r"\b(?:because|due to|owing to|so that|in order to|therefore|weil|damit|deshalb|wegen|aufgrund|parce que|afin"
        r"|porque|debido|perché|omdat|потому|поскольку|eftersom)\b|ため|から|ので|因为|因為|क्योंकि|때문",
        re.I,
    ),
}
# Names begin with a capital letter, in scripts that have them. So does the first word of a sentence, so it does not
# count. In scripts without capitals, a run of kanji or katakana may be a name.
_NAME = re.compile(
    r"(?<=[\w,;:)][ \n])[\"“„«(*_]*([^\W\d_a-zß-ÿ]\w+(?:[ -][^\W\d_a-zß-ÿ]\w+)*)|([一-龥々]{2,}|[ァ-ヶー・]{2,})"
)


def expected(question: str) -> ExpectedAnswer:
    """Return the kind of answer that a question expects. The first question word decides.

    >>> expected("Wie viele Boote liegen im Hafen?").type
    'number'
    """
    places = {kind: match.start() for kind, pattern in _QUESTIONS.items() if (match := pattern.search(question))}
    kinds = sorted(places, key=places.__getitem__)
    return ExpectedAnswer(kinds[0] if kinds else None, question.lower())


def contains(text: str, wanted: ExpectedAnswer) -> bool:
    """Return whether `text` has an answer of the expected kind that the question does not mention."""
    if wanted.type is None:
        return False
    if wanted.type == "reason":
        return _FORMS[wanted.type].search(text) is not None
    pattern = _FORMS.get(wanted.type, _NAME)
    found = (match[match.lastindex or 0].lower() for match in pattern.finditer(text))
    return any(not _mentions(wanted.question, each) for each in found)


def _mentions(question: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", question) is not None
