"""An upper estimate of the tokens of a text, for any model. Pure."""

from __future__ import annotations


def estimated_tokens(text: str) -> int:
    """Return an upper estimate of the tokens of `text`."""
    plain = len(text.encode("ascii", "ignore"))
    latin = sum(1 for character in text if "\x7f" < character < "\u0250") if plain < len(text) else 0
    return int(plain / 3 + latin + (len(text) - plain - latin) * 1.5) + 1
