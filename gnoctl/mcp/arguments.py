"""The arguments of the tools. The structs validate, and the agent's model reads their descriptions. Must not depend on
MCP."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from gnod.errors import InvalidParams
from gnod.memory_types import MEMORY_TYPES

_SHOWN_CHARS = 60


class Arguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of all arguments."""


A = TypeVar("A", bound=Arguments)


class CommonArguments(Arguments, frozen=True, kw_only=True):
    """Restrict the documents. All other conditions are fields of the query."""

    collections: Annotated[list[str], Meta(description="Only these collections.")] = []
    fresh: Annotated[bool, Meta(description="Index recent changes on disk first.")] = False


class SearchArguments(CommonArguments, frozen=True, kw_only=True):
    query: Annotated[
        str,
        Meta(
            max_length=4096,
            description='Words or a question. "a phrase" must occur, -word must not. Fields: title:word tag:work '
            "-author:ada date:2020..2024 path:/notes lang:de after:7d status:open; @name: a saved search.",
        ),
    ]
    fields: Annotated[
        list[str],
        Meta(
            description="Fields of each document to return instead of snippets: title, date, tag. A query with "
            "only fields lists all matches, newest first."
        ),
    ] = []
    sort: Annotated[str, Meta(description="A field; -field: descending.")] | UnsetType = UNSET
    offset: Annotated[int, Meta(ge=0)] = 0
    mode: Annotated[
        Literal["hybrid", "keyword", "vector"], Meta(description="keyword: by words; vector: by meaning.")
    ] = "hybrid"
    limit: Annotated[int, Meta(ge=1, le=200, description="Documents.")] = 10
    passages: Annotated[int, Meta(ge=1, le=10, description="Passages per document.")] = 1
    tokens: (
        Annotated[int, Meta(ge=50, le=20_000, description="Instead of both: as many passages as fit.")] | UnsetType
    ) = UNSET
    loose: Annotated[bool, Meta(description="Also return loosely similar documents.")] = False


class LinksArguments(Arguments, frozen=True, kw_only=True):
    what: Annotated[
        Literal["links", "backlinks", "mentions", "similar", "graph", "orphans", "unresolved"],
        Meta(
            description="links: in `ref`; backlinks: to it; mentions: its name without a link; similar: related by "
            "meaning or links; graph: around it. In `scope`: orphans have no backlinks; unresolved links lead nowhere."
        ),
    ]
    ref: Annotated[str, Meta(description="As in `read`.")] | UnsetType = UNSET
    scope: Annotated[str, Meta(description="A collection, or collection/folder.")] | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=200)] = 30
    offset: Annotated[int, Meta(ge=0)] = 0


class AskArguments(CommonArguments, frozen=True, kw_only=True):
    question: Annotated[str, Meta(max_length=4096, description="A question.")]
    limit: Annotated[int, Meta(ge=1, le=50, description="Read at most this many documents.")] = 6
    generate: Annotated[bool, Meta(description="false: quotes only. true: call even a small model.")] | UnsetType = (
        UNSET
    )


class VerifyArguments(CommonArguments, frozen=True, kw_only=True):
    text: Annotated[
        str,
        Meta(max_length=65_536, description="Sentences, and citations such as gno://notes/plan.md:12@9f3b2c1d4e5f."),
    ]


class EvidenceArguments(CommonArguments, frozen=True, kw_only=True):
    question: Annotated[str, Meta(max_length=4096, description="A question, optionally with fields.")]
    tokens: Annotated[int, Meta(ge=1, le=20_000, description="At most this many.")] = 1500


class ReadArguments(Arguments, frozen=True, kw_only=True):
    refs: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=8192)]],
        Meta(
            min_length=1,
            max_length=1000,
            description="gno://collection/path as in results, #docid, collection/path or a path on disk, with :12-20, "
            "#heading, #page=12 or #Class.method; globs: notes/**/*.md.",
        ),
    ]
    start_line: Annotated[int, Meta(ge=1, description="For a single document.")] | UnsetType = UNSET
    tokens: Annotated[int, Meta(ge=50, le=50_000, description="At most about this many, for all documents.")] = 4000


