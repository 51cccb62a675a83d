"""Answers for the fake daemon, and strategies for hostile answers."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace

from gnod.errors import GnoError, InternalError, ParseError, Unavailable
from gnod.protocol.base import AnswerSource, Freshness, Quote
from gnod.protocol.collections import CollectionInfo
from gnod.protocol.documents import DocumentEntry, DocumentText
from gnod.protocol.evidence import EvidencePassage, EvidenceResult, LeftOutPassages
from gnod.protocol.framing import Framing, encode
from gnod.protocol.index import EmbeddingStatus
from gnod.protocol.jsonrpc import encode_call, encode_result
from gnod.protocol.memory import MemoryFound
from gnod.protocol.search import Hit, SearchResult
from gnod.protocol.subscription import (
    CHANGED,
    IndexChanged,
    IndexSubscribeResult,
    SubscribedCollection,
    SubscribedState,
)

few = settings(max_examples=25)

SGR = re.compile(r"\x1b\[[0-9;]*m")

CURRENT = Freshness(current=True, state="current")


# The filters on a command line, and as parameters.
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


HIT = Hit(
    rank=1,
    score=1.0,
    docid="#a1b2c3d4",
    uri="gno://notes/deploy/blue.md",
    collection="notes",
    path="deploy/blue.md",
    source="/home/u/notes/deploy/blue.md",
    title="Blue-green deployment",
    line=12,
    end_line=14,
    snippet="How to deploy to production\nwithout a gap",
    marks=[(7, 13)],
    mime="text/markdown",
    modified="2026-11-20T10:00:00+00:00",
)
# The fields about the document that a hit, a passage, a quote and a source share.
_PLACE = {name: getattr(HIT, name) for name in ("docid", "uri", "collection", "path")}


def hit(rank: int = 1, **changes: Any) -> Hit:
    return replace(HIT, rank=rank, **{"score": 1.0 / rank} | changes)


def found(*hits: Hit, query: str = "deploy", mode: str = "keyword", freshness: Freshness = CURRENT) -> SearchResult:
    return SearchResult(query=query, mode=mode, hits=list(hits), total=len(hits), took_ms=3.2, freshness=freshness)


def entry(path: str = "deploy/blue.md") -> DocumentEntry:
    uri, source = f"gno://notes/{path}", f"/home/u/notes/{path}"
    named = {name: getattr(HIT, name) for name in ("docid", "collection", "title", "mime", "modified")}
    return DocumentEntry(uri=uri, path=path, source=source, size=1234, **named)


def document(text: str, **changes: Any) -> DocumentText:
    lines = text.count("\n")
    more = {"text": text, "start_line": 1, "end_line": lines, "total_lines": lines, "converter": "native", "tags": []}
    return DocumentText(**asdict(entry()) | more | changes)


def collection(name: str = "notes", path: str = "/home/u/notes") -> CollectionInfo:
    return CollectionInfo(name=name, path=path, pattern="**/*", include=[], exclude=[], gitignore=True, documents=3)


# Any text that JSON can carry, often with characters that control a terminal.
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
        heading=draw(hostile_text),
        date=draw(hostile_text),
        dated_by=draw(st.none() | hostile_text),
        context=draw(st.none() | hostile_text),
        text=draw(st.none() | hostile_text),
        explain=draw(st.none() | st.dictionaries(hostile_text, st.floats(0, 1), max_size=2)),
    )


def memory(text: str = "The kayak is blue.", **changes: Any) -> MemoryFound:
    fields: dict[str, Any] = {"id": "m4x0q2v7ke", "text": text, "vector": 0.61, "rerank": 0.87, "type": "fact"}
    more = {"time": "2026-11-21T10:00:00Z", "topics": ["kayak"], "complete": True}
    return MemoryFound(**fields | more | changes)


def source(number: int, path: str = "a.md", **changes: Any) -> AnswerSource:
    place = _PLACE | {"uri": f"gno://notes/{path}", "path": path}
    fields = {"title": "A title", "line": 12, "end_line": 20, "text": "The kitten is called Miso.", "score": 0.5}
    return AnswerSource(number=number, **place | fields | changes)


def quote(text: str = "name: Miso", **changes: Any) -> Quote:
    place = _PLACE | {"uri": "gno://notes/cats.md", "path": "cats.md", "title": "A title"}
    fields = {"heading": "", "kind": "line", "line": 9, "end_line": 9, "score": 0.5}
    return Quote(rank=1, text=text, **place | fields | changes)


def passage(number: int = 1, path: str = "cats.md", **changes: Any) -> EvidencePassage:
    place = _PLACE | {"uri": f"gno://notes/{path}", "path": path}
    fields = {"title": "Cats", "heading": "Cats > Names", "line": 5, "end_line": 6, "text": "words", "score": 0.5}
    return EvidencePassage(number=number, citation="gno://notes/cats.md:5-6@9f3b2c1d4e5f", **place | fields | changes)


def left_out(reason: str, path: str, **changes: Any) -> LeftOutPassages:
    place = _PLACE | {"uri": f"gno://notes/{path}", "path": path}
    fields = {"count": 2, "heading": "", "line": 5, "end_line": 6, "score": 0.5, "tokens": 30}
    return LeftOutPassages(reason=reason, **place | fields | changes)  # type: ignore[arg-type]


def evidence(*passages: EvidencePassage, **changes: Any) -> EvidenceResult:
    fields: dict[str, Any] = {"question": "?", "tokens": 80, "max_tokens": 1500, "state": "answered", "took_ms": 12.3}
    return EvidenceResult(passages=[*passages], freshness=CURRENT, **fields | changes)


IDLE = EmbeddingStatus(state="idle", pending=0, done=0, failed=0)
_FOLLOWED = SubscribedCollection(
    name="notes", path="/n", documents=2, failed=0, available=True, watch="events", watch_reason=None
)
BEGUN = IndexSubscribeResult(
    subscription=3,
    clock=100,
    reset=False,
    state=SubscribedState(collections=[_FOLLOWED], freshness=CURRENT, embedding=IDLE),
)


def changes(count: int, subscription: int = 3) -> list[IndexChanged]:
    nothing = IndexChanged(subscription=subscription, clock=0, freshness=CURRENT, embedding=IDLE)
    return [replace(nothing, clock=101 + number) for number in range(count)]


def told(*changed: IndexChanged) -> bytes:
    """Return the answer of `index.subscribe` and the notifications after it. Then the daemon disconnects."""
    messages = [encode_result(1, BEGUN), *(encode_call(CHANGED, each) for each in changed)]
    return b"".join(encode(each, Framing.LINES) for each in messages)


# Faulty replies to `search.lexical`, and the errors that a client raises.
NO_REPLIES: dict[bytes, type[GnoError]] = {
    b"what?\n": ParseError,
    b'{"jsonrpc":"2.0","id":1,"resu': Unavailable,
    b'{"jsonrpc":"2.0","id":1,"result":{"hits":7}}\n': InternalError,
    b'{"jsonrpc":"2.0","id":1}\n': InternalError,
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}\n': ParseError,
    b'{"jsonrpc":"2.0","id":[1],"result":{}}\n': ParseError,
}
