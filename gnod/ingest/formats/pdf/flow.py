"""Makes the texts of PDF pages continuous: removes running heads, and joins words that are split between lines or
pages. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from gnod.ingest.formats.pdf.page_text import DIVIDED

_PAGE = "\f"
# A divided word and the characters up to the next space. A capital letter may begin another word. A match can only
# start at the first letter of a word, so that no text takes quadratic time.
_DIVISION = re.compile(rf"(?<![^\W_])([^\W_]++)({DIVIDED}|-[\n{_PAGE}](?=[^\W\d_A-Z]))([^\W_]+)(\S*) ?")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++-[^\W_]+")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\b\d{1,4}\b")
_SENTENCE_END = re.compile(r"[.!?:]['\"”’)]*\Z")
# Running heads are among this many lines at the top and bottom of a page that has more lines.
_EDGE = 2
_FEWEST_LINES = 6
_FEWEST_PAGES = 3


def readable(pages: Sequence[str]) -> list[str]:
    """Return the continuous texts of the pages."""
    return _whole_words(_PAGE.join(_without_heads([page.split("\n") for page in pages]))).split(_PAGE)


def _whole_words(text: str) -> str:
    compounds = {match[0].lower() for match in _COMPOUND.finditer(text)}
    words = {match[0].lower() for match in _WORD.finditer(text)}

    def joined(match: re.Match[str]) -> str:
        left, division, right, rest = match.groups()
        is_compound = f"{left}-{right}".lower() in compounds and (left + right).lower() not in words
        hyphen = "-" if is_compound or not (left + right).isalpha() else ""
        return f"{left}{hyphen}{right}{rest}{_PAGE if _PAGE in division else chr(10)}"

    return _DIVISION.sub(joined, text).replace(DIVIDED, "-\n")


def _without_heads(pages: Sequence[list[str]]) -> Iterable[str]:
    """Remove page numbers, and lines that are at the top or bottom of many pages. The first of equal lines stays. Lines
    with another number than that of the page may be content."""
    offset = _offset(pages)
    keys = [{at: _key(lines[at], number - offset) for at in _edges(lines)} for number, lines in enumerate(pages)]
    on: defaultdict[str, list[int]] = defaultdict(list)
    for number, found in enumerate(keys):
        for key in set(found.values()):
            on[key].append(number)
    seen: set[str] = set()
    for lines, found in zip(pages, keys, strict=True):
        heads = [at for at, key in found.items() if _is_frequent(on[key])]
        new = [lines[at] for at in heads if any(map(str.isalpha, lines[at])) and lines[at] not in seen]
        seen.update(new)
        yield "\n".join(_with_heads([line for at, line in enumerate(lines) if at not in heads], new))


def _edges(lines: Sequence[str]) -> Iterable[int]:
    return chain(range(_EDGE), range(len(lines) - _EDGE, len(lines))) if len(lines) >= _FEWEST_LINES else ()


def _offset(pages: Sequence[list[str]]) -> int:
    """Return the difference between the index of a page in the file and its printed number."""
    found = Counter(
        number - int(match[0])
        for number, lines in enumerate(pages)
        for at in _edges(lines)
        for match in _NUMBER.finditer(lines[at])
    )
    return found.most_common(1)[0][0] if found else 0


def _key(line: str, printed: int) -> str:
    """Return the part of a line that it shares with lines of other pages. `printed` is the number of its page."""
    return re.sub(rf"\b{printed}\b", "#", line.strip().lower())


def _is_frequent(numbers: Sequence[int]) -> bool:
    """Tell whether a line is on many pages; odd and even pages may have different lines."""
    return len(numbers) >= _FEWEST_PAGES and 3 * len(numbers) > numbers[-1] - numbers[0]


def _with_heads(lines: list[str], heads: list[str]) -> list[str]:
    """Put the heads behind the first sentence end, so that they do not interrupt a sentence from the page before."""
    at = next((at for at, line in enumerate(lines) if _SENTENCE_END.search(line)), len(lines) - 1)
    return [*lines[: at + 1], *heads, *lines[at + 1 :]]
