"""Turns a conversation into tokens, with the chat template that the model was trained on.

Only the template's own markup becomes special tokens. The content of messages always stays text, so a document cannot
end its message and start another one.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gnod.models.run.llama import library
from gnod.models.run.llama.library import llama_cpp
from gnod.models.run.llama.tokenization import MarkedText

if TYPE_CHECKING:
    from llama_cpp.llama_chat_format import Jinja2ChatFormatter

# Each message is a role and a content.
Messages = Sequence[tuple[str, str]]

_OPEN_THOUGHT = "<think>"
_CLOSED_THOUGHT = "\n</think>\n\n"


class Chat:
    """The chat format of one model.

    `template`: Jinja, from the model's file. Without a template, each message becomes `role: content`.
    """

    def __init__(self, model: llama_cpp.llama_model_p, template: bytes | None) -> None:
        self._vocabulary = llama_cpp.llama_model_get_vocab(model)
        self._text = MarkedText(model)
        self._template = self._compile(template) if template else None

    def tokens(self, messages: Messages) -> list[int]:
        """Return the prompt, up to the beginning of the assistant's message."""
        marks: dict[str, str] = {}
        prompt = self._apply_template(messages, marks) or self._apply_template(_without_system(messages), marks)
        prompt = prompt or _plain(messages, marks)
        if prompt.rstrip().endswith(_OPEN_THOUGHT):  # this model always thinks: start with the answer
            prompt = prompt.rstrip() + _CLOSED_THOUGHT
        tokens = self._text.tokens(prompt, marks)
        first = llama_cpp.llama_vocab_bos(self._vocabulary)
        if llama_cpp.llama_vocab_get_add_bos(self._vocabulary) and tokens[:1] != [first]:
            tokens.insert(0, first)
        return tokens

    def _apply_template(self, messages: Messages, marks: dict[str, str]) -> str | None:
        """Return the filled template; None when it does not support such a conversation."""
        if self._template is None:
            return None
        marked = [{"role": role, "content": _marked(content, marks)} for role, content in messages]
        try:
            prompt = self._template(messages=marked, enable_thinking=False).prompt  # type: ignore[arg-type]
        except Exception:  # a template is foreign code and may raise anything
            return None
        # Some templates silently omit roles that they do not support.
        return prompt if all(message["content"] in prompt for message in marked) else None

    def _compile(self, template: bytes) -> Jinja2ChatFormatter | None:
        first = self._special(llama_cpp.llama_vocab_bos(self._vocabulary))
        last = self._special(llama_cpp.llama_vocab_eos(self._vocabulary))
        # Import jinja2 only for a conversation: it takes longer than all other imports together.
        from jinja2 import TemplateError
        from llama_cpp.llama_chat_format import Jinja2ChatFormatter

        library.catch_log()
        try:
            return Jinja2ChatFormatter(template.decode("utf-8", "replace"), eos_token=last, bos_token=first)
        except TemplateError:
            return None

    def _special(self, token: int) -> str:
        """Return the text of a special token; "" if the model does not have it."""
        return llama_cpp.llama_vocab_get_text(self._vocabulary, token).decode("utf-8", "replace") if token >= 0 else ""


def _without_system(messages: Messages) -> list[tuple[str, str]]:
    """Put the system messages before the first user message, because some models have no system role."""
    system = [content for role, content in messages if role == "system"]
    others = [message for message in messages if message[0] != "system"]
    for number, (role, content) in enumerate(others):
        if role == "user":
            others[number] = (role, "\n\n".join([*system, content]))
            break
    return others


def _marked(text: str, marks: dict[str, str]) -> str:
    """Return a unique placeholder for a text in a template, and record the text in `marks`."""
    mark = f"{secrets.token_hex(8)}-"
    marks[mark] = text
    return mark


def _plain(messages: Messages, marks: dict[str, str]) -> str:
    return "".join(f"{role}: {_marked(content, marks)}\n\n" for role, content in messages) + "assistant:"