class StatusArguments(Arguments, frozen=True, kw_only=True):
    errors: Annotated[bool, Meta(description="Also list the files that could not be read.")] = False


_TYPES = ", ".join(known.name for known in MEMORY_TYPES)


class RememberArguments(Arguments, frozen=True, kw_only=True):
    text: Annotated[str, Meta(max_length=65_536, description="One thing, in a sentence that stands on its own.")]
    type: Annotated[str, Meta(description=f"{_TYPES}; append _done if it is finished.")] = "fact"
    topics: Annotated[list[str], Meta(description="Names to find it by: project, tool, person.")] = []
    namespace: Annotated[str, Meta(description="Only if the user names one.")] = "personal"
    when: Annotated[str, Meta(description="When it happened (ISO 8601), if not now.")] | UnsetType = UNSET
    valid_from: Annotated[str, Meta(description="True from this time: 2026, 2026-02 or 2026-02-14.")] | UnsetType = (
        UNSET
    )
    valid_until: Annotated[str, Meta(description="Until when.")] | UnsetType = UNSET
    supersedes: Annotated[list[str], Meta(max_length=32, description="Ids of memories that it replaces.")] = []


class RecallArguments(Arguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=4096, description="A question, or keywords.")] | UnsetType = (
        UNSET
    )
    ids: Annotated[list[str], Meta(max_length=32, description="Or: return these memories whole.")] = []
    as_of: Annotated[str, Meta(description="Only what was true then, as 2026-02.")] | UnsetType = UNSET
    namespaces: Annotated[list[str], Meta(description="Only these.")] = []
    limit: Annotated[int, Meta(ge=1, le=32)] = 10


class DeepRecallArguments(Arguments, frozen=True, kw_only=True):
    query: Annotated[str, Meta(min_length=1, max_length=4096, description="At least two keywords.")]
    namespaces: Annotated[list[str], Meta(description="Only these.")] = []
    limit: Annotated[int, Meta(ge=1, le=100)] = 32


class ForgetArguments(Arguments, frozen=True, kw_only=True):
    ids: Annotated[list[str], Meta(min_length=1, max_length=32, description="Ids from `recall`.")]


def read(tool: str, given: Mapping[str, Any], arguments: type[A]) -> A:
    """Return `given` as the struct. Raises InvalidParams with a message that helps to correct the call."""
    known = arguments.__struct_fields__
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name[:_SHOWN_CHARS], known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"it takes {', '.join(known)}"
            raise InvalidParams(f"{tool} has no parameter '{name[:_SHOWN_CHARS]}'; {hint}")
    try:
        return msgspec.convert(_as_meant(given, arguments), arguments, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidParams(f"{tool}: {_sentence(str(error))}") from None


def _as_meant(given: Mapping[str, Any], arguments: type[Arguments]) -> dict[str, Any]:
    """Return the arguments as the agent means them: many agents send null for arguments that they leave out, and a
    string for a list, a number or true. msgspec reads the last two."""
    plain = {name: value for name, value in given.items() if value is not None}
    return plain | {name: _listed(plain[name]) for name in _lists(arguments) & plain.keys() if plain[name]}


@cache  # without the cache, msgspec compiles the annotations each time, which doubles the time of a call
def _lists(arguments: type[Arguments]) -> frozenset[str]:
    return frozenset(field.name for field in msgspec.structs.fields(arguments) if "list[" in str(field.type))


def _listed(value: object) -> object:
    """Return a list, given its JSON or its only item."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value)
    return [value]


def object_schema(struct: type[Struct]) -> dict[str, Any]:
    """Return the JSON schema of a struct with the object at the root, as MCP requires."""
    (_,), schemas = msgspec.json.schema_components([struct], ref_template="#/$defs/{name}")
    root: dict[str, Any] = schemas.pop(struct.__name__)
    for schema in (root, *schemas.values()):
        del schema["title"]
    for argument in root.get("properties", {}).values():
        if not argument.get("default", True):  # [] and false: agents read the whole schema in every session
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
