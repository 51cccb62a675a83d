"""Find out whether a memory gives a new value for something that an older memory states, so that it may supersede it.
Pure.

Two sentences are aligned word by word. They are about the same thing if they differ in only one place after the
subject, where each has a different number, name or word. A negation in only one of them is also such a difference.
Words that mark something as new (`now`, `no longer`, `moved to`) are not a difference. Several differences mean another
subject or another property: `Anna lives in Rome` says nothing about `Bruno lives in Oslo`.

A proposal changes nothing until somebody accepts it, so it only has to be plausible.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from gnod.analysis.negations import negating_words
from gnod.analysis.stopwords import LANGUAGES, function_words
from gnod.analysis.terms import compounds, is_unspaced, visible
from gnod.memory import update_words as words

# Longer texts make more than one statement.
MAX_COMPARED_CHARACTERS = 600
_MAX_NAME_WORDS = 3
# The newer text may add this many words after the value, such as a reason.
_MAX_ADDED = 2
_NEGATING = negating_words()
_DROPPED = words.LIGHT | words.PREPOSITIONS | words.CHANGED
_SHARED_PREFIX = 0.75
_MIN_PREFIX = 3
# The two texts must share this fraction of the content words of the shorter one.
_MIN_SHARED = 0.3
# 6,50 and 1,020 are each one number, not two.
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")


class Difference(NamedTuple):
    """The reason for a proposal. `subject`: words that both texts share. The values are empty if one text negates the
    other."""

    subject: str
    old: str
    new: str

    def sentence(self) -> str:
        """Return the reason in words.

        >>> Difference("Pro plan costs", "20", "25").sentence()
        'the same about "Pro plan costs", but 25 instead of 20'
        """
        if self.old and self.new:
            return f'the same about "{self.subject}", but {self.new} instead of {self.old}'
        if self.new:
            return f'the same about "{self.subject}", now {self.new}'
        return f'the same about "{self.subject}", but only one of them is negated'


class _Word(NamedTuple):
    """`form`: for comparison. `is_content`: whether it is neither a function word nor a word that marks something as
    new."""

    surface: str
    form: str
    is_content: bool

    @property
    def is_number(self) -> bool:
        return any(map(str.isdecimal, self.surface))

    @property
    def is_name(self) -> bool:
        return self.surface[0].isupper() or any(mark in self.surface for mark in "/_.@:")


class _Difference(NamedTuple):
    """A place where the texts differ. `at`: the number of common content words before it. `before`: the word before
    it."""

    old: list[_Word]
    new: list[_Word]
    at: int
    before: str
    after: _Word | None


def difference(older: str, newer: str) -> Difference | None:
    """Return how the newer text updates the older one; None if it says something else, or the same.

    >>> difference("Staging uses Redis", "Staging no longer uses Redis")
    Difference(subject='Staging uses Redis', old='', new='')
    >>> difference("Anna lives in Rome", "Anna lives in Oslo now").new
    'Oslo'
    >>> difference("Anna lives in Rome", "Bruno lives in Oslo")
    """
    if max(len(older), len(newer)) > MAX_COMPARED_CHARACTERS:
        return None
    old, new = _read(older), _read(newer)
    new = _in_the_words_of(old, new)
    if not _share_enough(old, new):  # this comes first, because the alignment is slow
        return None
    places, common = _compared(old, _without_replaced(new, old))
    if not common:
        return None
    forms = {word.form for word in [*old, *new]}
    has_changed = not forms.isdisjoint(words.CHANGED)
    is_negated = _is_negated(old, new) != _is_negated(new, old)
    subject = " ".join(word.surface for word in common)
    values, added = _sorted_out(places, old, has_changed=has_changed)
    if values is None:
        return None
    if not values:
        return _without_replaced_value(subject, common, added, has_changed=has_changed, is_negated=is_negated)
    if len(values) > 1 or (is_negated and not _mentions(values[0].old, new)):
        return None
    (value,) = values
    has_role = not forms.isdisjoint(words.ROLES)
    has_several = not {word.form for word in old}.isdisjoint(words.ADDITIVE)
    rest = {word.form for word in common[value.at :]}
    if has_several and rest <= words.ADDITIVE and value.at > 0 and not _is_numeric(value):
        return None
    if not _is_value(value, common, has_role=has_role, mentions_old=_mentions(value.old, new)):
        return None
    return Difference(subject, _shown(value.old), _shown(value.new))


def _read(text: str) -> list[_Word]:
    found = [part for compound in compounds(_DECIMAL_COMMA.sub(".", visible(text))) for part in _parts(compound)]
    forms = [words.form(word) for word in found]
    dropped = function_words([word.casefold() for word in found], LANGUAGES)
    return [
        _Word(word, form, word.casefold() not in dropped and form not in words.RECENT and not _negates(word))
        for word, form in zip(found, forms, strict=True)
    ]


def _parts(compound: str) -> Sequence[str]:
    """Return the word. In a script without spaces, return its characters."""
    return list(compound) if is_unspaced(compound) else [compound]


def _in_the_words_of(old: Sequence[_Word], new: Sequence[_Word]) -> list[_Word]:
    """Return the newer words. A word that is another form of an older word, such as a plural, gets the form of the
    older one."""
    by_prefix: dict[str, list[str]] = {}
    for word in old:
        if len(word.form) >= _MIN_PREFIX and not word.is_number:
            by_prefix.setdefault(word.form[:_MIN_PREFIX], []).append(word.form)
    known = {word.form for word in old}
    return [word if word.form in known else word._replace(form=_same_word(word, by_prefix)) for word in new]


def _same_word(word: _Word, by_prefix: Mapping[str, Sequence[str]]) -> str:
    """Return the form of the older word that this word is an inflection of; its own form if there is none."""
    if not word.is_number:
        for form in by_prefix.get(word.form[:_MIN_PREFIX], ()):
            shorter, longer = sorted((form, word.form), key=len)
            if longer.startswith(shorter) and len(shorter) >= _SHARED_PREFIX * len(longer):
                return form
    return word.form


def _share_enough(old: Sequence[_Word], new: Sequence[_Word]) -> bool:
    theirs = {word.form for word in old if word.is_content}
    ours = {word.form for word in new if word.is_content}
    return len(theirs & ours) >= _MIN_SHARED * min(len(theirs), len(ours))


def _without_replaced(new: Sequence[_Word], old: Sequence[_Word]) -> list[_Word]:
    """Return the newer words without a mention of the older value (`instead of 20`)."""
    known = {word.form for word in old}
    kept: list[_Word] = []
    is_replaced = False
    for word in new:
        is_replaced = word.form in words.INSTEAD or (
            is_replaced and (word.form in known or not word.is_content or word.form in _DROPPED)
        )
        if not is_replaced:
            kept.append(word)
    return kept


def _compared(old: Sequence[_Word], new: Sequence[_Word]) -> tuple[list[_Difference], list[_Word]]:
    """Return the places where the texts differ, and the content words that they share."""
    matcher = SequenceMatcher(None, [word.form for word in old], [word.form for word in new], autojunk=False)
    places: list[_Difference] = []
    common: list[_Word] = []
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            common += [word for word in new[c:d] if word.is_content]
            continue
        place = _Difference(_content(old[a:b]), _content(new[c:d]), len(common), _form_at(new, c), _at(new, d))
        if place.old or place.new:
            places.append(place)
    return places, common


def _content(part: Sequence[_Word]) -> list[_Word]:
    found = [word for word in part if word.is_content and word.form not in _DROPPED]
    return [word for word in found if word.form not in words.ROLES] or found


def _form_at(part: Sequence[_Word], at: int) -> str:
    """Return the form of the last word before that place that is not one of _RECENT; "" if there is none."""
    before = [word.form for word in part[:at] if word.form not in words.RECENT]
    return before[-1] if before else ""


def _at(part: Sequence[_Word], at: int) -> _Word | None:
    return part[at] if at < len(part) else None


def _sorted_out(
    places: Sequence[_Difference], old: Sequence[_Word], *, has_changed: bool
) -> tuple[list[_Difference] | None, list[_Difference]]:
    """Return the places where a value is replaced, and the places where the newer text adds something. The first is
    None if the newer text lacks something, or adds more than an update would."""
    known = {word.form for word in old}
    values, added = [], []
    for place in places:
        if place.old and place.new:
            values.append(place._replace(new=_undated(place.new) if _undated(place.old) == place.old else place.new))
            continue
        rest = _undated(place.old or place.new)
        if place.new:
            rest = [word for word in rest if word.form not in known]
        if not rest:
            continue
        is_small = len(rest) <= _MAX_ADDED and not place.old
        if not is_small or (place.at == 0 and not has_changed):
            return None, []
        added.append(place._replace(new=rest))
    return values, added


def _undated(side: Sequence[_Word]) -> list[_Word]:
    """Return the words without dates."""
    return [word for word in side if word.form not in words.DATED]


def _without_replaced_value(
    subject: str, common: Sequence[_Word], added: Sequence[_Difference], *, has_changed: bool, is_negated: bool
) -> Difference | None:
    if not added:
        return Difference(subject, "", "") if is_negated and len(common) > 1 else None
    if len(added) == 1 and (is_negated or has_changed):
        return Difference(subject, "", _shown(added[0].new))
    return None


def _is_negated(text: Sequence[_Word], other: Sequence[_Word]) -> bool:
    """Return whether the text has a negating word that the other one lacks."""
    theirs = {word.form for word in other}
    return any(_negates(word.surface) and word.form not in theirs for word in text)


def _negates(word: str) -> bool:
    return words.form(word) in _NEGATING or word.lower().endswith(("n't", "n’t"))


def _mentions(value: Collection[_Word], new: Sequence[_Word]) -> bool:
    """Return whether the newer text names the older value (`instead of 20`)."""
    theirs = {word.form for word in new}
    return all(word.form in theirs for word in value)


def _is_value(place: _Difference, common: Sequence[_Word], *, has_role: bool, mentions_old: bool) -> bool:
    old, new = place.old, place.new
    if place.at == 0:  # the subjects differ, unless the value is the person in a role
        return mentions_old or (has_role and _are_names(old) and _are_names(new))
    if place.after is not None and place.after.form in words.LIGHT and not _is_version(place):
        return False  # words before the verb belong to the subject
    if _is_numeric(place):
        return _is_another_number(place)
    if place.before in words.PURPOSE or _at_last(common, place.at) in words.IN_CHARGE:
        return False
    return len(old) == len(new) == 1 or (_are_names(old) and _are_names(new))


def _at_last(common: Sequence[_Word], at: int) -> str:
    """Return the form of the common content word before a place."""
    return common[at - 1].form if at else ""


def _is_numeric(place: _Difference) -> bool:
    return any(word.is_number for word in [*place.old, *place.new])


def _is_version(place: _Difference) -> bool:
    """Return whether the values are numbers with letters or points, such as versions, which count nothing."""
    return all(word.is_number and not word.surface.isdecimal() for word in [*place.old, *place.new])


def _is_another_number(place: _Difference) -> bool:
    if len(_numbers(place.old)) != 1 or len(_numbers(place.new)) != 1:
        return False
    old, new = ([word for word in side if not word.is_number] for side in (place.old, place.new))
    return (not old and len(new) <= 1) or {word.form for word in old} == {word.form for word in new}


def _numbers(side: Sequence[_Word]) -> list[_Word]:
    return [word for word in side if word.is_number]


def _are_names(side: Sequence[_Word]) -> bool:
    return 0 < len(side) <= _MAX_NAME_WORDS and all(word.is_name for word in side)


def _shown(side: Sequence[_Word]) -> str:
    return " ".join(word.surface for word in side)
