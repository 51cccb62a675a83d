"""What each tool takes. The structs are the validation, and their notes are what the agent's model reads.

Knows no MCP: a tool's name, a mapping, a struct.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gnod.errors import InvalidParams

MAX_LINES = 400

_SHOWN_CHARS = 60


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all arguments."""


A = TypeVar("A", bound=Arguments)


class NarrowedArguments(Arguments, frozen=True, kw_only=True):
    """What every search takes beside what it looks for."""

    limit: Annotated[int, Meta(ge=1, le=50, description="How many documents to return.")] = 10
    collections: Annotated[list[str], Meta(description="Only these collections (`status` names them).")] = []
    tags_all: Annotated[list[str], Meta(description="Only documents that have all these tags.")] = []
    tags_any: Annotated[list[str], Meta(description="Only documents that have one of these tags.")] = []
    languages: Annotated[list[str], Meta(description="Only these languages, as codes: en, de, ja.")] = []
    types: Annotated[list[str], Meta(description="Only these types, as the frontmatter's `type` has them.")] = []
    path_prefix: Annotated[str, Meta(description="Only paths in the collection that begin so.")] | UnsetType = UNSET
    author: Annotated[str, Meta(description="Only where the frontmatter's author holds this.")] | UnsetType = UNSET
    since: Annotated[str, Meta(description="Modified since: a date (2026-11-21) or an age (7d, 12h).")] | UnsetType = (
        UNSET
    )
    until: Annotated[str, Meta(description="Modified until: a date or an age.")] | UnsetType = UNSET
    fresh: Annotated[bool, Meta(description="Take in what has just changed on the disk first. Slower.")] = False


class SearchArguments(NarrowedArguments, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(max_length=4096, description='Words or a question. "a phrase" must occur, -word must not.'),
    ]
    mode: Annotated[
        Literal["hybrid", "lexical", "vector"],
        Meta(description="hybrid: by words and by meaning. lexical: by words alone, fastest. vector: by meaning."),
    ] = "hybrid"


class SimilarArguments(NarrowedArguments, frozen=True, kw_only=True):
    ref: Annotated[str, Meta(min_length=1, max_length=8192, description="The document, as in `get`.")]


class AskArguments(NarrowedArguments, frozen=True, kw_only=True):
    question: Annotated[str, Meta(max_length=4096, description="A question in whole words.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="How many documents to look into.")] = 6


class GetArguments(Arguments, frozen=True, kw_only=True):
    ref: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=8192,
            description="gno://collection/path as found by a search, #docid, collection/path, or a path on disk.",
        ),
    ]
    start_line: Annotated[int, Meta(ge=1, description="The first line to return.")] = 1
    max_lines: Annotated[int, Meta(ge=1, le=5000, description="How many lines at most.")] = MAX_LINES


class StatusArguments(Arguments, frozen=True, kw_only=True):
    errors: Annotated[bool, Meta(description="Also list the files that could not be read.")] = False


class MemoryStoreArguments(Arguments, frozen=True, kw_only=True):
    text: Annotated[
        str,
        Meta(max_length=65_536, description="One fact, preference, decision, …, so that it is understood by itself."),
    ]
    type: Annotated[
        str, Meta(description="fact, preference, summary, result, decision, task; with _done when it is finished.")
    ] = "fact"
    topics: Annotated[list[str], Meta(description="A few names to find it by: project, tool, person, subject.")] = []
    namespace: Annotated[str, Meta(description="Leave it out, unless the user wants it shared under a name.")] = (
        "personal"
    )


class MemorySearchArguments(Arguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=4096, description="A question, or keywords.")]
    namespaces: Annotated[list[str], Meta(description="Only these; all when empty.")] = []
    limit: Annotated[int, Meta(ge=1, le=32, description="How many to return.")] = 10


class MemoryDeepSearchArguments(MemorySearchArguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=4096, description="Two keywords or more.")]
    limit: Annotated[int, Meta(ge=1, le=100, description="How many to return.")] = 32


class MemoryIdsArguments(Arguments, frozen=True, kw_only=True):
    ids: Annotated[list[str], Meta(min_length=1, max_length=32, description="Ids, as a search returned them.")]


def read(tool: str, given: Mapping[str, Any], arguments: type[A]) -> A:
    """Return `given` as the struct. Raises InvalidParams in words that help to call it right."""
    known = arguments.__struct_fields__
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name[:_SHOWN_CHARS], known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"it takes {', '.join(known)}"
            raise InvalidParams(f"{tool} has no parameter '{name[:_SHOWN_CHARS]}'; {hint}")
    # Some agents give null for what they leave out.
    plain = {name: value for name, value in given.items() if value is not None}
    try:
        return msgspec.convert(plain, arguments)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"{tool}: {_sentence(str(error))}") from None


def object_schema(struct: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct with the object itself at the root, as MCP wants it."""
    (_,), found = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    root: dict[str, Any] = found.pop(struct.__name__)
    for schema in (root, *found.values()):
        del schema["title"]
    required = root.get("required", [])
    root["properties"] = dict(sorted(root["properties"].items(), key=lambda each: each[0] not in required))
    return {**root, "$defs": found} if found else root


def _sentence(message: str) -> str:
    """Turn msgspec's "Expected `int` >= 1 - at `$.limit`" into "parameter 'limit': expected int >= 1"."""
    what, _, where = message.partition(" - at `$.")
    plain = what[:1].lower() + what[1:].replace("`", "")
    if missing := re.match(r"object missing required field (\w+)", plain):
        return f"parameter '{missing[1]}' is missing"
    return f"parameter '{where.rstrip('`')}': {plain}" if where else plain
