"""Chooses known passages of a text, and makes three kinds of queries for them. Pure.

- `phrase`: two to five successive words that occur together only once in the text, in quotation marks.
- `rare`: one to three words of a line; one occurs nowhere else, the others occur often.
- `paraphrase`: a sentence without its function words, with its two halves exchanged, and with a synonym (from the table
  below) for each word that has one. Sentences without such a word are skipped. Only for text and comments.
"""

from __future__ import annotations

import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from gnod.analysis.stopwords import function_words

Way = Literal["phrase", "rare", "paraphrase"]
WAYS: Sequence[Way] = ("phrase", "rare", "paraphrase")

_WORD = re.compile(r"[^\W_](?:[\w.@-]*[^\W_])?")
_PLAIN = re.compile(r"[a-z]{3,}")
_SENTENCE = re.compile(r"(?<=[\s>])[A-Z][a-z]+ [^.!?|#`<>\[\]{}=\n]+(?:\n(?!\n)[^.!?|#`<>\[\]{}=\n]+){0,4}[.!?](?=\s)")
_FEWEST, _MOST = 8, 24  # words of a sentence
_LEAST, _ASKED = 6, 9  # words of a paraphrase: fewer words do not identify a passage
_NEAR = 120  # characters
_TRIES = 4000

_SYNONYM_PAIRS = """
    use=employ used=employed uses=employs using=employing show=display shows=displays shown=displayed
    change=alter changed=altered changes=alterations return=give returns=gives returned=given
    create=make created=made creates=makes creating=making begin=start begins=starts end=finish ends=finishes
    allow=permit allows=permits allowed=permitted need=require needs=requires needed=required
    get=obtain gets=obtains getting=obtaining add=append added=appended adds=appends adding=appending
    remove=delete removed=deleted removes=deletes removing=deleting find=locate found=located
    large=big larger=bigger largest=biggest small=little fast=quick faster=quicker slow=sluggish
    important=essential error=mistake errors=mistakes problem=trouble problems=troubles
    example=instance examples=instances method=procedure methods=procedures way=manner ways=manners
    help=assist helps=assists keep=retain keeps=retains build=construct built=constructed
    choose=pick choosing=picking chosen=picked contain=include contains=includes containing=including
    provide=supply provides=supplies provided=supplied describe=explain describes=explains described=explained
    multiple=several many=numerous new=fresh old=ancient correct=right wrong=incorrect simple=easy complex=complicated
    send=transmit sends=transmits sent=transmitted receive=accept receives=accepts received=accepted
    check=verify checks=verifies checked=verified stop=halt stops=halts stopped=halted
    happen=occur happens=occurs support=handle supports=handles supported=handled
    fix=repair fixed=repaired fixes=repairs improve=enhance improved=enhanced
    write=record writes=records written=recorded ensure=guarantee ensures=guarantees
    idea=notion ideas=notions result=outcome results=outcomes person=human people=humans
    tenant=renter landlord=owner pay=remit paid=remitted payment=remittance premises=property notice=announcement
    computer=machine software=program programs=software data=information"""
_SYNONYMS = dict(pair.split("=") for pair in _SYNONYM_PAIRS.split())


class Known(NamedTuple):
    """A query for `text[start:end]`. `words`: the folded words that the snippet must contain."""

    way: Way
    query: str
    start: int
    end: int
    words: tuple[str, ...]


class _Words(NamedTuple):
    """The folded words of a text, with their start and end."""

    folded: Sequence[str]
    places: Sequence[tuple[int, int]]
    counts: Counter[str]


def choose(text: str, way: Way, count: int, draw: random.Random) -> list[Known]:
    """Return `count` queries, or as many as the text allows."""
    words = _words(text)
    make = {"phrase": _phrases, "rare": _rare, "paraphrase": _paraphrases}[way]
    found: dict[str, Known] = {}
    for known in make(text, words, draw):
        found.setdefault(known.query, known)
        if len(found) == count:
            break
    return list(found.values())


def _words(text: str) -> _Words:
    places = [match.span() for match in _WORD.finditer(text)]
    folded = [text[start:end].casefold() for start, end in places]
    return _Words(folded, places, Counter(folded))


def _phrases(text: str, words: _Words, draw: random.Random) -> Iterator[Known]:
    for _ in range(_TRIES):
        at, length = draw.randrange(len(words.places)), draw.randrange(2, 6)
        start, end = words.places[at][0], words.places[min(at + length, len(words.places)) - 1][1]
        phrase = text[start:end]
        wanted = words.folded[at : at + length]
        is_plain = re.fullmatch(r"[\w.@-]+(?: [\w.@-]+)*", phrase)
        if is_plain and len(wanted) == length and _occurrences(words, wanted) == 1:
            yield Known("phrase", f'"{phrase}"', start, end, tuple(wanted))


def _occurrences(words: _Words, wanted: Sequence[str]) -> int:
    rarest = min(range(len(wanted)), key=lambda n: words.counts[wanted[n]])
    starts = (at - rarest for at, word in enumerate(words.folded) if word == wanted[rarest])
    return sum(list(words.folded[start : start + len(wanted)]) == list(wanted) for start in starts if start >= 0)


def _rare(text: str, words: _Words, draw: random.Random) -> Iterator[Known]:
    starts = [start for start, _ in words.places]
    dropped = function_words(words.counts, ["en"])
    for _ in range(_TRIES):
        at = draw.randrange(len(words.places))
        rare, (start, end) = words.folded[at], words.places[at]
        if words.counts[rare] > 1 or len(rare) < 3 or rare in dropped or _occurs_inside(text, rare):
            continue
        low, high = max(text.rfind("\n", 0, start) + 1, start - _NEAR), min(text.find("\n", end), end + _NEAR)
        near = set(words.folded[bisect_right(starts, low - 1) : bisect_right(starts, high)])
        common = sorted(word for word in near - dropped if words.counts[word] > 5 and len(word) > 3)
        query = [rare, *draw.sample(common, min(draw.randrange(3), len(common)))]
        draw.shuffle(query)
        yield Known("rare", " ".join(query), start, end, (rare,))


def _occurs_inside(text: str, word: str) -> bool:
    """Tell whether a word is also a part of a longer word, which its stem may match."""
    return len(re.findall(re.escape(word), text, re.IGNORECASE)) > 1


def _paraphrases(text: str, _: _Words, draw: random.Random) -> Iterator[Known]:
    sentences = [match for match in _SENTENCE.finditer(text) if _FEWEST <= len(match[0].split()) <= _MOST]
    draw.shuffle(sentences)
    for sentence in sentences:
        written = _PLAIN.findall(sentence[0].lower())
        kept = [word for word in dict.fromkeys(written) if word not in function_words(written, ["en"])][:_ASKED]
        said = [_SYNONYMS.get(word, word) for word in kept]
        if len(kept) >= _LEAST and said != kept and text.count(sentence[0]) == 1:
            half = len(said) // 2
            yield Known("paraphrase", " ".join([*said[half:], *said[:half]]), *sentence.span(), ())
