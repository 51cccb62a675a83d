"""Options that several commands share: the filters of searches, named like the wire's parameters, and formats."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from gnoctl.arguments.options import argument, declared, option
from gnoctl.arguments.plain_search_options import COLLECTIONS, FILTERS, split_commas
from gnoctl.command import JsonOptions
from gnoctl.printing.output import print_json
from gnod.errors import UsageError

if TYPE_CHECKING:
    from gnod.protocol.documents import DocumentEntry
    from gnod.protocol.search import Hit

Collections = Annotated[list[str], declared(COLLECTIONS)]


def _filter(flag: str, metavar: str, help: str) -> object:
    return option(flag, help, metavar, group=FILTERS)


class DocumentFilterOptions(JsonOptions, frozen=True, kw_only=True):
    collections: Collections = []
    tags_all: Annotated[list[str], _filter("--tag", "TAG", "Only documents with all these tags")] = []
    tags_any: Annotated[list[str], _filter("--any-tag", "TAG", "Only documents with one of these tags")] = []
    languages: Annotated[list[str], _filter("--lang", "CODE", "Only documents in these languages: en, de, …")] = []
    types: Annotated[list[str], _filter("--type", "TYPE", "Only documents with this `type` in the frontmatter")] = []
    author: Annotated[str | None, _filter("--author", "TEXT", "Only documents whose author contains this text")] = None
    path_prefix: Annotated[
        str | None, _filter("--path", "PREFIX", "Only paths in the collection that begin with this")
    ] = None
    since: Annotated[
        str | None, _filter("--since", "DATE", "Only documents modified since: 2026-11-21, or an age such as 7d")
    ] = None
    until: Annotated[str | None, _filter("--until", "DATE", "Only documents modified until this date")] = None


class NameOptions(JsonOptions, frozen=True, kw_only=True):
    name: Annotated[str, argument("NAME", "The collection", complete="collections")]


class FilterOptions(DocumentFilterOptions, frozen=True, kw_only=True):
    fresh: Annotated[bool, option("--fresh", "Compare with the disk first, and index what changed")] = False
    explain: Annotated[bool, option("--explain", "Show how the results and scores came about")] = False


def filter_values(options: DocumentFilterOptions) -> dict[str, object]:
    kind = FilterOptions if isinstance(options, FilterOptions) else DocumentFilterOptions
    names = (name for name in kind.__struct_fields__ if name not in JsonOptions.__struct_fields__)
    values = {name: getattr(options, name) for name in names}
    return {name: split_commas(value) if isinstance(value, list) else value for name, value in values.items()}


Format = Literal["people", "json", "files", "csv", "md", "xml", "paths", "paths0"]

# A struct has one base, so commands with filters list these fields again.
Files = Annotated[bool, option("--files", "Print lines: #docid,score,gno://collection/path", group="Output")]
Csv = Annotated[bool, option("--csv", "Print CSV with a header line (RFC 4180)", group="Output")]
Markdown = Annotated[bool, option("--md", "Print a Markdown list", group="Output")]
Xml = Annotated[bool, option("--xml", "Print XML", group="Output")]

Paths = Annotated[bool, option("--paths", "Print the absolute path of each file, one per line", group="Output")]
Paths0 = Annotated[
    bool, option("-0, --paths0", "Like --paths, with a null character after each path, for xargs -0", group="Output")
]

_PROGRAM_FORMATS: tuple[Format, ...] = ("json", "files", "csv", "md", "xml", "paths", "paths0")


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
    chosen = [name for name in _PROGRAM_FORMATS if getattr(options, name, False)]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(f'--{name}' for name in chosen)} cannot be used together: choose one")
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
    elif format == "paths" or format == "paths0":
        from gnoctl.printing.records import write_paths

        write_paths((document.source for document in documents), has_nulls=format == "paths0")
    else:
        from gnoctl.printing.records import record_of, write_records

        write_records(format, map(record_of, documents))
