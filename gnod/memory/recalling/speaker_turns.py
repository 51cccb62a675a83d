"""Turns of conversations: memories that begin with who says them, as in `Ada: …` or `Ada (8 May 2023): …`. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

_LABEL = re.compile(r"([^\W\d_][\w .'’-]{0,39}?)(?: ?\(([^()\n]{1,40})\))?: ")


class SpeakerTurn(NamedTuple):
    """`about`: what stands in brackets after the speaker, mostly the time of the conversation; may be empty."""

    speaker: str
    about: str


def turn(text: str) -> SpeakerTurn | None:
    """Return the speaker of a text; None: it names none.

    >>> turn("Ada (1:56 pm on 8 May, 2023): Yes, in May!")
    SpeakerTurn(speaker='Ada', about='1:56 pm on 8 May, 2023')
    >>> turn("See https://example.org for that") is None
    True
    """
    match = _LABEL.match(text)
    return SpeakerTurn(match[1].strip(), match[2] or "") if match else None
