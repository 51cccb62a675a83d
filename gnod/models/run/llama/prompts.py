"""From a query and a document to the tokens that a reranker reads. Uses vocabularies, but computes nothing.

Cross-encoders were trained on two texts between special tokens, language models on a prompt. In both, a text never
becomes a special token, and a text that is too long is cut at its end, so that the prompt stays complete.
"""

from __future__ import annotations

from typing import Protocol

from gnod.errors import ModelRejected
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.tokenization import MarkedText, Tokenization

# The template of Qwen3-Reranker (https://huggingface.co/Qwen/Qwen3-Reranker-0.6B), as llama.cpp's converter writes it
# into a file.
QWEN3_TEMPLATE = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n"
    "<Query>: {query}\n<Document>: {document}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n"
)
_QUERY, _DOCUMENT = "{query}", "{document}"


class Prompts(Protocol):
    """The model reads the tokens of `opening`, then those of `rest`; together they fit the window."""

    def opening(self, query: str) -> list[int]:
        """Return the tokens that all documents of a query share."""

    def rest(self, document: str, room: int) -> list[int]:
        """Return the document and the end of the prompt, in at most `room` tokens."""


class CrossEncoderPrompts:
    """`[CLS] query [SEP] document [SEP]`, or with two separators between (`<s> query </s></s> document </s>`)."""

    def __init__(self, tokenization: Tokenization, *, window: int) -> None:
        self._tokenization = tokenization
        self._specials = specials = tokenization.specials
        if not specials.between or not specials.ending:
            raise ModelRejected("the model's vocabulary has no token that separates two texts")
        self._most = _half(window - len(specials.prefix) - len(specials.between) - len(specials.ending))

    def opening(self, query: str) -> list[int]:
        tokens = self._tokenization.tokens(query)[: self._most]
        return [*self._specials.prefix, *tokens, *self._specials.between]

    def rest(self, document: str, room: int) -> list[int]:
        ending, second = self._specials.ending, self._specials.second
        tokens = self._tokenization.tokens(document)[: room - len(ending)]
        return [*(token + second for token in tokens), *ending]


class TemplatePrompts:
    """A template with `{query}` and, after it, `{document}`."""

    def __init__(self, model: llama_cpp.llama_model_p, template: str, *, window: int) -> None:
        before, separator, after = template.partition(_DOCUMENT)
        if not separator or before.count(_QUERY) != 1 or _QUERY in after or _DOCUMENT in after:
            raise ModelRejected("gnod cannot use the model's prompt for reranking")
        self._text = MarkedText(model)
        # A space is a part of the tokens of the next word, which is the document's.
        self._space = " " if before.endswith(" ") else ""
        self._before = before.removesuffix(" ")
        self._closing = self._text.tokens(after, {})
        opening = self._text.tokens(self._before, {_QUERY: ""})
        self._most = _half(window - len(opening) - len(self._closing))

    def opening(self, query: str) -> list[int]:
        return self._text.tokens(self._before, {_QUERY: self._shortened(query)})

    def rest(self, document: str, room: int) -> list[int]:
        tokens = self._text.plain(self._space + document)
        return [*tokens[: room - len(self._closing)], *self._closing]

    def word(self, text: str) -> int:
        """Return the single token of an answer. Raises ModelRejected."""
        tokens = self._text.plain(text)
        if len(tokens) != 1:
            raise ModelRejected(f"the model's vocabulary has no token for the answer {text!r}")
        return tokens[0]

    def _shortened(self, query: str) -> str:
        # Shorten the text, not its tokens: the last tokens depend on the text that follows.
        while (length := len(self._text.plain(query))) > self._most:
            query = query[: len(query) * self._most // length]
        return query


def _half(room: int) -> int:
    """Return how many tokens a query may have. Raises ModelRejected."""
    if room < 2:
        raise ModelRejected("the model's window has no room for a query and a document")
    return room // 2
