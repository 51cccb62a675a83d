"""The arguments of the tools. The structs validate, and the agent's model reads their descriptions. Must not depend on
MCP."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gnod.errors import InvalidParams
from gnod.memory_types import MEMORY_TYPES

MAX_LINES = 400

_SHOWN_CHARS = 60


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all arguments."""


A = TypeVar("A", bound=Arguments)


class FilterArguments(Arguments, frozen=True, kw_only=True):
    """The filters of every search."""

    limit: Annotated[int, Meta(ge=1, le=50, description="At most this many documents.")] = 10
    collections: Annotated[list[str], Meta(description="Only these collections (`status` names them).")] = []
    tags_all: Annotated[list[str], Meta(description="Only with all these tags.")] = []
    tags_any: Annotated[list[str], Meta(description="Only with one of these tags.")] = []
    languages: Annotated[list[str], Meta(description="Only in these languages: en, de.")] = []
    types: Annotated[list[str], Meta(description="Only with this `type` in the frontmatter.")] = []
    path_prefix: Annotated[str, Meta(description="Only paths that begin so.")] | UnsetType = UNSET
    author: Annotated[str, Meta(description="Only authors that contain this.")] | UnsetType = UNSET
    since: Annotated[str, Meta(description="Modified since: a date (2026-11-21) or an age (7d, 12h).")] | UnsetType = (
        UNSET
    )
    until: Annotated[str, Meta(description="Modified until: a date or an age.")] | UnsetType = UNSET
    fresh: Annotated[bool, Meta(description="Index recent changes on disk first. Slower.")] = False


class SearchArguments(FilterArguments, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(max_length=4096, description='Words or a question. "a phrase" must occur, -word must not.'),
    ]
    mode: Annotated[
        Literal["hybrid", "keyword", "vector"],
        Meta(description="keyword: by words, fastest. vector: by meaning. hybrid: both."),
    ] = "hybrid"
    passages: Annotated[int, Meta(ge=1, le=10, description="Passages of each document, at most.")] = 1
    loose: Annotated[bool, Meta(description="Also only loosely similar documents.")] = False


class SimilarArguments(FilterArguments, frozen=True, kw_only=True):
    ref: Annotated[str, Meta(min_length=1, max_length=8192, description="The document, as in `get`.")]


class LinksArguments(Arguments, frozen=True, kw_only=True):
    what: Annotated[
        Literal["links", "backlinks", "mentions", "graph", "orphans", "unresolved"],
        Meta(
            description="links: in `ref`; backlinks: to it; mentions: it is named without a link; graph: around it. "
            "In `scope`: orphans have no backlinks; unresolved links lead nowhere."
        ),
    ]
    ref: Annotated[str, Meta(description="The document, as in `get`.")] | UnsetType = UNSET
    scope: Annotated[str, Meta(description="A collection, or collection/folder.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=200, description="At most this many.")] = 30
    offset: Annotated[int, Meta(ge=0, description="Skip this many.")] = 0


class AskArguments(FilterArguments, frozen=True, kw_only=True):
    question: Annotated[str, Meta(max_length=4096, description="A question.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="Read at most this many documents.")] = 6
    generate: Annotated[bool, Meta(description="false: quotes only. true: call even a small model.")] | UnsetType = (
        UNSET
    )


class EvidenceArguments(FilterArguments, frozen=True, kw_only=True):
    question: Annotated[str, Meta(max_length=4096, description="A question.")]
    tokens: Annotated[int, Meta(ge=1, le=20_000, description="Return at most this many tokens.")] = 1500
    limit: Annotated[int, Meta(ge=1, le=50, description="Look in at most this many documents.")] = 20


class GetArguments(Arguments, frozen=True, kw_only=True):
    ref: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=8192,
            description="gno://collection/path from a search, #docid, collection/path or a path on disk; "
            "then #page=12 or #heading.",
        ),
    ]
    start_line: Annotated[int, Meta(ge=1, description="The first line to return.")] = 1
    max_lines: Annotated[int, Meta(ge=1, le=5000, description="Return at most this many lines.")] = MAX_LINES


class MultiGetArguments(Arguments, frozen=True, kw_only=True):
    refs: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=8192)]],
        Meta(min_length=1, max_length=1000, description="As in `get`, and globs over collection/path: notes/**/*.md."),
    ]
    max_bytes: Annotated[int, Meta(ge=1, description="Leave out longer documents.")] = 10_240
    limit: Annotated[int, Meta(ge=1, le=1000, description="At most this many documents.")] = 100


