"""From the texts of a PDF's pages to one that can be read on: without the lines that every page has, and with the words
whole that a line or a page divides. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain

from gnod.ingest.formats.pdf.page_text import DIVIDED

_PAGE = "\f"
# A divided word and what follows it up to the next space. A capital letter may begin another word. Words are tried from
# their first letter only, so that no text takes quadratic time.
_DIVISION = re.compile(rf"(?<![^\W_])([^\W_]++)({DIVIDED}|-[\n{_PAGE}](?=[^\W\d_A-Z]))([^\W_]+)(\S*) ?")
_COMPOUND = re.compile(r"(?<![^\W_])[^\W_]++-[^\W_]+")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\b\d{1,4}\b")
_SENTENCE_END = re.compile(r"[.!?:]['\"”’)]*\Z")
# Running heads are among this many lines at either end of a page that has more lines than that.
_EDGE = 2
_FEWEST_LINES = 6
_FEWEST_PAGES = 3


def readable(pages: Sequence[str]) -> list[str]:
    """Return the texts of the pages, of which each has lines."""
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
    """Remove page numbers, and lines that are at the ends of many pages. Of equal ones, the first stays; those with
    another number may be content."""
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
    """Return what to subtract from the place of a page in the file to have the number that is printed on it."""
    found = Counter(
        number - int(match[0])
        for number, lines in enumerate(pages)
        for at in _edges(lines)
        for match in _NUMBER.finditer(lines[at])
    )
    return found.most_common(1)[0][0] if found else 0


def _key(line: str, printed: int) -> str:
    """Return what a line has in common with those of other pages; `printed` is the number of its page."""
    return re.sub(rf"\b{printed}\b", "#", line.strip().lower())


def _is_frequent(numbers: Sequence[int]) -> bool:
    """Tell whether a line is on many pages; odd and even ones may have different lines."""
    return len(numbers) >= _FEWEST_PAGES and 3 * len(numbers) > numbers[-1] - numbers[0]


def _with_heads(lines: list[str], heads: list[str]) -> list[str]:
    """Put the heads behind a sentence, so that they interrupt none that continues from the page before."""
    at = next((at for at, line in enumerate(lines) if _SENTENCE_END.search(line)), len(lines) - 1)
    return [*lines[: at + 1], *heads, *lines[at + 1 :]]
