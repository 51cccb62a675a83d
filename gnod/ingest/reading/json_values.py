"""Read values from untrusted JSON. A value counts only if it has the expected type."""

from __future__ import annotations

import json
import re

import msgspec

_SURROGATE = re.compile("[\ud800-\udfff]")


def loads(data: bytes) -> object:
    """Return the value of a JSON text; lone surrogates are replaced. Raises ValueError."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = json.loads(data.decode("utf-8", "replace"))
        return json.loads(_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def mapping(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def string(value: object) -> str:
    return value if isinstance(value, str) else ""
