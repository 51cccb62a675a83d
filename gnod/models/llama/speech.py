"""What is shown of what a model says: whole characters, and no thoughts. Pure."""

from __future__ import annotations

import codecs

_OPEN, _CLOSE = "<think>", "</think>"


class Speech:
    """Takes the bytes of token after token: one may be a part of a character. `may_think`: what stands between
    `<think>` and `</think>` at the beginning is left out."""

    def __init__(self, *, may_think: bool) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._is_beginning = may_think
        self._kept_back = ""

    def take(self, piece: bytes) -> str:
        """Return what there is to show after these bytes.

        >>> speech = Speech(may_think=True)
        >>> [speech.take(piece) for piece in (b"<thi", b"nk>Hm.</think>", b" Caf", b"\\xc3", b"\\xa9")]
        ['', '', 'Caf', '', 'é']
        """
        text = self._decoder.decode(piece)
        if not self._is_beginning:
            return text
        self._kept_back += text
        beginning = self._kept_back.lstrip()
        if beginning.startswith(_OPEN):
            beginning = beginning.partition(_CLOSE)[2].lstrip()
            if not beginning:
                return ""
            self._kept_back = beginning
        elif _OPEN.startswith(beginning):
            return ""  # it may become one
        return self._release()

    def rest(self) -> str:
        """Return what was kept back, at the end. Half a character and half a thought stay away."""
        return "" if self._kept_back.lstrip().startswith(_OPEN) else self._release()

    def _release(self) -> str:
        self._is_beginning = False
        text, self._kept_back = self._kept_back, ""
        return text
