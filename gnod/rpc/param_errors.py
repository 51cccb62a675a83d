"""Messages about invalid parameters, from msgspec's errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

import msgspec

from gnod.errors import InvalidParams
from gnod.protocol.base import Params

_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<where>.*)`)?\Z", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`\Z", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`\Z")

_SHOWN_CHARS = 60


def explain(error: msgspec.ValidationError, params: type[Params]) -> InvalidParams:
    """Return the client's error for a failed decoding of `params`."""
    message = _MESSAGE.match(str(error))
    what, where = (message["what"], message["where"]) if message else (str(error), None)
    if unknown := _UNKNOWN.match(what):
        return _unknown(unknown["name"], params)
    if missing := _MISSING.match(what):
        return InvalidParams(f"parameter '{missing['name']}' is missing", {"parameter": missing["name"]})
    plain = what[:1].lower() + what[1:].replace("`", "")
    if not where:
        return InvalidParams(f"params: {plain}")
    return InvalidParams(f"parameter '{where}': {plain}", {"parameter": where})


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the entry of `known` that is most similar to `name`, if any is."""
    # Cut, because the comparison is quadratic and the name is the client's.
    return next(iter(difflib.get_close_matches(name[:_SHOWN_CHARS], list(known), n=1)), None)


def shorten(name: str) -> str:
    """Return `name` in quotes, shortened for a message."""
    return repr(name if len(name) <= _SHOWN_CHARS else name[:_SHOWN_CHARS] + "…")


def _unknown(name: str, params: type[Params]) -> InvalidParams:
    known = params.__struct_fields__
    message = f"there is no parameter {shorten(name)}"
    if close := nearest(name, known):
        return InvalidParams(f"{message}; did you mean '{close}'?", {"did_you_mean": close})
    return InvalidParams(f"{message}; known are {', '.join(known)}", {"known": list(known)})
