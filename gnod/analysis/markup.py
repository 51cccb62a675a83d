"""Find the parts of Markdown that are not words: the metadata at its head, and the marks inside words. Must not depend
on an index.


The marks are removed before the terms of a text and the places of its words are computed: `un**believ**able`,
`caf&eacute;` and an escaped `snake_case` are one word each, and the readings between the characters of `<ruby>` do not
divide a word.
"""

from __future__ import annotations

import html
import re

_MAX_HEAD_CHARACTERS = 64 * 1024
_BLOCK = re.compile(
    r"(?P<mark>---|\+\+\+)[ \t]*\n(?P<lines>.*?)(?:(?<=\n)|\n)(?:(?P=mark)|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
# No other object may follow: otherwise it is the first of many lines of JSON.
_OBJECT = re.compile(r'(?P<mark>\{)(?:[ \t]*"[^\n]*|\s*".*?\n)\}[ \t]*\n(?!\s*(?:\{"|\Z))', re.DOTALL)

# A character without width that does not separate words. It replaces each character of a mark, to keep offsets valid.
_NOTHING = "\u200b"
# These characters have no case. Ignoring case for them would add ten milliseconds to each start of the daemon.
_KANJI, _KANA = "(?-i:[\u3400-\u9fff々])", "(?-i:[\u3041-\u30ff])"
_READING = re.compile(rf"<rt\b[^<>\n]{{0,200}}>([^<>\n]{{1,200}})|(?<={_KANJI})《({_KANA}{{1,30}})》", re.IGNORECASE)
_SAME_RUBY = re.compile(rf"</rt>(?:<rb>|{_KANJI}|<rp>\W</rp>|</rb>)*", re.IGNORECASE)
_TAGS = "b|bdi|big|code|del|em|font|i|ins|kbd|mark|q|rb|rtc|ruby|s|small|span|strong|sub|tt|u|wbr"
_LETTER = r"[^\W\d_]"


def _fenced(mark: str) -> str:
    """Return the pattern of a fenced block, from the second character of its opening fence to its last line."""
    at_line_start = "|".join(rf"(?<=\n{' ' * spaces}{mark})" for spaces in range(4))
    return rf"{mark[1:]}(?:{at_line_start}|(?<=\A{mark})).*(?:\n(?![ ]{{0,3}}{mark}).*)*(?:\n[ ]{{0,3}}{mark}.*)?"


# Marks that are not a part of words. Each alternative begins with a different character, which makes the pattern
# several times as fast. It matches in one way only, and covers a bounded number of characters or ends with the code.
_IN_WORDS = (
    rf"~~(?<={_LETTER}~~)(?={_LETTER})"
    rf"|==(?<={_LETTER}==)(?={_LETTER})"
    rf"|\*(?:(?<={_LETTER}\*)|\*(?<={_LETTER}\*\*)|\*\*(?<={_LETTER}\*\*\*))(?={_LETTER})"
    r"|&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"
    r"|\\(?=[!-/:-@\[-`{-~])"
    rf"|《(?<={_KANJI}《){_KANA}{{1,30}}》"
    rf"|<(?:r[pt]\b[^<>\n]{{0,200}}>[^<>\n]{{0,200}}(?:</r[pt]>)?|/?(?:{_TAGS})\b[^<>\n]{{0,200}}>)"
)
_ANY_IN_WORDS = re.compile(_IN_WORDS, re.IGNORECASE)
# Also matches code, which stays unchanged.
_MARK = re.compile(
    rf"`(?:{_fenced('```')}|`{{1,10}}[^`\n]{{1,500}}``|[^`\n]{{1,500}}`|`+)|~{_fenced('~~~')}|{_IN_WORDS}",
    re.IGNORECASE,
)
# These types are prose, although their names look like types of source code.
_PROSE = frozenset({"text/x-rst", "text/x-tex"})
_DATA = frozenset({"application/json", "application/yaml", "application/toml"})
_EMPHASIS = re.compile(r"\*+|~~|==")
_REACH = 200  # characters from one mark to its counterpart


def is_code(mime: str) -> bool:
    """Return whether names in texts of this type are identifiers, as they are in source code and data."""
    return mime in _DATA or (mime.startswith("text/x-") and mime not in _PROSE)


def head(text: str) -> re.Match[str] | None:
    """Return the block at the head of a text that looks like metadata: its `mark` is `---`, `+++` or `{`."""
    if not text.startswith(("---", "+++", "{")):
        return None
    return _BLOCK.match(text, 0, _MAX_HEAD_CHARACTERS) or _OBJECT.match(text, 0, _MAX_HEAD_CHARACTERS)


def head_end(text: str) -> int:
    """Return where the metadata at the head of a text ends; 0 if there is none."""
    found = head(text)
    return found.end() if found else 0


def without_marks(text: str) -> str:
    """Return a text of the same length with marks replaced by characters without width.

    >>> without_marks("un**believ**able caf&eacute;").replace("\\u200b", "")
    'unbelievable café'
    """
    return _MARK.sub(_replaced, text) if _ANY_IN_WORDS.search(text) else text


def readings(text: str) -> str:
    """Return the readings in `<ruby>`, which are not a part of the words.

    >>> readings("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>")
    'とうきょう'
    """
    if "<rt" not in text.lower() and "《" not in text:
        return ""
    found, last = "", 0
    for match in _READING.finditer(text):
        is_same_word = _SAME_RUBY.fullmatch(text, last, match.start())
        found += ("" if is_same_word or not found else " ") + (match[1] or match[2])
        last = match.end()
    return found


def _replaced(found: re.Match[str]) -> str:
    mark = found[0]
    if mark[0] == "&":
        return html.unescape(mark).ljust(len(mark), _NOTHING)
    if mark[0] == "`" or mark.startswith("~~~") or (mark[0] in "*~=" and not _has_counterpart(found)):
        return mark
    return _NOTHING * len(mark)


def _has_counterpart(found: re.Match[str]) -> bool:
    """Return whether the line has the same mark before or after this one, as Markdown requires of emphasis."""
    start, end = found.span()
    before = found.string[max(start - _REACH, 0) : start].rpartition("\n")[2]
    after = found.string[end : end + _REACH].partition("\n")[0]
    return found[0] in _EMPHASIS.findall(before) + _EMPHASIS.findall(after)


def without_closing(heading: str) -> str:
    """Remove the closing signs of a heading. `heading`: the text after its opening signs.

    >>> without_closing("Title ##"), without_closing("Learn C#"), without_closing("##")
    ('Title', 'Learn C#', '')
    """
    heading = heading.strip()
    bare = heading.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else heading
