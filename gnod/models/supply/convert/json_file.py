"""Read a JSON file of a downloaded model."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from gnod.errors import ModelCorrupt

_T = TypeVar("_T")


def read_json(path: Path, shape: type[_T]) -> _T:
    """Return the validated content. Raises ModelCorrupt, including for a missing file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except OSError as error:
        raise ModelCorrupt(f"{path.name} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelCorrupt(f"{path.name} is damaged: {error}") from None
