"""Makes known-item questions: each is a text of a document that asks for the document without this text. Pure.

A title, a heading, or the first sentence of a paragraph or docstring names the subject of a document in a few words,
like a question. It is removed from the document, so that neither keywords nor vectors can find it word for word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gnod.analysis.markup import without_closing
from gnod.ingest.text import frontmatter

_MIN_WORDS, _MAX_WORDS = 3, 25
_MIN_SENTENCE_WORDS = 5
# A document must keep this many characters without the question.
_MIN_CHARACTERS = 100

_DOCSTRING = re.compile(r'(?:"""|\'\'\'|/\*\*+)\s*(?P<text>\S.*?)(?=\n\s*\n|\n\s*[:@*]|"""|\'\'\'|\*/)', re.DOTALL)
_HEADING = re.compile(r"^#{1,6} +(?P<text>.+)$", re.MULTILINE)
_NO_PROSE = r"[ \t]*(?:[#|>*+=-]|```|~~~|\d+[.)])"
_PARAGRAPH = re.compile(rf"(?:\A|\n[ \t]*\n)(?P<text>(?!{_NO_PROSE})\S.+?)(?=\n[ \t]*\n|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_UNSPACED_CHARACTERS_PER_WORD = 2


class TitleQuestion(NamedTuple):
    """`title` and `markdown`: the document without the text that became the question."""

    kind: str
    text: str
    title: str
    markdown: str


def questions(title: str, markdown: str) -> list[TitleQuestion]:
    """Return the questions of a document, at most one of each kind: docstring, title, heading, sentence."""
    body = frontmatter.parse(markdown).body_start
    found = [*_docstring(title, markdown, body), *_title(title, markdown, body), *_heading(title, markdown, body)]
    found += _sentence(title, markdown, body)
    return [question for question in found if len(question.markdown) - body >= _MIN_CHARACTERS]


def _docstring(title: str, markdown: str, body: int) -> Iterator[TitleQuestion]:
    match = _DOCSTRING.search(markdown, body)
    text = _first_sentence(match["text"]) if match else ""
    if match and _is_question(text, _MIN_WORDS):
        yield TitleQuestion("docstring", text, title, markdown[: match.start("text")] + markdown[match.end("text") :])


def _title(title: str, markdown: str, body: int) -> Iterator[TitleQuestion]:
    if _is_question(title, _MIN_WORDS):
        same = re.compile(r"\W+".join(map(re.escape, _WORD.findall(title))), re.IGNORECASE)
        yield TitleQuestion("title", title, "", markdown[:body] + same.sub(" ", markdown[body:]))


def _heading(title: str, markdown: str, body: int) -> Iterator[TitleQuestion]:
    for match in _HEADING.finditer(markdown, body):
        text = without_closing(match["text"])
        if text != title and _is_question(text, _MIN_WORDS):
            yield TitleQuestion("heading", text, title, markdown[: match.start()] + markdown[match.end() :])
            return


def _sentence(title: str, markdown: str, body: int) -> Iterator[TitleQuestion]:
    for match in _PARAGRAPH.finditer(markdown, body):
        text = _first_sentence(match["text"])
        rest = match["text"][_length(match["text"], text) :]
        if _is_question(text, _MIN_SENTENCE_WORDS) and rest.strip():
            yield TitleQuestion(
                "sentence", text, title, markdown[: match.start("text")] + rest + markdown[match.end("text") :]
            )
            return


def _first_sentence(text: str) -> str:
    return _SENTENCE_END.split(" ".join(text.replace("*", " ").split()), maxsplit=1)[0].rstrip(" .")


def _length(text: str, sentence: str) -> int:
    """Return the index in `text` after the last word of `sentence`, with which it begins."""
    at = 0
    for word in _WORD.findall(sentence):
        at = text.find(word, at) + len(word)
    return at


def _is_question(text: str, least: int) -> bool:
    words = len(_WORD.findall(text)) + len(_UNSPACED.findall(text)) // _UNSPACED_CHARACTERS_PER_WORD
    return least <= words <= _MAX_WORDS