class StatusArguments(Arguments, frozen=True, kw_only=True):
    errors: Annotated[bool, Meta(description="Also list the files that could not be read.")] = False


_TYPES = ", ".join(known.name for known in MEMORY_TYPES)


class MemoryStoreArguments(Arguments, frozen=True, kw_only=True):
    text: Annotated[
        str,
        Meta(
            max_length=65_536,
            description="One fact, preference, decision, …, in a sentence that can be understood on its own.",
        ),
    ]
    type: Annotated[str, Meta(description=f"{_TYPES}; with _done at its end if it is finished.")] = "fact"
    topics: Annotated[list[str], Meta(description="A few names to find it by: project, tool, person, subject.")] = []
    namespace: Annotated[str, Meta(description="Leave it out, unless the user names a shared namespace.")] = "personal"
    when: Annotated[str, Meta(description="When it happened (ISO 8601), if not now.")] | UnsetType = UNSET
    supersedes: Annotated[list[str], Meta(max_length=32, description="Ids of memories that this makes obsolete.")] = []


class MemorySearchArguments(Arguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=4096, description="A question, or keywords.")]
    namespaces: Annotated[list[str], Meta(description="Only these namespaces; all if empty.")] = []
    limit: Annotated[int, Meta(ge=1, le=32, description="Return at most this many.")] = 10


class MemoryDeepSearchArguments(MemorySearchArguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=4096, description="At least two keywords.")]
    limit: Annotated[int, Meta(ge=1, le=100, description="Return at most this many.")] = 32


class MemoryIdsArguments(Arguments, frozen=True, kw_only=True):
    ids: Annotated[list[str], Meta(min_length=1, max_length=32, description="Ids from a search.")]


def read(tool: str, given: Mapping[str, Any], arguments: type[A]) -> A:
    """Return `given` as the struct. Raises InvalidParams with a message that helps to correct the call."""
    known = arguments.__struct_fields__
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name[:_SHOWN_CHARS], known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"it takes {', '.join(known)}"
            raise InvalidParams(f"{tool} has no parameter '{name[:_SHOWN_CHARS]}'; {hint}")
    # Some agents send null for arguments that they leave out.
    plain = {name: value for name, value in given.items() if value is not None}
    try:
        return msgspec.convert(plain, arguments)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"{tool}: {_sentence(str(error))}") from None


def object_schema(struct: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct with the object at the root, as MCP requires."""
    (_,), schemas = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    root: dict[str, Any] = schemas.pop(struct.__name__)
    for schema in (root, *schemas.values()):
        del schema["title"]
    for argument in root.get("properties", {}).values():
        if not argument.get("default", True):  # an empty list, false: each byte of a schema is read in every session
            del argument["default"]
    required = root.get("required", [])
    root["properties"] = dict(sorted(root["properties"].items(), key=lambda each: each[0] not in required))
    return {**root, "$defs": schemas} if schemas else root


def _sentence(message: str) -> str:
    """Turn msgspec's "Expected `int` >= 1 - at `$.limit`" into "parameter 'limit': expected int >= 1"."""
    what, _, where = message.partition(" - at `$.")
    plain = what[:1].lower() + what[1:].replace("`", "")
    if missing := re.match(r"object missing required field (\w+)", plain):
        return f"parameter '{missing[1]}' is missing"
    return f"parameter '{where.rstrip('`')}': {plain}" if where else plain
