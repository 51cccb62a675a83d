"""What a reader is given and what it gives back."""

from __future__ import annotations

from pathlib import PurePosixPath

import msgspec


class Converted(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a file as Markdown.

    `converter` is its name and version (`markdown/1`, `markitdown/0.1.8`): documents are converted anew when
    it changes. `title` is one that the format itself carries, never a guess. `metadata` may have `author`
    (str) and `date` (ISO 8601 str).
    """

    markdown: str
    mime: str
    converter: str
    title: str | None = None
    metadata: dict[str, object] = {}


class ConversionFailed(Exception):
    """A file that gives no text. `kind` is one of `gnod.ingest.jobs.Failure`'s; `message` is one sentence for
    the person whose file it is."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


UNPACKED_BYTES = 500_000_000
UNPACKED_MEMBERS = 2000


class Allowance:
    """What may still be unpacked for the sake of one file, however archives are nested in it."""

    def __init__(self) -> None:
        self.unpacked_bytes = UNPACKED_BYTES
        self.members = UNPACKED_MEMBERS


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A file's content on its way to a reader. `depth` counts the archives around it, which share the allowance."""

    data: bytes
    name: str
    max_characters: int
    depth: int = 0
    allowance: Allowance = msgspec.field(default_factory=Allowance)

    @property
    def extension(self) -> str:
        """The last suffix in lower case without its dot; empty where there is none."""
        return PurePosixPath(self.name).suffix.lower().removeprefix(".")

    @property
    def label(self) -> str:
        """How messages call this sort of file."""
        return f".{self.extension} file" if self.extension else "file without an extension"


def too_long(max_characters: int) -> ConversionFailed:
    return ConversionFailed("too_long", f"The text is longer than {max_characters:,} characters.")
