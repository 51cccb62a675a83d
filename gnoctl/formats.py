"""The choice between output formats, as options that exclude each other."""

from __future__ import annotations

from typing import Annotated, Literal

from gnoctl.options import JsonOptions, option
from gnod.errors import UsageError

Format = Literal["people", "json", "files", "csv", "md", "xml"]


class FormatOptions(JsonOptions, frozen=True, kw_only=True):
    files: Annotated[bool, option("--files", help="Print lines: #docid,score,gno://collection/path")] = False
    csv: Annotated[bool, option("--csv", help="Print CSV with a header line (RFC 4180).")] = False
    md: Annotated[bool, option("--md", help="Print a Markdown list.")] = False
    xml: Annotated[bool, option("--xml", help="Print XML.")] = False

    @property
    def output(self) -> Format:
        """Raises UsageError when more than one is asked for."""
        wanted: dict[Format, bool] = {
            "json": self.json,
            "files": self.files,
            "csv": self.csv,
            "md": self.md,
            "xml": self.xml,
        }
        chosen = [name for name, is_wanted in wanted.items() if is_wanted]
        if len(chosen) > 1:
            raise UsageError(f"{' and '.join(f'--{name}' for name in chosen)} exclude each other: choose one")
        return chosen[0] if chosen else "people"
