"""A conversation as tokens, in the form that the model was trained on.

Only the form's own markup may become special tokens. What people and documents say stays text, whatever it looks like:
no document can end the message that it stands in and begin another.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import llama_cpp
from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from gnod.models.llama.tokenization import MarkedText

# A role and a content.
Messages = Sequence[tuple[str, str]]

_OPEN_THOUGHT = "<think>"
_CLOSED_THOUGHT = "\n</think>\n\n"


class Chat:
    """`template`: the form in the model's file (Jinja). A model without one reads `role: content`."""

    def __init__(self, vocabulary: llama_cpp.llama_vocab_p, template: bytes | None) -> None:
        self._vocabulary = vocabulary
        self._text = MarkedText(vocabulary)
        self._form = self._make_form(template) if template else None

    def tokens(self, messages: Messages) -> list[int]:
        """Return the prompt after which the assistant speaks."""
        places = _Places()
        prompt = self._dressed(messages, places) or self._dressed(_without_system(messages), places)
        prompt = prompt or _plain(messages, places)
        if prompt.rstrip().endswith(_OPEN_THOUGHT):  # models that always think begin with the answer
            prompt = prompt.rstrip() + _CLOSED_THOUGHT
        tokens = self._text.tokens(prompt, places.texts)
        first = llama_cpp.llama_vocab_bos(self._vocabulary)
        if llama_cpp.llama_vocab_get_add_bos(self._vocabulary) and tokens[:1] != [first]:
            tokens.insert(0, first)
        return tokens

    def _dressed(self, messages: Messages, places: _Places) -> str | None:
        """Return the messages in the model's form; None when it does not know such a conversation."""
        if self._form is None:
            return None
        marked = [(role, places.mark(content)) for role, content in messages]
        forms = [{"role": role, "content": mark} for role, mark in marked]
        try:
            prompt = self._form(messages=forms, enable_thinking=False).prompt  # type: ignore[arg-type]
        except Exception:  # a form is a program of somebody else's, and may refuse roles in any way
            return None
        return prompt if all(mark in prompt for _, mark in marked) else None  # some leave out what they do not know

    def _make_form(self, template: bytes) -> Jinja2ChatFormatter | None:
        first = self._special(llama_cpp.llama_vocab_bos(self._vocabulary))
        last = self._special(llama_cpp.llama_vocab_eos(self._vocabulary))
        try:
            return Jinja2ChatFormatter(template.decode("utf-8", "replace"), eos_token=last, bos_token=first)
        except TemplateError:
            return None

    def _special(self, token: int) -> str:
        """Return the text of a special token; "" when the model has none such."""
        return llama_cpp.llama_vocab_get_text(self._vocabulary, token).decode("utf-8", "replace") if token >= 0 else ""


class _Places:
    """Marks for texts that go into a form, which nothing else contains."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._secret = secrets.token_hex(8)

    def mark(self, text: str) -> str:
        mark = f"{self._secret}-{len(self.texts)}-"
        self.texts[mark] = text
        return mark


def _without_system(messages: Messages) -> list[tuple[str, str]]:
    """Put what the system says before what the user says first: some models know no system."""
    system = [content for role, content in messages if role == "system"]
    others = [message for message in messages if message[0] != "system"]
    for number, (role, content) in enumerate(others):
        if role == "user":
            others[number] = (role, "\n\n".join([*system, content]))
            break
    return others


def _plain(messages: Messages, places: _Places) -> str:
    return "".join(f"{role}: {places.mark(content)}\n\n" for role, content in messages) + "assistant:"
