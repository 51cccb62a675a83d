"""Answers for the fake daemon, and strategies for hostile ones."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from gnod.protocol.base import Freshness
from gnod.protocol.collections import CollectionInfo
from gnod.protocol.documents import DocumentEntry, DocumentText
from gnod.protocol.memory import MemoryFound
from gnod.protocol.search import Hit, SearchResult

few = settings(max_examples=25)

CURRENT = Freshness(current=True, state="current")


# The filters of a command line, and as parameters.
FILTERS = [
    *("-c", "a,b", "-c", "d", "--tag", "x", "--any-tag", "y,z", "--lang", "de", "--type", "adr"),
    *("--author", "Ada", "--path", "p/", "--since", "7d", "--until", "1d", "--fresh", "--explain"),
]
FILTERED: dict[str, Any] = {
    "collections": ["a", "b", "d"],
    "tags_all": ["x"],
    "tags_any": ["y", "z"],
    "languages": ["de"],
    "types": ["adr"],
    "author": "Ada",
    "path_prefix": "p/",
    "since": "7d",
    "until": "1d",
    "fresh": True,
    "explain": True,
}


def hit(rank: int = 1, **changes: object) -> Hit:
    fields: dict[str, object] = {
        "rank": rank,
        "score": 1.0 / rank,
        "docid": "#a1b2c3d4",
        "uri": "gno://notes/deploy/blue.md",
        "collection": "notes",
        "path": "deploy/blue.md",
        "source": "/home/u/notes/deploy/blue.md",
        "title": "Blue-green deployment",
        "line": 12,
        "end_line": 14,
        "snippet": "How to deploy to production\nwithout a gap",
        "marks": [(7, 13)],
        "mime": "text/markdown",
        "modified": "2026-11-20T10:00:00+00:00",
        **changes,
    }
    return Hit(**fields)  # type: ignore[arg-type]


def found(*hits: Hit, query: str = "deploy", mode: str = "lexical", freshness: Freshness = CURRENT) -> SearchResult:
    return SearchResult(query=query, mode=mode, hits=list(hits), total=len(hits), took_ms=3.2, freshness=freshness)


def entry(path: str = "deploy/blue.md") -> DocumentEntry:
    return DocumentEntry(
        docid="#a1b2c3d4",
        uri=f"gno://notes/{path}",
        collection="notes",
        path=path,
        source=f"/home/u/notes/{path}",
        title="Blue-green deployment",
        mime="text/markdown",
        size=1234,
        modified="2026-11-20T10:00:00+00:00",
    )


def document(text: str, **changes: object) -> DocumentText:
    fields: dict[str, object] = {
        **{name: getattr(entry(), name) for name in DocumentEntry.__struct_fields__},
        "text": text,
        "start_line": 1,
        "end_line": text.count("\n"),
        "total_lines": text.count("\n"),
        "converter": "native",
        **changes,
    }
    return DocumentText(**fields)  # type: ignore[arg-type]


def collection(name: str = "notes", path: str = "/home/u/notes") -> CollectionInfo:
    return CollectionInfo(name=name, path=path, pattern="**/*", include=[], exclude=[], gitignore=True, documents=3)


# Whatever JSON can carry; and often what a terminal would obey.
DANGEROUS = "\x00\x07\x08\t\n\r\x1b\x7f\x80\x85\x9b\u061c\u2028\u2029\u202e\u2066\u200d\u0301日本語é"
hostile_text = st.text(alphabet=st.one_of(st.sampled_from(DANGEROUS), st.characters(codec="utf-8")), max_size=80)


@st.composite
def hostile_hits(draw: st.DrawFn) -> Hit:
    snippet = draw(hostile_text)
    edges = st.integers(min_value=0, max_value=len(snippet) + 3)
    return hit(
        rank=draw(st.integers(1, 9)),
        score=draw(st.floats(0, 1)),
        title=draw(hostile_text),
        path=draw(hostile_text),
        source=draw(hostile_text),
        uri="gno://notes/" + draw(hostile_text),
        snippet=snippet,
        marks=draw(st.lists(st.tuples(edges, edges), max_size=4)),
        context=draw(st.none() | hostile_text),
        text=draw(st.none() | hostile_text),
        explain=draw(st.none() | st.dictionaries(hostile_text, st.floats(0, 1), max_size=2)),
    )


def memory(text: str = "The kayak is blue.", **changes: Any) -> MemoryFound:
    fields: dict[str, Any] = {
        "id": "m4x0q2v7ke",
        "text": text,
        "vector": 0.61,
        "rerank": 0.87,
        "type": "fact",
        "time": "2026-11-21T10:00:00Z",
        "topics": ["kayak"],
        "complete": True,
    }
    return MemoryFound(**fields | changes)
