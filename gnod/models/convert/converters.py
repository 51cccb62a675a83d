"""The converters to GGUF. A new one is a module with these two functions, and an entry here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from gnod.models.convert import bert, e5


class Converter(Protocol):
    def accepts(self, model: Path) -> bool:
        """Tell whether a file or folder has this form, by its name or its first bytes."""

    def convert(self, model: Path, target: Path) -> None:
        """Write the model to `target` as GGUF. Raises ModelCorrupt."""


CONVERTERS: Sequence[Converter] = (bert, e5)
