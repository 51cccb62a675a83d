"""From a query and a document to the prompt of a language model that reranks. Computes nothing.

A text never becomes a special token, and one that is too long is cut at its end, so that the prompt stays complete.
"""

from __future__ import annotations

from gnod.errors import ModelRejected
from gnod.models.run.llama.bindings import llama_cpp
from gnod.models.run.llama.tokenization import MarkedText
from gnod.models.run.ranking import half

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
        self._most = half(window - len(opening) - len(self._closing))

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
