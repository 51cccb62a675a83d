"""The messages between the daemon and the inference worker: plain data, sent as msgpack frames (gnod/child)."""

from __future__ import annotations

from typing import Literal

import msgspec

# A generator's window holds the passages of some documents and an answer. Every token costs 115 kB of memory with
# Qwen3-1.7B, and a processor reads a prompt of this length in a minute.
GENERATION_WINDOW = 4096


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How to load a model. `window`: tokens at once, with special tokens; None: what the model's file says, within
    reason. `threads`: processor threads for one step of the model."""

    path: str
    window: int | None = None
    gpu: bool = True
    threads: int = 1


class EmbedRequest(msgspec.Struct, frozen=True, kw_only=True, tag="embed"):
    """`interactive`: a user waits for it, so it precedes other requests."""

    id: int = 0
    model: ModelSpec
    texts: list[str]
    interactive: bool


class Rank(msgspec.Struct, frozen=True, kw_only=True, tag="rank"):
    """Score documents for a query, in the order given."""

    id: int = 0
    model: ModelSpec
    query: str
    documents: list[str]


class Measure(msgspec.Struct, frozen=True, kw_only=True, tag="measure"):
    """Load a reranking model, and measure how fast it reads."""

    id: int = 0
    model: ModelSpec


class Generate(msgspec.Struct, frozen=True, kw_only=True, tag="generate"):
    """Generate the next message. `messages`: role (system, user, assistant) and content. `grammar`: GBNF, from `root`.
    `yields_after_s`: after this time, requests of waiting users go first."""

    id: int = 0
    model: ModelSpec
    messages: list[tuple[str, str]]
    max_tokens: int
    grammar: str | None = None
    yields_after_s: float | None = None


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Drop a request that has not started, or stop one that ranks or generates. The worker still finishes loading the
    model."""

    id: int


class ModelsReady(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started. `protections`: its restrictions, in words."""

    protections: list[str] = []


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag="begun"):
    """The worker starts this request. If the worker crashes now, the request is lost."""

    id: int


class Loaded(msgspec.Struct, frozen=True, kw_only=True, tag="loaded"):
    path: str
    took_s: float


class Unloaded(msgspec.Struct, frozen=True, kw_only=True, tag="unloaded"):
    path: str


class DocumentScored(msgspec.Struct, frozen=True, kw_only=True, tag="scored"):
    """The score of the next document, in [0, 1]. `tokens` and `took_s` (without loading) are totals so far."""

    id: int
    score: float
    tokens: int
    took_s: float


class RoomMeasured(msgspec.Struct, frozen=True, kw_only=True, tag="measured"):
    """`room`: the number of tokens of query and document together."""

    id: int
    room: int
    characters_per_s: float


class TextGenerated(msgspec.Struct, frozen=True, kw_only=True, tag="generated"):
    """The next part of the text; empty while the model reads the prompt or thinks. The figures are totals so far;
    `took_s` excludes loading. Only the last message has `finish`."""

    id: int
    text: str
    finish: Literal["stop", "length"] | None
    prompt_tokens: int
    tokens: int
    took_s: float


class TextsEmbedded(msgspec.Struct, frozen=True, kw_only=True, tag="embedded"):
    """`vectors`: float32, little-endian, one row of `dimensions` for each text, scaled to length 1."""

    id: int
    dimensions: int
    vectors: bytes


class RequestDone(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """The end of a request that was stopped, or whose result came in chunks."""

    id: int


class FailedReply(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """`code`: the error's code (`gnod.errors`)."""

    id: int
    code: int
    message: str


StreamedWork = Rank | Measure | Generate
Work = EmbedRequest | StreamedWork
Request = Work | Cancel
ResultChunk = DocumentScored | RoomMeasured | TextGenerated
Reply = TextsEmbedded | RequestDone | FailedReply
WorkerMessage = ModelsReady | Begun | Loaded | Unloaded | ResultChunk | Reply
