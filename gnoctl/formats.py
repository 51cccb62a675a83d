"""The output formats of commands that list documents, as options that exclude each other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gnoctl.command import JsonOptions
from gnoctl.options import option
from gnoctl.output import print_json
from gnod.errors import UsageError

if TYPE_CHECKING:
    from gnod.protocol.documents import DocumentEntry
    from gnod.protocol.search import Hit

Format = Literal["people", "json", "files", "csv", "md", "xml"]

# A struct has one base, so commands with filters list these fields again.
Files = Annotated[bool, option("--files", group="Output", help="Print lines: #docid,score,gno://collection/path")]
Csv = Annotated[bool, option("--csv", group="Output", help="Print CSV with a header line (RFC 4180)")]
Markdown = Annotated[bool, option("--md", group="Output", help="Print a Markdown list")]
Xml = Annotated[bool, option("--xml", group="Output", help="Print XML")]

_PROGRAM_FORMATS: tuple[Format, ...] = ("json", "files", "csv", "md", "xml")


class FormatOptions(JsonOptions, frozen=True, kw_only=True):
    files: Files = False
    csv: Csv = False
    md: Markdown = False
    xml: Xml = False

    @property
    def format(self) -> Format:
        return chosen_format(self)


def chosen_format(options: Any) -> Format:
    """Return the format that the options ask for. Raises UsageError if they ask for several."""
    chosen = [name for name in _PROGRAM_FORMATS if getattr(options, name)]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(f'--{name}' for name in chosen)} exclude each other: choose one")
    return chosen[0] if chosen else "people"


def print_documents(
    format: Format, result: object, documents: Iterable[Hit | DocumentEntry], lines: Iterable[str]
) -> None:
    """Print `lines` for people; for programs the whole `result` as JSON, or `documents` in another format."""
    if format == "people":
        for line in lines:
            print(line)
    elif format == "json":
        print_json(result)
    else:
        from gnoctl.records import record_of, write_records

        write_records(format, map(record_of, documents))
