"""Extract the words of a Markdown text without code and markup, and check whether they are English. Pure."""

from __future__ import annotations

import re

from gnod.analysis import alphabets
from gnod.analysis.alphabets import candidates
from gnod.analysis.stopwords import ENGLISH_FUNCTION_WORDS

# Longer samples are slower and not more accurate: with 1,500 characters, lingua took 40 % of the indexing time.
SAMPLE_CHARACTERS = 500
# Common words make up at least this share of English, in a sample of at least this many words.
_ENGLISH_SHARE = 0.15
_ENGLISH_LENGTH = 10
# With at least this share in at least this many words, a text is certainly English, even if it has markup and code.
_PLAINLY_ENGLISH_SHARE = 0.2
_PLAINLY_ENGLISH_LENGTH = 30
# Many languages have function words of one letter.
ENGLISH_WORDS = frozenset(word for word in ENGLISH_FUNCTION_WORDS if len(word) > 1) | {
    *("as", "at", "by", "for", "from", "if", "into", "not", "on", "with")
}
# Words that no other language in Latin letters uses. A text of one or two lines has at most this many words.
_ENGLISH_ONLY = frozenset(
    {
        *("could", "does", "from", "how", "should", "that", "the", "their", "these", "they", "this", "those", "what"),
        *("when", "where", "which", "who", "why", "with", "would", "you", "your"),
    }
)
_ENGLISH_LINE = 30
# English prose has more of these words. Half of them are "the".
_CERTAIN_SHARE = 0.05
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
# A word also begins after an underscore, which may have been read as markup.
_IDENTIFIER = r"(?<![^\W_])(?:\w[^\W_]*+_\w|\w++[/.@]\w)\S*"
_NOT_PROSE = re.compile(rf"https?://\S+|`[^`\n]*`|<[^>\n]*>|{_IDENTIFIER}|[#*|=\-_>\[\](){{}}]+|\d+")


def is_english(sample: str) -> bool:
    """Recognise English without lingua, which takes a millisecond per document. Common words are a quarter of English
    prose and at least a sixth in two thirds of technical notes, but hardly a tenth in other languages."""
    words = sample.lower().split()
    count = sum(map(ENGLISH_WORDS.__contains__, words))
    certain = sum(map(_ENGLISH_ONLY.__contains__, words))
    is_likely = len(words) >= _ENGLISH_LENGTH and count > _ENGLISH_SHARE * len(words)
    # Names may have letters that English does not have.
    if is_likely and (
        certain > _CERTAIN_SHARE * len(words) or not alphabets.has_other_letters(sample) or "en" in candidates(sample)
    ):
        return True
    if len(words) >= _ENGLISH_LINE:
        return False
    # lingua takes a note of one line for Dutch or German.
    return certain > 1 or (certain == 1 and sample.isascii())


def is_plainly_english(text: str) -> bool:
    """Recognise most English texts by their raw beginning, without extracting a sample of prose."""
    beginning = text[:SAMPLE_CHARACTERS]
    words = beginning.lower().split()
    count = sum(map(ENGLISH_WORDS.__contains__, words))
    is_likely = len(words) >= _PLAINLY_ENGLISH_LENGTH and count > _PLAINLY_ENGLISH_SHARE * len(words)
    return is_likely and not alphabets.has_other_letters(beginning)


def prose_sample(text: str) -> str:
    """Return the beginning of the text without code, addresses and markup."""
    head = text[: SAMPLE_CHARACTERS * 6]
    return " ".join(_NOT_PROSE.sub(" ", _FENCED.sub(" ", head)).split())[:SAMPLE_CHARACTERS]
