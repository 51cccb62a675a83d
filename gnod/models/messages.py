"""What the daemon and the inference worker say to each other. Plain data, sent as msgpack frames (gnod/child)."""

from __future__ import annotations

from typing import Literal

import msgspec

# A generator's window. Some documents' passages and an answer; every token costs 115 kB of memory with Qwen3-1.7B, and
# reading a prompt of that length already takes a processor a minute.
GENERATION_WINDOW = 4096


class ModelSpec(msgspec.Struct, frozen=True, kw_only=True):
    """How to load a model. `window`: tokens that it takes at once, specials included; None: what its file says,
    within reason. `threads`: of the processor, for one step of the model."""

    path: str
    window: int | None = None
    gpu: bool = True
    threads: int = 1


class Embed(msgspec.Struct, frozen=True, kw_only=True, tag="embed"):
    """`interactive`: somebody waits for it, so it goes ahead of all that is not."""

    id: int = 0
    model: ModelSpec
    texts: list[str]
    interactive: bool


class Rank(msgspec.Struct, frozen=True, kw_only=True, tag="rank"):
    """Score documents for a query, in their order."""

    id: int = 0
    model: ModelSpec
    query: str
    documents: list[str]


class Generate(msgspec.Struct, frozen=True, kw_only=True, tag="generate"):
    """Say what comes next. `messages`: role (system, user, assistant) and content. `grammar`: GBNF, from `root`.
    `temperature` 0 takes the likeliest token, always."""

    id: int = 0
    model: ModelSpec
    messages: list[tuple[str, str]]
    max_tokens: int
    grammar: str | None = None
    temperature: float = 0.0
    seed: int = 0


class Cancel(msgspec.Struct, frozen=True, kw_only=True, tag="cancel"):
    """Nobody waits for a request any more: it is forgotten if it has not begun, and ended if it ranks or generates. A
    model that is being loaded for it is loaded to the end, for the next one."""

    id: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker has started. `protections`: what bars it from the rest of the machine, in words."""

    protections: list[str] = []


class Begun(msgspec.Struct, frozen=True, kw_only=True, tag="begun"):
    """The worker works on this request from here on: if it dies now, this is the one that is lost."""

    id: int


class Loaded(msgspec.Struct, frozen=True, kw_only=True, tag="loaded"):
    """A model is in memory."""

    path: str
    took_s: float


class Unloaded(msgspec.Struct, frozen=True, kw_only=True, tag="unloaded"):
    """A model is no longer in memory."""

    path: str


class Scored(msgspec.Struct, frozen=True, kw_only=True, tag="scored"):
    """The next document's score, in [0, 1]. `tokens` and `took_s` (computing only): of all so far."""

    id: int
    score: float
    tokens: int
    took_s: float


class Said(msgspec.Struct, frozen=True, kw_only=True, tag="said"):
    """What the model says next, which may be nothing: while it reads the prompt, and while it thinks. The figures are
    of all so far; `took_s` is computing only. `finish` stands in the last."""

    id: int
    text: str
    finish: Literal["stop", "length"] | None
    prompt_tokens: int
    tokens: int
    took_s: float


class Embedded(msgspec.Struct, frozen=True, kw_only=True, tag="embedded"):
    """`vectors`: float32, little-endian, one row of `dimensions` a text, each of length 1. `tokens`: of all texts."""

    id: int
    dimensions: int
    vectors: bytes
    tokens: int


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """A request that was answered piece by piece is over, or was ended."""

    id: int


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """`kind`: the file is damaged, the model cannot do this, or anything else went wrong."""

    id: int
    kind: Literal["corrupt", "rejected", "failed"]
    message: str


Work = Embed | Rank | Generate
Request = Work | Cancel
Piece = Scored | Said
Answer = Embedded | Done | Failed
Reply = Ready | Begun | Loaded | Unloaded | Piece | Answer
